"""What is checked before an evaluation, and what is said of it: all on one page."""

import warnings
from collections.abc import Sequence

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.handles import PolicyHandle
from mixedne.shifts import Axis
from mixedne.tasks import (
    DEFAULT_VERSION,
    PAPER_TASKS,
    Task,
    check_axes,
    resolve_task,
    shift_effects,
)

SMALL_EFFECT = 0.005
"""A shift that changes accelerations by less, relatively, changes next to nothing."""

MOST_PROBES = 50
"""Grid points at which an axis is looked at before it is said to change nothing."""


class NoEffectWarning(UserWarning):
    """A shift was asked for that changes nothing, or next to nothing, in this task."""


class OtherTaskWarning(UserWarning):
    """A policy is evaluated in another task than it was trained for."""


class DivergenceWarning(UserWarning):
    """The physics of some episodes diverged."""


def find_task(handles: Sequence[PolicyHandle], name: str | None) -> Task:
    """The task that was named, or that all policies were trained for."""
    if name is not None:
        return _with_time_limit(resolve_task(name))
    known = {handle.task for handle in handles}
    if None in known:
        unknown = next(handle.name for handle in handles if handle.task is None)
        raise InvalidInputError(f"the policy {unknown} does not say its task: pass --task")
    if len(known) > 1:
        raise InvalidInputError(f"the policies have several tasks, {known}: pass --task")
    name = str(known.pop())
    if ":" in name:  # resolving it would import the module
        raise InvalidInputError(f"the policy's task {name} names a module: pass --task to allow it")
    return _with_time_limit(resolve_task(name))


def _with_time_limit(task: Task) -> Task:
    if task.max_episode_steps is None:
        raise InvalidInputError(f"{task.id} has no time limit: an episode might never end")
    return task


def check_fit(handles: Sequence[PolicyHandle], task: Task, grid: Grid) -> None:
    """Refuse policies and shifts that do not fit the task, before any work."""
    needed = (task.observation_size, task.action_size)
    for handle in handles:
        if handle.sizes is not None and handle.sizes != needed:
            raise InvalidInputError(
                f"the policy {handle.name} takes {handle.sizes[0]} observations and gives "
                f"{handle.sizes[1]} actions, but {task.id} has {needed[0]} and {needed[1]}"
            )
    check_axes(task, [axis for axis, _ in grid.axes])


def warn_of_other_task(handles: Sequence[PolicyHandle], task: Task) -> None:
    """Say so if a policy that fits was trained for another task."""
    for handle in handles:
        if handle.task is not None and _full_name(handle.task) != task.id:
            warnings.warn(
                f"the policy {handle.name} was trained for {handle.task} and is evaluated in "
                f"{task.id}",
                OtherTaskWarning,
                stacklevel=3,
            )


def _full_name(name: str) -> str:
    return f"{name}-{DEFAULT_VERSION}" if name in PAPER_TASKS else name


def warn_of_no_effect(task: Task, grid: Grid) -> None:
    """Say what changes nothing here, so that a flat curve is not taken for robustness."""
    points = dict.fromkeys(shift.only("model") for shift in grid.shifts())
    effects: dict[Axis, float] = {}
    for axis, _ in grid.axes if task.has_model else ():
        # Effects depend on other axes too: the larger of two geoms' frictions decides.
        shifted = [shift for shift in points if axis in shift.axes]
        for shift in shifted[:: 1 + len(shifted) // MOST_PROBES]:
            effects[axis] = max(effects.get(axis, 0.0), shift_effects(task, shift)[axis])
            if effects[axis] >= SMALL_EFFECT:
                break
    for axis, effect in effects.items():
        if effect < SMALL_EFFECT:
            words = (
                f"{axis} changes nothing in {task.id}: its worlds are all alike"
                if effect == 0
                else f"{axis} changes next to nothing in {task.id}: it changes accelerations by "
                f"{100 * effect:.1g} % at most"
            )
            warnings.warn(words, NoEffectWarning, stacklevel=3)


def warn_of_divergence(table: pl.DataFrame) -> None:
    """Say so if physics diverged: what was returned after that means little."""
    count = int(table["diverged"].sum())
    if count:
        warnings.warn(
            f"in {count} of {table.height} episodes the physics diverged and was restarted: "
            "see the column diverged",
            DivergenceWarning,
            stacklevel=3,
        )
