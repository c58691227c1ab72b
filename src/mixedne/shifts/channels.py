"""Shifts between a policy and its world, applied to actions and observations.

All random numbers in an episode depend only on its seed and the step. Worlds that differ in a
shift, in their physics or in their policy get the same numbers, so that comparisons are paired. The
initial state is drawn from the seed itself, as in Gymnasium; every other use has its own stream.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating]
Rows: TypeAlias = NDArray[np.intp] | slice
"""A selection of the initial worlds."""

ALL = slice(None)

ACTION_NOISE, POLICY, OBSERVATION_NOISE, PARAMETERS, RANDOM_ATTACK, LOTTERY = range(1, 7)
"""Numbers of the random streams."""

_BLOCK = 64
# Number of steps that are drawn at once; the draws do not depend on it.


def episode_generator(seed: int, stream: int) -> np.random.Generator:
    """The random generator of one stream of an episode."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))


class DrawStream:
    """Random numbers for every world and step, each world from its own generator."""

    def __init__(
        self,
        generators: Sequence[np.random.Generator],
        size: int,
        law: Callable[..., NDArray[np.float64]] = np.random.Generator.random,
    ) -> None:
        """``size`` numbers per world and step, uniform on [0, 1) unless ``law`` is given."""
        self._generators, self._law = generators, law
        self._block = np.empty((len(generators), _BLOCK, size))
        self._steps = 0

    def draw(self, worlds: Rows = ALL) -> NDArray[np.float64]:
        """(worlds, size) numbers for the next step; a world that is left out once stays out."""
        step = self._steps % _BLOCK
        if step == 0:
            for world in np.arange(len(self._generators))[worlds]:
                self._block[world] = self._law(self._generators[world], self._block.shape[1:])
        self._steps += 1
        return self._block[worlds, step]


Spaces: TypeAlias = Any
"""A task's ``action_low``, ``action_high`` and ``observation_size``."""

Channel: TypeAlias = Callable[[Array, Rows], Array]
"""A function that transforms one row per world; called once per step, and for observations also at
the reset."""

MakeChannel: TypeAlias = Callable[[NDArray[np.float64], Sequence[int], Spaces], Channel]
"""A function that makes a channel from each world's value and episode seed, and the task."""


class ActionNoise:
    """With probability p, a uniform action from the task's box replaces the policy's."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One probability and one episode seed per world."""
        self._noise = values
        self._low, self._high = spaces.action_low, spaces.action_high
        generators = [episode_generator(seed, ACTION_NOISE) for seed in seeds]
        self._stream = DrawStream(generators, 1 + len(self._low))

    def __call__(self, rows: Array, worlds: Rows = ALL) -> Array:
        """Replace actions where a world's first draw is below p; the dtype is kept."""
        draws = self._stream.draw(worlds)
        uniform = (self._low + (self._high - self._low) * draws[:, 1:]).astype(rows.dtype)
        return np.where(draws[:, :1] < self._noise[worlds, None], uniform, rows)


class ActionDelay:
    """The world receives the action from some steps ago, and at first the box's centre."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One delay, in steps, per world."""
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
    """The policy sees observations with normal noise; the world and its rewards are unaffected."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One standard deviation, in the observations' own units, per world."""
        self._scale = values
        generators = [episode_generator(seed, OBSERVATION_NOISE) for seed in seeds]
        normal = np.random.Generator.standard_normal
        self._stream = DrawStream(generators, spaces.observation_size, normal)

    def __call__(self, rows: Array, worlds: Rows = ALL) -> Array:
        """The observations with noise."""
        return rows + self._scale[worlds, None] * self._stream.draw(worlds)
