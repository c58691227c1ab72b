"""Ranges of physical parameters, and worlds whose parameters are drawn from them.

Domain randomisation is the game of one player whose world is drawn anew at every reset.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.games.game import Box, Game
from mixedne.names import STRENGTHS
from mixedne.shifts import Axis, Shift
from mixedne.shifts.channels import PARAMETERS, episode_generator
from mixedne.shifts.model import apply_shift, parameter_writer, shifted_model
from mixedne.shifts.sets import read_intervals
from mixedne.tasks import Task, check_axes, shift_effects
from mixedne.tasks.registry import nominal_model

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranges:
    """Parameters of a task's model, each within bounds of its own."""

    axes: tuple[Axis, ...]
    limits: Box
    fixed: Shift
    """What is not the task's own and stays as it is."""
    nominal: Any
    """The task's model with what is fixed."""

    @classmethod
    def find(cls, task: Task, name: str, words: Iterable[str]) -> "Ranges":
        """From what a field of that name says: intervals as ``mass[torso]=0.5:2``, and sets."""
        intervals = read_intervals(name, words, task.id)
        for axis in (interval.axis for interval in intervals):
            if axis.entry.physics is None:
                raise InvalidInputError(f"{name} must be of the MuJoCo model, not {axis}")
        check_axes(task, [interval.axis for interval in intervals])
        for axis, *bounds in intervals:
            if not any(shift_effects(task, Shift([(axis, end)])).get(axis) for end in bounds):
                raise InvalidInputError(f"{axis} changes nothing in {task.id} within its bounds")
        free = [interval for interval in intervals if interval.low < interval.high]
        if not free:
            raise InvalidInputError(f"{name} needs at least one interval, as 'mass[torso]=0.5:2'")
        axes, *ends = zip(*free, strict=True)
        fixed = Shift([(each.axis, each.low) for each in intervals if each not in free])
        nominal = shifted_model(nominal_model(task)[0], fixed)
        return cls(axes, Box(*map(np.array, ends)), fixed, nominal)

    def writer(self, env: Any) -> Callable[[Array], None]:
        """What writes values, one for each axis, into an environment's model."""
        apply_shift(env.model, self.fixed)
        return functools.partial(parameter_writer(self.nominal, self.axes), env.model)


@functools.lru_cache(maxsize=64)
def randomised(game: Game, task: Task, words: tuple[str, ...]) -> Game:
    """The game of one player in worlds whose parameters are drawn at each reset."""
    if game.has_adversary:
        other = f"delta must be 0, not {game.strength}"
        if STRENGTHS.get(game.name) != "delta":
            other = f"so not {game.name}"
        raise InvalidInputError(f"randomise takes no adversary: {other}")
    ranges = Ranges.find(task, "randomise", words)
    return dataclasses.replace(game, wrap=functools.partial(DrawnEnv, ranges=ranges))


class DrawnEnv(gym.Wrapper[Any, Any, Any, Any]):
    """The task in a world whose parameters a reset draws uniformly; its seed fixes them."""

    def __init__(self, env: gym.Env[Any, Any], ranges: Ranges) -> None:
        """``ranges``: where the parameters are drawn from."""
        super().__init__(env)
        self._limits = ranges.limits
        self._write = ranges.writer(self.unwrapped)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """The task's reset, in the world that is drawn."""
        drawn = int(np.random.default_rng().integers(2**63)) if seed is None else seed
        low, high = self._limits
        self.values = episode_generator(drawn, PARAMETERS).uniform(low, high)
        self._write(self.values)
        return self.env.reset(seed=seed, options=options)
