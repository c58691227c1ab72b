"""Networks by hand, and against the policy file's NumPy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixedne.agents.losses import squashed_gaussian
from mixedne.agents.networks import (
    FUNCTIONS,
    Network,
    apply_network,
    init_network,
    network_tensors,
)
from mixedne.names import ACTIVATIONS
from mixedne.policies import FUNCTIONS as NUMPY_FUNCTIONS
from mixedne.policies import Policy, PolicySpec


def layer(weight: Any, bias: Any) -> dict[str, jax.Array]:
    return {"weight": jnp.array(weight, jnp.float32), "bias": jnp.array(bias, jnp.float32)}


def test_by_hand() -> None:
    # x = (1, 2): x W + b = (1·1 + 2·0 + 0, 1·(−1) + 2·(−1) + 1) = (1, −2); relu (1, 0);
    # then 3·1 + 5·0 − 1 = 2. With tanh: 3 tanh 1 + 5 tanh(−2) − 1.
    network = (layer([[1, -1], [0, -1]], [0, 1]), layer([[3], [5]], [-1]))
    x = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(apply_network(network, x, "relu"), [2])
    expected = 3 * np.tanh(1) - 5 * np.tanh(2) - 1
    np.testing.assert_allclose(apply_network(network, x, "tanh"), [expected], rtol=1e-6)


def test_layer_norm_by_hand() -> None:
    # (1, −2) + norm: mean −½, deviations ±1½, variance 9/4: (1, −1) but for ε;
    # times (2, 3) plus (1, 4) = (3, 1); relu (3, 1); 3·3 + 5·1 − 1 = 13.
    first = layer([[1, -1], [0, -1]], [0, 1])
    first |= {"norm_scale": jnp.array([2.0, 3.0]), "norm_offset": jnp.array([1.0, 4.0])}
    network = (first, layer([[3], [5]], [-1]))
    np.testing.assert_allclose(
        apply_network(network, jnp.array([1.0, 2.0]), "relu"), [13], rtol=1e-5
    )


@pytest.mark.parametrize("layer_norm", [False, True])
def test_first_weights(layer_norm: bool, key: jax.Array) -> None:
    network = init_network(key, (50, 40, 3), layer_norm=layer_norm)
    shapes = [jax.tree.map(jnp.shape, part) for part in network]
    norms = {"norm_scale": (40,), "norm_offset": (40,)} if layer_norm else {}
    assert shapes[0] == {"weight": (50, 40), "bias": (40,)} | norms
    assert shapes[1] == {"weight": (40, 3), "bias": (3,)}
    # Uniform on ±1/√50, and on a tenth of ±1/√40: no number outside, the extremes come near.
    for part, reach in zip(network, (1 / 50**0.5, 0.1 / 40**0.5), strict=True):
        largest = float(jnp.abs(part["weight"]).max())
        assert 0.9 * reach < largest <= reach
        assert float(jnp.abs(part["bias"]).max()) <= reach
        assert abs(float(part["weight"].mean())) < reach / 5
    if layer_norm:
        np.testing.assert_array_equal(network[0]["norm_scale"], 1)
        np.testing.assert_array_equal(network[0]["norm_offset"], 0)


def random_network(rng: np.random.Generator, network: Network) -> Network:
    """All tensors away from their first values, the layer norm's too."""
    return jax.tree.map(
        lambda x: jnp.asarray(0.7 * rng.standard_normal(x.shape), jnp.float32), network
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("normaliser", [False, True])
@pytest.mark.parametrize("head", ["tanh", "tanh-gaussian"])
def test_agrees_with_the_policy_file(
    activation: str, layer_norm: bool, normaliser: bool, head: str, key: jax.Array
) -> None:
    rng = np.random.default_rng(1)
    observations = rng.standard_normal((20, 5)).astype(np.float32)
    noise = rng.standard_normal((20, 2)).astype(np.float32)
    outputs = 2 if head == "tanh" else 4
    network = random_network(rng, init_network(key, (5, 7, 6, outputs), layer_norm=layer_norm))
    tensors = {name: np.asarray(x) for name, x in network_tensors(network).items()}
    mean, scale = rng.standard_normal(5).astype(np.float32), np.full(5, 1.7, np.float32)
    if normaliser:
        tensors |= {"normaliser.mean": mean, "normaliser.scale": scale}
    spec = PolicySpec(
        observation_size=5,
        action_low=(-3.0, 1.0),
        action_high=(3.0, 2.0),
        hidden=(7, 6),
        activation=activation,
        head=head,
        layer_norm=layer_norm,
        normaliser=normaliser,
    )
    policy = Policy(spec, tensors)

    def act(s: jax.Array, xi: jax.Array) -> jax.Array:
        s = (s - mean) / scale if normaliser else s
        y = apply_network(network, s, activation)
        return jnp.tanh(y) if head == "tanh" else squashed_gaussian(y, xi)[0]

    for xi in (np.zeros_like(noise), noise):
        actions = np.array(jax.vmap(act)(jnp.asarray(observations), jnp.asarray(xi)))
        np.testing.assert_allclose(policy.unit(observations, xi), actions, rtol=2e-4, atol=2e-6)
        # −3 … 3 has its middle at 0 and reaches 3; 1 … 2 has it at 1½ and reaches ½.
        np.testing.assert_allclose(
            policy(observations, xi), [0, 1.5] + [3, 0.5] * actions, rtol=2e-4, atol=6e-6
        )


def test_the_activations_are_the_same_in_jax_and_numpy() -> None:
    assert set(FUNCTIONS) == set(NUMPY_FUNCTIONS) == set(ACTIVATIONS)
    x = np.linspace(-5, 5, 101, dtype=np.float32)
    for name in ACTIVATIONS:
        np.testing.assert_allclose(FUNCTIONS[name](x), NUMPY_FUNCTIONS[name](x), rtol=1e-6)
