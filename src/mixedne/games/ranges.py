"""Ranges of physical parameters, and worlds whose parameters are fixed for an episode.

Domain randomisation is a one-player game whose world is drawn at every reset. In M2TD3, the
adversary chooses the world of an episode; the critic sees its parameters, and the agent does not.
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
from mixedne.games.game import Box, Branch, Game
from mixedne.names import STRENGTHS
from mixedne.shifts import Axis, Shift
from mixedne.shifts.channels import PARAMETERS, episode_generator
from mixedne.shifts.model import apply_shift, parameter_writer, physics_kept
from mixedne.shifts.sets import read_intervals
from mixedne.tasks import Task, check_axes, shift_effects
from mixedne.tasks.registry import nominal_model
from mixedne.types import Players

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranges:
    """Parameters of a task's model, each with its own bounds."""

    axes: tuple[Axis, ...]
    limits: Box
    fixed: Shift
    """The parameters whose bounds are equal, at these values."""
    nominal: Any
    """The task's model."""

    @classmethod
    def find(cls, task: Task, name: str, words: Iterable[str]) -> "Ranges":
        """Parse the words of the field ``name``: intervals like ``mass[torso]=0.5:2``, or sets."""
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
        return cls(axes, Box(*map(np.array, ends)), fixed, nominal_model(task)[0])

    def writer(self, env: Any) -> Callable[[Array], None]:
        """A function that writes values, one per axis, into an environment's model."""
        apply_shift(env.model, self.fixed)
        # Fixed values are written, too: they may share an array with the others.
        write = parameter_writer(self.nominal, (*self.axes, *self.fixed.axes))
        fixed = [value for _, value in self.fixed.values]
        return lambda values: write(env.model, np.array([*values, *fixed]))


@functools.lru_cache(maxsize=64)
def randomised(game: Game, task: Task, words: tuple[str, ...]) -> Game:
    """The one-player game in worlds whose parameters are drawn at each reset."""
    if game.has_adversary or game.unseen:
        other = f"delta must be 0, not {game.strength}"
        if STRENGTHS.get(game.name) != "delta":
            other = f"so not {game.name}"
        raise InvalidInputError(f"randomise takes no adversary: {other}")
    ranges = Ranges.find(task, "randomise", words)
    return dataclasses.replace(game, wrap=functools.partial(DrawnEnv, ranges=ranges))


def m2td3_game(task: Task, parameters: tuple[str, ...] | None) -> Game:
    """A game in which the adversary chooses each episode's parameters, and nothing else."""
    if not parameters:
        raise InvalidInputError(
            "the formulation m2td3 needs parameters= and their bounds, as in rrls-2d"
        )
    ranges = Ranges.find(task, "parameters", parameters)
    box, count = Box(task.action_low, task.action_high), len(ranges.axes)
    return Game(
        "m2td3",
        None,
        task.observation_size + count,
        Players(box, None),
        executed=box,
        branches=lambda a, b: (Branch(1.0, a),),
        unseen=count,
        scaled=count,
        wrap=functools.partial(DrawnEnv, ranges=ranges, shown=True),
    )


class DrawnEnv(gym.ObservationWrapper[Any, Any, Any]):
    """The task in a world whose parameters are drawn uniformly at each reset, from its seed.

    They can also be given, scaled to [−1, 1]: ``reset(options={"parameters": …})``.
    """

    def __init__(self, env: gym.Env[Any, Any], ranges: Ranges, *, shown: bool = False) -> None:
        """``shown``: whether observations end with the parameters, scaled to [−1, 1]."""
        super().__init__(env)
        self._axes, self._limits, self._is_shown = ranges.axes, ranges.limits, shown
        self._write = ranges.writer(self.unwrapped)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the task, with parameters that are given or drawn."""
        low, high = self._limits
        unit = (options or {}).get("parameters")
        if unit is None:
            drawn = int(np.random.default_rng().integers(2**63)) if seed is None else seed
            unit = episode_generator(drawn, PARAMETERS).uniform(-1, 1, len(low))
        self._unit = np.asarray(unit, float)
        self.values = low + (high - low) * (self._unit + 1) / 2
        self._write(self.values)
        with physics_kept(self, self._axes):
            return super().reset(seed=seed, options=options)

    def observation(self, observation: Any) -> Any:
        """The task's observation, followed by the parameters if they are shown."""
        return np.concatenate([observation, self._unit]) if self._is_shown else observation
