"""The numbers of a report, from every run's return at every shift.

Runs are the independent repetitions: each number is a mean over runs with its interval. What
holds of :mod:`mixedne.evaluation.statistics` holds here, but for partial results: a report draws
what there is, and compares methods on the shifts that all of their runs have.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from mixedne.evaluation.estimators import Bootstrap, Estimate, Student, cvar
from mixedne.reports.frames import (
    AXES,
    LEVEL,
    MAPS,
    METHOD,
    NOMINAL,
    STATISTICS,
    SUMMARY,
    SWEEPS,
    empty,
)

PAIRS = (("noise", "mass"), ("noise", "friction"), ("mass", "friction"))
"""The paper's heat maps: what runs along, and what runs up."""

GROUP = ("task", "axis", "acting", "mass_mode")
"""Runs are compared within these."""

BASELINE = "gad"

COMPARISON = ("baseline", "improvement", "improvement_low", "improvement_high", "overlap")
"""The columns of a summary that say how a method compares with its baseline."""

INTERVAL = Student()


def over_seeds(frame: pl.DataFrame, key: Sequence[str], value: str = "value") -> pl.DataFrame:
    """Mean and interval over the rows of each group; no interval for one row alone."""
    groups = frame.group_by(key, maintain_order=True).agg(
        pl.col(value).mean().alias("value"),
        pl.col(value).std(ddof=1).alias("spread"),
        pl.len().cast(pl.Int64).alias("seeds"),
        *(pl.col(name).sum() for name in ("episodes", "invalid") if name in frame.columns),
    )
    widths = {n: INTERVAL.half_width(n) for n in groups["seeds"].unique() if n > 1}
    half = pl.col("spread") * pl.col("seeds").replace_strict(
        widths or {0: 0.0}, default=None, return_dtype=pl.Float64
    )
    return groups.with_columns(low=pl.col("value") - half, high=pl.col("value") + half)


def sweeps(runs: pl.DataFrame) -> pl.DataFrame:
    """Return against one shift, where a task was tried with several values of it."""
    parts = [along(runs, axis) for axis in AXES]
    long = _long(pl.concat(parts), ["axis", "x"])
    return over_seeds(long, [*METHOD, "axis", "x", "statistic"]).select(list(SWEEPS))


def maps(runs: pl.DataFrame) -> pl.DataFrame:
    """Return against two shifts, where a task was tried with values of both at once."""
    parts = []
    for axis_x, axis_y in PAIRS:
        rows = runs.filter(_nominal_but(axis_x, axis_y)).with_columns(
            axis_x=pl.lit(axis_x), axis_y=pl.lit(axis_y), x=pl.col(axis_x), y=pl.col(axis_y)
        )
        both = (pl.col("x") != NOMINAL[axis_x]) & (pl.col("y") != NOMINAL[axis_y])
        crossed = rows.filter(both).select("task", "x", "y")
        xs = crossed.select("task", "x").unique().vstack(_nominal_of(crossed, "x", axis_x)).unique()
        ys = crossed.select("task", "y").unique().vstack(_nominal_of(crossed, "y", axis_y)).unique()
        on_grid = rows.join(xs, on=["task", "x"], how="semi").join(ys, on=["task", "y"], how="semi")
        parts.append(on_grid)
    long = _long(pl.concat(parts), ["axis_x", "axis_y", "x", "y"])
    key = [*METHOD, "axis_x", "axis_y", "x", "y", "statistic"]
    return over_seeds(long, key).select(list(MAPS))


def along(runs: pl.DataFrame, axis: str) -> pl.DataFrame:
    """The rows of a sweep: all other axes nominal, and several values in the task."""
    rows = runs.filter(_nominal_but(axis), pl.col(axis).is_not_null())
    rows = rows.with_columns(axis=pl.lit(axis), x=pl.col(axis))
    return rows.filter(pl.col("x").n_unique().over("task", "acting", "mass_mode") > 1)


def summary(runs: pl.DataFrame) -> pl.DataFrame:
    """One number a method and sweep, with its comparison to the baseline of its agent and δ."""
    scores = pl.concat([grid_scores(along(runs, axis)) for axis in AXES])
    if scores.is_empty():
        return empty(SUMMARY)
    key = [*METHOD, "axis", "statistic"]
    table = over_seeds(scores, key).join(_middles(scores, key), on=key, nulls_equal=True)
    compared = pl.DataFrame(
        [_compare(scores, rows) for rows in _families(table)],
        schema={name: SUMMARY[name] for name in (*key, *COMPARISON)},
    )
    return table.join(compared, on=key, how="left", nulls_equal=True).select(list(SUMMARY))


