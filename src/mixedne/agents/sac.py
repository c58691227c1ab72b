"""Soft actor-critic (Haarnoja et al. 2018): the non-robust baseline.

One player, a Gaussian policy squashed by tanh, the smaller of two critics, and an entropy bonus
α H(π) whose weight α is fixed, or learned so that the entropy stays near a target. Its oracle goes
to the same solver as the others', with Adam for the policy and no adversary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.agents import critics
from mixedne.agents.base import Batches
from mixedne.agents.critics import CriticCarry, batch_at, polyak_update, q_value
from mixedne.agents.losses import alpha_loss, soft_value, squashed_gaussian
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.solvers import Oracle
from mixedne.types import Players


class CriticState(NamedTuple):
    """What is learned beside the policy."""

    critics: tuple[Network, ...]
    critic_optimizer: optax.OptState
    target_critics: tuple[Network, ...]
    policy: Network
    """θ_t, for the targets: SAC has no target policy."""
    log_alpha: jax.Array
    """log α."""
    alpha_optimizer: optax.OptState
    """``None`` where α is fixed."""


@dataclass(frozen=True, eq=False)
class SAC:
    """SAC with a learned α, or a fixed one."""

    observation_size: int
    action_size: int
    hidden: Sequence[int] = (256, 256)
    activation: str = "relu"
    actor_layer_norm: bool = False
    critic_layer_norm: bool = False
    gamma: float = 0.99
    tau: float = 0.995
    """τ, the share of the target networks that an update keeps."""
    critic_learning_rate: float = 3e-4
    critic_weight_decay: float = 0.0
    alpha_learning_rate: float = 3e-4
    initial_alpha: float = 1.0
    target_entropy: float | None = None
    """H̄; minus the number of actions unless given."""
    fixed_alpha: float | None = None
    """α, if it is not learned."""
    policy_head: str = "tanh-gaussian"
    normals_per_batch: int = 2
    """For the actions at s' and at s."""

    @property
    def _critic_optimizer(self) -> optax.GradientTransformation:
        return critics.critic_adam(self.critic_learning_rate, self.critic_weight_decay)

    @property
    def _alpha_optimizer(self) -> optax.GradientTransformation:
        return optax.adam(self.alpha_learning_rate)

    def init(self, key: jax.Array) -> tuple[Players, CriticState]:
        """First networks; target critics start as copies."""
        policy_key, critic_key = jax.random.split(key)
        sizes = (self.observation_size, *self.hidden, 2 * self.action_size)
        policy = init_network(policy_key, sizes, layer_norm=self.actor_layer_norm)
        sizes = (self.observation_size + self.action_size, *self.hidden)
        phi = critics.init_critics(critic_key, 2, sizes, layer_norm=self.critic_layer_norm)
        alpha = self.initial_alpha if self.fixed_alpha is None else self.fixed_alpha
        log_alpha = jnp.log(jnp.asarray(alpha, jnp.float32))
        state = CriticState(
            phi,
            self._critic_optimizer.init(phi),
            phi,
            policy,
            log_alpha,
            self._alpha_optimizer.init(log_alpha) if self.fixed_alpha is None else None,
        )
        return Players(policy, None), state

    def init_carry(self, critic: CriticState) -> CriticCarry:
        """The carry at the start of a program."""
        return critics.init_carry(critic)

    def oracle(self, batches: Batches) -> Oracle:
        """The oracle that takes one of these minibatches for each step."""
        return critics.make_oracle(self, batches)

    def finish(
        self, carry: CriticCarry, players: Players, batches: Batches
    ) -> tuple[CriticState, dict[str, jax.Array]]:
        """The critic state, and the metrics: sums, and the payoff on the last minibatch."""
        return critics.finish(self.payoff, carry, players, batches)

    # -- the parts of a minibatch step -----------------------------------------------------------

    def begin(
        self,
        batches: Batches,
        key: jax.Array,
        carry: CriticCarry,
        players: Players,
        opponent: Players | None,
    ) -> CriticCarry:
        """Y = r + γ (1 − d) [min_i Q_targ,i(s', a') − α log π(a' | s')]; critics; α."""
        del key, players, opponent
        state: CriticState = carry.critic
        batch, normals = batch_at(batches, carry.batch)
        next_values = self._soft_values(
            state.policy,
            state.target_critics,
            jnp.exp(state.log_alpha),
            batch.next_observation,
            normals[0],
        )
        carry = critics.update_critics(
            self._critic_optimizer,
            carry,
            batch,
            next_values,
            gamma=self.gamma,
            activation=self.activation,
        )
        if self.fixed_alpha is not None:
            return carry
        return carry._replace(critic=self.update_alpha(carry.critic, batch.observation, normals[1]))

    def update_alpha(self, state: CriticState, s: jax.Array, normals: jax.Array) -> CriticState:
        """One step of log α, so that the entropy nears H̄."""
        _, log_prob = jax.vmap(self.sample, (None, 0, 0))(state.policy, s, normals)
        target = -float(self.action_size) if self.target_entropy is None else self.target_entropy
        gradient = jax.grad(alpha_loss)(state.log_alpha, log_prob.mean(), target)
        step, moments = self._alpha_optimizer.update(gradient, state.alpha_optimizer)
        return state._replace(log_alpha=state.log_alpha + step, alpha_optimizer=moments)

    def gradients(
        self, batches: Batches, carry: CriticCarry, players: Players, opponent: Players | None
    ) -> Players:
        """The gradient of the mean soft value on the step's minibatch."""
        del opponent
        state: CriticState = carry.critic
        places = batches.transitions.observation, batches.normals
        s, normals = batch_at(places, carry.batch - 1)
        alpha = jnp.exp(state.log_alpha)

        def mean_soft_value(policy: Network) -> jax.Array:
            return self._soft_values(policy, state.critics, alpha, s, normals[1]).mean()

        return Players(jax.grad(mean_soft_value)(players.agent), None)

    def end(self, carry: CriticCarry, players: Players) -> CriticCarry:
        """Target critics follow the critics; the next targets use the new policy."""
        state: CriticState = carry.critic
        targets = polyak_update(self.tau, state.target_critics, state.critics)
        state = state._replace(target_critics=targets, policy=players.agent)
        return carry._replace(critic=state)

    # -- values and actions ----------------------------------------------------------------------

    def sample(
        self, policy: Network, observation: jax.Array, normal: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """An action a of π(s), and log π(a | s)."""
        return squashed_gaussian(apply_network(policy, observation, self.activation), normal)

    def min_q(self, phi: tuple[Network, ...], s: jax.Array, a: jax.Array) -> jax.Array:
        """min_i Q_i(s, a)."""
        return jnp.stack([q_value(critic, s, a, self.activation) for critic in phi]).min()

    def payoff(self, state: CriticState, players: Players, s: jax.Array) -> jax.Array:
        """Mean over observations s of the smaller critic at the policy's mean action."""

        def one(s: jax.Array) -> jax.Array:
            action, _ = self.sample(players.agent, s, jnp.zeros(self.action_size))
            return self.min_q(state.critics, s, action)

        return jax.vmap(one)(s).mean()

    def _soft_values(
        self, policy: Network, phi: Any, alpha: jax.Array, s: jax.Array, normals: jax.Array
    ) -> jax.Array:
        def one(s: jax.Array, normal: jax.Array) -> jax.Array:
            action, log_prob = self.sample(policy, s, normal)
            return soft_value(self.min_q(phi, s, action), log_prob, alpha)

        return jax.vmap(one)(s, normals)
