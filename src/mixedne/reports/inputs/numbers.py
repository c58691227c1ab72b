"""The numbers of a report, from every run's return at every shift.

Runs are the independent repetitions: each number is a mean over runs with its interval. What
holds of :mod:`mixedne.evaluation.statistics` holds here, but for partial results: a report draws
what there is, and sums up what most runs of a task and agent were tried with.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from mixedne.evaluation.estimators import Array, Bootstrap
from mixedne.evaluation.statistics import (
    estimate_columns,
    over_seeds,
    over_shifts,
)
from mixedne.reports.tables import (
    BAND_SEEDS,
    MAPS,
    METHOD,
    STATISTICS,
    SUMMARY,
    SWEEP_RUNS,
    SWEEPS,
    empty,
)
from mixedne.shifts import Axis, is_nominal, shift_axes

GROUP = ("task", "agent", "axis", "acting", "mass_mode")
"""Runs are compared within these, on the same shifts."""

BASELINE = "gad"

MANNER = ("formulation", "preset")
"""In what a method and its baseline agree, besides task, agent, δ and how they were tested."""

_KEY = [*METHOD, *MANNER, "axis", "statistic"]
_TYPES = {**SUMMARY, **dict.fromkeys(MANNER, pl.String)}

COMPARISON = ("baseline", "improvement", "improvement_low", "improvement_high", "overlap")
"""The columns of a summary that say how a method compares with its baseline."""


def values_over_seeds(frame: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The mean of ``value`` over the rows of each group, with its interval, as tables name them."""
    counted = {"invalid": "invalid_episodes"} if "invalid" in frame.columns else {}
    means = over_seeds(frame.rename(counted), key)
    back = {theirs: ours for ours, theirs in counted.items()}
    return means.rename({"value_low": "low", "value_high": "high", **back})


