"""The optimum of the toy MDP: by enumeration, by simulation, and as the grid gets finer."""

import itertools

import numpy as np
import pytest
from toy_optimum import optimal_return, solve

from mixedne.shifts import Shift
from mixedne.tasks import make_worlds, resolve_task
from mixedne.tasks.toy import reward, transition


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_a_small_case_by_enumeration(rho: float) -> None:
    """Actions of −1, 0 and 1 alone, and chance with the trapezoidal weights ¼, ½, ¼."""
    actions = (-1.0, 0.0, 1.0)

    def best(state: float, left: int) -> float:
        if left == 0:
            return 0.0
        after = [best(float(transition(state, a, 1.0, 0.0, 0.0)), left - 1) for a in actions]
        mean = 0.25 * after[0] + 0.5 * after[1] + 0.25 * after[2]
        return float(reward(state) + (1 - rho) * max(after) + rho * mean)

    values, _ = solve(rho, steps=4, cells_per_unit=1)
    for i, state in ((0, -10.0), (10, 0.0), (19, 9.0), (20, 10.0)):
        assert values[i] == pytest.approx(best(state, 4), rel=1e-12)


def test_where_actions_do_nothing_it_is_the_random_walk() -> None:
    worlds = make_worlds(resolve_task("toy"), [(Shift(rho=1.0), seed) for seed in range(2000)])
    worlds.reset()
    returns = np.zeros(2000)
    for _ in range(500):
        returns += worlds.step(np.zeros((2000, 1))).rewards
    error = returns.std() / 2000**0.5
    assert abs(returns.mean() - optimal_return(1.0, cells_per_unit=20)) < 4 * error


def test_the_grid_is_fine_enough() -> None:
    coarse, fine = (optimal_return(0.2, cells_per_unit=cells) for cells in (50, 100))
    assert abs(coarse - fine) < 0.01
    assert fine == pytest.approx(2372.70, abs=0.01)


def test_disturbance_costs_and_the_best_actions_seek_the_peak() -> None:
    returns = [optimal_return(rho, cells_per_unit=20) for rho in (0.0, 0.2, 0.4)]
    assert returns == sorted(returns, reverse=True)
    grid = np.linspace(-10, 10, 401)
    _, actions = solve(0.2, cells_per_unit=20)
    peak = grid[np.argmax(reward(grid))]
    for state, sign in itertools.product((0.5, 1.0), (-1, 1)):
        start = int(np.argmin(np.abs(grid - (peak + sign * state))))
        assert np.sign(actions[start]) == -sign
