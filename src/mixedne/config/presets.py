"""The paper's hyperparameter tables, laid out as it prints them so that the two can be compared.

Each agent has one table of common values and, per δ, one of the values that a grid search chose
for each task and solver. ``table_values`` looks one up; ``rows`` lists them all.
"""

from collections.abc import Container, Mapping
from typing import Any, TypeAlias

from mixedne.names import SOLVERS

Choice: TypeAlias = tuple[tuple[float, ...], float, float]
"""What the search chose for one task: MixedNE-LD's values, GAD's value, Extra-Adam's value."""

_DDPG: dict[str, Any] = {
    "critic_optimizer": "adam",
    "critic_learning_rate": 1e-3,
    "tau": 0.999,
    "batch_size": 128,
    "gamma": 0.99,
    "beta": 0.9,
    "replay_size": 1_000_000,
    "rms_decay": 0.999,
    "rms_epsilon": 1e-8,
    "eta": 1e-4,
    "thermal_decay": 5e-5,
    "inner_growth": 1e-5,
    "inner_max": 15,
}

COMMON: dict[str, dict[str, Any]] = {
    "ddpg": _DDPG,
    "td3": {**_DDPG, "critic_learning_rate": 3e-4, "tau": 0.995},
    "vpg": {
        "gamma": 0.99,
        "horizon": 500,
        "trajectories": 1,
        "rms_decay": 0.99,
        "rms_epsilon": 1e-8,
        "beta": 0.9,
        # The paper writes σ_k here without a schedule; this is the one it prints for DDPG and TD3.
        "thermal_decay": 5e-5,
    },
}
"""By agent: the values that all tasks and solvers share."""

GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "ddpg": {
        "sigma0": (1e-2, 1e-3, 1e-4, 1e-5),
        "sigma": (0.0, 0.01, 0.1, 0.2, 0.3, 0.4),
    },
    "td3": {
        "sigma0": (1e-2, 1e-3, 1e-4, 1e-5),
        "sigma": (0.005, 0.01, 0.1),
    },
    "vpg": {
        "eta": (1e-3, 1e-4, 1e-5),
    },
}
"""By agent: the values searched, which the common tables print as sets."""

# Task: MixedNE-LD (σ0, σ), GAD σ, Extra-Adam σ.
DDPG: dict[float, dict[str, Choice]] = {
    0.1: {
        "Walker2d": ((1e-2, 0.01), 0.0, 0.3),  # the paper prints Walker-v2
        "HalfCheetah": ((1e-2, 0.0), 0.2, 0.01),
        "Hopper": ((1e-3, 0.2), 0.2, 0.3),
        "Ant": ((1e-4, 0.2), 0.4, 0.01),
        "Swimmer": ((1e-5, 0.4), 0.4, 0.4),
        "Reacher": ((1e-3, 0.2), 0.4, 0.2),
        "Humanoid": ((1e-4, 0.01), 0.0, 0.01),
        "InvertedPendulum": ((1e-3, 0.01), 0.1, 0.01),
    },
    0.0: {
        "Walker2d": ((1e-2, 0.1), 0.01, 0.2),
        "HalfCheetah": ((1e-2, 0.01), 0.4, 0.01),
        "Hopper": ((1e-5, 0.3), 0.4, 0.1),
        "Ant": ((1e-2, 0.4), 0.4, 0.01),
        "Swimmer": ((1e-2, 0.2), 0.3, 0.3),
        "Reacher": ((1e-3, 0.2), 0.3, 0.2),
        "Humanoid": ((1e-2, 0.1), 0.0, 0.01),
        "InvertedPendulum": ((1e-3, 0.0), 0.01, 0.01),
    },
}

