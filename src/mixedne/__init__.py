"""Robust reinforcement learning as a two-player game, solved by sampling.

An implementation of "Robust Reinforcement Learning via Adversarial Training with Langevin
Dynamics" (NeurIPS 2020). Importing the package is cheap and changes no global setting; the
parts are imported on first use:

``mixedne.optimizers``   Langevin dynamics and extra-gradient methods for Optax
``mixedne.solvers``      GAD, extra-gradient and MixedNE-LD over any two parameter trees
``mixedne.saddle``       the paper's case study
``mixedne.games``        how an adversary acts in a task; ``games.parallel_env`` for PettingZoo
``mixedne.tasks``        tasks, and a simulator for many worlds in parallel
``mixedne.evaluation``   sweeps and grids of shifts, and their statistics
``mixedne.agents``       two-player DDPG, TD3 and VPG, and SAC
``mixedne.training``     training runs: the loop, run folders, checkpoints
``mixedne.studies``      whole experiments; ``mixedne.results`` reads their tables
``mixedne.train``        train one agent
``mixedne.evaluate``     run policies in shifted worlds; ``mixedne.load_policy`` loads one
``mixedne.watch``        make a video of such episodes
``mixedne.statistics``   summaries of evaluation tables; ``mixedne.report`` makes a page of them
``mixedne.attack``       train attackers against a policy
``mixedne.card``         write a run's model card
``mixedne.export``       write a policy as an ONNX file, for use in other programs
"""

import importlib
from typing import TYPE_CHECKING, Any

from mixedne.errors import InvalidInputError
from mixedne.types import Players

if TYPE_CHECKING:
    from mixedne import (
        agents,
        evaluation,
        games,
        optimizers,
        saddle,
        solvers,
        studies,
        tasks,
        training,
    )
    from mixedne.evaluation import statistics
    from mixedne.evaluation.sweep import evaluate
    from mixedne.exports import export
    from mixedne.policies import load_policy
    from mixedne.reports.card import card
    from mixedne.reports.report import report
    from mixedne.studies.results import results
    from mixedne.training.attack import attack
    from mixedne.training.run import train
    from mixedne.video.watch import watch

    __version__: str

_MEMBERS = {
    "attack": "mixedne.training.attack",
    "card": "mixedne.reports.card",
    "evaluate": "mixedne.evaluation.sweep",
    "export": "mixedne.exports",
    "load_policy": "mixedne.policies",
    "report": "mixedne.reports.report",
    "results": "mixedne.studies.results",
    "statistics": "mixedne.evaluation",
    "train": "mixedne.training.run",
    "watch": "mixedne.video.watch",
}

__all__ = ["InvalidInputError", "Players", "__version__"]
__all__ += ["agents", "evaluation", "games", "optimizers", "saddle", "solvers", "studies", "tasks"]
__all__ += ["attack", "card", "evaluate", "export", "load_policy", "report", "results"]
__all__ += ["statistics", "train", "training", "watch"]


def __getattr__(name: str) -> Any:
    if name in _MEMBERS:
        return getattr(importlib.import_module(_MEMBERS[name]), name)
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("mixedne")
    if name in __all__:
        return importlib.import_module(f"mixedne.{name}")
    raise AttributeError(f"module 'mixedne' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
