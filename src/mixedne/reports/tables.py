"""What a report shows, as tables: the figures and the page draw these and compute nothing.

Every frame names a method by the same columns, :data:`METHOD`. Numbers over training seeds come
with the 95 % interval named in :data:`INTERVALS`; its bounds are null for a single seed. A number
that an invalid episode entered is NaN. An axis is named as the column of an evaluation table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

STATISTICS = {
    "mean": "mean",
    "worst": "worst case",
    "cvar": "CVaR 10 %",
}
"""At one shift: of a run's episodes. Over a sweep: of a run's mean returns at its shifts."""

INTERVALS = {
    "mean": "95 % interval of the mean over training seeds (Student's t)",
    "iqm": "95 % interval of the interquartile mean (bootstrap over training seeds)",
}

BAND_SEEDS = 5
"""Of fewer training seeds, figures show every run as a thin line, and no band."""

INTERVAL_SEEDS = 3
"""Of fewer, an interval is not printed: Student's factor for two is 12.7."""

METHOD: dict[str, Any] = {
    "task": pl.String,  # with its version: HalfCheetah-v5
    "agent": pl.String,  # ddpg, td3, sac, vpg; null where it is not known
    "solver": pl.String,  # mixedne-ld, gad, extra-adam; null for SAC
    "delta": pl.Float64,
    "label": pl.String,  # solver and all else that tells it from others of its agent and δ
    "acting": pl.String,  # mean or stochastic; null where it is not known
    "mass_mode": pl.String,  # reference or consistent
}
"""The columns that name a method on a task, and how it was tested."""

TRAINED = {name: METHOD[name] for name in ("task", "agent", "solver", "delta", "label")}
"""The columns that name a method, however it was tested."""

OVER_SEEDS: dict[str, Any] = {
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "seeds": pl.Int64,
}
"""A mean over training seeds, its interval, and of how many."""

SWEEPS: dict[str, Any] = {
    **METHOD,
    "axis": pl.String,  # all others are nominal
    "x": pl.Float64,
    "statistic": pl.String,  # of STATISTICS, of each run's episodes
    **OVER_SEEDS,
    "episodes": pl.Int64,  # of all seeds together
    "invalid": pl.Int64,  # of these, returns that are no numbers
}
"""Return against one shift."""

SWEEP_RUNS: dict[str, Any] = {
    **{name: kind for name, kind in SWEEPS.items() if name not in OVER_SEEDS},
    "run": pl.String,
    "value": pl.Float64,
}
"""The single runs of sweeps with fewer than :data:`BAND_SEEDS` training seeds."""

MAPS: dict[str, Any] = {
    **METHOD,
    "axis_x": pl.String,
    "axis_y": pl.String,
    "x": pl.Float64,
    "y": pl.Float64,
    "statistic": pl.String,
    **OVER_SEEDS,
    "episodes": pl.Int64,
    "invalid": pl.Int64,
}
"""Return against two shifts, crossed."""

SUMMARY: dict[str, Any] = {
    **METHOD,  # the task is null where the comparison is over all tasks
    "axis": pl.String,
    "statistic": pl.String,  # of each run's mean returns at the shifts of this axis
    **OVER_SEEDS,  # the mean over seeds; over all tasks, the seeds of the one with the fewest
    "iqm": pl.Float64,
    "iqm_low": pl.Float64,
    "iqm_high": pl.Float64,
    "shifts": pl.Int64,
    "baseline": pl.String,  # the label compared with; null for the baseline itself
    "improvement": pl.Float64,  # probability that a run beats a run of the baseline
    "improvement_low": pl.Float64,
    "improvement_high": pl.Float64,
    "overlap": pl.Boolean,  # whether the intervals of the two means overlap; null if unknown
}
"""One number a method and sweep, compared with its baseline."""

LEARNING: dict[str, Any] = {
    **TRAINED,
    "source": pl.String,  # "evaluation" (the nominal world, without noise) or "training"
    "step": pl.Int64,  # environment steps; of VPG samples
    "updates": pl.Float64,  # inner updates so far, mean over seeds
    "seconds": pl.Float64,  # of wall-clock time so far, mean over seeds
    **OVER_SEEDS,
}
"""Return while training."""

LEARNING_RUNS: dict[str, Any] = {
    **{name: kind for name, kind in LEARNING.items() if name not in OVER_SEEDS},
    "run": pl.String,
    "value": pl.Float64,
}
"""The single runs of learning curves with fewer than :data:`BAND_SEEDS` training seeds."""

SEARCHES: dict[str, Any] = {
    "study": pl.String,
    **{name: METHOD[name] for name in ("task", "agent", "solver", "delta")},
    "fixed": pl.String,  # values of further settings searched, in words; empty if there are none
    "setting_x": pl.String,
    "setting_y": pl.String,  # null where one setting was searched
    "x": pl.Float64,
    "y": pl.Float64,
    **OVER_SEEDS,  # nominal return over the search's seeds
    "chosen": pl.Boolean,
    "paper": pl.Boolean,  # whether the paper's tables have these values
}
"""What a hyperparameter search found."""

PUBLISHED: dict[str, Any] = {
    **TRAINED,
    "axis": pl.String,
    "x": pl.Float64,
    "value": pl.Float64,
    "low": pl.Float64,  # of the 95 % interval over runs; null for one run
    "high": pl.Float64,
    "seeds": pl.Int64,
    "source": pl.String,  # whom the numbers are from
}
"""Curves that others published, for the tasks at hand."""


def empty(schema: Mapping[str, Any]) -> pl.DataFrame:
    """A frame without rows."""
    return pl.DataFrame(schema=dict(schema))


@dataclass(frozen=True)
class Video:
    """A video of a policy."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Provenance:
    """How the results were made."""

    commands: tuple[str, ...] = ()
    """What would make the runs again."""
    versions: tuple[str, ...] = ()
    """Each set of versions that made a part, in words."""
    machines: tuple[str, ...] = ()
    seeds: tuple[tuple[str, str], ...] = ()
    """Method in words, training seeds."""
    sources: tuple[str, ...] = ()
    """The folders and files that were read."""


@dataclass(frozen=True)
class Report:
    """All that a page and its figures show."""

    title: str = "Robustness report"
    sweeps: pl.DataFrame = field(default_factory=lambda: empty(SWEEPS))
    sweep_runs: pl.DataFrame = field(default_factory=lambda: empty(SWEEP_RUNS))
    maps: pl.DataFrame = field(default_factory=lambda: empty(MAPS))
    summary: pl.DataFrame = field(default_factory=lambda: empty(SUMMARY))
    learning: pl.DataFrame = field(default_factory=lambda: empty(LEARNING))
    learning_runs: pl.DataFrame = field(default_factory=lambda: empty(LEARNING_RUNS))
    searches: pl.DataFrame = field(default_factory=lambda: empty(SEARCHES))
    published: pl.DataFrame = field(default_factory=lambda: empty(PUBLISHED))
    saddle: pl.DataFrame | None = None
    """Paths of the case study, as ``mixedne saddle`` writes them."""
    runs: pl.DataFrame | None = None
    """Mean return of every run at every shift, for download."""
    videos: tuple[Video, ...] = ()
    provenance: Provenance = Provenance()
    missing: tuple[str, ...] = ()
    """What is not there, or not whole: one sentence each."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """runs, episodes, tasks."""
