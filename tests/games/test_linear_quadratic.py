"""The linear-quadratic game: its equilibrium by brute force, and learned."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo")

from pettingzoo.test import parallel_api_test

from mixedne import InvalidInputError
from mixedne.games.linear_quadratic import GAME, LinearQuadratic, parallel_env

GAMMA = 0.8
RANDOM = np.random.default_rng(0)
PLANE = LinearQuadratic(
    a=np.array([[0.9, 0.2], [-0.1, 0.8]]),
    b=np.array([[0.0], [0.6]]),
    c=np.array([[0.3, 0.0], [0.1, 0.2]]),
    q=np.diag([1.0, 0.5]),
    r=np.array([[0.7]]),
    s=np.diag([2.0, 3.0]),
)


def cost(game: LinearQuadratic, k: np.ndarray, w: np.ndarray, x: np.ndarray) -> float:
    """Σ γ^t of what is paid, played out: u = −k x and w = w x."""
    total = 0.0
    for t in range(150):
        u, d = -k @ x, w @ x
        total += GAMMA**t * float(x @ game.q @ x + u @ game.r @ u - d @ game.s @ d)
        x = game.a @ x + game.b @ u + game.c @ d
    return total


@pytest.mark.parametrize("game", [GAME, PLANE], ids=["line", "plane"])
def test_nobody_can_do_better_alone(game: LinearQuadratic) -> None:
    """Played out, the value is xᵀP x, and every other gain costs whoever takes it."""
    k, w, p = game.equilibrium(GAMMA)
    for x in RANDOM.uniform(-1, 1, (3, len(p))):
        assert cost(game, k, w, x) == pytest.approx(x @ p @ x, rel=1e-9)
        for size in (0.3, 0.01):
            for _ in range(5):
                other_k, other_w = (g + size * RANDOM.standard_normal(g.shape) for g in (k, w))
                assert cost(game, other_k, w, x) > x @ p @ x
                assert cost(game, k, other_w, x) < x @ p @ x


def test_the_value_of_a_grid() -> None:
    """Value iteration on a grid of x, u and w, without any algebra, agrees to the grid's width."""
    x, u = np.linspace(-1, 1, 81), np.linspace(-1, 1, 81)
    (a, b, c, q, r, s) = (float(m[0, 0]) for m in GAME)
    paid = q * x[:, None, None] ** 2 + r * u[:, None] ** 2 - s * u**2
    after = a * x[:, None, None] + b * u[:, None] + c * u
    value = np.zeros_like(x)
    for _ in range(25):
        # Beyond the grid, which the best moves do not reach, x² is the guess.
        outside = value[-1] * after**2
        future = np.where(np.abs(after) > 1, outside, np.interp(after, x, value))
        stage = paid + GAMMA * future
        value = stage.max(axis=2).min(axis=1)
    k, w, p = (float(m[0, 0]) for m in GAME.equilibrium(GAMMA))
    np.testing.assert_allclose(value, p * x**2, atol=0.02)
    best = stage.max(axis=2).argmin(axis=1)
    np.testing.assert_allclose(u[best], -k * x, atol=0.05)
    np.testing.assert_allclose(u[stage[np.arange(81), best].argmax(axis=1)], w * x, atol=0.05)


def test_a_disturber_that_pays_too_little() -> None:
    with pytest.raises(InvalidInputError, match="no equilibrium with the discount"):
        GAME._replace(s=np.full((1, 1), 0.1)).equilibrium(GAMMA)


def test_the_environment_is_the_game() -> None:
    parallel_api_test(parallel_env(), num_cycles=30)
    env = parallel_env()
    seen, _ = env.reset(seed=3)
    x = float(seen["controller"][0])
    seen, rewards, *_ = env.step({"controller": np.full(1, 0.5), "disturber": np.full(1, -0.2)})
    assert rewards["controller"] == pytest.approx(-(x**2 + 0.5**2 - 1.5 * 0.2**2), rel=1e-6)
    assert rewards["disturber"] == -rewards["controller"]
    assert seen["disturber"][0] == pytest.approx(0.9 * x + 0.5 * 0.5 - 0.5 * 0.2, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["mixedne-ld", "gad", "extra-adam"])
def test_both_players_learn_the_equilibrium(solver: str, tmp_path: Path) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "linear_quadratic.py"))
    gains = example["learned_gains"](tmp_path / "run", solver, 0)
    assert gains == pytest.approx(example["EXACT"], rel=0.05)
