"""Shared by the tables of several pages: returns over sweeps and maps, minutes of training."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from tables import number

from mixedne.evaluation.grids import NAMED_GRIDS
from mixedne.evaluation.statistics import (
    MEASURES,
    improvement,
    nominal_returns,
    over_episodes,
    over_shifts,
)
from mixedne.metrics import read_metrics
from mixedne.shifts import is_nominal

FEWEST_SEEDS = 3
"""An interval or a probability over fewer says nothing, and is not printed."""

EPISODES = 10
"""What counts at each point of a sweep; a heat map that crosses it may add more."""

MAP_EPISODES = 3
"""What counts in each cell of a heat map; a sweep that crosses it has more."""

HELD = 990.0
"""A pendulum with this mean return stands to the end in practically all episodes; 1000 is most."""


def sweep(table: pl.DataFrame, axis: str) -> pl.DataFrame:
    """The rows of one axis' sweep: every other number nominal."""
    rows = table.filter(is_nominal(table.columns, but=[axis]), pl.col("episode") < EPISODES)
    return rows.filter(pl.col(axis).is_not_null())


def sweep_scores(table: pl.DataFrame, axis: str, key: Sequence[str]) -> pl.DataFrame:
    """A run's mean, worst and CVaR over one axis' sweep."""
    return over_shifts(over_episodes(sweep(table, axis), [*key, axis]), key)


def map_scores(table: pl.DataFrame, axes: Sequence[str], key: Sequence[str]) -> pl.DataFrame:
    """A run's mean, worst and CVaR over the cells of the paper's heat map of two axes."""
    cells = [pl.col(axis).is_in(NAMED_GRIDS["paper-heatmap"][axis]) for axis in axes]
    few = pl.col("episode") < MAP_EPISODES
    rows = table.filter(is_nominal(table.columns, but=axes), few, *cells)
    return over_shifts(over_episodes(rows, [*key, *axes]), key)


def run_scores(table: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """A row per run: ``nominal``, ``AXIS_worst_return`` and ``AXIS_mean_return``, by ``key``."""
    if table.select(key).n_unique() != table["identifier"].n_unique():
        raise ValueError(f"{key} do not tell the runs of the table apart")
    whole = nominal_returns(table, key).select(*key, nominal="mean_return")
    for axis in ("mass", "friction"):
        named = {f"{axis}_{name}": name for name in MEASURES[:2]}
        whole = whole.join(sweep_scores(table, axis, key).select(*key, **named), on=key)
    return whole.sort(key)


def interval(row: Mapping[str, Any], name: str) -> str:
    """A mean over seeds with its interval, if there are enough seeds for one."""
    mean = row[name]
    if row["seeds"] < FEWEST_SEEDS:
        return number(mean, mean)
    ends = (number(row[f"{name}_{end}"], mean) for end in ("low", "high"))
    return f"{number(mean, mean)} ({' to '.join(ends)})"


def share_of_pairs(x: pl.DataFrame, y: pl.DataFrame, measure: str) -> str:
    """The probability that a run of x has more than one of y on the same task, in words."""
    x, y = (frame.with_columns(task_version=pl.lit(None, pl.String)) for frame in (x, y))
    found = improvement(x, y, column=measure)
    if found.low == found.high:  # resampling cannot tell how sure this is
        pairs = sum(n * y.filter(task=task).height for task, n in x["task"].value_counts().rows())
        return f"{found.value:.2f} (all {pairs} pairs)"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def training_minutes(run: Path) -> float:
    """How long a run trained, by the clock."""
    lines = [line for line in read_metrics(run) if line["kind"] == "training"]
    return float(lines[-1]["seconds"]) / 60
