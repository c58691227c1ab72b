"""The agents' equations, by hand and against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixedne.agents.losses import (
    alpha_loss,
    critic_loss,
    discounted_returns_to_go,
    expected_q,
    gaussian,
    gaussian_log_prob,
    reinforce_objective,
    returns_to_go,
    smooth_target_action,
    soft_value,
    squashed_gaussian,
    td_target,
)


def test_td_target_by_hand() -> None:
    # 1 + 0.9 · 5 = 5.5; where the task ended the episode, the reward alone.
    one, five = jnp.asarray(1.0), jnp.asarray(5.0)
    assert float(td_target(one, jnp.asarray(0.0), five, 0.9)) == pytest.approx(5.5)
    assert float(td_target(one, jnp.asarray(1.0), five, 0.9)) == 1


def test_critic_loss_by_hand() -> None:
    # y = 3 against 1 and 5.5: (3 − 1)² + (3 − 5.5)² = 4 + 6.25
    target, values = jnp.asarray(3.0), [jnp.asarray(1.0), jnp.asarray(5.5)]
    assert float(critic_loss(values[:1], target)) == 4
    assert float(critic_loss(values, target)) == 10.25


def test_smooth_target_action_by_hand() -> None:
    # σ = ½, c = 0.6: noise ½·1 = 0.5 stays; ½·3 is cut to 0.6; ½·(−3) to −0.6;
    # 0.9 + 0.5 is cut to 1, and −0.9 − 0.6 to −1.
    action = jnp.array([0.0, 0.0, 0.0, 0.9, -0.9])
    normal = jnp.array([1.0, 3.0, -3.0, 1.0, -3.0])
    np.testing.assert_allclose(
        smooth_target_action(action, normal, 0.5, 0.6), [0.5, 0.6, -0.6, 1, -1]
    )
    np.testing.assert_allclose(smooth_target_action(action, normal, 0.0, 0.6), action)


MEAN, DEVIATION = 0.3, 0.6
OUTPUTS = jnp.array([MEAN, np.log(DEVIATION)])


def log_density(action: float | np.ndarray) -> np.ndarray:
    """Our log π at given actions: ξ = (artanh a − μ) / σ."""
    normal = (np.arctanh(action) - MEAN) / DEVIATION
    found, log_probability = jax.vmap(squashed_gaussian, (None, 0))(
        OUTPUTS, jnp.asarray(normal, jnp.float32)[:, None]
    )
    np.testing.assert_allclose(found[:, 0], action, atol=1e-6)
    return np.asarray(log_probability)


def test_squashed_density_integrates_to_one() -> None:
    edges = np.linspace(-1, 1, 4001)
    middles = (edges[1:] + edges[:-1]) / 2
    assert np.exp(log_density(middles)).mean() * 2 == pytest.approx(1, abs=1e-4)


def test_squashed_density_by_change_of_variables() -> None:
    # a = tanh u, da/du = 1 − a², so p(a) = N(u) / (1 − a²)
    action = np.linspace(-0.99, 0.99, 199)
    expected = stats.norm.logpdf(np.arctanh(action), MEAN, DEVIATION) - np.log(1 - action**2)
    np.testing.assert_allclose(log_density(action), expected, rtol=1e-4, atol=1e-4)


def test_squashed_actions_are_independent() -> None:
    outputs, normal = jnp.array([0.3, -1.0, -0.5, 0.2]), jnp.array([0.7, -1.3])
    both, log_both = squashed_gaussian(outputs, normal)
    parts = [squashed_gaussian(outputs[i::2], normal[i : i + 1]) for i in range(2)]
    np.testing.assert_allclose(both, np.concatenate([action for action, _ in parts]), rtol=1e-6)
    assert float(log_both) == pytest.approx(sum(float(log) for _, log in parts), rel=1e-5)
    # u = 0.3 + e^(−½) · 0.7 = 0.72457, tanh u = (e^1.44914 − 1) / (e^1.44914 + 1) = 0.61973
    assert float(both[0]) == pytest.approx(0.61973, abs=1e-5)


def test_squashed_far_out_stays_finite() -> None:
    # u = 50: 1 − tanh² u is 0 in floating point, but log(1 − tanh² u) = 2 log 2 − 2 · 50;
    # log N(ξ = 0; σ = 1) = −½ log 2π. So log π = −0.91894 + 100 − 1.38629.
    outputs = jnp.array([50.0, 0.0])
    action, log_probability = squashed_gaussian(outputs, jnp.zeros(1))
    assert float(action[0]) == 1
    assert float(log_probability) == pytest.approx(97.69476, rel=1e-6)
    slope = jax.grad(lambda y: squashed_gaussian(y, jnp.zeros(1))[1])(outputs)
    np.testing.assert_allclose(slope, [2, -1], rtol=1e-6)


@pytest.mark.parametrize(("output", "clipped"), [(-90.0, -20.0), (5.0, 2.0), (1.5, 1.5)])
def test_log_deviation_is_clipped(output: float, clipped: float) -> None:
    # μ = −½, ξ = ½: a = tanh(−½ + ½ e^clipped), log N = −⅛ − clipped − ½ log 2π
    action, log_probability = squashed_gaussian(jnp.array([-0.5, output]), jnp.array([0.5]))
    u = -0.5 + 0.5 * np.exp(clipped)
    assert float(action[0]) == pytest.approx(np.tanh(u), rel=1e-5)
    expected = -0.125 - clipped - 0.5 * np.log(2 * np.pi) + 2 * np.log(np.cosh(u))
    assert float(log_probability) == pytest.approx(expected, rel=1e-5)


def test_expected_q_by_hand() -> None:
    # Q(a) = a², branches 0.75 at 2 and 0.25 at −4: 0.75 · 4 + 0.25 · 16 = 7
    branches = [(0.75, jnp.asarray(2.0)), (0.25, jnp.asarray(-4.0))]
    assert float(expected_q(jnp.square, branches)) == 7


def test_soft_value_and_alpha_loss_by_hand() -> None:
    # 5 − 0.2 · (−3) = 5.6; the slope of −log α (−3 + 2) is −(−3 + 2) = 1
    assert float(soft_value(jnp.asarray(5.0), jnp.asarray(-3.0), 0.2)) == pytest.approx(5.6)
    slope = jax.grad(alpha_loss)(jnp.asarray(0.7), jnp.asarray(-3.0), 2.0)
    assert float(slope) == 1


def test_returns_by_hand() -> None:
    # γ = ½, r = 1, 2, 4: G = 1 + 1 + 1, 2 + 2, 4; γ^t G = 3, 2, 1
    rewards = jnp.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(returns_to_go(rewards, 0.5), [3, 4, 4])
    np.testing.assert_allclose(discounted_returns_to_go(rewards, 0.5), [3, 2, 1])


def test_gaussian_log_prob_against_scipy() -> None:
    outputs, normal = jnp.array([0.3, -1.0, -0.5, 2.0]), jnp.array([0.7, -1.3])
    mean, deviation = gaussian(outputs)
    np.testing.assert_allclose(deviation, np.sqrt(np.log1p(np.exp([-0.5, 2.0]))), rtol=1e-6)
    action = np.asarray(mean + deviation * normal)
    found = gaussian_log_prob(mean, deviation, normal)
    expected = stats.norm.logpdf(action, mean, deviation).sum()
    assert float(found) == pytest.approx(expected, rel=1e-5)
    assert float(reinforce_objective(found, jnp.asarray(-2.0))) == pytest.approx(-2 * expected)

    # Its slope holds the action: that of log N(a; μ(y), σ(y)) by differences, a as it was.
    def log_density(y: np.ndarray) -> float:
        spread = np.sqrt(np.log1p(np.exp(y[2:])))
        return float(stats.norm.logpdf(action, y[:2], spread).sum())

    slope = jax.grad(lambda y: gaussian_log_prob(*gaussian(y), normal))(outputs)
    y = np.asarray(outputs, np.float64)
    steps = 1e-5 * np.eye(4)
    differences = [(log_density(y + h) - log_density(y - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope, differences, rtol=1e-4, atol=1e-4)
