"""Evaluation of policies in worlds that differ from the nominal one, and statistics of it.

``sweep``        ``evaluate``: runs policies on a grid of shifts; one row per episode
``grids``        grids of shifts
``sets``         uncertainty sets as grids
``attacks``      attackers, which act on policies
``handles``      policies from run folders, callables, ONNX and Stable-Baselines3 files
``runs``         run folders: the last policy, the best, and those of kept checkpoints
``onnx``         ONNX files, which are checked before they run
``table``        the evaluation table: its columns; writing, reading and joining
``statistics``   summaries of the table per shift, over the grid, over seeds and over tasks
``estimators``   the statistics behind these, for plain arrays

Importing the package imports only the statistics, which need no simulator.
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
