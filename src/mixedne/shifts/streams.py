"""Random numbers of an episode, by its seed and the step alone.

Worlds that differ in a shift, in their physics or in their policy meet the same draws, so that
comparisons are paired. The initial state is drawn from the bare seed, as Gymnasium does; every
other use has a stream of its own.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

ACTION_NOISE, POLICY, OBSERVATION_NOISE = 1, 2, 3
"""The streams."""

_BLOCK = 64
# Steps drawn at once; the draws do not depend on it.


def episode_generator(seed: int, stream: int) -> np.random.Generator:
    """The generator of one stream of an episode."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))


def _uniform(generator: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    return generator.random(shape)


def normal(generator: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Standard normal numbers."""
    return generator.standard_normal(shape)


class DrawStream:
    """Numbers for every world and step, each world from its own generator."""

    def __init__(
        self,
        generators: Sequence[np.random.Generator],
        size: int,
        draw: Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]] = _uniform,
    ) -> None:
        """``size`` numbers per world and step, from [0, 1) unless ``draw`` is another law."""
        self._generators = list(generators)
        self._size, self._law = size, draw
        self._block = np.empty((len(self._generators), 0, size))
        self._next = 0

    def draw(self) -> NDArray[np.float64]:
        """(worlds, size) numbers for the next step."""
        if self._next == self._block.shape[1]:
            shape = (_BLOCK, self._size)
            blocks = [self._law(generator, shape) for generator in self._generators]
            self._block = np.stack(blocks) if blocks else np.empty((0, *shape))
            self._next = 0
        self._next += 1
        return self._block[:, self._next - 1]

    def drop(self, done: NDArray[np.bool_]) -> None:
        """Forget these worlds."""
        self._generators = [g for g, gone in zip(self._generators, done, strict=True) if not gone]
        self._block = self._block[~done]
