"""Curves that others published, to lay under one's own: return against mass and friction.

The numbers come with the package, in ``published_data``; its README says what was measured, by
whom and how, and what to mind when comparing. They are of Gym's v2 tasks, which no longer exist,
and are shown with today's v4 and v5 tasks of the same names.
"""

from collections.abc import Iterable
from importlib import resources
from io import BytesIO
from typing import Any

import polars as pl

from mixedne.evaluation.estimators import Student
from mixedne.reports.names import solver_words
from mixedne.reports.tables import PUBLISHED

DATA = resources.files("mixedne.reports.inputs") / "published_data"

SOURCES = {
    "action_robust_rl.csv": ("Tessler et al. 2019", "seed"),
    "authors_td3_sac.csv": ("the paper's authors", "run"),
}
"""By file: whom the numbers are from, and what they call one training."""

VERSIONS = ("v4", "v5")
"""Of a task: those which the published v2 numbers are shown with."""

_CURVE = ["task", "agent", "solver", "delta", "axis"]


def published(tasks: Iterable[str]) -> pl.DataFrame:
    """The curves for some tasks, of schema :data:`PUBLISHED`; no rows if there are none.

    Args:
      tasks: names with versions, as in ``HalfCheetah-v5``.
    """
    runs = {file: _read(file) for file in SOURCES}
    rows = [
        {**row, "task": task}
        for task in dict.fromkeys(tasks)
        if task.rpartition("-")[2] in VERSIONS
        for file, table in runs.items()
        for row in _curves(table.filter(task=f"{task.rpartition('-')[0]}-v2"), *SOURCES[file])
    ]
    return pl.DataFrame(rows, schema=PUBLISHED)


def _read(file: str) -> pl.DataFrame:
    """One row per run and factor."""
    types = {"solver": pl.String, "delta": pl.Float64}
    wide = pl.read_csv(BytesIO((DATA / file).read_bytes()), schema_overrides=types)
    factors = wide.columns[wide.columns.index("run") + 1 :]
    long = wide.unpivot(factors, index=_CURVE, variable_name="x")
    return long.with_columns(pl.col("x").cast(pl.Float64))


def _curves(table: pl.DataFrame, who: str, training: str) -> Iterable[dict[str, Any]]:
    """One row per curve and factor: the mean over runs, with its interval if there are several."""
    for values, points in table.group_by(_CURVE, maintain_order=True):
        curve = dict(zip(_CURVE, values, strict=True))
        for (x,), runs in points.group_by("x", maintain_order=True):
            mean, count = Student().mean(runs["value"].to_numpy()), runs.height
            trainings = f"{count} {training}{'s' if count > 1 else ''}"
            yield {
                **curve,
                "label": f"{_label(curve)}, published",
                "x": x,
                "value": mean.value,
                "low": mean.low,
                "high": mean.high,
                "seeds": count,
                "source": f"{who}, {curve['agent'].upper()}, Gym v2, {trainings}",
            }


def _label(curve: dict[str, Any]) -> str:
    """The solver; but plain DDPG has none worth the name: one player, by gradient steps."""
    if curve["agent"] == "ddpg" and curve["delta"] == 0:
        return "plain DDPG (one player)"
    return solver_words(curve["solver"], curve["agent"])
