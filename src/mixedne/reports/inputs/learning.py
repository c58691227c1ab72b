"""Learning curves, from the lines that runs write while they train."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mixedne.reports.inputs import methods
from mixedne.reports.inputs.files import Inputs
from mixedne.reports.inputs.numbers import single_runs, values_over_seeds
from mixedne.reports.tables import LEARNING, LEARNING_RUNS, TRAINED, empty
from mixedne.shifts import is_nominal

POINTS = 60
"""Training returns of a run are averaged into at most so many stretches of equal length."""

LARGEST = 2.0**53
"""Larger numbers, and NaN, are taken for damage."""

_NUMBERS = ("step", "updates", "samples", "inner_steps", "seconds", "return_mean", "mass", "rho")


def learning(inputs: Inputs, labels: Mapping[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Mean return of each method at each step, over its runs; and single runs.

    ``labels`` are by identity.
    """
    parts: dict[str, pl.DataFrame] = {}
    for run in inputs.reported:
        identity = methods.identity(run.config)
        lines = [] if identity in parts else list(_lines(run.path / "metrics.jsonl"))
        if not lines:
            continue
        named = {name: run.config.get(name) for name in TRAINED} | {"label": labels[identity]}
        parts[identity] = _points(lines, run.config.get("steps")).with_columns(
            *(pl.lit(value, TRAINED[name]).alias(name) for name, value in named.items()),
            identity=pl.lit(identity),
        )
    if not parts:
        return empty(LEARNING), empty(LEARNING_RUNS)
    whole = pl.concat(parts.values())
    key = [*TRAINED, "source", "step"]
    spent = whole.group_by(key).agg(pl.col("updates", "seconds").mean())
    means = values_over_seeds(whole, key).join(spent, on=key, nulls_equal=True)
    single = single_runs(whole, [*TRAINED, "source"]).select(list(LEARNING_RUNS))
    return means.select(list(LEARNING)).sort(*key), single.sort(*key, "run")


def _points(lines: list[dict[str, Any]], planned: Any) -> pl.DataFrame:
    """One run's returns, evaluated in the nominal world and while training, a step once."""
    schema = {"kind": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)}
    table = pl.DataFrame(lines, schema=schema)
    training = table.filter(kind="training")
    steps, updates = (training[name].to_numpy() for name in ("step", "updates"))
    inner = np.cumsum(
        np.diff(updates, prepend=0.0) * training["inner_steps"].fill_null(1).to_numpy()
    )
    counted = training.select("step", "samples").drop_nulls()  # VPG's steps take many samples
    seconds = training["seconds"].to_numpy()

    def spent(frame: pl.DataFrame) -> pl.DataFrame:
        """Put what had been spent by each step beside it; VPG's steps become samples."""
        at = frame["step"].to_numpy()
        known = [np.interp(at, steps, values) for values in (inner, seconds)] if len(steps) else []
        sampled = np.interp(at, counted["step"], counted["samples"]) if len(counted) else at
        return frame.select(
            "source",
            pl.Series("step", np.round(sampled), pl.Int64),
            pl.Series("updates", known[0] if known else [None] * len(at), pl.Float64),
            pl.Series("seconds", known[1] if known else [None] * len(at), pl.Float64),
            pl.col("return_mean").alias("value"),
        )

    tested = table.filter(is_nominal(table.columns), kind="evaluation").with_columns(
        source=pl.lit("evaluation")
    )
    trained = _stretches(training, planned).with_columns(source=pl.lit("training"))
    whole = pl.concat([spent(tested), spent(trained)]).drop_nulls("value")
    return whole.unique(["source", "step"], keep="last", maintain_order=True)


def _stretches(training: pl.DataFrame, planned: Any) -> pl.DataFrame:
    """Means over stretches of the run as it was planned, each at its end.

    So runs of a method that are not equally far have their points at the same steps.
    """
    last = training.select(pl.col("step").max()).item()
    if last is None:
        return training.select("step", "return_mean")
    steps = max(_number(planned) or 0.0, last, 1.0)
    stretch = (pl.col("step") * POINTS / steps).ceil().clip(1, POINTS)
    found = training.drop_nulls("return_mean").group_by(stretch, maintain_order=True)
    means = found.agg(pl.col("return_mean").mean())
    return means.with_columns(step=(pl.col("step") * steps / POINTS))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a run's metrics, numbers and kind alone."""
    try:
        text = path.read_text() if path.is_file() else ""
    except (OSError, ValueError):
        return
    for line in text.splitlines():
        try:
            said = json.loads(line)
            numbers = {name: _number(said.get(name)) for name in _NUMBERS}
        except (ValueError, AttributeError, OverflowError, RecursionError):
            continue  # the last line of a run that is under way
        if numbers["step"] is not None:
            yield {"kind": str(said.get("kind")), **numbers}


def _number(value: Any) -> float | None:
    """A number that a counter or a return can be."""
    if type(value) not in (int, float) or not abs(value) < LARGEST:
        return None
    return float(value)
