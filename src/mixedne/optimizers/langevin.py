"""Langevin dynamics as Optax transformations (paper, Section 2 and Algorithm 2).

With a gradient g of the function to be *minimised*, the preconditioned step is

    m ← α m + (1 − α) g ⊙ g
    C ← diag(√(m + ε))
    z ← z − η C⁻¹ g + √(2η) σ C^(−1/2) ξ,   ξ ~ N(0, I)

As in the paper, m starts at zero and has no bias correction, and ε stands inside the root.
With C = I (``sgld``) and a fixed σ, small steps sample from exp(−loss(z)/σ²).

``optax.add_noise`` cannot express this step: its noise passes through the learning rate,
whereas Langevin noise scales with the *root* of the learning rate and of the preconditioner.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.errors import check_number
from mixedne.optimizers.descent import descend, value_at
from mixedne.types import PyTree


class LangevinState(NamedTuple):
    """What the next Langevin step needs."""

    taken: jax.Array
    """How many steps were taken: the argument of schedules and of the noise's own stream."""
    key: jax.Array
    """Root of the noise, used where ``update`` is not given a key."""
    second_moment: PyTree
    """m: running mean of the squared gradient; ``None`` without a preconditioner."""


def langevin(
    learning_rate: optax.ScalarOrSchedule,
    temperature: optax.ScalarOrSchedule,
    *,
    decay: jax.typing.ArrayLike = 0.999,
    epsilon: jax.typing.ArrayLike = 1e-8,
    initial_second_moment: jax.typing.ArrayLike = 0.0,
    seed: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """RMSProp-preconditioned SGLD, in the paper's form.

    Args:
      learning_rate: η, a number or an Optax schedule over the steps taken.
      temperature: σ, the thermal noise; a number or an Optax schedule. Zero is RMSProp.
      decay: α, how much of m a step keeps. One holds m, and so C, at its first value.
      epsilon: ε, added to m inside the root.
      initial_second_moment: the first value of m.
      seed: root of the noise where ``update`` is not given a key.

    Returns:
      A transformation whose ``update`` takes four more arguments, all optional: ``key``
      (the noise then depends on nothing else, so that a run can be resumed anywhere),
      ``noise`` (ξ itself, a tree of standard normals drawn elsewhere), ``temperature`` and
      ``learning_rate`` (each replaces the value given here).
    """
    check_number("decay", decay, at_least=0, at_most=1)
    check_number("epsilon", epsilon, at_least=0)
    check_number("initial_second_moment", initial_second_moment, at_least=0)

    def init_moment(params: PyTree) -> PyTree:
        return optax.tree.full_like(params, initial_second_moment)

    def precondition(gradients: PyTree, moment: PyTree) -> tuple[PyTree, PyTree]:
        # m ← α m + (1 − α) g ⊙ g ;  C⁻¹ = 1 / √(m + ε)
        moment = optax.tree.update_moment_per_elem_norm(gradients, moment, decay, 2)
        return jax.tree.map(lambda m: jax.lax.rsqrt(m + epsilon), moment), moment

    return _dynamics(learning_rate, temperature, seed, init_moment, precondition)


def sgld(
    learning_rate: optax.ScalarOrSchedule,
    temperature: optax.ScalarOrSchedule,
    *,
    seed: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """Stochastic gradient Langevin dynamics, z ← z − η g + √(2η) σ ξ.

    The arguments, here and of ``update``, are those of :func:`langevin`.
    """

    def no_moment(params: PyTree) -> PyTree:
        del params

    def identity(gradients: PyTree, moment: PyTree) -> tuple[PyTree, PyTree]:
        return jax.tree.map(lambda g: jnp.ones([], g.dtype), gradients), moment

    return _dynamics(learning_rate, temperature, seed, no_moment, identity)


def rmsprop(
    learning_rate: optax.ScalarOrSchedule,
    *,
    decay: jax.typing.ArrayLike = 0.999,
    epsilon: jax.typing.ArrayLike = 1e-8,
) -> optax.GradientTransformationExtraArgs:
    """RMSProp as the paper writes it, z ← z − η g / √(m + ε): Langevin without noise.

    Optax's ``rmsprop`` with the paper's values, whose ``update`` also takes ``learning_rate``.
    """
    check_number("decay", decay, at_least=0, at_most=1)
    check_number("epsilon", epsilon, at_least=0)
    return optax.chain(
        optax.scale_by_rms(decay=decay, eps=epsilon, eps_in_sqrt=True), descend(learning_rate)
    )


def _dynamics(
    learning_rate: optax.ScalarOrSchedule,
    temperature: optax.ScalarOrSchedule,
    seed: int,
    init_moment: Callable[[PyTree], PyTree],
    precondition: Callable[[PyTree, PyTree], tuple[PyTree, PyTree]],
) -> optax.GradientTransformationExtraArgs:
    """Langevin steps for a preconditioner that gives C⁻¹ for each gradient."""
    check_number("learning_rate", learning_rate, above=0)
    check_number("temperature", temperature, at_least=0)
    default_rate, default_temperature = learning_rate, temperature

    def init(params: PyTree) -> LangevinState:
        return LangevinState(jnp.zeros([], jnp.int32), jax.random.key(seed), init_moment(params))

    def update(
        updates: PyTree,
        state: LangevinState,
        params: PyTree | None = None,
        *,
        key: jax.Array | None = None,
        noise: PyTree | None = None,
        temperature: jax.typing.ArrayLike | None = None,
        learning_rate: jax.typing.ArrayLike | None = None,
        **unused: Any,
    ) -> tuple[PyTree, LangevinState]:
        del params, unused
        eta = value_at(state.taken, default_rate, learning_rate)
        sigma = value_at(state.taken, default_temperature, temperature)
        if noise is None:
            key = jax.random.fold_in(state.key, state.taken) if key is None else key
            noise = standard_normal_like(key, updates)
        inverse, moment = precondition(updates, state.second_moment)

        def step(g: jax.Array, inverse_c: jax.Array, xi: jax.Array) -> Any:
            # − η C⁻¹ g + √(2η) σ C^(−1/2) ξ
            noise = jnp.sqrt(2 * eta) * sigma * jnp.sqrt(inverse_c) * xi
            return (-eta * (inverse_c * g) + noise).astype(g.dtype)

        steps = jax.tree.map(step, updates, inverse, noise)
        return steps, LangevinState(state.taken + 1, state.key, moment)

    return optax.GradientTransformationExtraArgs(init, update)


def standard_normal_like(key: jax.Array, tree: PyTree) -> PyTree:
    """Independent standard normals in the shape of ``tree``.

    One draw serves all leaves: a draw for each leaf costs more than the numbers themselves
    where a network has many small leaves.
    """
    leaves, structure = jax.tree.flatten(tree)
    if not leaves:
        return tree
    ends = [0]
    for leaf in leaves:
        ends.append(ends[-1] + leaf.size)
    draws = jax.random.normal(key, (ends[-1],), jnp.result_type(*leaves))
    parts = [
        draws[start:end].reshape(leaf.shape).astype(leaf.dtype)
        for leaf, start, end in zip(leaves, ends[:-1], ends[1:], strict=True)
    ]
    return jax.tree.unflatten(structure, parts)
