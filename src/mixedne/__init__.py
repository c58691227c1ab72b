"""Robust reinforcement learning as a two-player game, solved by sampling.

An implementation of "Robust Reinforcement Learning via Adversarial Training with Langevin
Dynamics" (NeurIPS 2020). Importing the package is cheap and changes no global setting; the
parts are imported on first use:

``mixedne.optimizers``   Langevin dynamics and extra-gradient methods for Optax
``mixedne.solvers``      GAD, extra-gradient and MixedNE-LD over any two parameter trees
``mixedne.saddle``       the paper's case study
"""

import importlib
from importlib.metadata import version
from typing import Any

from mixedne.errors import InvalidInputError
from mixedne.types import Players

__version__ = version("mixedne")

__all__ = ["InvalidInputError", "Players", "__version__", "optimizers", "saddle", "solvers"]

_PARTS = ("optimizers", "saddle", "solvers")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"mixedne.{name}")
    raise AttributeError(f"module 'mixedne' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})
