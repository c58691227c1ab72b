"""The tables of a report: the figures and the page draw them and compute nothing.

Every table identifies a method by the same columns, :data:`METHOD`. Numbers over training seeds
have the 95 % interval named in :data:`INTERVALS`; its bounds are null for a single seed. A number
that includes an invalid episode is NaN. Axes are named like the columns of an evaluation table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

STATISTICS = {"mean": "mean", "worst": "worst case", "cvar": "CVaR 10 %"}
"""Statistics with their labels; at one shift, over a run's episodes; for a sweep, over its mean
returns at the shifts."""

INTERVALS = {
    "mean": "95 % interval of the mean over training seeds (Student's t)",
    "iqm": "95 % interval of the interquartile mean (bootstrap over training seeds)",
}

BAND_SEEDS = 5
"""Minimum number of training seeds for a band; with fewer, figures show thin lines of all runs."""

INTERVAL_SEEDS = 3
"""Minimum number of seeds for printing an interval: Student's factor for two is 12.7."""

Schema = dict[str, Any]


def _columns(kind: Any, names: str) -> Schema:
    return dict.fromkeys(names.split(), kind)


TRAINED: Schema = {
    "task": pl.String,  # with its version: HalfCheetah-v5
    "agent": pl.String,  # ddpg, td3, sac, vpg; null where it is not known
    "solver": pl.String,  # mixedne-ld, gad, extra-adam; null for SAC
    "delta": pl.Float64,
    "label": pl.String,  # solver and all else that tells it from others of its agent and δ
}
"""The columns that identify a method on a task, however it was evaluated."""

METHOD: Schema = {
    **TRAINED,
    "acting": pl.String,  # mean or stochastic; null where it is not known
    "mass_mode": pl.String,  # reference or consistent
}
"""The columns that identify a method on a task, and how it was evaluated."""

OVER_SEEDS: Schema = {**_columns(pl.Float64, "value low high"), "seeds": pl.Int64}
"""A mean over training seeds, its interval, and the number of seeds."""

EPISODES: Schema = _columns(pl.Int64, "episodes invalid")
"""Number of episodes of all seeds, and how many of them have a return that is not finite."""

SWEEPS: Schema = {
    **METHOD, "axis": pl.String, "x": pl.Float64, "statistic": pl.String, **OVER_SEEDS, **EPISODES,
}  # fmt: skip
"""Return against one shift, all others nominal; ``statistic`` is over each run's episodes."""

MAPS: Schema = {
    **METHOD, **_columns(pl.String, "axis_x axis_y"), **_columns(pl.Float64, "x y"),
    "statistic": pl.String, **OVER_SEEDS, **EPISODES,
}  # fmt: skip
"""Return against two shifts, crossed."""

SUMMARY: Schema = {
    **METHOD,  # the task is null where the comparison is over all tasks
    "axis": pl.String,
    "statistic": pl.String,  # of each run's mean returns at the shifts of this axis
    **OVER_SEEDS,  # the mean over seeds; over all tasks, the seeds of the one with the fewest
    **_columns(pl.Float64, "iqm iqm_low iqm_high"),
    "shifts": pl.Int64,
    "baseline": pl.String,  # the label compared with; null for the baseline itself
    # The probability that a run beats a run of the baseline.
    **_columns(pl.Float64, "improvement improvement_low improvement_high"),
    "overlap": pl.Boolean,  # whether the intervals of the two means overlap; null if unknown
}
"""One number per method and sweep, compared with its baseline."""

LEARNING: Schema = {
    **TRAINED,
    "source": pl.String,  # "evaluation" (the nominal world, without noise) or "training"
    "step": pl.Int64,  # environment steps; of VPG samples
    **_columns(pl.Float64, "updates seconds"),  # inner updates and time so far, mean over seeds
    **OVER_SEEDS,
}
"""Return during training."""


def _of_single_runs(schema: Schema) -> Schema:
    kept = {name: kind for name, kind in schema.items() if name not in OVER_SEEDS}
    return {**kept, "run": pl.String, "value": pl.Float64}


SWEEP_RUNS, LEARNING_RUNS = _of_single_runs(SWEEPS), _of_single_runs(LEARNING)
"""The single runs of methods with fewer than :data:`BAND_SEEDS` training seeds."""

SEARCHES: Schema = {
    "study": pl.String,
    **{name: kind for name, kind in TRAINED.items() if name != "label"},
    "fixed": pl.String,  # values of further settings searched, in words; empty if there are none
    "setting_x": pl.String,
    "setting_y": pl.String,  # null where one setting was searched
    **_columns(pl.Float64, "x y"),
    **OVER_SEEDS,  # nominal return over the search's seeds
    "chosen": pl.Boolean,
    "paper": pl.Boolean,  # whether the paper's tables have these values
}
"""Results of hyperparameter searches."""

PUBLISHED: Schema = {
    **TRAINED, "axis": pl.String, "x": pl.Float64, **OVER_SEEDS, "source": pl.String,
}  # fmt: skip
"""Published curves for the report's tasks, with their sources."""


SETS: Schema = {
    **_columns(pl.String, "task set method"),
    "points": pl.Int64,
    # The lowest of the points' mean returns and their average, over training seeds.
    **_columns(pl.Float64, "worst worst_low worst_high worst_score worst_spread"),
    **_columns(pl.Float64, "mean mean_low mean_high mean_score mean_spread"),
    "seeds": pl.Int64,
    "source": pl.String,  # whom published numbers are from; null for one's own
}
"""Scores on uncertainty sets; ``…_score`` is (value − TD3) / |M2TD3 − TD3| of one's own runs."""


ATTACKS: Schema = {
    **_columns(pl.String, "task attack method"),
    "strength": pl.Float64,
    # Mean returns over training seeds: without attack, at random, under the strongest attacker.
    **_columns(pl.Float64, "none none_low none_high random random_low random_high"),
    **_columns(pl.Float64, "attacker attacker_low attacker_high"),
    "seeds": pl.Int64,
}
"""Returns of attacked policies."""


def where(table: pl.DataFrame, **values: object) -> pl.DataFrame:
    """The rows with these values; null equals null."""
    return table.filter(*(pl.col(name).eq_missing(pl.lit(it)) for name, it in values.items()))


@dataclass(frozen=True)
class Video:
    """A video of a policy."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Provenance:
    """How the results were made."""

    commands: tuple[str, ...] = ()
    """Commands that reproduce the runs."""
    versions: tuple[str, ...] = ()
    """Each set of software versions that produced results, in words."""
    machines: tuple[str, ...] = ()
    seeds: tuple[tuple[str, str], ...] = ()
    """Pairs of a method in words and its training seeds."""
    sources: tuple[str, ...] = ()
    """The folders and files that were read."""


@dataclass(frozen=True)
class Report:
    """Everything that a page and its figures show."""

    title: str = "Robustness report"
    sweeps: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SWEEPS))
    sweep_runs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SWEEP_RUNS))
    maps: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=MAPS))
    summary: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SUMMARY))
    learning: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LEARNING))
    learning_runs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LEARNING_RUNS))
    searches: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SEARCHES))
    published: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PUBLISHED))
    sets: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SETS))
    attacks: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ATTACKS))
    saddle: pl.DataFrame | None = None
    """Paths of the case study, as ``mixedne saddle`` writes them."""
    runs: pl.DataFrame | None = None
    """Mean return of every run at every shift, for download."""
    videos: tuple[Video, ...] = ()
    provenance: Provenance = Provenance()
    missing: tuple[str, ...] = ()
    """One sentence for each result that is missing or incomplete."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Numbers of ``runs``, ``episodes`` and ``tasks``."""
