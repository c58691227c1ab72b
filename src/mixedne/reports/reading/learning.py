"""Learning curves, from the lines that runs write while they train."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mixedne.reports.frames import LEARNING, NOMINAL, empty
from mixedne.reports.reading import methods
from mixedne.reports.reading.found import Found
from mixedne.reports.reading.numbers import over_seeds
from mixedne.reports.reading.runs import Label

POINTS = 60
"""Training returns of a run are averaged into at most so many stretches of equal length."""

_NUMBERS = ("step", "updates", "samples", "inner_steps", "seconds", "return_mean", "mass", "rho")


def learning(found: Found, labels: Mapping[str, Label]) -> pl.DataFrame:
    """Mean return of each method at each step, over its runs; labels are by identity."""
    parts = []
    seen = set()
    for run in found.reported:
        identity = methods.identity(run.config)
        lines = [] if identity in seen else list(_lines(run.path / "metrics.jsonl"))
        if not lines:
            continue
        seen.add(identity)
        named = {name: run.config.get(name) for name in ("task", "agent", "solver", "delta")}
        points = _points(lines)
        parts.append(
            points.select(
                *(pl.lit(value, LEARNING[name]).alias(name) for name, value in named.items()),
                pl.lit(labels[identity].label).alias("label"),
                pl.all(),
            )
        )
    if not parts:
        return empty(LEARNING)
    whole = pl.concat(parts)
    key = [*list(LEARNING)[:5], "source", "step"]
    spent = whole.group_by(key).agg(pl.col("updates", "seconds").mean())
    values = over_seeds(whole, key, "return")
    return values.join(spent, on=key, nulls_equal=True).select(list(LEARNING)).sort(*key)


def _points(lines: list[dict[str, float | str | None]]) -> pl.DataFrame:
    """One run's returns: evaluated in the nominal world, and while training."""
    schema = {"kind": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)}
    table = pl.DataFrame(lines, schema=schema)
    training = table.filter(kind="training")
    steps, updates = (training[name].to_numpy() for name in ("step", "updates"))
    inner = np.cumsum(
        np.diff(updates, prepend=0.0) * training["inner_steps"].fill_null(1).to_numpy()
    )
    samples = training["samples"].fill_null(training["step"]).to_numpy()
    seconds = training["seconds"].to_numpy()

    def spent(frame: pl.DataFrame) -> pl.DataFrame:
        """Put what had been spent by each step beside it; VPG's steps become samples."""
        at = frame["step"].to_numpy()
        known = [np.interp(at, steps, values) if len(steps) else at for values in (inner, seconds)]
        sampled = np.interp(at, steps, samples) if len(steps) else at
        return frame.select(
            "source",
            pl.Series("step", np.round(sampled), pl.Int64),
            pl.Series("updates", known[0], pl.Float64),
            pl.Series("seconds", known[1], pl.Float64),
            pl.col("return_mean").alias("return"),
        )

    nominal = pl.all_horizontal(
        pl.col(axis).is_null() | (pl.col(axis) == NOMINAL[axis]) for axis in ("mass", "rho")
    )
    tested = table.filter(nominal, kind="evaluation").with_columns(source=pl.lit("evaluation"))
    trained = _stretches(training).with_columns(source=pl.lit("training"))
    return pl.concat([spent(tested), spent(trained)]).drop_nulls("return")


def _stretches(training: pl.DataFrame) -> pl.DataFrame:
    """Means over stretches of equal length, each at its end."""
    last = training["step"].max()
    if last is None:
        return training.select("step", "return_mean")
    width = float(str(last)) / POINTS
    end = ((pl.col("step") / width).ceil() * width).alias("step")
    found = training.drop_nulls("return_mean").group_by(end, maintain_order=True)
    return found.agg(pl.col("return_mean").mean())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a run's metrics, numbers and kind alone."""
    try:
        text = path.read_text()
    except (OSError, ValueError):
        return
    for line in text.splitlines():
        try:
            said = json.loads(line)
            numbers = {name: _number(said.get(name)) for name in _NUMBERS}
        except (ValueError, AttributeError, RecursionError):
            continue  # the last line of a run that is under way
        if numbers["step"] is not None:
            yield {"kind": str(said.get("kind")), **numbers}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
