"""Shifts between a policy and its world: what becomes of actions and of observations.

All that is random in an episode depends on its seed and the step alone. Worlds that differ in a
shift, in their physics or in their policy meet the same draws, so that comparisons are paired. The
initial state is drawn from the bare seed, as Gymnasium does; every other use has a stream of its
own.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating]
Rows: TypeAlias = NDArray[np.intp] | slice
"""Which worlds of those that there were at the beginning."""

ALL = slice(None)

ACTION_NOISE, POLICY, OBSERVATION_NOISE, PARAMETERS, RANDOM_ATTACK = 1, 2, 3, 4, 5
"""The streams."""

_BLOCK = 64
# Steps drawn at once; the draws do not depend on it.


def episode_generator(seed: int, stream: int) -> np.random.Generator:
    """The generator of one stream of an episode."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))


class DrawStream:
    """Numbers for every world and step, each world from its own generator."""

    def __init__(
        self,
        generators: Sequence[np.random.Generator],
        size: int,
        law: Callable[..., NDArray[np.float64]] = np.random.Generator.random,
    ) -> None:
        """``size`` numbers per world and step, from [0, 1) unless ``law`` is another method."""
        self._generators, self._law = generators, law
        self._block = np.empty((len(generators), _BLOCK, size))
        self._steps = 0

    def draw(self, worlds: Rows = ALL) -> NDArray[np.float64]:
        """(worlds, size) numbers for the next step; a world that was left out once stays out."""
        step = self._steps % _BLOCK
        if step == 0:
            for world in np.arange(len(self._generators))[worlds]:
                self._block[world] = self._law(self._generators[world], self._block.shape[1:])
        self._steps += 1
        return self._block[worlds, step]


Spaces: TypeAlias = Any
"""What a task says: ``action_low`` and ``action_high``, the box, and ``observation_size``."""

Channel: TypeAlias = Callable[[Array, Rows], Array]
"""From a row for each of the worlds named, what becomes of it; called once per step, and for
observations at the reset too."""

MakeChannel: TypeAlias = Callable[[NDArray[np.float64], Sequence[int], Spaces], Channel]
"""From each world's number, each world's episode seed, and the task."""


class ActionNoise:
    """With probability p, a uniform action over the task's box replaces the policy's."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One probability and one episode seed per world."""
        self._noise = values
        self._low, self._high = spaces.action_low, spaces.action_high
        generators = [episode_generator(seed, ACTION_NOISE) for seed in seeds]
        self._stream = DrawStream(generators, 1 + len(self._low))

    def __call__(self, rows: Array, worlds: Rows = ALL) -> Array:
        """Uniform actions where the first of a world's draws lies below p; the type stays."""
        draws = self._stream.draw(worlds)
        uniform = (self._low + (self._high - self._low) * draws[:, 1:]).astype(rows.dtype)
        return np.where(draws[:, :1] < self._noise[worlds, None], uniform, rows)


class ActionDelay:
    """The world receives the action of so many steps ago, and the box's centre before that."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One number of steps per world."""
        self._delays = values.astype(int)
        self._centre = (spaces.action_low + spaces.action_high) / 2
        self._history: list[Array] = []  # of all worlds, the newest first

    def __call__(self, rows: Array, worlds: Rows = ALL) -> Array:
        """The actions that are due."""
        newest = np.tile(self._centre.astype(rows.dtype), (len(self._delays), 1))
        due, delays = newest[worlds].copy(), self._delays[worlds]
        newest[worlds] = rows
        self._history = [newest, *self._history[: self._delays.max()]]
        for delay in np.unique(delays[delays < len(self._history)]):
            due[delays == delay] = self._history[delay][worlds][delays == delay]
        return due


class ObservationNoise:
    """The policy sees the observation plus normal noise; the world and its rewards do not."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One standard deviation, in the observations' own units, per world."""
        self._scale = values
        generators = [episode_generator(seed, OBSERVATION_NOISE) for seed in seeds]
        normal = np.random.Generator.standard_normal
        self._stream = DrawStream(generators, spaces.observation_size, normal)

    def __call__(self, rows: Array, worlds: Rows = ALL) -> Array:
        """What the policies see."""
        return rows + self._scale[worlds, None] * self._stream.draw(worlds)
