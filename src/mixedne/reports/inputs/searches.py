"""What hyperparameter searches found: nominal return by the values tried."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from mixedne.config.identity import settings_in_words
from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import episode_seed
from mixedne.evaluation.statistics import nominal_returns
from mixedne.evaluation.table import read_table
from mixedne.names import CHOICES
from mixedne.reports.inputs import methods
from mixedne.reports.inputs.files import Inputs, PlanInput
from mixedne.reports.inputs.numbers import values_over_seeds
from mixedne.reports.tables import OVER_SEEDS, SEARCHES, empty

ACROSS = ("sigma", "eta")
UP = ("sigma0", "eta", "inner_steps")
"""Which settings run along a map and up, the first that were searched."""

MOST_EPISODES = 100_000
"""More are taken for damage."""


def searches(inputs: Inputs) -> pl.DataFrame:
    """One row for each configuration that a search compared."""
    rows = [row for plan in inputs.plans if plan.compares for row in _rows(plan)]
    if not rows:
        return empty(SEARCHES)
    key = [name for name in SEARCHES if name not in OVER_SEEDS]
    table = pl.DataFrame(rows, schema={name: SEARCHES[name] for name in (*key, "value")})
    return values_over_seeds(table, key).select(list(SEARCHES))


def _rows(plan: PlanInput) -> list[dict[str, Any]]:
    rows = []
    names = {id(config): name for name, config in plan.runs.items()}
    for alike in methods.by_case(plan.runs.values()).values():
        searched = [
            name
            for name in methods.differing_settings(alike)
            if all(name in config for config in alike)
        ]
        choice = _choice(plan, alike[0])
        for config in alike:
            reached = _nominal_return(plan, names[id(config)])
            place = _place(plan.name, config, searched, choice)
            if reached is not None and place["setting_x"] is not None:
                rows.append({**place, "value": reached})
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
        "fixed": settings_in_words(config, rest),
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


def _choice(plan: PlanInput, config: Mapping[str, Any]) -> Mapping[str, Any]:
    for choice in plan.choices or ():
        if choice.get("case") == {name: config.get(name) for name in CHOICES}:
            return choice
    return {}


def _nominal_return(plan: PlanInput, run: str) -> float | None:
    """The number that the search chose by: of the episodes that its plan has, and no others."""
    try:
        table = read_table(plan.folder / "runs" / run / "evaluation.parquet")
    except InvalidInputError:
        return None
    planned = plan.evaluations[run][:1]
    seeds = next((_episode_seeds(grid) for grid in planned), None)
    found = nominal_returns(table, ["run"], seeds)
    if found.is_empty() or (seeds is not None and found["episodes"][0] < len(seeds)):
        return None
    return float(found["mean_return"][0])


def _episode_seeds(grid: Mapping[str, Any]) -> list[int] | None:
    """The seeds of a grid's episodes; None where a plan does not say them."""
    seed, episodes = grid.get("seed"), grid.get("episodes")
    if type(seed) is not int or type(episodes) is not int or seed < 0 or episodes > MOST_EPISODES:
        return None
    return [episode_seed(seed, episode) for episode in range(episodes)]
