"""Actions between [-1, 1] and a task's box."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def from_unit(action: Array, low: Array, high: Array) -> Array:
    """An action in [-1, 1] in the units of the box; exactly itself if the box is [-1, 1]."""
    return (high + low) / 2 + (high - low) / 2 * action
