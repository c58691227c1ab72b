"""The numbers of a report, from every run's return at every shift.

Runs are the independent repetitions: each number is a mean over runs with its interval. What
holds of :mod:`mixedne.evaluation.statistics` holds here, but for partial results: a report draws
what there is, and sums up what most runs of a task and agent were tried with.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from mixedne.evaluation.estimators import Array, Bootstrap, Estimate, Student, cvar
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

GROUP = ("task", "agent", "axis", "acting", "mass_mode")
"""Runs are compared within these, on the same shifts."""

BASELINE = "gad"

MANNER = ("formulation", "preset")
"""In what a method and its baseline agree, besides task, agent, δ and how they were tested."""

_TYPES = {**SUMMARY, **dict.fromkeys(MANNER, pl.String)}

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
    rows = pl.concat([along(runs, axis) for axis in AXES])
    place = ["identity", *GROUP, "x"]
    scores = grid_scores(rows.join(common_shifts(rows), on=place, how="semi", nulls_equal=True))
    if scores.is_empty():
        return empty(SUMMARY)
    key = [*METHOD, *MANNER, "axis", "statistic"]
    table = over_seeds(scores, key).join(_middles(scores, key), on=key, nulls_equal=True)
    compared = pl.DataFrame(
        [_compare(scores, pair) for pair in _pairs(table)],
        schema={name: _TYPES[name] for name in (*key, *COMPARISON)},
    )
    single = table.join(compared, on=key, how="left", nulls_equal=True)
    return pl.concat([single.select(list(SUMMARY)), over_tasks(scores, single)])


def over_tasks(scores: pl.DataFrame, single: pl.DataFrame) -> pl.DataFrame:
    """How often runs of a method beat those of its baseline, over all tasks that have both."""
    method = [name for name in (*METHOD, *MANNER, "axis", "statistic") if name != "task"]
    rows = []
    compared = single.filter(pl.col("baseline").is_not_null())
    for named, own in compared.group_by([*method, "baseline"], maintain_order=True):
        if own.height < 2:
            continue
        *_, baseline = named
        key = dict(zip(method, named[:-1], strict=True))
        pairs = [
            (_values(scores, {**key, "task": task}),
             _values(scores, {**key, "task": task, "solver": BASELINE, "label": baseline}))
            for task in own["task"]
        ]  # fmt: skip
        found = Bootstrap().improvement(pairs)
        seeds = min(len(x) for x, _ in pairs)
        rows.append({**key, "baseline": baseline, "seeds": seeds, **_improvement(found)})
    return pl.DataFrame(rows, schema=_TYPES).select(list(SUMMARY))


def _values(scores: pl.DataFrame, key: dict[str, Any]) -> Array:
    """The scores of one method on one task, a run each."""
    wanted = (pl.col(name).eq_missing(pl.lit(value)) for name, value in key.items())
    return scores.filter(*wanted)["value"].to_numpy()


def _improvement(found: Estimate) -> dict[str, float | None]:
    names = ("improvement", "improvement_low", "improvement_high")
    return dict(zip(names, found, strict=True))


def common_shifts(rows: pl.DataFrame) -> pl.DataFrame:
    """The runs that are summed up, and on which shifts: those that most runs have.

    Of several such grids the largest counts. Runs that lack some of its shifts are left out.
    """
    run = ["identity", *GROUP]
    grids = rows.group_by(run, maintain_order=True).agg(pl.col("x").unique().sort().alias("grid"))
    grids = grids.filter(pl.col("grid").list.len() > 1)
    ranked = grids.group_by(*GROUP, "grid", maintain_order=True).agg(pl.len().alias("runs"))
    ranked = ranked.sort("runs", pl.col("grid").list.len(), descending=True, maintain_order=True)
    chosen = ranked.unique(GROUP, keep="first", maintain_order=True).drop("runs")
    both = grids.join(chosen, on=GROUP, suffix="_chosen", nulls_equal=True)
    missing = pl.col("grid_chosen").list.set_difference("grid").list.len()
    whole = both.filter(missing == 0)
    return whole.select(*run, pl.col("grid_chosen").alias("x")).explode("x")


def grid_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """Each run's mean, worst and CVaR of its mean returns at its shifts."""
    key = ["identity", *METHOD, *MANNER, "axis"]
    groups = rows.group_by(key, maintain_order=True).agg(
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


def not_summed_up(runs: pl.DataFrame) -> Iterator[tuple[str, str, list[str]]]:
    """Task, axis and the runs that the summary leaves out, because they lack some shifts."""
    for axis in AXES:
        rows = along(runs, axis)
        kept = common_shifts(rows).select("identity", *GROUP).unique()
        left = rows.join(kept, on=["identity", *GROUP], how="anti", nulls_equal=True)
        for (task,), own in left.group_by(["task"], maintain_order=True):
            yield str(task), axis, own["run"].unique(maintain_order=True).to_list()


def _middles(scores: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The interquartile mean of each group, with its interval."""
    groups = scores.group_by(key, maintain_order=True).agg(pl.col("shifts").first(), "value")
    found = [Bootstrap().interquartile_mean([v.to_numpy()]) for v in groups["value"]]
    columns = zip(("iqm", "iqm_low", "iqm_high"), zip(*found, strict=True), strict=True)
    return groups.drop("value").with_columns(
        pl.Series(name, values, pl.Float64) for name, values in columns
    )


def _pairs(table: pl.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every method with its baseline: GAD of the same agent, δ, formulation and preset.

    Of several, that with the same settings, or else the first.
    """
    family = ["task", "agent", "delta", *MANNER, "acting", "mass_mode", "axis", "statistic"]
    for _, rows in table.group_by(family, maintain_order=True):
        listed = rows.to_dicts()
        baselines = [row for row in listed if row["solver"] == BASELINE]
        for row in listed:
            if baselines and row["solver"] != BASELINE:
                alike = (other for other in baselines if _details(other) == _details(row))
                yield row, next(alike, baselines[0])


def _details(row: dict[str, Any]) -> str:
    """What a label says beside the solver."""
    return str(row["label"]).partition(", ")[2]


def _compare(scores: pl.DataFrame, pair: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    key = [*METHOD, *MANNER, "axis", "statistic"]
    row, baseline = pair
    x, y = (_values(scores, {name: each[name] for name in key}) for each in pair)
    found = Bootstrap().improvement([(x, y)])
    known = row["low"] is not None and baseline["low"] is not None
    overlap = known and row["low"] <= baseline["high"] and baseline["low"] <= row["high"]
    sound = known and not np.isnan(row["low"] + baseline["low"])
    return {
        **{name: row[name] for name in key},
        "baseline": baseline["label"],
        **_improvement(found),
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
    held = [
        pl.col(axis).is_null() | (pl.col(axis) == value)
        for axis, value in NOMINAL.items()
        if axis not in free
    ]
    return pl.all_horizontal(pl.lit(True), *held)


def _nominal_of(crossed: pl.DataFrame, column: str, axis: str) -> pl.DataFrame:
    return crossed.select("task").unique().with_columns(pl.lit(NOMINAL[axis]).alias(column))
