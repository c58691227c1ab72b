"""The equations of the actor-critic agents: pure, for one transition, one equation each.

Time stands in the names: ``_t`` at the transition, ``_next`` one step later.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

LOG_DEVIATION_RANGE = (-20.0, 2.0)
"""Of a Gaussian policy; the policy file clips the same way."""


def td_target(
    reward_t: jax.Array, terminated_t: jax.Array, value_next: jax.Array, gamma: float
) -> jax.Array:
    """Y = r + γ (1 − d) V(s'): the paper's target. A time limit is no termination."""
    return reward_t + gamma * (1.0 - terminated_t) * value_next


def squared_errors(values_t: Sequence[jax.Array], target_t: jax.Array) -> jax.Array:
    """Σ_i (y − Q_i(s, ā))² over the critics."""
    return sum((jnp.square(target_t - value) for value in values_t), jnp.zeros_like(target_t))


def smoothed(action: jax.Array, normal: jax.Array, deviation: float, reach: float) -> jax.Array:
    """TD3's target action: clip(a + clip(σ ξ, −c, c), −1, 1)."""
    return jnp.clip(action + jnp.clip(deviation * normal, -reach, reach), -1.0, 1.0)


def squashed_gaussian(outputs: jax.Array, normal: jax.Array) -> tuple[jax.Array, jax.Array]:
    """SAC's action a = tanh(u), u = μ + σ ξ, and its log-probability.

    log π(a) = log N(u; μ, σ) − Σ log(1 − tanh² u), the last term in its stable form
    2 (log 2 − u − softplus(−2u)).
    """
    mean, log_deviation = jnp.split(outputs, 2)
    log_deviation = jnp.clip(log_deviation, *LOG_DEVIATION_RANGE)
    u = mean + jnp.exp(log_deviation) * normal
    log_normal = -0.5 * jnp.square(normal) - log_deviation - 0.5 * jnp.log(2 * jnp.pi)
    log_slope = 2.0 * (jnp.log(2.0) - u - jax.nn.softplus(-2.0 * u))
    return jnp.tanh(u), jnp.sum(log_normal - log_slope)
