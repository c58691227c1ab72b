"""The toy MDP: by hand, and the same in Gymnasium, in the worlds and in JAX."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixedne.errors import InvalidInputError
from mixedne.tasks import Shift, make_env, make_worlds, resolve_task
from mixedne.tasks.toy import ToyEnv, reward, transition
from mixedne.training.assembly import toy_world


def test_the_papers_formulas_by_hand() -> None:
    """R(0) = 0 + 1 + 3; R(2) = sin 2.607681 + cos 1.095445 + 3 = 0.508867 + 0.457649 + 3."""
    assert reward(0.0) == 4.0
    assert math.isclose(reward(2.0), math.sin(2 * 1.7**0.5) + math.cos(2 * 0.3**0.5) + 3)
    assert transition(1.0, 0.5, 0.2, -1.0, 0.2) == 1.5  # u = ρ: the action stands
    assert transition(1.0, 0.5, 0.19, -1.0, 0.2) == 0.0  # u < ρ: replaced
    assert transition(9.8, 0.5, 0.9, 0.0, 0.2) == 10.0
    assert transition(-9.8, -0.5, 0.9, 0.0, 0.2) == -10.0
    assert transition(0.0, 7.0, 0.9, 0.0, 0.2) == 1.0  # A = [-1, 1]


def test_an_episode_starts_at_zero_pays_the_state_left_and_lasts_500_steps() -> None:
    env = make_env(resolve_task("toy"), Shift(rho=0.0))
    observation, _ = env.reset(seed=0)
    assert observation == 0.0
    for step in range(1, 501):
        left = observation
        observation, paid, terminated, truncated, _ = env.step(np.array([0.25]))
        assert paid == reward(left)[0]
        assert observation == min(0.25 * step, 10.0)
        assert (terminated, truncated) == (False, step == 500)


def jax_step(rhos: Any, states: Any, actions: Any, draws: Any) -> tuple[Any, Any]:
    """One step of the JAX world, for many values of ρ."""
    return jax.vmap(lambda rho, *given: toy_world(rho).step(*given))(rhos, states, actions, draws)


@pytest.mark.slow
def test_environment_worlds_and_jax_agree_on_the_same_noise() -> None:
    """Whole episodes; JAX in double precision, given the environment's own noise."""
    task = resolve_task("toy")
    cases = [(Shift(), 0), (Shift(rho=0.0), 1), (Shift(rho=0.4), 1), (Shift(rho=1.0, noise=0.3), 2)]
    worlds = make_worlds(task, cases)
    envs = [make_env(task, shift) for shift, _ in cases]
    generators = []
    worlds.reset()
    for env, (_, seed) in zip(envs, cases, strict=True):
        env.reset(seed=seed)
        generators.append(np.random.default_rng(np.random.SeedSequence(seed)))
    actions = np.random.default_rng(0).uniform(-1.1, 1.1, (500, 4, 1))
    with jax.enable_x64(True):
        rhos, state = jnp.array([0.2, 0.0, 0.4, 1.0]), jnp.zeros((4, 1))
        for action in actions:
            step = worlds.step(action)
            results = [env.step(a)[:4] for env, a in zip(envs, action, strict=True)]
            for found, wanted in zip(step, zip(*results, strict=True), strict=True):
                np.testing.assert_array_equal(found, np.array(wanted))
            draws = jnp.array([generator.random(2) for generator in generators])
            state, paid = jax_step(rhos, state, jnp.array(action), draws)
            np.testing.assert_allclose(step.rewards, paid, rtol=1e-14)
            # The last world's action noise acts before ρ, which replaces every action anyway.
            np.testing.assert_array_equal(step.observations, state)
    assert step.truncated.all()


def test_jax_steps_have_the_right_law() -> None:
    """From 0 with a = 1: 1 with probability 0.6; otherwise uniform, of mean 0."""
    draws, count = jax.random.uniform(jax.random.key(0), (20_000, 2)), 20_000
    rhos, one = jnp.full(count, 0.4), jnp.ones((count, 1))
    after, paid = jax_step(rhos, jnp.zeros((count, 1)), one, draws)
    assert jnp.all(paid == 4.0)
    assert abs(float(jnp.mean(after == 1.0)) - 0.6) < 0.02
    others = after[after != 1.0]
    assert abs(float(others.mean())) < 0.03
    assert float(others.min()) < -0.99


def test_rho_is_checked() -> None:
    with pytest.raises(InvalidInputError, match="rho must be at most 1"):
        ToyEnv(1.5)


def test_more_noise_means_the_same_draws() -> None:
    """Common random numbers: a world at ρ = 0.3 differs from ρ = 0.1 only where u in between."""
    task = resolve_task("toy")
    worlds = make_worlds(task, [(Shift(rho=0.1), 4), (Shift(rho=0.3), 4), (Shift(rho=1.0), 4)])
    states = [worlds.reset()[:, 0]]
    states += [worlds.step(np.full((3, 1), 0.01)).observations[:, 0] for _ in range(20)]
    calm, restless, wild = np.diff(np.array(states), axis=0).T
    for moved in (calm, restless):
        close = np.isclose(moved, 0.01) | np.isclose(moved, wild)
        assert close.all()
