"""The tables of docs/sets.md, made from the published runs of the study sets-2d.

    python benchmarks/sets.py            # writes the tables into the page
    python benchmarks/sets.py --check    # exit code 1 if the page has other tables

Of each run the lowest and the average of the mean returns at the grid's points, then the mean over
training seeds with Student's 95 % interval, as in ``mixedne report results/sets``. Published
numbers are printed as they are: mean ± spread over 10 seeds.
"""

import functools
import sys
from pathlib import Path
from typing import Any

import polars as pl
from sweeps import training_minutes
from tables import Tables, arguments, markdown, number, write

from mixedne.evaluation.statistics import (
    SEED,
    nominal_returns,
    over_episodes,
    over_seeds,
    shift_columns,
)
from mixedne.reports.inputs.collect import collect
from mixedne.studies.results import results, run_folders

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "sets"
PAGE = ROOT / "docs" / "sets.md"

TASKS = ("HalfCheetah-v5", "Hopper-v5")

METHODS = {
    "TD3": "TD3, GAD, δ = 0",
    "domain randomisation": "TD3, GAD, domain randomisation (rrls-2d), δ = 0",
    "M2TD3": "TD3, GAD, M2TD3",
    "M2TD3 by MixedNE-LD": "TD3, MixedNE-LD, M2TD3",
    "NR-MDP by MixedNE-LD, δ = 0.1": "TD3, MixedNE-LD, δ = 0.1",
}
"""The methods in the order of the tables, each with the report's words for it."""


@functools.cache
def scores() -> pl.DataFrame:
    """The report's scores on the set."""
    return collect([PUBLISHED]).sets.filter(set="rrls-2d")


@functools.cache
def episodes() -> pl.DataFrame:
    """All test episodes of the study, with the method in words."""
    table = results(PUBLISHED, study="sets-2d", settings=["randomise"])
    is_ld, is_m2td3 = pl.col("solver") == "mixedne-ld", pl.col("formulation") == "m2td3"
    td3, drawn, m2td3, m2td3_ld, nr_mdp = map(pl.lit, METHODS)
    one_player = pl.when(pl.col("randomise").is_null()).then(td3).otherwise(drawn)
    return table.with_columns(
        method=pl.when(is_m2td3)
        .then(pl.when(is_ld).then(m2td3_ld).otherwise(m2td3))
        .otherwise(pl.when(is_ld).then(nr_mdp).otherwise(one_player))
    )


def cell(row: dict[str, Any], name: str) -> str:
    """A mean with its interval over seeds, or a published one with its spread."""
    mean = row[name]
    if mean is None:
        return "–"
    words = number(mean, mean)
    if row.get(f"{name}_spread") is not None:
        return f"{words} ± {number(row[f'{name}_spread'], mean)}"
    if row[f"{name}_low"] is None:
        return words
    return f"{words} ({number(row[f'{name}_low'], mean)} to {number(row[f'{name}_high'], mean)})"


def score_table(task: str) -> str:
    """Our methods, with their return in the task's own world, then the published ones."""
    runs = nominal_returns(episodes().filter(task=task), ["method", SEED]).sort("method", SEED)
    nominal = over_seeds(runs, ["method"], ["mean_return"])
    own_world = {row["method"]: cell(row, "mean_return") for row in nominal.to_dicts()}
    found = {row["method"]: row for row in scores().filter(task=task).to_dicts()}
    rows = []
    for method, words in METHODS.items():
        if (row := found.pop(words, None)) is not None:
            shares = [
                "–" if row[s] is None else f"{row[s]:.2f}" for s in ("worst_score", "mean_score")
            ]
            world = own_world[method]
            worst, mean = cell(row, "worst"), cell(row, "mean")
            rows.append([method, str(row["seeds"]), world, worst, shares[0], mean, shares[1]])
    for method, row in found.items():
        values = [cell(row, "worst"), "–", cell(row, "mean"), "–"]
        rows.append([f"{method}, published", str(row["seeds"]), "–", *values])
    header = ["method", "seeds", "own world", "worst case", "normalised", "average", "normalised"]
    return markdown(header, rows)


def run_table(task: str) -> str:
    """Each run by its seed: the worst case with its point (friction, torso's mass); the average."""
    axes = [name for name in shift_columns(episodes().columns) if ":abs" in name]
    rows = episodes().filter(pl.col("task") == task, pl.col("mass[torso]:abs").is_not_null())
    axes = sorted((name for name in axes if rows[name].null_count() == 0), reverse=True)
    points = over_episodes(rows, ["method", SEED, *axes])
    cells: dict[str, list[str]] = {method: [] for method in METHODS}
    for (method, _), run in points.sort(SEED).group_by("method", SEED, maintain_order=True):
        worst = run.sort("mean_return", *axes).to_dicts()[0]
        place = ", ".join(f"{worst[axis]:.2g}" for axis in axes)
        average = float(run["mean_return"].mean())  # type: ignore[arg-type]
        low = number(worst["mean_return"], worst["mean_return"])
        cells[str(method)].append(f"{low} at ({place}); {number(average, average)}")
    seeds = max(map(len, cells.values()))
    header = ["method", *(f"seed {i}" for i in range(seeds))]
    lines = [[m, *found, *["–"] * (seeds - len(found))] for m, found in cells.items() if found]
    return markdown(header, lines)


def hours() -> str:
    """How long training took on one core."""
    names = episodes().select("identifier", "task", "method").unique()
    minutes = {}
    for folder in run_folders(PUBLISHED):
        minutes[results(folder)["identifier"][0]] = training_minutes(folder)
    timed = names.with_columns(minutes=pl.col("identifier").replace_strict(minutes))
    means = timed.group_by("task", "method").agg(pl.col("minutes").mean(), runs=pl.len())
    rows = [
        [method, *(_minutes(means.filter(task=task, method=method)) for task in TASKS)]
        for method in METHODS
    ]
    return markdown(["minutes a run", *TASKS], rows)


def _minutes(rows: pl.DataFrame) -> str:
    return f"{rows['minutes'][0]:.0f}" if rows.height else "–"


TABLES: Tables = {
    "halfcheetah": lambda: score_table("HalfCheetah-v5"),
    "hopper": lambda: score_table("Hopper-v5"),
    "halfcheetah-runs": lambda: run_table("HalfCheetah-v5"),
    "hopper-runs": lambda: run_table("Hopper-v5"),
    "minutes": hours,
}


if __name__ == "__main__":
    sys.exit(write(PAGE, TABLES, check=arguments(__doc__).parse_args().check))
