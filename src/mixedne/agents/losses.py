"""The agents' equations: for critics, DDPG and TD3, SAC, and VPG.

Pure functions of one transition or many (for returns, of one episode). Names show the time step:
``_t`` is at the transition, ``_next`` one step later. Gradients are computed by ``jax.grad``; the
docstrings state which gradient of the paper results.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixedne.types import LOG_DEVIATION_RANGE


def td_target(
    reward_t: jax.Array, terminated_t: jax.Array, value_next: jax.Array, gamma: float
) -> jax.Array:
    """Y = r + γ (1 − d) V(s'), the paper's target. A time limit is not a termination."""
    return reward_t + gamma * (1.0 - terminated_t) * value_next


def critic_loss(values_t: Sequence[jax.Array], target_t: jax.Array) -> jax.Array:
    """Σ_i (Y − Q_i(s, ā))² over the critics."""
    return sum((jnp.square(target_t - value) for value in values_t), jnp.zeros_like(target_t))


def expected_q(q: Callable[..., Any], branches: Iterable[tuple[float, jax.Array]]) -> Any:
    """Σ w Q(s, ā) over the branches (w, ā) of a formulation.

    As a function of both players' parameters this is the deterministic policy gradient's
    objective. Under NR-MDP there is one branch ā = (1 − δ) μ_θ(s) + δ ν_ω(s), and its gradients
    are the paper's

        g = (1 − δ) ∇_θ μ_θ(s) ∇_ā Q(s, ā)      g' = δ ∇_ω ν_ω(s) ∇_ā Q(s, ā)
    """
    return sum(weight * q(action) for weight, action in branches)


def smooth_target_action(
    action: jax.Array, normal: jax.Array, deviation: float, limit: float
) -> jax.Array:
    """TD3's target action: clip(a + clip(σ ξ, −c, c), −1, 1)."""
    return jnp.clip(action + jnp.clip(deviation * normal, -limit, limit), -1.0, 1.0)


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


def soft_value(min_q: jax.Array, log_prob: jax.Array, alpha: jax.typing.ArrayLike) -> jax.Array:
    """V(s) = min_i Q_i(s, a) − α log π(a | s): the policy's objective, and used in targets."""
    return min_q - alpha * log_prob


def alpha_loss(log_alpha: jax.Array, mean_log_prob: jax.Array, target_entropy: float) -> jax.Array:
    """−log α (E log π(a | s) + H̄); minimising it drives the entropy to H̄."""
    return -log_alpha * (mean_log_prob + target_entropy)


def returns_to_go(rewards: jax.Array, gamma: float) -> jax.Array:
    """G_t = Σ_(u ≥ t) γ^(u−t) r_u for the rewards (H,) of an episode."""

    def earlier(later: jax.Array, reward: jax.Array) -> tuple[jax.Array, jax.Array]:
        here = reward + gamma * later
        return here, here

    _, found = jax.lax.scan(earlier, jnp.zeros_like(rewards[0]), rewards, reverse=True)
    return found


def discounted_returns_to_go(rewards: jax.Array, gamma: float) -> jax.Array:
    """γ^t G_t = Σ_(u ≥ t) γ^u r_u for the rewards (H,) of an episode."""
    discount = gamma ** jnp.arange(len(rewards))
    return jax.lax.cumsum(discount * rewards, reverse=True)


def gaussian(outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """VPG's policy: mean and standard deviation from a network's outputs; variance by softplus."""
    mean, spread = jnp.split(outputs, 2)
    return mean, jnp.sqrt(jax.nn.softplus(spread))


def gaussian_log_prob(mean: jax.Array, deviation: jax.Array, normal: jax.Array) -> jax.Array:
    """The log-probability −Σ (½ ξ² + log σ + ½ log 2π) of a sampled action a = μ + σ ξ.

    Gradients treat a as constant, as REINFORCE requires. The residual (a − μ)/σ has the value ξ,
    and only its derivative comes from μ and σ: computing a − μ from a stored action would lose all
    digits if σ is small compared to μ.
    """
    sampled_mean, sampled_deviation = jax.lax.stop_gradient((mean, deviation))
    residual = normal * (sampled_deviation / deviation) + (sampled_mean - mean) / deviation
    return -jnp.sum(0.5 * jnp.square(residual) + jnp.log(deviation) + 0.5 * jnp.log(2 * jnp.pi))


def reinforce_objective(log_prob_t: jax.Array, weight_t: jax.Array) -> jax.Array:
    """Ψ_t log π(a_t | s_t), whose gradient is REINFORCE's; Ψ_t is γ^t G_t (paper) or G_t."""
    return weight_t * log_prob_t
