"""Schedules over the outer counter t, which starts at one: the paper's σ_t and K_t, and η_t.

They are computed on the host in float64 and passed to a solver as its controls. In float32,
(1 + 10⁻⁵)^t drifts so far that K_t is wrong for thousands of steps.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixedne.errors import check_number


def thermal_noise(
    initial: float, decay: float = 5e-5
) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """The thermal noise σ_t = σ_0 (1 − decay)^t."""
    check_number("initial", initial, at_least=0)
    check_number("decay", decay, at_least=0, at_most=1)

    def sigma(t: ArrayLike) -> NDArray[np.float64]:
        return initial * np.power(1.0 - decay, np.asarray(t, np.float64))

    return sigma


def linear_decay(share: float, total: int) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """The fraction of a learning rate at t, which decays linearly to ``share`` at t = ``total``."""
    check_number("share", share, at_least=0, at_most=1)

    def left(t: ArrayLike) -> NDArray[np.float64]:
        return 1.0 - (1.0 - share) * np.asarray(t, np.float64) / max(total, 1)

    return left


def warmup_steps(
    growth: float = 1e-5, maximum: int = 15
) -> Callable[[ArrayLike], NDArray[np.int32]]:
    """The number of inner steps K_t = min{maximum, ⌊(1 + growth)^t⌋}."""
    check_number("growth", growth, at_least=0)
    check_number("maximum", maximum, at_least=1)

    def inner_steps(t: ArrayLike) -> NDArray[np.int32]:
        with np.errstate(over="ignore"):  # a late t overflows to infinity, which is capped
            grown = np.power(1.0 + growth, np.asarray(t, np.float64))
        return np.floor(np.minimum(maximum, grown)).astype(np.int32)

    return inner_steps