def grid_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """Each run's mean, worst and CVaR of its returns at the shifts that all runs have."""
    rows = rows.filter(pl.col("x").n_unique().over("identity", *GROUP) > 1)
    runs = pl.col("identity").n_unique().over(*GROUP)
    common = rows.filter(pl.col("identity").n_unique().over(*GROUP, "x") == runs)
    key = ["identity", *METHOD, "axis"]
    groups = common.group_by(key, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("shifts"), pl.col("mean")
    )
    lists = [values.to_numpy() for values in groups["mean"]]
    return (
        groups.drop("mean")
        .with_columns(
            mean=pl.Series([float(np.mean(v)) for v in lists], dtype=pl.Float64),
            worst=pl.Series([float(np.min(v)) for v in lists], dtype=pl.Float64),
            cvar=pl.Series([cvar(v, LEVEL) for v in lists], dtype=pl.Float64),
        )
        .unpivot(
            list(STATISTICS), index=[*key, "shifts"], variable_name="statistic", value_name="value"
        )
    )


def left_out_shifts(runs: pl.DataFrame) -> Iterator[tuple[str, str, int]]:
    """Task, axis and how many of its shifts the summary leaves out, as not all runs have them."""
    for axis in AXES:
        rows = along(runs, axis)
        rows = rows.filter(pl.col("x").n_unique().over("identity", *GROUP) > 1)
        runs_there = pl.col("identity").n_unique().over(*GROUP)
        partial = rows.filter(pl.col("identity").n_unique().over(*GROUP, "x") < runs_there)
        for task, count in (
            partial.group_by("task", maintain_order=True).agg(pl.col("x").n_unique()).iter_rows()
        ):
            yield task, axis, count


def _middles(scores: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The interquartile mean of each group, with its interval."""
    groups = scores.group_by(key, maintain_order=True).agg(pl.col("shifts").first(), "value")
    found = [Bootstrap().interquartile_mean([v.to_numpy()]) for v in groups["value"]]
    columns = zip(("iqm", "iqm_low", "iqm_high"), zip(*found, strict=True), strict=True)
    return groups.drop("value").with_columns(
        pl.Series(name, values, pl.Float64) for name, values in columns
    )


def _families(table: pl.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every method with the baseline of its family; a family has one task, agent, δ and sweep."""
    family = ["task", "agent", "delta", "acting", "mass_mode", "axis", "statistic"]
    for _, rows in table.group_by(family, maintain_order=True):
        listed = rows.to_dicts()
        baselines = [row for row in listed if row["solver"] == BASELINE]
        for row in listed:
            if baselines and row["solver"] != BASELINE:
                alike = (other for other in baselines if _manner(other) == _manner(row))
                yield row, next(alike, baselines[0])


def _manner(row: dict[str, Any]) -> str:
    """What a label says beside the solver: preset and settings."""
    return str(row["label"]).partition(", ")[2]


def _compare(scores: pl.DataFrame, pair: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    key = [*METHOD, "axis", "statistic"]
    row, baseline = pair
    x, y = (
        scores.filter(pl.col(name).eq_missing(each[name]) for name in key)["value"].to_numpy()
        for each in pair
    )
    estimate: Estimate = Bootstrap().improvement([(x, y)])
    known = row["low"] is not None and baseline["low"] is not None
    overlap = known and row["low"] <= baseline["high"] and baseline["low"] <= row["high"]
    sound = known and not np.isnan(row["low"] + baseline["low"])
    return {
        **{name: row[name] for name in key},
        "baseline": baseline["label"],
        "improvement": estimate.value,
        "improvement_low": estimate.low,
        "improvement_high": estimate.high,
        "overlap": overlap if sound else None,
    }


def _long(rows: pl.DataFrame, places: Sequence[str]) -> pl.DataFrame:
    """One row for each statistic."""
    index = ["identity", *METHOD, *places, "episodes", "invalid"]
    return rows.unpivot(
        list(STATISTICS), index=index, variable_name="statistic", value_name="value"
    )


def _nominal_but(*free: str) -> pl.Expr:
    """Rows in the nominal world but for these axes."""
    single = pl.col("body_masses").is_null() & pl.col("geom_frictions").is_null()
    held = [
        pl.col(axis).is_null() | (pl.col(axis) == value)
        for axis, value in NOMINAL.items()
        if axis not in free
    ]
    return pl.all_horizontal(single, *held)


def _nominal_of(crossed: pl.DataFrame, column: str, axis: str) -> pl.DataFrame:
    return crossed.select("task").unique().with_columns(pl.lit(NOMINAL[axis]).alias(column))
