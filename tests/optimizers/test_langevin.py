"""Langevin dynamics against the law they sample from, and against RMSProp."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.stats import norm

from mixedne.errors import InvalidInputError
from mixedne.optimizers import langevin, rmsprop, sgld
from mixedne.optimizers.langevin import normals_from_bits, standard_normal_like
from probes.compiling import OPTIMISED

CHAINS = 200_000


def stationary_variance(optimizer: Any, steps: int, chains: int = CHAINS) -> float:
    """Variance over chains after many steps on g(z) = z²/2, all chains starting at zero."""

    def step(carry: Any, t: Any) -> Any:
        z, state = carry
        update, state = optimizer.update(z, state, key=jax.random.fold_in(jax.random.key(0), t))
        return (z + update, state), None

    def run(z: jax.Array) -> Any:
        return jax.lax.scan(step, (z, optimizer.init(z)), jnp.arange(steps))

    (z, _), _ = jax.jit(run, compiler_options=OPTIMISED)(jnp.zeros(chains))
    return float(jnp.mean(z**2))


def assert_variance(measured: float, expected: float, chains: int = CHAINS) -> None:
    four_standard_errors = 4 * expected * (2 / chains) ** 0.5
    assert abs(measured - expected) < four_standard_errors


@pytest.mark.parametrize(("eta", "epsilon"), [(0.5, 1.0), (0.1, 0.3)])
def test_plain_langevin_has_the_known_variance(eta: float, epsilon: float) -> None:
    # z' = (1 − η) z + √(2η) ε ξ  ⇒  V = 2η ε² / (1 − (1 − η)²) = ε² / (1 − η/2)
    measured = stationary_variance(sgld(eta, epsilon), steps=int(20 / eta))
    assert_variance(measured, epsilon**2 / (1 - eta / 2))


@pytest.mark.parametrize(("c", "eta"), [(2.0, 1.0), (0.5, 0.25)])
def test_a_fixed_preconditioner_has_the_known_variance(c: float, eta: float) -> None:
    # z' = (1 − η/C) z + √(2η/C) σ ξ  ⇒  V = σ² / (1 − η/(2C)); m is held at C² by α = 1.
    optimizer = langevin(eta, 0.7, decay=1.0, epsilon=0.0, initial_second_moment=c**2)
    measured = stationary_variance(optimizer, steps=int(20 * c / eta))
    assert_variance(measured, 0.7**2 / (1 - eta / (2 * c)))


@pytest.mark.slow
def test_an_adaptive_preconditioner_approaches_the_law() -> None:
    # No closed form; the bias vanishes as η → 0 with α → 1 faster (1 − α of order η²), so
    # that m averages over many times the chain's memory. docs/solvers.md tables it.
    chains = 20_000
    settings = [(0.9, 0.3), (0.99, 0.1), (0.999, 0.03)]
    bias = [
        stationary_variance(
            langevin(eta, 1.0, decay=alpha, initial_second_moment=1.0),
            int(8 / (1 - alpha)),
            chains,
        )
        - 1
        for alpha, eta in settings
    ]
    assert bias[0] > 2 * bias[1] > 4 * bias[2]
    assert abs(bias[2]) < 0.08


@pytest.mark.parametrize("corrected", [False, True])
def test_without_noise_it_is_rmsprop_exactly(key: jax.Array, corrected: bool) -> None:
    params = {"w": jax.random.normal(key, (5, 4)), "b": jnp.zeros(4)}
    options: dict[str, Any] = {"decay": 0.9, "bias_correction": corrected}
    cold, plain = langevin(0.01, 0.0, **options), rmsprop(0.01, **options)

    @jax.jit
    def both(params: Any, cold_state: Any, plain_state: Any, t: Any) -> Any:
        gradients = jax.tree.map(lambda p: jnp.sin(3 * p) + t, params)
        a, cold_state = cold.update(gradients, cold_state, params)
        b, plain_state = plain.update(gradients, plain_state, params)
        return a, b, cold_state, plain_state

    states = cold.init(params), plain.init(params)
    for t in range(5):
        a, b, *states = both(params, *states, t)
        jax.tree.map(np.testing.assert_array_equal, a, b)
        params = optax.apply_updates(params, a)


def test_rmsprop_against_hand_worked_steps() -> None:
    # α = 0.5, ε = 0, η = 0.1, gradients 2 then 4:
    # m = 0.5·0 + 0.5·4 = 2, step = −0.1·2/√2;  m = 0.5·2 + 0.5·16 = 9, step = −0.1·4/3
    optimizer = rmsprop(0.1, decay=0.5, epsilon=0.0)
    state = optimizer.init(jnp.zeros(()))
    first, state = optimizer.update(jnp.asarray(2.0), state)
    second, _ = optimizer.update(jnp.asarray(4.0), state)
    np.testing.assert_allclose([first, second], [-0.2 / 2**0.5, -0.4 / 3], rtol=1e-6)


def test_corrected_rmsprop_against_hand_worked_steps() -> None:
    # As above, with m / (1 − αⁿ): 2 / 0.5 = 4, step = −0.1·2/2;  9 / 0.75 = 12, step = −0.1·4/√12
    optimizer = rmsprop(0.1, decay=0.5, epsilon=0.0, bias_correction=True)
    state = optimizer.init(jnp.zeros(()))
    first, state = optimizer.update(jnp.asarray(2.0), state)
    second, _ = optimizer.update(jnp.asarray(4.0), state)
    np.testing.assert_allclose([first, second], [-0.1, -0.4 / 12**0.5], rtol=1e-6)


def test_the_first_corrected_step_is_eta_and_its_noise_has_no_root_of_alpha() -> None:
    # n = 1: m̂ = g², so C = |g| = 9: −η sign(g) + √(2η) σ ξ / 3, with α = 0.999 and η = 0.5
    optimizer = langevin(0.5, 0.3, epsilon=0.0, bias_correction=True)
    g, xi = jnp.full(3, -9.0), jnp.asarray([1.0, 0.0, -2.0])
    update, _ = optimizer.update(g, optimizer.init(g), noise=xi)
    np.testing.assert_allclose(update, 0.5 + 0.1 * xi, rtol=1e-4)


def test_the_correction_needs_a_decay_below_one() -> None:
    for make in (rmsprop, lambda eta, **more: langevin(eta, 0.1, **more)):
        with pytest.raises(InvalidInputError, match="decay must be below 1, not 1"):
            make(0.1, decay=1.0, bias_correction=True)


def test_the_noise_scales_with_both_roots() -> None:
    # g = 0 leaves √(2η) σ C^(−1/2) ξ with C = √(m + ε) = 4: √(2·0.5)·0.3/2·ξ
    optimizer = langevin(0.5, 0.3, decay=1.0, epsilon=0.0, initial_second_moment=16.0)
    zeros = jnp.zeros(7)
    update, _ = optimizer.update(zeros, optimizer.init(zeros), key=jax.random.key(0))
    np.testing.assert_allclose(update, 0.15 * jax.random.normal(jax.random.key(0), (7,)), rtol=1e-6)


def test_a_given_noise_scale_replaces_the_default() -> None:
    zeros = jnp.zeros(3)
    hot, cold = sgld(0.1, 5.0), sgld(0.1, 0.5)
    given, _ = hot.update(zeros, hot.init(zeros), key=jax.random.key(0), noise_scale=0.5)
    default, _ = cold.update(zeros, cold.init(zeros), key=jax.random.key(0))
    np.testing.assert_array_equal(given, default)


def test_without_a_key_the_noise_follows_seed_and_count() -> None:
    zeros = jnp.zeros(4)

    def first_two(seed: int) -> Any:
        optimizer = sgld(0.1, 1.0, seed=seed)
        first, state = optimizer.update(zeros, optimizer.init(zeros))
        return first, optimizer.update(zeros, state)[0]

    (a, b), (c, d) = first_two(1), first_two(1)
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)
    assert not np.allclose(a, b)
    assert not np.allclose(a, first_two(2)[0])


def test_leaves_get_independent_noise(key: jax.Array) -> None:
    tree = {"a": jnp.zeros((100, 10)), "b": jnp.zeros(1000), "none": None}
    noise = standard_normal_like(key, tree)
    assert noise["none"] is None
    a, b = np.asarray(noise["a"]).ravel(), np.asarray(noise["b"])
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / 1000**0.5
    for draws in (a, b):
        assert abs(draws.mean()) < 4 / 1000**0.5
        assert abs(draws.std() - 1) < 4 / 2000**0.5


def test_normals_from_bits_are_the_quantiles() -> None:
    """Every one of the 2²³ values: finite, increasing, odd, and a normal quantile."""
    k = np.arange(2**23, dtype=np.uint32)
    normals = np.asarray(normals_from_bits(jnp.asarray(k << 9)), np.float64)
    assert np.isfinite(normals).all()
    assert (np.diff(normals) >= 0).all()
    assert np.array_equal(normals, -normals[::-1])
    expected = norm.ppf((k + 0.5) / 2**23)
    assert np.abs(normals - expected).max() < 5e-5
    assert normals.std() == pytest.approx(1, abs=1e-6)
    assert np.mean(normals**4) == pytest.approx(3, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise_scale": -1.0}, "noise_scale must be at least 0, not -1.0"),
        ({"decay": 1.5}, "decay must be at most 1, not 1.5"),
        ({"epsilon": -1e-8}, "epsilon must be at least 0, not -1e-08"),
        ({"initial_second_moment": float("inf")}, "initial_second_moment must be finite"),
    ],
)
def test_senseless_values_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        langevin(0.1, **{"noise_scale": 0.1, **arguments})
