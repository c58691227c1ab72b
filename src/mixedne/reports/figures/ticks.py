"""Ticks at values that people read easily."""

import numpy as np
from matplotlib.ticker import MaxNLocator

NICE = (1, 0.5, 2, 0.1, 10, 0.25, 4, 0.2, 5, 1.5, 0.75, 3, 0.05, 20, 8, 1.25, 0.01, 100, 0.9, 1.1)
"""Ticks of axes that hold multiples, the most welcome first."""

ROUND = [1, 2, 2.5, 5, 10]
"""Steps between ticks, times a power of ten."""


def multiples(low: float, high: float, room: int) -> list[float]:
    """At most about ``room`` welcome multiples in a range, apart on a logarithmic axis."""
    apart = np.log(high / low) / room * 0.95
    ticks: list[float] = []
    for tick in NICE:
        if low <= tick <= high and all(abs(np.log(tick / other)) >= apart for other in ticks):
            ticks.append(tick)
    return sorted(ticks) if len(ticks) > 2 else evenly(low, high, room)


def evenly(low: float, high: float, room: int) -> list[float]:
    """At most about ``room`` round values in a range, at equal steps."""
    between = MaxNLocator(room, steps=ROUND).tick_values(low, high)
    return [float(tick) for tick in between if low <= tick <= high] or [low]
