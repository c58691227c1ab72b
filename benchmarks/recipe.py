"""The table of docs/recipe.md: every configuration of the search, the best first.

    mixedne study recipe-search --out FOLDER
    python benchmarks/recipe.py FOLDER [--study recipe-search]

A configuration's score is the mean over the tasks of its nominal return, as a share of the best
configuration's on that task; a return is the mean over the seeds, and below zero counts as zero.
Shifted worlds are not looked at.
"""

import argparse
from pathlib import Path

import polars as pl

from mixedne import results
from mixedne.evaluation.statistics import nominal_returns

FIELDS = (
    *("eta", "critic_learning_rate", "tau", "policy_delay"),
    *("updates", "sigma", "sigma0", "scale_rewards"),
)
"""What the search varies."""


def scores(table: pl.DataFrame) -> pl.DataFrame:
    """One row per configuration, the best first: its return on each task, seeds, and score."""
    runs = nominal_returns(table, [*FIELDS, "task", "train_seed"])
    means = runs.group_by([*FIELDS, "task"], maintain_order=True).agg(
        pl.col("mean_return").mean(), pl.len().alias("seeds")
    )
    gained = pl.col("mean_return").clip(0)
    means = means.with_columns(share=gained / gained.max().over("task"))
    ordered = means.group_by(FIELDS, maintain_order=True).agg(
        pl.col("share").mean().alias("score"), pl.col("seeds").min(), "task", "mean_return"
    )
    return ordered.sort("score", descending=True, nulls_last=True)


def markdown(table: pl.DataFrame) -> str:
    """The scores as a table; of the settings, those that differ from the most frequent one."""
    usual = {name: table[name].mode().sort()[0] for name in FIELDS}
    tasks = sorted({task for row in table["task"] for task in row})
    lines = ["| what differs | " + " | ".join([*tasks, "seeds", "score"]) + " |"]
    lines.append("| --- |" + " ---: |" * (len(tasks) + 2))
    for row in table.iter_rows(named=True):
        differs = [f"`{name} = {row[name]}`" for name in FIELDS if row[name] != usual[name]]
        returns = dict(zip(row["task"], row["mean_return"], strict=True))
        cells = [f"{returns[task]:.0f}" if task in returns else "" for task in tasks]
        words = ", ".join(differs) or "nothing"
        lines.append(f"| {words} | {' | '.join(cells)} | {row['seeds']} | {row['score']:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--study", default="recipe-search")
    arguments = parser.parse_args()
    table = results(arguments.folder, study=arguments.study, settings=FIELDS)
    print(markdown(scores(table)))


if __name__ == "__main__":
    main()
