"""Soft actor-critic with a learned temperature (Haarnoja et al. 2018): the non-robust baseline.

One player, a Gaussian policy squashed by tanh, the smaller of two critics, and an entropy bonus
α H(π) whose weight α is learned so that the entropy stays near a target. Its oracle goes to the
same solver as the others', with Adam for the policy and nobody on the other side.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.agents.actor_critic import (
    Agent,
    Carry,
    Feed,
    Transition,
    add,
    critic_adam,
    entry,
    improve_critics,
    init_critics,
    skip_entry,
    track,
    value_of,
)
from mixedne.agents.losses import squashed_gaussian, td_target
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.solvers import Oracle
from mixedne.types import Players


class Learner(NamedTuple):
    """What is learned beside the policy."""

    critics: tuple[Network, ...]
    critic_optimizer: optax.OptState
    target_critics: tuple[Network, ...]
    policy: Network
    """θ_t, for the targets: SAC has no target policy."""
    log_temperature: jax.Array
    """log α."""
    temperature_optimizer: optax.OptState


def sac(
    observation_size: int,
    action_size: int,
    *,
    hidden: Sequence[int] = (256, 256),
    activation: str = "relu",
    actor_layer_norm: bool = False,
    critic_layer_norm: bool = False,
    gamma: float = 0.99,
    tau: float = 0.995,
    critic_learning_rate: float = 3e-4,
    critic_weight_decay: float = 0.0,
    temperature_learning_rate: float = 3e-4,
    initial_temperature: float = 1.0,
    target_entropy: float | None = None,
) -> Agent:
    """SAC; ``target_entropy`` is minus the number of actions unless given."""
    critic_optimizer = critic_adam(critic_learning_rate, critic_weight_decay)
    temperature_optimizer = optax.adam(temperature_learning_rate)
    wanted = -float(action_size) if target_entropy is None else target_entropy

    def sample(
        policy: Network, observation: jax.Array, normal: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        return squashed_gaussian(apply_network(policy, observation, activation), normal)

    def smaller(critics: Any, s: jax.Array, a: jax.Array) -> jax.Array:
        return jnp.stack([value_of(phi, s, a, activation) for phi in critics]).min()

    def soft_value(
        policy: Network, critics: Any, alpha: jax.Array, s: jax.Array, normal: jax.Array
    ) -> jax.Array:
        """min_i Q_i(s, a) − α log π(a | s) at a sampled action."""
        action, log_probability = sample(policy, s, normal)
        return smaller(critics, s, action) - alpha * log_probability

    batched_soft_value = jax.vmap(soft_value, (None, None, None, 0, 0))

    def init(key: jax.Array) -> tuple[Players, Learner]:
        policy_key, critic_key = jax.random.split(key)
        sizes = (observation_size, *hidden, 2 * action_size)
        policy = init_network(policy_key, sizes, layer_norm=actor_layer_norm)
        seen = observation_size + action_size
        phi = init_critics(critic_key, 2, (seen, *hidden), layer_norm=critic_layer_norm)
        log_alpha = jnp.log(jnp.asarray(initial_temperature, jnp.float32))
        learner = Learner(
            phi,
            critic_optimizer.init(phi),
            phi,
            policy,
            log_alpha,
            temperature_optimizer.init(log_alpha),
        )
        return Players(policy, None), learner

    def payoff(learner: Learner, players: Players, batch: Transition) -> jax.Array:
        """The smaller critic at the policy's mean action."""

        def one(s: jax.Array) -> jax.Array:
            action, _ = sample(players.agent, s, jnp.zeros(action_size))
            return smaller(learner.critics, s, action)

        return jax.vmap(one)(batch.observation).mean()

    def oracle(feed: Feed) -> Oracle:
        def prepare(key: jax.Array, carry: Carry, own: Players, opponent: Players) -> Carry:
            """Y = r + γ (1 − d) [min_i Q_targ,i(s', a') − α log π(a' | s')]; critics; α."""
            del key, own, opponent
            learner: Learner = carry.learner
            batch, normals = entry((feed.transitions, feed.normals), carry.turn)
            values = batched_soft_value(
                learner.policy,
                learner.target_critics,
                jnp.exp(learner.log_temperature),
                batch.next_observation,
                normals[0],
            )
            target = jax.vmap(td_target, (0, 0, 0, None))(
                batch.reward, batch.terminated, values, gamma
            )
            learner, loss, value = improve_critics(
                critic_optimizer, learner, batch, target, activation
            )
            learner = adapt(learner, batch.observation, normals[1])
            return add(carry, learner, critic_loss=loss, value=value, target=target.mean())

        def adapt(learner: Learner, s: jax.Array, normals: jax.Array) -> Learner:
            """One step down −log α (log π(a | s) + H̄), so that the entropy nears H̄."""
            _, log_probability = jax.vmap(sample, (None, 0, 0))(learner.policy, s, normals)
            gradient = -(log_probability.mean() + wanted)
            step, moments = temperature_optimizer.update(gradient, learner.temperature_optimizer)
            return learner._replace(
                log_temperature=learner.log_temperature + step, temperature_optimizer=moments
            )

        def gradients(carry: Carry, own: Players, opponent: Players) -> Players:
            del opponent
            learner: Learner = carry.learner
            s, normals = entry((feed.transitions.observation, feed.normals), carry.turn - 1)
            alpha = jnp.exp(learner.log_temperature)

            def soft(policy: Network) -> jax.Array:
                return batched_soft_value(policy, learner.critics, alpha, s, normals[1]).mean()

            return Players(jax.grad(soft)(own.agent), None)

        def commit(carry: Carry, players: Players) -> Carry:
            learner: Learner = carry.learner
            targets = track(tau, learner.target_critics, learner.critics)
            return carry._replace(
                learner=learner._replace(target_critics=targets, policy=players.agent)
            )

        return Oracle(gradients, prepare, skip_entry, commit)

    return Agent(init, oracle, payoff, draws=2, policy_head="tanh-gaussian")
