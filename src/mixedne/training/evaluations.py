"""Evaluations in the course of a run: the agent alone, without noise, at a few shifts."""

import warnings
from typing import Any

from mixedne.config import Config
from mixedne.evaluation.sweep import evaluate
from mixedne.policies import Policy
from mixedne.shifts import PARAMETERS
from mixedne.tasks import Task


def evaluate_policy(policy: Policy, config: Config, task: Task, step: int) -> list[dict[str, Any]]:
    """A line of metrics for each shift; all have the same few episodes."""
    axis, values = _shifts(config, task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of simulations that became unstable: the return says it
        table = evaluate(
            policy,
            task.id,
            mass=values if axis == "mass" else (1.0,),
            rho=values if axis == "rho" else None,
            episodes=config.evaluate_episodes,
            seed=config.seed,
            threads=1,
        )
    lines = []
    for value in values:
        rows = table.filter(table[axis] == value)
        returns = rows["return"].to_numpy()
        lines.append(
            {
                "kind": "evaluation",
                "step": step,
                axis: value,
                "episodes": len(returns),
                "return_mean": float(returns.mean()),
                "return_std": float(returns.std()),
                "length_mean": float(rows["length"].to_numpy().mean()),
            }
        )
    return lines


def nominal_return(lines: list[dict[str, Any]]) -> float | None:
    """The mean return in the nominal world, where an evaluation has it."""
    return next(
        (
            line["return_mean"]
            for line in lines
            if all(line[axis] == PARAMETERS[axis].nominal for axis in PARAMETERS if axis in line)
        ),
        None,
    )


def _shifts(config: Config, task: Task) -> tuple[str, tuple[float, ...]]:
    """What to vary, and its values."""
    if task.nominal_rho is not None:
        return "rho", config.evaluate_rhos
    return "mass", config.evaluate_masses if "mass" in task.axes else (1.0,)
