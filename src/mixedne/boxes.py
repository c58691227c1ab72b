"""Boxes of actions, which policies choose in [−1, 1]."""

from typing import Any

import numpy as np

MAX_ACTION = 1e9
"""Maximum bound of an action; policy files with larger ones are treated as damaged."""


def centre_and_reach(low: Any, high: Any) -> tuple[Any, Any]:
    """Centre and half-width of a box of actions, such that rounding never leads out of it."""
    centre, reach = (high + low) / 2, (high - low) / 2
    nearer = np.minimum(high - centre, centre - low)
    for narrower in (nearer, np.nextafter(nearer, 0)):
        is_out = (centre + reach > high) | (centre - reach < low)
        reach = np.where(is_out, narrower, reach)
    return centre, reach
