"""Published curves of return against mass and friction, to be shown with one's own.

The numbers are included in the package, in ``published_data``; its README says what was measured,
by whom and how, and what to consider when comparing. They are for Gym's v2 tasks, which no longer
exist, and are shown with today's v4 and v5 tasks of the same names.
"""

from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any

import polars as pl

from mixedne.evaluation.estimators import Student
from mixedne.reports.style import solver_words
from mixedne.reports.tables import PUBLISHED

DATA = resources.files("mixedne.reports.inputs") / "published_data"

SOURCES = {
    "action_robust_rl.csv": ("Tessler et al. 2019", "seed"),
    "authors_td3_sac.csv": ("the paper's authors", "run"),
}
"""By file, the source of the numbers, and its word for one training run."""

_CURVE = ["task", "agent", "solver", "delta", "axis"]


def published(tasks: Iterable[str]) -> pl.DataFrame:
    """The curves for tasks, with names like ``HalfCheetah-v5``; the schema is :data:`PUBLISHED`."""
    runs = {file: _read(file) for file in SOURCES}
    names = [(task, *task.rpartition("-")[::2]) for task in dict.fromkeys(tasks)]
    rows = [
        {**row, "task": task}
        for task, name, version in names
        if version in ("v4", "v5")
        for file, table in runs.items()
        for row in _curves(table.filter(task=f"{name}-v2"), *SOURCES[file])
    ]
    return pl.DataFrame(rows, schema=PUBLISHED)


def _read(file: str) -> pl.DataFrame:
    """One row per run and factor."""
    types = {"solver": pl.String, "delta": pl.Float64}
    wide = pl.read_csv((DATA / file).read_bytes(), schema_overrides=types)
    factors = wide.columns[wide.columns.index("run") + 1 :]
    return wide.unpivot(factors, index=_CURVE, variable_name="x").cast({"x": pl.Float64})


def _curves(table: pl.DataFrame, who: str, training: str) -> Iterator[dict[str, Any]]:
    """One row per curve and factor: the mean over runs, with its interval if there are several."""
    by_curve = (own for _, own in table.group_by(_CURVE, maintain_order=True))
    by_factor = (point for own in by_curve for point in own.group_by("x", maintain_order=True))
    for (x,), runs in by_factor:
        curve = runs.row(0, named=True)
        # Plain DDPG has no solver in our sense: one player, with gradient steps.
        is_plain = curve["agent"] == "ddpg" and curve["delta"] == 0
        words = solver_words(curve["solver"], curve["agent"])
        trainings = f"{runs.height} {training}{'s' if runs.height > 1 else ''}"
        mean = Student().mean(runs["value"].to_numpy())
        yield {
            **{name: curve[name] for name in _CURVE},
            **mean._asdict(),
            "x": x,
            "label": f"{'plain DDPG (one player)' if is_plain else words}, published",
            "seeds": runs.height,
            "source": f"{who}, {curve['agent'].upper()}, Gym v2, {trainings}",
        }
