"""The paper's hyperparameter tables, and further values of each agent (``presets.toml``).

Each agent has one table of common values and, for each δ, one with the values that a grid search
selected per task and solver. ``table_values`` looks one up; ``rows`` lists them all.
"""

import itertools
import tomllib
from collections.abc import Iterable
from importlib import resources
from typing import Any

from mixedne.names import RARL_FORCES, SOLVERS

_TABLES = tomllib.loads((resources.files(__package__) / "presets.toml").read_text("utf-8"))


def _tables(kind: str) -> dict[str, dict[str, Any]]:
    return {agent: tables[kind] for agent, tables in _TABLES.items() if kind in tables}


COMMON = _tables("common")
"""Values that all tasks and solvers share, by agent."""

OWN_AGENTS = {"robust": "td3"}
"""Presets that are for one agent only."""

GRIDS = _tables("grids")
"""Values of the grid search, which the common tables list as sets, by agent."""

FALLBACK = _tables("fallback")
"""Values, outside the exploration tables, of the fields that they set, by agent."""

EXPLORATION: dict[str, dict[float, dict[str, list[float]]]] = {
    agent: {float(delta): table for delta, table in tables.items()}
    for agent, tables in _tables("exploration").items()
}
"""Values that the grid search selected, by agent, δ and task."""


def table_values(
    agent: str, task: str, delta: float | None, solver: str
) -> dict[str, float] | None:
    """Values that the search selected for a task (``Hopper``, no version); None if not listed."""
    for printed, table in EXPLORATION.get(agent, {}).items():
        is_printed = delta is not None and abs(delta - printed) <= 1e-9
        if is_printed and task in table and solver in SOLVERS:
            cells = zip(_TABLES[agent]["columns"], table[task], strict=True)
            values = {name: value for (column, name), value in cells if column == solver}
            if printed == 0 and solver == "mixedne-ld":
                # One player: the appendix has K_t = 1 for one-player DDPG; we assume the same
                # for TD3.
                values.setdefault("inner_steps", 1)
            return values
    return None


def preset_values(
    agent: str, preset: str, task: str, solver: str | None, delta: float | None
) -> dict[str, Any]:
    """The preset's values for these choices; the task is named ``Hopper``, without a version.

    Later ones override earlier ones: the agent's common values, what the tables select, the
    preset's values for all agents, then those for this agent; each is overridden by its values
    for chains of inner steps, if the solver has them, and for the task.
    """
    own = _TABLES[agent]
    has_chains = solver == "mixedne-ld" and delta != 0
    values: dict[str, Any] = {}
    for table in (
        own.get("common"),
        own.get("unprinted"),
        _selected(agent, task, delta, solver),
        _TABLES.get(preset),
        own.get(preset),
    ):
        found = dict(table or {})
        of_chains, of_tasks = found.pop("chains", {}), found.pop("tasks", {})
        values |= {**found, **(of_chains if has_chains else {}), **of_tasks.get(task, {})}
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


def _selected(
    agent: str, task: str, delta: float | None, solver: str | None
) -> dict[str, float] | None:
    """What the exploration tables set; outside them, the fallback."""
    if solver is None:
        return None
    fallback = FALLBACK[agent]
    chosen = table_values(agent, task, delta, solver) or fallback
    return {name: value for name, value in chosen.items() if name in fallback}


def game_values(formulation: str, task: str) -> dict[str, Any]:
    """Default values of a formulation's fields in a task."""
    if formulation != "rarl" or task not in RARL_FORCES:
        return {}
    return dict(zip(("bodies", "force"), RARL_FORCES[task], strict=True))


def rows() -> list[dict[str, Any]]:
    """All tables: one row per table of common values, and one per task, δ and solver otherwise.

    The key ``grid`` holds the values searched: all of them in a row of common values, and in other
    rows those of the row's own fields. The paper lists none for VPG's σ0 and N_k.
    """
    listed: list[dict[str, Any]] = []
    for agent, common in COMMON.items():
        nowhere = {"table": f"{agent}-common", "task": None, "delta": None, "solver": None}
        listed.append({**nowhere, **common, "grid": _grid(agent, GRIDS[agent])})
        for delta, table in EXPLORATION[agent].items():
            for task, solver in itertools.product(table, SOLVERS):
                place = {"task": task, "delta": delta, "solver": solver}
                values = table_values(agent, task, delta, solver) or {}
                grid = _grid(agent, values)
                listed.append({"table": f"{agent}-exploration", **place, **values, "grid": grid})
    return listed


def _grid(agent: str, names: Iterable[str]) -> dict[str, list[float]]:
    return {name: [*GRIDS[agent][name]] for name in names if name in GRIDS[agent]}
