"""Policies in worlds that differ from the nominal one: measured, and summarised.

``sweep``        ``evaluate``: runs policies on a grid of shifts; one row per episode
``grids``        which shifts
``sets``         uncertainty sets as grids
``attacks``      attackers, which act on policies
``handles``      which policies: run folders, callables, ONNX and Stable-Baselines3 files
``runs``         run folders: the last policy, the best, and those that are kept
``onnx``         ONNX files, checked before they run
``table``        the table's columns; how it is written, read and joined
``statistics``   its summaries per shift, over the grid, over seeds and over tasks
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
from mixedne.evaluation.statistics import (
    METHOD,
    grid_scores,
    grid_summary,
    improvement,
    normalise,
    normalise_to_baseline,
    score_summary,
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
    "normalise_to_baseline",
    "score_summary",
    "seed_means",
    "shift_columns",
    "shift_summary",
]
