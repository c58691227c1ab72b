"""Langevin dynamics as Optax transformations (paper, Section 2 and Algorithm 2).

With a gradient g of the function to be *minimised*, the preconditioned step is

    m ← α m + (1 − α) g ⊙ g
    C ← diag(√(m + ε))
    z ← z − η C⁻¹ g + √(2η) σ C^(−1/2) ξ,   ξ ~ N(0, I)

As in the paper, m starts at zero and has no bias correction, so that first steps are up to
1/√(1 − α) times η, and ε stands inside the root. With ``bias_correction``, the n-th step has
m / (1 − αⁿ) in the place of m, as in Adam.

With C = I (``sgld``) and a fixed σ, small steps sample from exp(−loss(z)/σ²): σ is a noise
scale, and σ² the temperature of other texts.

``optax.add_noise`` cannot express this step: its noise passes through the learning rate,
whereas Langevin noise scales with the *root* of the learning rate and of the preconditioner.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from mixedne.errors import check_number
from mixedne.optimizers.descent import descend, value_at
from mixedne.types import PyTree


class ScaleByLangevinState(NamedTuple):
    """What the next Langevin step needs."""

    count: jax.Array  # type: ignore[assignment]
    """Steps taken: the argument of schedules, and of the noise where no key is given."""
    key: jax.Array
    """Root of the noise where ``update`` is not given a key."""
    second_moment: PyTree
    """m: running mean of the squared gradient; ``None`` without a preconditioner."""


def scale_by_langevin(
    learning_rate: optax.ScalarOrSchedule,
    noise_scale: optax.ScalarOrSchedule,
    *,
    decay: jax.typing.ArrayLike | None = 0.999,
    epsilon: jax.typing.ArrayLike = 1e-8,
    initial_second_moment: jax.typing.ArrayLike = 0.0,
    bias_correction: bool = False,
    seed: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """Scale gradients to η C⁻¹ g − √(2η) σ C^(−1/2) ξ, to be subtracted from the parameters.

    Unlike other ``scale_by_`` transformations it holds the learning rate, because the noise
    grows with its root.

    Args:
      learning_rate: η, a number or an Optax schedule over the steps taken.
      noise_scale: σ, a number or an Optax schedule. Zero is RMSProp.
      decay: α, the share of m that a step keeps. One holds m, and so C, at its first value;
        ``None`` means no preconditioner, C = I.
      epsilon: ε, added to m inside the root.
      initial_second_moment: the first value of m.
      bias_correction: divide m by 1 − αⁿ in step n, for an m that starts at zero.
      seed: root of the noise where ``update`` is not given a key.

    Returns:
      A transformation whose ``update`` takes four more arguments, all optional: ``key``
      (the noise then depends on nothing else, so that a run can be resumed anywhere),
      ``noise`` (ξ itself, a tree of standard normals drawn elsewhere), ``noise_scale`` and
      ``learning_rate`` (each replaces the value given here).
    """
    check_number("learning_rate", learning_rate, above=0)
    check_number("noise_scale", noise_scale, at_least=0)
    if decay is not None:
        _check_decay(decay, bias_correction)
    check_number("epsilon", epsilon, at_least=0)
    check_number("initial_second_moment", initial_second_moment, at_least=0)
    default_rate, default_scale = learning_rate, noise_scale

    def init(params: PyTree) -> ScaleByLangevinState:
        moment = None if decay is None else optax.tree.full_like(params, initial_second_moment)
        return ScaleByLangevinState(jnp.zeros([], jnp.int32), jax.random.key(seed), moment)

    def precondition(gradients: PyTree, moment: PyTree, count: jax.Array) -> tuple[PyTree, PyTree]:
        if decay is None:
            return jax.tree.map(lambda g: jnp.ones([], g.dtype), gradients), None
        # m ← α m + (1 − α) g ⊙ g ;  C⁻¹ = 1 / √(m + ε)
        moment = optax.tree.update_moment_per_elem_norm(gradients, moment, decay, 2)
        used = moment
        if bias_correction:
            used = optax.tree.bias_correction(moment, decay, count + 1)
        return jax.tree.map(lambda m: jax.lax.rsqrt(m + epsilon), used), moment

    def update(
        updates: PyTree,
        state: ScaleByLangevinState,
        params: PyTree | None = None,
        *,
        key: jax.Array | None = None,
        noise: PyTree | None = None,
        noise_scale: jax.typing.ArrayLike | None = None,
        learning_rate: jax.typing.ArrayLike | None = None,
        **unused: Any,
    ) -> tuple[PyTree, ScaleByLangevinState]:
        del params, unused
        eta = value_at(state.count, default_rate, learning_rate)
        sigma = value_at(state.count, default_scale, noise_scale)
        if noise is None:
            key = jax.random.fold_in(state.key, state.count) if key is None else key
            noise = standard_normal_like(key, updates)
        inverse, moment = precondition(updates, state.second_moment, state.count)

        def scale(g: jax.Array, inverse_c: jax.Array, xi: jax.Array) -> Any:
            # − η C⁻¹ g + √(2η) σ C^(−1/2) ξ is the step; what a chain subtracts is minus that
            thermal = jnp.sqrt(2 * eta) * sigma * jnp.sqrt(inverse_c) * xi
            return (-(-eta * (inverse_c * g) + thermal)).astype(g.dtype)

        scaled = jax.tree.map(scale, updates, inverse, noise)
        return scaled, ScaleByLangevinState(state.count + 1, state.key, moment)

    return optax.GradientTransformationExtraArgs(init, update)


def langevin(
    learning_rate: optax.ScalarOrSchedule,
    noise_scale: optax.ScalarOrSchedule,
    *,
    decay: jax.typing.ArrayLike = 0.999,
    epsilon: jax.typing.ArrayLike = 1e-8,
    initial_second_moment: jax.typing.ArrayLike = 0.0,
    bias_correction: bool = False,
    seed: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """RMSProp-preconditioned SGLD, in the paper's form: see :func:`scale_by_langevin`."""
    scaled = scale_by_langevin(
        learning_rate,
        noise_scale,
        decay=decay,
        epsilon=epsilon,
        initial_second_moment=initial_second_moment,
        bias_correction=bias_correction,
        seed=seed,
    )
    return optax.chain(scaled, optax.scale(-1.0))