# Task: MixedNE-LD (σ0, σ), GAD σ, Extra-Adam σ.
TD3: dict[float, dict[str, Choice]] = {
    0.2: {
        "Walker2d": ((1e-4, 0.005), 0.005, 0.005),
        "HalfCheetah": ((1e-5, 0.005), 0.005, 0.1),
        "Hopper": ((1e-4, 0.1), 0.01, 0.1),
        "Ant": ((1e-4, 0.005), 0.005, 0.1),
        "Swimmer": ((1e-4, 0.005), 0.01, 0.01),
        "Reacher": ((1e-2, 0.1), 0.005, 0.1),
        "Humanoid": ((1e-3, 0.005), 0.01, 0.01),
        "InvertedPendulum": ((1e-4, 0.01), 0.005, 0.01),
    },
    0.1: {
        "Walker2d": ((1e-3, 0.01), 0.01, 0.01),
        "HalfCheetah": ((1e-5, 0.1), 0.01, 0.01),
        "Hopper": ((1e-4, 0.01), 0.01, 0.1),
        "Ant": ((1e-3, 0.01), 0.005, 0.005),
        "Swimmer": ((1e-4, 0.005), 0.1, 0.005),
        "Reacher": ((1e-4, 0.005), 0.005, 0.01),
        "Humanoid": ((1e-5, 0.1), 0.01, 0.01),
        "InvertedPendulum": ((1e-3, 0.01), 0.01, 0.01),
    },
    0.0: {
        "Walker2d": ((1e-5, 0.01), 0.01, 0.1),
        # 0.001 lies outside the printed grid, but the published runs used it.
        "HalfCheetah": ((1e-5, 0.01), 0.01, 0.001),
        "Hopper": ((1e-4, 0.1), 0.1, 0.005),
        "Ant": ((1e-3, 0.1), 0.1, 0.1),
        "Swimmer": ((1e-5, 0.01), 0.01, 0.005),
        "Reacher": ((1e-4, 0.1), 0.1, 0.1),
        "Humanoid": ((1e-4, 0.1), 0.1, 0.005),
        "InvertedPendulum": ((1e-4, 0.01), 0.01, 0.005),
    },
}

# Task: MixedNE-LD (σ0, η, N_k), GAD η, Extra-Adam η. The paper's row is ρ = 0.2.
VPG: dict[float, dict[str, Choice]] = {
    0.1: {"toy": ((1e-5, 1e-3, 1), 1e-4, 1e-4)},
    0.0: {"toy": ((1e-4, 1e-4, 10), 1e-4, 1e-3)},
}

EXPLORATION = {"ddpg": DDPG, "td3": TD3, "vpg": VPG}
"""By agent, δ and task: what the grid search chose."""


def table_values(agent: str, task: str, delta: float, solver: str) -> dict[str, float] | None:
    """What the search chose for a task (``Hopper``, no version); None outside the tables."""
    for printed, table in EXPLORATION.get(agent, {}).items():
        if abs(delta - printed) <= 1e-9 and task in table and solver in SOLVERS:
            return _named(agent, printed, solver, table[task])
    return None


def rows() -> list[dict[str, Any]]:
    """All tables: one row per table of common values, one per task, δ and solver of the others.

    Under ``grid`` stand the values searched: all of them in a common row, and those of the
    row's own values in the others. The paper prints none for VPG's σ0 and N_k.
    """
    listed: list[dict[str, Any]] = []
    for agent, common in COMMON.items():
        listed.append(_row(agent, "common", None, None, None, common, GRIDS[agent]))
        for delta, table in EXPLORATION[agent].items():
            for task, choice in table.items():
                for solver in SOLVERS:
                    values = _named(agent, delta, solver, choice)
                    listed.append(_row(agent, "exploration", task, delta, solver, values, values))
    return listed


def _row(
    agent: str,
    table: str,
    task: str | None,
    delta: float | None,
    solver: str | None,
    values: Mapping[str, Any],
    searched: Container[str],
) -> dict[str, Any]:
    """One row, with the grids of those of its names that were searched."""
    grid = {name: list(grid) for name, grid in GRIDS[agent].items() if name in searched}
    place = {"table": f"{agent}-{table}", "task": task, "delta": delta, "solver": solver}
    return {**place, **values, "grid": grid}


def _named(agent: str, delta: float, solver: str, choice: Choice) -> dict[str, float]:
    """One solver's cell of an exploration table, its values under their names."""
    sampled, gad, extra_adam = choice
    if solver != "mixedne-ld":
        return {"eta" if agent == "vpg" else "sigma": gad if solver == "gad" else extra_adam}
    if agent == "vpg":
        return dict(zip(("sigma0", "eta", "inner_steps"), sampled, strict=True))
    values = dict(zip(("sigma0", "sigma"), sampled, strict=True))
    # One player: K_t = 1, says the appendix on one-player DDPG; TD3 is taken to do the same.
    return {**values, "inner_steps": 1} if delta == 0 else values
