"""Evaluation on uncertainty sets: their grids crossed with other axes, and warnings about them."""

import warnings
from collections.abc import Iterable
from pathlib import Path

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.shifts.sets import find_set, named_sets
from mixedne.tasks import resolve_task
from mixedne.tasks.sets import set_faults


class SetWarning(UserWarning):
    """Something to know about an uncertainty set before comparing its scores."""


def cross_set(
    grid: Grid, name: str | Path, task: str, points: int | None = None, ends: str | None = None
) -> Grid:
    """The product of a grid with that of a set for a task."""
    found = find_set(name)
    axes = found.grid(resolve_task(task).id, points, ends)
    given = {(axis.parameter, axis.target): axis for axis, _ in grid.axes}
    for axis, _ in axes:
        if (axis.parameter, axis.target) in given:
            other = given[axis.parameter, axis.target]
            raise InvalidInputError(f"the set {found.name} has the axis {axis}: leave out {other}")
    keywords = grid.keywords
    return Grid([*keywords.pop("shifts"), *axes], **keywords)


def add_set(
    grid: Grid, name: str | Path, task: str, points: int | None = None, ends: str | None = None
) -> Grid:
    """:func:`cross_set`, with warnings about the set's known faults."""
    crossed = cross_set(grid, name, task, points, ends)
    _warn(name, task, points, ends)
    return crossed


def warn_of_sets(words: Iterable[str], task: str) -> None:
    """Warn about known faults of the sets among these words, which may be intervals."""
    for word in words:
        if word.endswith(".toml") or word in named_sets():
            _warn(word, task)


def _warn(name: str | Path, task: str, points: int | None = None, ends: str | None = None) -> None:
    found = find_set(name)
    for sentence in set_faults(found, task, points, ends):
        place = f"{found.name}, {resolve_task(task).id}"
        warnings.warn(f"{place}: {sentence}", SetWarning, stacklevel=4)
