"""Policies in worlds that differ from the nominal one: measured, and summarised.

``sweep``        ``evaluate``: runs policies on a grid of shifts; one row per episode
``grids``        which shifts
``handles``      which policies: run folders, callables, Stable-Baselines3 files
``statistics``   the table's summaries per shift, over the grid and over seeds
``scores``       over tasks: normalised, aggregated, one method against another
``estimators``   the numbers in them, for plain arrays

Only the statistics are imported with the package; they need no simulator.
"""

from mixedne.evaluation.estimators import (
    Bootstrap,
    Estimate,
    Student,
    cvar,
    improvement_probability,
    interquartile_mean,
)
from mixedne.evaluation.scores import improvement, normalise, score_summary
from mixedne.evaluation.statistics import (
    METHOD,
    grid_scores,
    grid_summary,
    seed_means,
    shift_columns,
    shift_summary,
)

__all__ = [
    "METHOD",
    "Bootstrap",
    "Estimate",
    "Student",
    "cvar",
    "grid_scores",
    "grid_summary",
    "improvement",
    "improvement_probability",
    "interquartile_mean",
    "normalise",
    "score_summary",
    "seed_means",
    "shift_columns",
    "shift_summary",
]