def sgld(
    learning_rate: optax.ScalarOrSchedule,
    noise_scale: optax.ScalarOrSchedule,
    *,
    seed: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """Stochastic gradient Langevin dynamics, z ← z − η g + √(2η) σ ξ.

    The arguments, here and of ``update``, are those of :func:`scale_by_langevin`.
    """
    scaled = scale_by_langevin(learning_rate, noise_scale, decay=None, seed=seed)
    return optax.chain(scaled, optax.scale(-1.0))


def rmsprop(
    learning_rate: optax.ScalarOrSchedule,
    *,
    decay: jax.typing.ArrayLike = 0.999,
    epsilon: jax.typing.ArrayLike = 1e-8,
    bias_correction: bool = False,
) -> optax.GradientTransformationExtraArgs:
    """RMSProp as the paper writes it, z ← z − η g / √(m + ε): Langevin without noise.

    Optax's ``rmsprop`` with the paper's values, whose ``update`` also takes ``learning_rate``.
    """
    _check_decay(decay, bias_correction)
    check_number("epsilon", epsilon, at_least=0)
    scaled = optax.scale_by_rms(decay, epsilon, eps_in_sqrt=True, bias_correction=bias_correction)
    return optax.chain(scaled, descend(learning_rate))


def _check_decay(decay: jax.typing.ArrayLike, bias_correction: bool) -> None:
    """α is a share; 1 − αⁿ must not be zero where it divides."""
    check_number("decay", decay, at_least=0, **{"below" if bias_correction else "at_most": 1})


def standard_normal_like(key: jax.Array, tree: PyTree) -> PyTree:
    """Independent standard normals in the shape of ``tree``.

    One draw serves all leaves: a draw for each leaf costs more than the numbers themselves
    where a network has many small leaves.
    """
    flat, unravel = ravel_pytree(tree)
    return unravel(jax.random.normal(key, flat.shape, flat.dtype))


def normals_from_bits(bits: jax.Array) -> jax.Array:
    """Standard normals (float32) from random bits (uint32), one of each.

    The normal quantiles of 2²³ values evenly spaced in (0, 1): as fine as
    ``jax.random.normal``, and symmetric.
    """
    # (k + 1/2) 2⁻²² − 1 for k = 0 … 2²³ − 1 is exact in float32 and never ±1.
    uniform = ((bits >> 9).astype(jnp.float32) + 0.5) * 2.0**-22 - 1.0
    return np.float32(np.sqrt(2)) * jax.lax.erf_inv(uniform)