def single_runs(frame: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The rows of methods, by these columns, that have too few runs for a band."""
    few = pl.col("identity").n_unique().over(key) < BAND_SEEDS
    return frame.filter(few).with_columns(run=pl.col("identity"))


def along(runs: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    """The rows of a sweep: all other axes nominal, and several values in the task."""
    name = str(axis)
    rows = runs.filter(is_nominal(runs.columns, but=[name]), pl.col(name).is_not_null())
    rows = rows.with_columns(axis=pl.lit(name), x=pl.col(name))
    return rows.filter(pl.col("x").n_unique().over("task", "acting", "mass_mode") > 1)


def sweeps(runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return against one shift, where a task was tried with several values; and single runs."""
    long = _long(_all_sweeps(runs), ["axis", "x"])
    means = values_over_seeds(long, [*METHOD, "axis", "x", "statistic"])
    single = single_runs(long, [*METHOD, "axis", "statistic"])
    return means.select(list(SWEEPS)), single.select(list(SWEEP_RUNS))


def _all_sweeps(runs: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([along(runs, axis) for axis in shift_axes(runs.columns)])


def maps(runs: pl.DataFrame) -> pl.DataFrame:
    """Return against two shifts, where a task was tried with values of both at once."""
    # As in the paper, factors run up and probabilities along.
    axes = sorted(shift_axes(runs.columns), key=lambda axis: axis.log_axis)
    long = _long(
        pl.concat([_crossed(runs, x, y) for x, y in combinations(axes, 2)]),
        ["axis_x", "axis_y", "x", "y"],
    )
    key = [*METHOD, "axis_x", "axis_y", "x", "y", "statistic"]
    return values_over_seeds(long, key).select(list(MAPS))


def _crossed(runs: pl.DataFrame, axis_x: Axis, axis_y: Axis) -> pl.DataFrame:
    """The rows at the values of two axes that were tried together, and at the nominal ones."""
    names = str(axis_x), str(axis_y)
    rows = runs.filter(is_nominal(runs.columns, but=names)).with_columns(
        axis_x=pl.lit(names[0]), axis_y=pl.lit(names[1]), x=pl.col(names[0]), y=pl.col(names[1])
    )
    both = rows.filter(
        pl.col("x").ne_missing(axis_x.nominal), pl.col("y").ne_missing(axis_y.nominal)
    )
    for name, axis in (("x", axis_x), ("y", axis_y)):
        tried = both.select("task", name)
        nominal = tried.with_columns(pl.lit(axis.nominal, pl.Float64).alias(name))
        grid = pl.concat([tried, nominal]).drop_nulls().unique()
        rows = rows.join(grid, on=["task", name], how="semi", maintain_order="left")
    return rows


def _long(rows: pl.DataFrame, places: Sequence[str]) -> pl.DataFrame:
    """One row for each statistic."""
    index = ["identity", *METHOD, *places, "episodes", "invalid"]
    return rows.unpivot(
        list(STATISTICS), index=index, variable_name="statistic", value_name="value"
    )


def summary(runs: pl.DataFrame) -> pl.DataFrame:
    """One number a method and sweep, with its comparison to the baseline of its agent and δ."""
    rows = _all_sweeps(runs)
    place = ["identity", *GROUP, "x"]
    scores = _scores(rows.join(common_shifts(rows), on=place, how="semi", nulls_equal=True))
    if scores.is_empty():
        return empty(SUMMARY)
    table = values_over_seeds(scores, _KEY)
    groups = scores.group_by(_KEY, maintain_order=True).agg(pl.col("shifts").first(), "value")
    middles = [Bootstrap().interquartile_mean([each.to_numpy()]) for each in groups["value"]]
    middle = groups.drop("value").with_columns(estimate_columns("iqm", middles))
    table = table.join(middle, on=_KEY, nulls_equal=True)
    compared = pl.DataFrame(
        [_compare(scores, row, baseline) for row, baseline in _pairs(table)],
        schema={name: _TYPES[name] for name in (*_KEY, *COMPARISON)},
    )
    single = table.join(compared, on=_KEY, how="left", nulls_equal=True)
    return pl.concat([single.select(list(SUMMARY)), _over_tasks(scores, single)])


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


def not_summed_up(runs: pl.DataFrame) -> Iterator[tuple[str, str, list[str]]]:
    """Task, axis and the runs that the summary leaves out, because they lack some shifts."""
    for axis in shift_axes(runs.columns):
        rows = along(runs, axis)
        kept = common_shifts(rows).select("identity", *GROUP).unique()
        left = rows.join(kept, on=["identity", *GROUP], how="anti", nulls_equal=True)
        for (task,), own in left.group_by(["task"], maintain_order=True):
            yield str(task), str(axis), own["run"].unique(maintain_order=True).to_list()


def _scores(rows: pl.DataFrame) -> pl.DataFrame:
    """Each run's mean, worst and CVaR of its mean returns at its shifts."""
    key = ["identity", *(name for name in _KEY if name != "statistic")]
    scores = over_shifts(rows.drop("episodes"), key, value="mean")
    scores = scores.rename({f"{name}_return": name for name in STATISTICS})
    return scores.unpivot(
        list(STATISTICS), index=[*key, "shifts"], variable_name="statistic", value_name="value"
    )


def _pairs(table: pl.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every method with its baseline: GAD of the same agent, δ, formulation and preset.

    Of several, that with the same settings, or else the first.
    """
    family = [name for name in _KEY if name not in ("solver", "label")]
    for _, rows in table.group_by(family, maintain_order=True):
        listed = rows.to_dicts()
        baselines = [row for row in listed if row["solver"] == BASELINE]
        for row in listed:
            if baselines and row["solver"] != BASELINE:
                alike = (other for other in baselines if _details(other) == _details(row))
                yield row, next(alike, baselines[0])


def _details(row: Mapping[str, Any]) -> str:
    """What a label says beside the solver."""
    return str(row["label"]).partition(", ")[2]


def _compare(
    scores: pl.DataFrame, row: Mapping[str, Any], baseline: Mapping[str, Any]
) -> dict[str, Any]:
    own = {name: row[name] for name in _KEY}
    pair = _values(scores, own), _values(scores, {name: baseline[name] for name in _KEY})
    known = row["low"] is not None and baseline["low"] is not None
    overlap = known and row["low"] <= baseline["high"] and baseline["low"] <= row["high"]
    sound = known and not np.isnan(row["low"] + baseline["low"])
    return {
        **own,
        "baseline": baseline["label"],
        **_improvement([pair]),
        "overlap": overlap if sound else None,
    }


def _over_tasks(scores: pl.DataFrame, single: pl.DataFrame) -> pl.DataFrame:
    """How often runs of a method beat those of its baseline, over all tasks that have both."""
    method = [name for name in _KEY if name != "task"]
    rows = []
    compared = single.filter(pl.col("baseline").is_not_null())
    for (*named, baseline), own in compared.group_by([*method, "baseline"], maintain_order=True):
        if own.height < 2:
            continue
        key = dict(zip(method, named, strict=True))
        other = {"solver": BASELINE, "label": baseline}
        pairs = [
            (_values(scores, {**key, "task": it}), _values(scores, {**key, **other, "task": it}))
            for it in own["task"]
        ]
        seeds = min(len(x) for x, _ in pairs)
        rows.append({**key, "baseline": baseline, "seeds": seeds, **_improvement(pairs)})
    return pl.DataFrame(rows, schema=_TYPES).select(list(SUMMARY))


def _values(scores: pl.DataFrame, key: Mapping[str, Any]) -> Array:
    """The scores of one method on one task, a run each."""
    wanted = (pl.col(name).eq_missing(pl.lit(value)) for name, value in key.items())
    return scores.filter(*wanted)["value"].to_numpy()


def _improvement(pairs: Sequence[tuple[Array, Array]]) -> dict[str, float | None]:
    estimate = Bootstrap().improvement(pairs)
    return {
        "improvement": estimate.value,
        "improvement_low": estimate.low,
        "improvement_high": estimate.high,
    }
