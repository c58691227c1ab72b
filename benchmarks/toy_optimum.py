"""The best return in the toy MDP M_ρ, by dynamic programming on a fine grid.

    V_t(s) = R(s) + (1 − ρ) max_a V_(t+1)(s + a) + ρ E_a' V_(t+1)(s + a'),    V_500 = 0

with s + a clipped to S. States and actions share one spacing, so that s + a is again on the grid:
the maximum runs over a window of states, and the expectation is the trapezoidal rule over the same
window.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mixedne.errors import check_number
from mixedne.tasks.toy import EDGE, EPISODE_STEPS, reward

Array = NDArray[np.float64]


def optimal_return(rho: float, *, steps: int = EPISODE_STEPS, cells_per_unit: int = 100) -> float:
    """The largest expected undiscounted return of an episode in M_ρ."""
    values, _ = solve(rho, steps=steps, cells_per_unit=cells_per_unit)
    return float(values[len(values) // 2])


def solve(
    rho: float, *, steps: int = EPISODE_STEPS, cells_per_unit: int = 100
) -> tuple[Array, Array]:
    """(V_0, the best first action) on the grid of states, from −10 to 10."""
    check_number("rho", rho, at_least=0, at_most=1)
    check_number("steps", steps, at_least=1)
    check_number("cells_per_unit", cells_per_unit, at_least=1)
    reach = cells_per_unit  # |a| ≤ 1
    states = np.linspace(-EDGE, EDGE, 2 * int(EDGE) * cells_per_unit + 1)
    weights = np.full(2 * reach + 1, 1.0 / (2 * reach))
    weights[[0, -1]] /= 2
    paid = reward(states)
    values = np.zeros_like(states)
    for _ in range(steps):
        # Beyond the edges of S lie copies of its end points: s + a is clipped to S.
        window = sliding_window_view(np.pad(values, reach, mode="edge"), 2 * reach + 1)
        values = paid + (1 - rho) * window.max(axis=1) + rho * window @ weights
    return values, (window.argmax(axis=1) - reach) / cells_per_unit
