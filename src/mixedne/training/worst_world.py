"""Search for the worst parameters that are fixed for whole episodes; nothing is learned.

A grid is searched if few parameters are free, and CMA-ES (package ``cma``) is used if a grid would
be too large. Both select on one set of episodes; the world found is evaluated on another. The
task's own world, if it is within the bounds, is a candidate as well.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_count, optional_import
from mixedne.evaluation.statistics import over_episodes, shift_columns
from mixedne.evaluation.sweep import NoEffectWarning
from mixedne.evaluation.table import concat_tables
from mixedne.progress import OnProgress
from mixedne.shifts.sets import Interval, read_intervals
from mixedne.tasks.sets import nominal_value
from mixedne.training.attempt import Attempt, returns_of

MAX_POINTS = 130
"""Approximate number of points of a grid by default."""

GRID_PARAMETERS = 3
"""Maximum number of free parameters for a grid by default; with more, CMA-ES is used."""

WORLDS = 200
"""Number of worlds that CMA-ES tries by default."""

RANDOM_WORLDS = 10
"""Number of random worlds that are drawn as a control."""

FIRST_STEP = 0.3
"""Initial standard deviation of CMA-ES, as a fraction of a parameter's range."""


def worst_world(
    attempt: Attempt,
    parameters: tuple[str, ...],
    points: int | None,
    worlds: int | None,
    progress: OnProgress,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Search for the worst world; return the summary and the reported episodes."""
    intervals = read_intervals("parameters", parameters, attempt.task.id)
    free = [interval for interval in intervals if interval.low < interval.high]
    if points is not None and worlds is not None:
        raise InvalidInputError("give points, for a grid, or worlds, for CMA-ES")
    by_grid = worlds is None and (points is not None or len(free) <= GRID_PARAMETERS)
    if by_grid:
        told, table = _worst_point(attempt, intervals, len(free), points, progress)
    else:
        with warnings.catch_warnings():  # a world close to the task's own is fine here
            warnings.simplefilter("ignore", NoEffectWarning)
            count = WORLDS if worlds is None else worlds
            told, table = _by_cma(attempt, intervals, count, progress)
    told = {"parameters": parameters, **told, "still_improved": None}
    key = [*shift_columns(table.columns), "episode"]
    return told, table.unique(key, keep="first", maintain_order=True)


def _strongest(attempt: Attempt, intervals: Sequence[Interval], found: float) -> str:
    """``"none"`` if the task's own world is within bounds and worse, otherwise ``"attacker"``."""
    own = [(nominal_value(attempt.task, each.axis), each) for each in intervals]
    inside = all(value is not None and each.low <= value <= each.high for value, each in own)
    return "none" if inside and attempt.mean() < found else "attacker"


def _worst_point(
    attempt: Attempt,
    intervals: Sequence[Interval],
    free: int,
    points: int | None,
    progress: OnProgress,
) -> tuple[dict[str, Any], pl.DataFrame]:
    def measure(*, choosing: bool) -> pl.DataFrame:
        def show(done: int, total: int) -> None:  # each world twice: to choose, then to report
            before = 0 if choosing else total
            progress((before + done) // attempt.episodes, 2 * total // attempt.episodes)

        return attempt.measure(choosing=choosing, shifts=shifts, progress=show)

    count = max(2, min(11, int(MAX_POINTS ** (1 / max(1, free))))) if points is None else points
    check_count("points", count, at_least=2)
    shifts = [
        (each.axis, np.linspace(each.low, each.high, count if each.low < each.high else 1))
        for each in intervals
    ]
    columns = [str(axis) for axis, _ in shifts]
    broken = pl.col("diverged").any().over(columns)  # such a world does not count
    choosing = measure(choosing=True).filter(~broken)
    if choosing.is_empty():
        raise InvalidInputError("the physics diverges in every one of these worlds")
    worst = over_episodes(choosing, columns).sort("mean_return").row(0, named=True)
    grid, nominal = measure(choosing=False), attempt.measure()
    there = [pl.col(name) == worst[name] for name in columns]
    tables = {"none": nominal, "random": grid, "attacker": grid.filter(*there)}
    told = {
        "search": "grid",
        "points": count**free,
        "worst": {name: worst[name] for name in columns},
        "returns": {name: returns_of(table) for name, table in tables.items()},
        "strongest": _strongest(attempt, intervals, worst["mean_return"]),
    }
    return told, concat_tables([nominal, grid])


def _by_cma(
    attempt: Attempt, intervals: Sequence[Interval], worlds: int, progress: OnProgress
) -> tuple[dict[str, Any], pl.DataFrame]:
    check_count("worlds", worlds, at_least=1)
    if len(intervals) < 2:
        raise InvalidInputError("CMA-ES needs two parameters or more: give points instead")
    cma = optional_import(
        "cma",
        f"a grid of {len(intervals)} parameters is too large, and CMA-ES needs the package "
        "cma: install mixedne[cma], or give points",
    )
    low = np.array([each.low for each in intervals])
    width = np.array([each.high for each in intervals]) - low

    def shifts(place: NDArray[np.float64]) -> list[Any]:
        values = np.clip(low + place * width, low, low + width)
        return [(each.axis, [float(x)]) for each, x in zip(intervals, values, strict=True)]

    draws = np.random.default_rng(attempt.seed)
    options = {
        "bounds": [0, 1],
        "maxfevals": worlds,
        "verbose": -9,
        "seed": math.nan,  # keeps CMA-ES from seeding NumPy's global generator
        "randn": lambda *shape: draws.standard_normal(shape),
    }
    search = cma.CMAEvolutionStrategy(np.full(len(intervals), 0.5), FIRST_STEP, options)
    tried: list[tuple[float, NDArray[np.float64]]] = []
    while not search.stop() and len(tried) < worlds:
        places = search.ask()[: worlds - len(tried)]
        for place in places:
            tried.append((attempt.mean(shifts=shifts(place)), place))
            progress(len(tried), worlds)
        returns = [mean for mean, _ in tried if math.isfinite(mean)]
        if not returns:
            raise InvalidInputError("the physics diverges in every one of these worlds")
        # A world with diverged physics does not count: it gets the best return seen.
        told = [min(mean, max(returns)) for mean, _ in tried[-len(places) :]]
        if len(tried) < worlds:  # otherwise the generation may be incomplete
            search.tell(places, told)
    lowest, place = min(tried, key=lambda each: each[0])
    worst = shifts(place)
    drawn = [shifts(place) for place in draws.uniform(size=(RANDOM_WORLDS, len(intervals)))]
    tables = {
        "none": attempt.measure(),
        "random": concat_tables([attempt.measure(shifts=each) for each in drawn]),
        "attacker": attempt.measure(shifts=worst),
    }
    summary = {
        "search": "cma-es",
        "points": len(tried),
        "worst": {str(axis): value for axis, (value,) in worst},
        "returns": {name: returns_of(table) for name, table in tables.items()},
        "strongest": _strongest(attempt, intervals, lowest),
    }
    return summary, concat_tables(tables.values())
