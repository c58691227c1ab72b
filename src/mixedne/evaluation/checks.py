"""What is checked before an evaluation, and what is said of it: all on one page."""

import dataclasses
import warnings
from collections.abc import Sequence

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.sources import Source
from mixedne.tasks import Shift, Task, parts_without_effect, resolve_task
from mixedne.tasks.shifts import check_axes


class NoEffectWarning(UserWarning):
    """A shift was asked for that changes nothing in this task."""


class DivergenceWarning(UserWarning):
    """The physics of some episodes flew apart."""


def find_task(sources: Sequence[Source], name: str | None) -> Task:
    """The task that was named, or that all policies were trained for."""
    if name is not None:
        return _with_time_limit(resolve_task(name))
    known = {source.task for source in sources}
    if None in known:
        unknown = next(source.name for source in sources if source.task is None)
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


def check_fit(sources: Sequence[Source], task: Task, grid: Grid) -> None:
    """Refuse policies and shifts that do not fit the task, before any work."""
    needed = (task.observation_size, task.action_size)
    for source in sources:
        if source.sizes is not None and source.sizes != needed:
            raise InvalidInputError(
                f"the policy {source.name} takes {source.sizes[0]} observations and gives "
                f"{source.sizes[1]} actions, but {task.id} has {needed[0]} and {needed[1]}"
            )
    for shift in grid.shifts():
        check_axes(task.id, task.axes, shift)


def warn_of_no_effect(task: Task, grid: Grid) -> None:
    """Say what changes nothing here, so that a flat curve is not taken for robustness."""
    base = Shift(
        mass_mode=grid.mass_mode,
        body_masses=grid.body_masses,
        geom_frictions=grid.geom_frictions,
    )
    named = {f"mass of {body}" for body, _ in grid.body_masses}
    named |= {f"friction of {geom}" for geom, _ in grid.geom_frictions}
    probes = [({"mass"}, dataclasses.replace(base, mass=x)) for x in grid.mass if x != 1]
    probes += [
        ({"friction"}, dataclasses.replace(base, friction=x)) for x in grid.friction if x != 1
    ]
    moving: set[str] = set()
    idle: set[str] = set()
    for parts, shift in probes or [(set(), base)]:
        without_effect = set(parts_without_effect(task, shift))
        idle |= without_effect
        moving |= (parts | named) - without_effect
    for part in sorted(idle - moving):
        warnings.warn(
            f"{part} changes nothing in {task.id}: its worlds are all alike",
            NoEffectWarning,
            stacklevel=3,
        )


def warn_of_divergence(table: pl.DataFrame) -> None:
    """Say so if worlds flew apart: what was returned after that means little."""
    count = int(table["diverged"].sum())
    if count:
        warnings.warn(
            f"in {count} of {table.height} episodes the physics flew apart and was started anew: "
            "see the column diverged",
            DivergenceWarning,
            stacklevel=3,
        )
