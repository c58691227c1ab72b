"""Langevin dynamics as Optax transformations (paper, Section 2 and Algorithm 2).

With a gradient g of the function to be *minimised*, the preconditioned step is

    m ← α m + (1 − α) g ⊙ g
    C ← diag(√(m + ε))
    z ← z − η C⁻¹ g + √(2η) σ C^(−1/2) ξ,   ξ ~ N(0, I)

As in the paper, m starts at zero without bias correction, so that the first steps are up to
1/√(1 − α) times η, and ε is inside the square root. With ``bias_correction``, the n-th step
uses m / (1 − αⁿ) instead of m, as in Adam.

With C = I (``sgld``) and a fixed σ, small steps sample from exp(−loss(z)/σ²): σ is a noise
scale, and σ² is what is often called the temperature.

``optax.add_noise`` cannot express this step: its noise is multiplied by the learning rate,
whereas Langevin noise scales with the *square root* of learning rate and preconditioner.
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
    """State of :func:`scale_by_langevin`."""

    count: jax.Array  # type: ignore[assignment]
    """Number of steps taken; used by schedules, and for the noise if no key is given."""
    key: jax.Array
    """Random key of the noise, if ``update`` is called without a key."""
    second_moment: PyTree
    """m, the running mean of the squared gradient; ``None`` without a preconditioner."""


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

    Unlike other ``scale_by_`` transformations it includes the learning rate, because the noise
    scales with its square root.

    Args:
      learning_rate: η, a number or an Optax schedule over the steps taken.
      noise_scale: σ, a number or an Optax schedule. With zero, the step is that of RMSProp.
      decay: α, decay rate of m. With one, m and C keep their initial values; ``None`` means no
        preconditioner, C = I.
      epsilon: ε, added to m inside the square root.
      initial_second_moment: initial value of m.
      bias_correction: whether to divide m by 1 − αⁿ in step n, for an m that starts at zero.
      seed: seed of the noise, if ``update`` is called without a key.

    Returns:
      A transformation whose ``update`` takes four more arguments, all optional: ``key``
      (the noise then depends on nothing else, so that a run can be resumed anywhere),
      ``noise`` (ξ itself, a tree of standard normals drawn elsewhere), ``noise_scale`` and
      ``learning_rate`` (each overrides the value given here).
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
            # the step is − η C⁻¹ g + √(2η) σ C^(−1/2) ξ; a chain subtracts the update: negate
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
    """RMSProp-preconditioned SGLD in the paper's form; see :func:`scale_by_langevin`."""
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

    The arguments, also those of ``update``, are those of :func:`scale_by_langevin`.
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
    """RMSProp in the paper's form, z ← z − η g / √(m + ε): Langevin dynamics without noise.

    It is Optax's ``rmsprop`` with the paper's values, and ``update`` also takes ``learning_rate``.
    """
    _check_decay(decay, bias_correction)
    check_number("epsilon", epsilon, at_least=0)
    scaled = optax.scale_by_rms(decay, epsilon, eps_in_sqrt=True, bias_correction=bias_correction)
    return optax.chain(scaled, descend(learning_rate))


def _check_decay(decay: jax.typing.ArrayLike, bias_correction: bool) -> None:
    """Check that α is in [0, 1], and below 1 where 1 − αⁿ is a divisor."""
    check_number("decay", decay, at_least=0, **{"below" if bias_correction else "at_most": 1})


def standard_normal_like(key: jax.Array, tree: PyTree) -> PyTree:
    """Independent standard normals in the shape of ``tree``.

    One draw covers all leaves: in networks with many small leaves, a draw per leaf would cost
    more than the numbers themselves.
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
