"""Soft actor-critic (Haarnoja et al. 2018): the non-robust baseline.

One player, a tanh-squashed Gaussian policy, the minimum of two critics, and an entropy bonus α H(π)
whose coefficient α is fixed, or learned so that the entropy stays near a target. Its oracle is used
with the same solver as the other agents', with Adam for the policy and no adversary.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.agents.base import ActorCritic, Batches, CriticCarry, batch_at, polyak_update, scaled
from mixedne.agents.losses import alpha_loss, soft_value, squashed_gaussian
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.types import Players


class CriticState(NamedTuple):
    """Everything that is learned besides the policy."""

    critics: tuple[Network, ...]
    critic_optimizer: optax.OptState
    target_critics: tuple[Network, ...]
    policy: Network  # θ_t, for the targets: SAC has no target policy
    log_alpha: jax.Array
    alpha_optimizer: optax.OptState  # None where α is fixed


@dataclass(frozen=True, eq=False)
class SAC(ActorCritic):
    """SAC with a learned α, or a fixed one."""

    _: KW_ONLY
    hidden: Sequence[int] = (256, 256)
    activation: str = "relu"
    tau: float = 0.995
    critic_learning_rate: float = 3e-4
    alpha_learning_rate: float = 3e-4
    initial_alpha: float = 1.0
    target_entropy: float | None = None  # H̄; minus the number of actions unless given
    fixed_alpha: float | None = None  # α, if it is not learned
    policy_head: str = "tanh-gaussian"
    normals_per_batch: int = 2  # for the actions at s' and at s

    def init(self, key: jax.Array) -> tuple[Players, CriticState]:
        """Initial networks; target critics start as copies."""
        policy_key, critic_key = jax.random.split(key)
        sizes = (self.observation_size, *self.hidden, 2 * self.action_size)
        policy = init_network(policy_key, sizes, layer_norm=self.actor_layer_norm)
        phi = self.init_critics(critic_key, 2, self.action_size)
        alpha = self.initial_alpha if self.fixed_alpha is None else self.fixed_alpha
        log_alpha = jnp.log(jnp.asarray(alpha, jnp.float32))
        adam = optax.adam(self.alpha_learning_rate)
        moments = adam.init(log_alpha) if self.fixed_alpha is None else None
        state = CriticState(phi, self.optimizer.init(phi), phi, policy, log_alpha, moments)
        return Players(policy, None), state

    def begin(self, batches: Batches, key: Any, carry: CriticCarry, *players: Any) -> CriticCarry:
        """Update the critics, then α."""
        places = batches.transitions.observation, batches.normals, batches.rate
        s, normals, rate = batch_at(places, carry.batch)
        carry = super().begin(batches, key, carry, *players)
        if self.fixed_alpha is not None:
            return carry
        # One gradient step on log α, towards the target entropy H̄.
        state: CriticState = carry.critic
        _, log_prob = jax.vmap(self.sample, (None, 0, 0))(state.policy, s, normals[1])
        target = -float(self.action_size) if self.target_entropy is None else self.target_entropy
        gradient = jax.grad(alpha_loss)(state.log_alpha, log_prob.mean(), target)
        adam = optax.adam(self.alpha_learning_rate)
        step, moments = adam.update(gradient, state.alpha_optimizer)
        state = state._replace(
            log_alpha=state.log_alpha + scaled(rate, step), alpha_optimizer=moments
        )
        return carry._replace(critic=state)

    def next_values(self, state: CriticState, observations: jax.Array, normals: Any) -> jax.Array:
        """min_i Q_targ,i(s', a') − α log π(a' | s') at a sampled a'."""
        alpha = jnp.exp(state.log_alpha)
        return self.soft_values(state.policy, state.target_critics, alpha, observations, normals[0])

    def gradients(
        self, batches: Batches, carry: CriticCarry, players: Players, opponent: Players | None
    ) -> Players:
        """The gradient of the mean soft value on the step's minibatch."""
        state: CriticState = carry.critic
        places = batches.transitions.observation, batches.normals
        s, normals = batch_at(places, carry.batch - 1)
        alpha = jnp.exp(state.log_alpha)

        def mean_soft_value(policy: Network) -> jax.Array:
            return self.soft_values(policy, state.critics, alpha, s, normals[1]).mean()

        return Players(jax.grad(mean_soft_value)(players.agent), None)

    def end(self, carry: CriticCarry, players: Players) -> CriticCarry:
        """Polyak-update the target critics; the next targets use the new policy."""
        state: CriticState = carry.critic
        targets = polyak_update(self.tau, state.target_critics, state.critics)
        return carry._replace(critic=state._replace(target_critics=targets, policy=players.agent))

    def sample(self, policy: Network, s: jax.Array, normal: jax.Array) -> tuple[Any, Any]:
        """An action a sampled from π(s), and log π(a | s)."""
        return squashed_gaussian(apply_network(policy, s, self.activation), normal)

    def min_q(self, phi: tuple[Network, ...], s: jax.Array, a: jax.Array) -> jax.Array:
        """min_i Q_i(s, a)."""
        return jnp.stack([self.q(critic, s, a) for critic in phi]).min()

    def payoff(self, state: CriticState, players: Players, s: jax.Array) -> jax.Array:
        """Mean over observations s of the minimum of the critics at the policy's mean action."""

        def one(s: jax.Array) -> jax.Array:
            action, _ = self.sample(players.agent, s, jnp.zeros(self.action_size))
            return self.min_q(state.critics, s, action)

        return jax.vmap(one)(s).mean()

    def soft_values(
        self, policy: Network, phi: Any, alpha: Any, s: jax.Array, normals: jax.Array
    ) -> jax.Array:
        """V(s) for many observations, at actions made from these normals."""

        def one(s: jax.Array, normal: jax.Array) -> jax.Array:
            action, log_prob = self.sample(policy, s, normal)
            return soft_value(self.min_q(phi, s, action), log_prob, alpha)

        return jax.vmap(one)(s, normals)
