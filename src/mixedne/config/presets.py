"""The paper's hyperparameter tables, and what each agent has beside them (``presets.toml``).

Each agent has one table of common values and, per δ, one of the values that a grid search chose
for each task and solver. ``table_values`` looks one up; ``rows`` lists them all.
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
"""By agent: the values that all tasks and solvers share."""

GRIDS = _tables("grids")
"""By agent: the values searched, which the common tables print as sets."""

FALLBACK = _tables("fallback")
"""By agent: what its exploration tables set, outside them."""

EXPLORATION: dict[str, dict[float, dict[str, list[float]]]] = {
    agent: {float(delta): table for delta, table in tables.items()}
    for agent, tables in _tables("exploration").items()
}
"""By agent, δ and task: what the grid search chose."""


def table_values(
    agent: str, task: str, delta: float | None, solver: str
) -> dict[str, float] | None:
    """What the search chose for a task (``Hopper``, no version); None outside the tables."""
    for printed, table in EXPLORATION.get(agent, {}).items():
        is_printed = delta is not None and abs(delta - printed) <= 1e-9
        if is_printed and task in table and solver in SOLVERS:
            cells = zip(_TABLES[agent]["columns"], table[task], strict=True)
            values = {name: value for (column, name), value in cells if column == solver}
            if printed == 0 and solver == "mixedne-ld":
                # One player: K_t = 1, says the appendix on one-player DDPG; TD3 is taken to do
                # the same.
                values.setdefault("inner_steps", 1)
            return values
    return None


def preset_values(agent: str, preset: str, task: str) -> dict[str, Any]:
    """The preset's values for an agent and a task (``Hopper``, no version), but exploration's.

    Later ones win: what a preset says of all agents, then of this one; in each, of the task.
    """
    own = _TABLES[agent]
    values: dict[str, Any] = {}
    for table in (own.get("common"), own.get("unprinted"), _TABLES.get(preset), own.get(preset)):
        of_tasks = (table or {}).get("tasks", {})
        values |= {**(table or {}), **of_tasks.get(task, {})}
    values.pop("tasks", None)
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


def game_values(formulation: str, task: str) -> dict[str, Any]:
    """What a formulation sets by default in a task."""
    if formulation != "rarl" or task not in RARL_FORCES:
        return {}
    return dict(zip(("bodies", "force"), RARL_FORCES[task], strict=True))


def rows() -> list[dict[str, Any]]:
    """All tables: one row per table of common values, one per task, δ and solver of the others.

    Under ``grid`` stand the values searched: all of them in a common row, and those of the
    row's own values in the others. The paper prints none for VPG's σ0 and N_k.
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
