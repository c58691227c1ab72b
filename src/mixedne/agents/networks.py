"""Multilayer perceptrons as pure functions of a parameter tree, for one input each.

A network is a tuple of layers, each a dictionary with ``weight`` and ``bias`` and, with layer
norm, ``norm_scale`` and ``norm_offset``: the tensors of a policy file, under the same names. Use
``jax.vmap`` for batches.
"""

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from mixedne.types import LAYER_NORM_EPSILON

Network: TypeAlias = tuple[dict[str, jax.Array], ...]

FUNCTIONS = {"tanh": jnp.tanh, "relu": jax.nn.relu}
"""The activation functions of ``names.ACTIVATIONS``."""

LAST_LAYER_SCALE = 0.1
"""Initial scale of the last layer: values start near zero, actions far from saturation."""


def init_network(key: jax.Array, sizes: Sequence[int], *, layer_norm: bool = False) -> Network:
    """Weights and biases uniform on ±1/√(inputs), the last layer's a tenth of that."""
    keys = jax.random.split(key, len(sizes) - 1)
    layers = []
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
        is_last = i == len(sizes) - 2
        reach = (LAST_LAYER_SCALE if is_last else 1.0) / fan_in**0.5
        both = jax.random.uniform(keys[i], (fan_in + 1, fan_out), minval=-reach, maxval=reach)
        layer = {"weight": both[:-1], "bias": both[-1]}
        if layer_norm and not is_last:
            layer["norm_scale"] = jnp.ones(fan_out)
            layer["norm_offset"] = jnp.zeros(fan_out)
        layers.append(layer)
    return tuple(layers)


def apply_network(network: Network, x: jax.Array, activation: str) -> jax.Array:
    """The output for one input: x ← activation(layer_norm(x W + b)), the last layer linear."""
    activate = FUNCTIONS[activation]
    for layer in network[:-1]:
        x = x @ layer["weight"] + layer["bias"]
        if "norm_scale" in layer:
            x = _layer_norm(x) * layer["norm_scale"] + layer["norm_offset"]
        x = activate(x)
    return x @ network[-1]["weight"] + network[-1]["bias"]


def network_tensors(network: Network) -> dict[str, Any]:
    """Copies of the network's arrays, in NumPy, under the names of a policy file."""
    return {
        f"layers.{i}.{name}": np.array(array)
        for i, layer in enumerate(network)
        for name, array in layer.items()
    }


def _layer_norm(x: jax.Array) -> jax.Array:
    centred = x - x.mean()
    return centred * jax.lax.rsqrt(jnp.square(centred).mean() + LAYER_NORM_EPSILON)
