"""Uncertainty sets applied to a task's model: nominal values, and values without effect."""

import contextlib
from collections.abc import Iterator

import numpy as np

from mixedne.errors import InvalidInputError
from mixedne.shifts import Axis, Shift
from mixedne.shifts.model import contact_frictions, find_element, frictional_pairs, shifted_model
from mixedne.shifts.sets import TaskSet, UncertaintySet
from mixedne.tasks.registry import check_axes, nominal_model, resolve_task
from mixedne.tasks.task import Task


def nominal_value(task: Task, axis: Axis) -> float | None:
    """An axis' nominal value; None if the model's elements differ or there is no model."""
    if not axis.absolute:
        return axis.nominal
    physics = axis.entry.physics
    if physics is None or not task.has_model:
        return None
    model, _ = nominal_model(task)
    numbers = physics.arrays(model)[0]
    rows = np.arange(len(numbers)) if physics.element is None else physics.element(model)
    elements = np.unique(rows) if axis.target is None else [find_element(model, axis)]
    if axis.entry.target is None:
        return physics.get_value(numbers)
    held = {physics.get_value(numbers[rows == element]) for element in elements}
    return held.pop() if len(held) == 1 else None


def same_contacts(
    task: Task, part: TaskSet, grid: list[tuple[Axis, tuple[float, ...]]]
) -> list[str]:
    """Sentences on how many values of a friction axis have no effect, and at which contacts.

    For two geoms in contact, MuJoCo uses the larger friction (or that of higher priority). Values
    below the other geom's have no effect. Other friction axes are held at their lowest values,
    where the fewest are without effect; of several contacts, those with the most are named.
    """
    if not task.has_model:
        return []
    model, _ = nominal_model(task)
    pairs = frictional_pairs(model)
    lowest = {i.axis: i.low for i in part.intervals if _is_friction(i.axis)}
    found = []
    for axis, values in grid:
        if not _is_friction(axis) or len(values) < 2 or not len(pairs):
            continue
        worlds = [Shift([*(lowest | {axis: value}).items()]) for value in values]
        frictions = np.stack([contact_frictions(shifted_model(model, w)) for w in worlds])
        if frictions.shape[1] != len(pairs):  # the options override the geoms' friction
            continue
        same = (frictions == frictions[0]).all(axis=2).sum(axis=0)
        geom = None if axis.target is None else find_element(model, axis)
        own = np.ones(len(pairs), bool) if geom is None else (pairs == geom).any(axis=1)
        most = int(same[own].max(initial=0))
        if most > 1:
            others = {int(g) for pair in pairs[own & (same == most)] for g in pair if g != geom}
            geoms = " and ".join(model.geom(g).name or f"geom #{g}" for g in sorted(others))
            found.append(
                f"{most} of {len(values)} values of {axis} give the same contact of {geoms}: "
                "MuJoCo takes the larger friction of two geoms"
            )
    return found


def _is_friction(axis: Axis) -> bool:
    return "friction" in (axis.parameter, axis.entry.part_of)


@contextlib.contextmanager
def place_in(found: UncertaintySet, part: TaskSet) -> Iterator[None]:
    """Prefix error messages with the set and the task."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{found.name}, [tasks.{part.task}]: {error}") from None


def set_faults(
    found: UncertaintySet, task: str, points: int | None = None, ends: str | None = None
) -> list[str]:
    """Known faults of a set in a task, in sentences: those noted in its file and those found."""
    resolved = resolve_task(task)
    part, grid = found.of(resolved.id), found.grid(resolved.id, points, ends)
    with place_in(found, part):
        check_axes(resolved, [axis for axis, _ in grid])
    outside = [
        f"{interval.axis} {nominal:.3g}"
        for interval in part.uncertain
        if (nominal := nominal_value(resolved, interval.axis)) is not None
        and not interval.low <= nominal <= interval.high
    ]
    left_out = [f"the set leaves out the task's own {' and '.join(outside)}"] if outside else []
    return [*part.notes, *left_out, *same_contacts(resolved, part, grid)]
