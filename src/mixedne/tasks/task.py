"""The classes of a task, and of a batch of its worlds.

``registry`` finds a task by name. Every world has its own shift and seed. What happens in a world
depends, bit for bit, only on these and on its actions: not on the other worlds, their number or
order, or the number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixedne.boxes import centre_and_reach
from mixedne.errors import InvalidInputError
from mixedne.shifts import PARAMETERS, Axis, Channels, Shift

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Opponent(NamedTuple):
    """The other player of a two-player game: its observations and actions."""

    observation_size: int
    action_low: Array
    action_high: Array


@dataclass(frozen=True)
class Task:
    """A resolved task: its name, its sizes and what can be shifted in it."""

    name: str
    """Name without the version: ``Hopper``, ``toy``, ``module:Id``; for a two-player game, with
    the protagonist."""
    version: str | None
    """Version, e.g. ``v5``; None if the task has none."""
    max_episode_steps: int | None
    """The time limit, which truncates episodes; None if Gymnasium knows of none."""
    observation_size: int
    action_size: int
    action_low: Array = field(compare=False)
    action_high: Array = field(compare=False)
    has_model: bool = False
    """Whether the task has a MuJoCo model."""
    opponent: Opponent | None = field(default=None, compare=False)
    """The other player, in a two-player game."""
    factory: Callable[[], Any] | None = None
    """The user's function that makes the environment; it may be replaced under the same name."""

    @property
    def id(self) -> str:
        """The full name: ``Hopper-v5``."""
        return self.name if self.version is None else f"{self.name}-{self.version}"

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of what can be shifted in the task."""
        kind = self.name if self.opponent is None else "pettingzoo"
        acts = {"model": self.has_model, "actions": True, "observations": True}
        return tuple(
            entry.name
            for entry in PARAMETERS.values()
            if (kind in entry.keyword[1] if entry.keyword else acts[entry.acts_on])
        )

    def check_axes(self, axes: Iterable[Axis]) -> None:
        """Raise for axes that cannot be shifted in this task."""
        for axis in axes:
            if axis.parameter in PARAMETERS and axis.parameter not in self.axes:
                raise InvalidInputError(
                    f"{self.id} has no axis {axis}: it can be shifted in {', '.join(self.axes)}"
                )
            if callable(axis.custom) and not self.has_model:
                raise InvalidInputError(f"{self.id} has no MuJoCo model that {axis} could edit")


def from_unit(
    action: NDArray[np.floating], low: NDArray[np.floating], high: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Scale an action from [-1, 1] to the box; exact if the box is [-1, 1]."""
    centre, reach = centre_and_reach(low, high)
    return np.asarray(centre + reach * action)


class Step(NamedTuple):
    """The results of one step, for the active worlds in order."""

    observations: Array
    rewards: Array
    terminated: Mask
    """Whether the task ended the episode."""
    truncated: Mask
    """Whether the time limit ended the episode."""


class Worlds(ABC):
    """A batch of worlds of one task: ``reset``, then ``step`` and ``drop`` until none is left."""

    def __init__(self, task: Task, cases: Sequence[tuple[Shift, int]]) -> None:
        """One (shift, seed) per world."""
        if not cases:
            raise InvalidInputError("there must be at least one world")
        task.check_axes({axis for shift, _ in cases for axis in shift.axes})
        for _, seed in cases:
            if not isinstance(seed, int | np.integer) or seed < 0:
                raise InvalidInputError(f"a seed must be a whole number from 0 on, not {seed!r}")
        self.task = task
        self.shifts = [shift for shift, _ in cases]
        self.seeds = [int(seed) for _, seed in cases]
        self.active: NDArray[np.intp] = np.arange(0)
        """The worlds that are still in the batch, as indices into ``cases``."""
        self.elapsed = 0
        """Steps since the reset."""

    def reset(self) -> Array:
        """Reset all worlds, each with its seed; returns (worlds, observation size)."""
        self.active = np.arange(len(self.seeds))
        self.elapsed = 0
        self._on_actions = Channels("actions", self.shifts, self.seeds, self.task)
        self._on_observations = Channels("observations", self.shifts, self.seeds, self.task)
        return np.asarray(self._on_observations(self._start()))

    def step(self, actions: NDArray[np.floating]) -> Step:
        """Advance the active worlds; ``actions`` has a row for each, in the task's units.

        As in Gymnasium, actions outside the box are passed on unchanged, and MuJoCo clamps them;
        control costs are computed in the actions' own precision.
        """
        actions = np.ascontiguousarray(actions)
        if actions.dtype.kind != "f":
            actions = actions.astype(float)
        expected = (len(self.active), self.task.action_size)
        if actions.shape != expected:
            raise InvalidInputError(
                f"actions for {self.task.id} must have the shape {expected}, not {actions.shape}"
            )
        if not np.isfinite(actions).all():
            raise InvalidInputError("actions must be finite: the policy gave NaN or infinity")
        self.elapsed += 1
        step = self._advance(self._on_actions(actions, self.active))
        seen = self._on_observations(step.observations, self.active)
        return step._replace(observations=np.asarray(seen))

    def drop(self, done: Mask) -> None:
        """Remove these active worlds from the batch until the next reset."""
        self.active = self.active[~done]

    @property
    def diverged(self) -> Mask:
        """Active worlds whose physics diverged and was restarted by the simulator."""
        return np.zeros(len(self.active), bool)

    def pose(self, world: int) -> Array:
        """The positions of an active world's joints, in a MuJoCo task."""
        raise InvalidInputError(f"{self.task.id} has no MuJoCo model")

    def picture(self, world: int) -> NDArray[np.uint8]:
        """A picture of an active world, rendered by its environment."""
        raise InvalidInputError(f"there is nothing to see in {self.task.id}")

    def close(self) -> None:  # noqa: B027 -- not every kind of world has something to release
        """Release threads and environments."""

    def _time_is_up(self) -> Mask:
        limit = self.task.max_episode_steps
        return np.full(len(self.active), limit is not None and self.elapsed >= limit)

    @abstractmethod
    def _start(self) -> Array:
        """Initial observations of all worlds."""

    @abstractmethod
    def _advance(self, actions: NDArray[np.floating]) -> Step:
        """Take one step of the active worlds with exactly these actions."""
