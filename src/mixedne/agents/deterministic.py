"""Two-player DDPG and TD3 (paper, DDPG and TD3 appendices).

Two deterministic policies μ_θ(s) and ν_ω(s) share critics of the joint policy. DDPG is TD3 with
its tricks off: one critic instead of the smaller of two, no smoothing of target actions, and no
delay (which is the solver's: :func:`mixedne.solvers.delayed`).
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
from mixedne.agents.losses import smoothed, td_target
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.games import Formulation
from mixedne.solvers import Oracle
from mixedne.types import Players


class Learner(NamedTuple):
    """What is learned beside the two players."""

    critics: tuple[Network, ...]
    """φ_1 (and φ_2)."""
    critic_optimizer: optax.OptState
    target_critics: tuple[Network, ...]
    """φ_targ,1 (and φ_targ,2)."""
    target_players: Players
    """θ_targ, ω_targ: they follow the inner iterate."""


def deterministic(
    observation_size: int,
    action_size: int,
    formulation: Formulation,
    *,
    hidden: Sequence[int] = (64, 64),
    activation: str = "tanh",
    actor_layer_norm: bool = False,
    critic_layer_norm: bool = False,
    gamma: float = 0.99,
    tau: float = 0.999,
    critic_learning_rate: float = 1e-3,
    critic_weight_decay: float = 0.0,
    critics: int = 1,
    target_noise: float = 0.0,
    target_noise_clip: float = 0.5,
) -> Agent:
    """DDPG by default; TD3 with ``critics=2`` and ``target_noise`` above zero."""
    optimizer = critic_adam(critic_learning_rate, critic_weight_decay)

    def act(actor: Network | None, observation: jax.Array) -> Any:
        return None if actor is None else jnp.tanh(apply_network(actor, observation, activation))

    def init(key: jax.Array) -> tuple[Players, Learner]:
        agent_key, adversary_key, critic_key = jax.random.split(key, 3)
        sizes = (observation_size, *hidden)
        adversary_size = formulation.adversary_size(action_size)
        players = Players(
            init_network(agent_key, (*sizes, action_size), layer_norm=actor_layer_norm),
            init_network(adversary_key, (*sizes, adversary_size), layer_norm=actor_layer_norm)
            if formulation.has_adversary
            else None,
        )
        seen = observation_size + formulation.critic_size(action_size)
        phi = init_critics(critic_key, critics, (seen, *hidden), layer_norm=critic_layer_norm)
        return players, Learner(phi, optimizer.init(phi), phi, players)

    def next_value(learner: Learner, observation: jax.Array, normals: Any) -> jax.Array:
        """min_i Σ_branches w Q_targ,i(s', ã), with smoothing noise on each branch."""
        target = learner.target_players
        a, b = act(target.agent, observation), act(target.adversary, observation)
        branches = [
            (weight, action if normals is None else smooth(action, normals[i]))
            for i, (weight, action) in enumerate(formulation.branches(a, b))
        ]
        values = [
            sum(w * value_of(phi, observation, action, activation) for w, action in branches)
            for phi in learner.target_critics
        ]
        return jnp.stack(values).min()

    def smooth(action: jax.Array, normal: jax.Array) -> jax.Array:
        return smoothed(action, normal, target_noise, target_noise_clip)

    def joint_value(learner: Learner, agent: Any, adversary: Any, s: jax.Array) -> jax.Array:
        """Mean over s of Σ_branches w Q_1(s, ·) at both players' actions."""
        a, b = (jax.vmap(act, (None, 0))(actor, s) for actor in (agent, adversary))
        return value_at(learner, a, b, s)

    def value_at(learner: Learner, a: Any, b: Any, s: jax.Array) -> jax.Array:
        def one(s: jax.Array, a: jax.Array, b: Any) -> Any:
            return sum(
                weight * value_of(learner.critics[0], s, action, activation)
                for weight, action in formulation.branches(a, b)
            )

        return jax.vmap(one)(s, a, b).mean()

    def payoff(learner: Learner, players: Players, batch: Transition) -> jax.Array:
        return joint_value(learner, players.agent, players.adversary, batch.observation)

    def oracle(feed: Feed) -> Oracle:
        def prepare(key: jax.Array, carry: Carry, own: Players, opponent: Players) -> Carry:
            """Y = r + γ (1 − d) min_i Q_targ,i(s', ã), then one step of the critics."""
            del key, own, opponent
            learner: Learner = carry.learner
            batch, normals = entry((feed.transitions, feed.normals), carry.turn)
            values = jax.vmap(next_value, (None, 0, None if normals is None else 1))(
                learner, batch.next_observation, normals
            )
            target = jax.vmap(td_target, (0, 0, 0, None))(
                batch.reward, batch.terminated, values, gamma
            )
            learner, loss, value = improve_critics(optimizer, learner, batch, target, activation)
            return add(carry, learner, critic_loss=loss, value=value, target=target.mean())

        def gradients(carry: Carry, own: Players, opponent: Players) -> Players:
            """Each player's policy gradient on the turn's minibatch, the other one held fixed."""
            s = entry(feed.transitions.observation, carry.turn - 1)
            learner = carry.learner
            if own is opponent or not formulation.players_meet:
                # From the same point both gradients share one pass through the critic.
                return jax.grad(lambda z: joint_value(learner, z.agent, z.adversary, s))(own)

            def both(z: Players) -> jax.Array:
                # (θ^(k), ω_t) and (θ_t, ω^(k)) side by side: one pass of twice the rows.
                (a, b), (other_a, other_b) = (
                    [jax.vmap(act, (None, 0))(actor, s) for actor in players]
                    for players in (z, opponent)
                )
                joined = [jnp.concatenate(pair) for pair in ((a, other_a), (other_b, b), (s, s))]
                return 2.0 * value_at(learner, *joined)

            return jax.grad(both)(own)

        def commit(carry: Carry, players: Players) -> Carry:
            learner: Learner = carry.learner
            return carry._replace(
                learner=learner._replace(
                    target_critics=track(tau, learner.target_critics, learner.critics),
                    target_players=track(tau, learner.target_players, players),
                )
            )

        noise = None if feed.noise is None else lambda carry: entry(feed.noise, carry.turn - 1)
        return Oracle(gradients, prepare, skip_entry, commit, noise)

    draws = formulation.branch_count if target_noise > 0 else 0
    return Agent(init, oracle, payoff, draws, policy_head="tanh")
