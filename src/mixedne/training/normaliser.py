"""Running mean and deviation of each observation component (Chan's parallel algorithm)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SMALLEST_SCALE = 1e-2
"""Observations that hardly vary, or not yet, are not blown up further than this allows."""


@dataclass(frozen=True)
class RunningMoments:
    """Moments of all observations seen so far, in double precision."""

    count: int
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    """Sum of squared distances from the mean."""

    @classmethod
    def empty(cls, size: int) -> "RunningMoments":
        """Nothing seen yet."""
        return cls(0, np.zeros(size), np.zeros(size))

    def update(self, observations: NDArray[Any]) -> "RunningMoments":
        """These, and (n, size) more."""
        x = np.asarray(observations, np.float64)
        count = self.count + len(x)
        mean, squares = x.mean(0), np.square(x - x.mean(0)).sum(0)
        shift = mean - self.mean
        return RunningMoments(
            count,
            self.mean + shift * len(x) / count,
            self.squares + squares + shift**2 * self.count * len(x) / count,
        )

    def scaling(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Mean and scale; 0 and 1 before anything is seen."""
        if self.count == 0:
            return np.zeros(len(self.mean), np.float32), np.ones(len(self.mean), np.float32)
        deviation = np.sqrt(self.squares / self.count)
        return (
            self.mean.astype(np.float32),
            np.maximum(deviation, SMALLEST_SCALE).astype(np.float32),
        )


class Normaliser(NamedTuple):
    """What observations are normalised by: (s − mean) / scale."""

    mean: Any
    scale: Any


def no_normaliser(size: int) -> Normaliser:
    """Leaves observations as they are."""
    return Normaliser(np.zeros(size, np.float32), np.ones(size, np.float32))
