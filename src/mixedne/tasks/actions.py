"""Actions: between [-1, 1] and a task's box, and the noise that replaces them.

Noise takes a uniform action over the box with probability p. What is drawn depends on the
episode's seed and the step alone, not on p: worlds that differ in p, in their physics or in
their policy meet the same draws, so that comparisons are paired.
"""

from collections.abc import Sequence

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

NOISE_STREAM = 1
"""Keeps the noise apart from the initial state, which is drawn from the bare seed."""

_BLOCK = 64
# Steps drawn at once; the draws do not depend on it.


def from_unit(action: Array, low: Array, high: Array) -> Array:
    """An action in [-1, 1] in the units of the box; exactly itself if the box is [-1, 1]."""
    return (high + low) / 2 + (high - low) / 2 * action


def to_unit(action: Array, low: Array, high: Array) -> Array:
    """An action of the box, scaled to [-1, 1]."""
    return (action - (high + low) / 2) / ((high - low) / 2)


def noise_generator(seed: int) -> np.random.Generator:
    """The generator of an episode's action noise."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(NOISE_STREAM,)))


def replace_actions(actions: Array, draws: Array, noise: Array, low: Array, high: Array) -> Array:
    """Uniform actions instead of ``actions`` where the first of the draws lies below ``noise``.

    ``draws`` holds, along its last axis, 1 + action size numbers from [0, 1). The result has
    the type of ``actions``.
    """
    uniform = (low + (high - low) * draws[..., 1:]).astype(actions.dtype)
    return np.where(draws[..., :1] < noise[..., None], uniform, actions)


class DrawStream:
    """Numbers from [0, 1) for every world and step, each world from its own generator."""

    def __init__(self, generators: Sequence[np.random.Generator], size: int) -> None:
        """``size`` numbers per world and step."""
        self._generators = list(generators)
        self._size = size
        self._block = np.empty((len(self._generators), 0, size))
        self._next = 0

    def draw(self) -> NDArray[np.float64]:
        """(worlds, size) numbers for the next step."""
        if self._next == self._block.shape[1]:
            shape = (_BLOCK, self._size)
            blocks = [generator.random(shape) for generator in self._generators]
            self._block = np.stack(blocks) if blocks else np.empty((0, *shape))
            self._next = 0
        self._next += 1
        return self._block[:, self._next - 1]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Forget the worlds outside ``mask``."""
        self._generators = [g for g, kept in zip(self._generators, mask, strict=True) if kept]
        self._block = self._block[mask]


class ActionNoise:
    """The action noise of a batch of worlds."""

    def __init__(
        self, noise: Sequence[float], seeds: Sequence[int], low: Array, high: Array
    ) -> None:
        """One probability and one episode seed per world."""
        self._noise = np.asarray(noise, dtype=float)
        self._noisy = self._noise > 0  # the others need no draws: each world has its own
        self._low, self._high = low, high
        generators = [noise_generator(seed) for seed, p in zip(seeds, noise, strict=True) if p > 0]
        self._stream = DrawStream(generators, 1 + len(low))

    def __call__(self, actions: Array) -> Array:
        """What the worlds receive in this step; call it once per step."""
        if not self._noisy.any():
            return actions
        mixed = actions.copy()
        mixed[self._noisy] = replace_actions(
            actions[self._noisy],
            self._stream.draw(),
            self._noise[self._noisy],
            self._low,
            self._high,
        )
        return mixed

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Forget the worlds outside ``mask``."""
        self._stream.keep(mask[self._noisy])
        self._noise, self._noisy = self._noise[mask], self._noisy[mask]


class NoisyActions(gym.ActionWrapper[NDArray[np.float64], Array, Array]):
    """The same noise on a single Gymnasium environment."""

    def __init__(
        self, env: gym.Env[NDArray[np.float64], Array], noise: float, low: Array, high: Array
    ) -> None:
        """``noise`` is the probability."""
        super().__init__(env)
        self._noise = np.asarray(noise)
        self._low, self._high = low, high
        self._generator = np.random.default_rng()

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, object]]:
        """Start an episode; a seed starts the noise anew as well."""
        if seed is not None:
            self._generator = noise_generator(seed)
        return self.env.reset(seed=seed, options=options)

    def action(self, action: Array) -> Array:
        """What the environment receives."""
        draws = self._generator.random(1 + len(self._low))
        if not np.issubdtype(np.asarray(action).dtype, np.floating):
            action = np.asarray(action, float)
        return replace_actions(np.asarray(action), draws, self._noise, self._low, self._high)
