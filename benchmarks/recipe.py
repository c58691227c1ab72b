"""The tables of docs/recipe.md, made from the published runs of the recipe's studies.

    python benchmarks/recipe.py            # writes the tables into the page
    python benchmarks/recipe.py --check    # exit code 1 if the page has other tables

A configuration's score is the mean over the tasks of its nominal return, as a share of the best
configuration's on that task; a return is the mean over the seeds, and below zero counts as zero.
Shifted worlds are not looked at.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from tables import Tables, arguments, markdown, number, write

from mixedne import results
from mixedne.evaluation.statistics import SEED, nominal_returns

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "recipe"
PAGE = ROOT / "docs" / "recipe.md"

FIELDS = (
    *("eta", "critic_learning_rate", "tau", "policy_delay"),
    *("updates", "sigma", "sigma0", "scale_rewards"),
)
"""What the search varies."""


def scores(table: pl.DataFrame) -> pl.DataFrame:
    """One row per configuration, the best first: ``score``, and ``task`` and ``returns`` as lists.

    A configuration that has not run on all tasks and seeds has no score, nor part in the others'.
    """
    runs = nominal_returns(table, [*FIELDS, "task", SEED]).sort("task", SEED)
    means = runs.group_by([*FIELDS, "task"], maintain_order=True).agg(
        pl.col("mean_return").mean(), returns="mean_return"
    )
    done = pl.col("returns").list.len().sum().over(FIELDS)
    gained = pl.when(done == done.max()).then(pl.col("mean_return").clip(0))
    means = means.with_columns(share=gained / gained.max().over("task"))
    found = means.group_by(FIELDS, maintain_order=True).agg(
        "task", "returns", score=pl.col("share").mean()
    )
    return found.sort("score", descending=True, nulls_last=True)


def search_table(study: str, first: Mapping[str, float]) -> str:
    """All configurations, by how each differs from the ``first``."""
    table = scores(results(PUBLISHED, study=study, settings=FIELDS))
    tasks = sorted({task for row in table["task"] for task in row})
    rows = []
    for row in table.iter_rows(named=True):
        differs = [f"`{name} = {row[name]}`" for name in FIELDS if row[name] != first[name]]
        of_task = dict(zip(row["task"], row["returns"], strict=True))
        cells = [", ".join(number(r, r) for r in of_task.get(task, ())) or "–" for task in tasks]
        score = "–" if row["score"] is None else f"{row['score']:.3f}"
        rows.append([", ".join(differs) or "nothing", *cells, score])
    return markdown(["what differs from the first", *tasks, "score"], rows)


FIRST = {
    **{"eta": 3e-4, "critic_learning_rate": 3e-4, "tau": 0.99, "policy_delay": 2},
    **{"updates": 25, "sigma": 0.1, "sigma0": 1e-4, "scale_rewards": False},
}
"""The configuration from which the search starts."""

TABLES: Tables = {"search": lambda: search_table("recipe-search", FIRST)}


if __name__ == "__main__":
    sys.exit(write(PAGE, TABLES, check=arguments(__doc__).parse_args().check))
