"""What hyperparameter searches found: nominal return by the values tried."""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.table import read_table
from mixedne.reports.frames import NOMINAL, SEARCHES, empty
from mixedne.reports.reading import methods
from mixedne.reports.reading.found import Found, PlanFound
from mixedne.reports.reading.numbers import over_seeds

ACROSS = ("sigma", "eta")
UP = ("sigma0", "eta", "inner_steps")
"""Which settings run along a map and up, the first that were searched."""


def searches(found: Found) -> pl.DataFrame:
    """One row for each configuration that a search compared."""
    rows = [row for plan in found.plans if plan.compares for row in _rows(plan)]
    if not rows:
        return empty(SEARCHES)
    table = pl.DataFrame(rows, schema_overrides={**SEARCHES, "return": pl.Float64})
    key = [name for name in SEARCHES if name not in ("value", "low", "high", "seeds")]
    return over_seeds(table, key, "return").select(list(SEARCHES))


def _rows(plan: PlanFound) -> list[dict[str, Any]]:
    rows = []
    names = {id(config): name for name, config in plan.runs.items()}
    for alike in methods.by_case(plan.runs.values()).values():
        searched = [
            name for name in methods.differing(alike) if all(name in config for config in alike)
        ]
        choice = _choice(plan, alike[0])
        for config in alike:
            reached = _nominal_return(plan, names[id(config)])
            place = _place(plan.name, config, searched, choice)
            if reached is not None and place["setting_x"] is not None:
                rows.append({**place, "return": reached})
    return rows


def _place(
    study: str, config: Mapping[str, Any], searched: list[str], choice: Mapping[str, Any]
) -> dict[str, Any]:
    """Where a configuration stands on the map."""
    numbers = [name for name in searched if type(config[name]) in (int, float)]
    across = next((name for name in ACROSS if name in numbers), next(iter(numbers), None))
    up = next((name for name in UP if name in numbers and name != across), None)
    rest = [name for name in searched if name not in (across, up)]
    return {
        "study": study,
        **{name: config.get(name) for name in ("task", "agent", "solver", "delta")},
        "fixed": methods.settings_in_words(config, rest),
        "setting_x": across,
        "setting_y": up,
        "x": None if across is None else float(config[across]),
        "y": None if up is None else float(config[up]),
        "chosen": _agrees(config, choice.get("chosen"), searched),
        "paper": _agrees(config, choice.get("paper"), searched),
    }


def _agrees(config: Mapping[str, Any], values: Any, searched: list[str]) -> bool:
    """Whether the configuration has these values, wherever they were searched."""
    if not isinstance(values, dict):
        return False
    named = [name for name in searched if name in values]
    return bool(named) and all(config[name] == values[name] for name in named)


def _choice(plan: PlanFound, config: Mapping[str, Any]) -> Mapping[str, Any]:
    for choice in plan.choices or ():
        if choice.get("case") == {name: config.get(name) for name in methods.CASE}:
            return choice
    return {}


def _nominal_return(plan: PlanFound, run: str) -> float | None:
    try:
        table = read_table(plan.folder / "runs" / run / "evaluation.parquet")
    except InvalidInputError:
        return None
    nominal = [pl.col(axis).is_null() | (pl.col(axis) == value) for axis, value in NOMINAL.items()]
    returns = table.filter(*nominal, pl.col("acting").eq_missing("mean"))["return"]
    if returns.is_empty():
        return None
    finite = returns.is_not_null() & returns.is_finite()
    return float(returns.to_numpy().mean()) if finite.all() else math.nan
