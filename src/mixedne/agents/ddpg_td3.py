"""Two-player DDPG and TD3 (paper, DDPG and TD3 appendices).

Two deterministic policies μ_θ(s) and ν_ω(s) share critics of the joint policy. DDPG is TD3 without
its tricks: one critic instead of the minimum of two, no smoothing of target actions, and no policy
delay (which is done by the solver: :func:`mixedne.solvers.delayed`).
"""

import functools
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.agents.base import ActorCritic, Batches, CriticCarry, batch_at, polyak_update
from mixedne.agents.losses import expected_q, smooth_target_action
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.games.game import Game
from mixedne.types import Players


class CriticState(NamedTuple):
    """Everything that is learned besides the two players."""

    critics: tuple[Network, ...]  # φ_1 (and φ_2)
    critic_optimizer: optax.OptState
    target_critics: tuple[Network, ...]  # φ_targ,1 (and φ_targ,2)
    target_players: Players  # θ_targ, ω_targ: they follow the inner iterate
    shares: jax.Array | None = None  # of M2TD3: how often each parameter vector is the worst


@dataclass(frozen=True, eq=False)
class DDPG(ActorCritic):
    """Two-player DDPG; TD3 with ``critics=2`` and ``target_noise`` above zero."""

    _: KW_ONLY
    game: Game
    critics: int = 1
    target_noise: float = 0.0  # deviation of the noise that smooths target actions
    target_noise_clip: float = 0.5
    policy_head: str = "tanh"

    @property
    def normals_per_batch(self) -> int:
        """Smoothing noise for each branch of the game."""
        return self.game.branch_count if self.target_noise > 0 else 0

    def init(self, key: jax.Array) -> tuple[Players, CriticState]:
        """Initial networks; targets start as copies."""
        agent_key, adversary_key, critic_key = jax.random.split(key, 3)
        ends = zip((agent_key, adversary_key), self.game.sees, self.game.sizes, strict=True)
        players = Players(
            *(
                init_network(k, (seen, *self.hidden, size), layer_norm=self.actor_layer_norm)
                if size
                else None
                for k, seen, size in ends
            )
        )
        phi = self.init_critics(critic_key, self.critics, self.game.executed.size)
        return players, CriticState(phi, self.optimizer.init(phi), phi, players)

    def gradients(
        self, batches: Batches, carry: CriticCarry, players: Players, opponent: Players | None
    ) -> Players:
        """Each player's policy gradient on the step's minibatch, its opponent held fixed."""
        s = batch_at(batches.transitions.observation, carry.batch - 1)
        if opponent is None or not self.game.players_meet:
            # Both gradients share one pass through the critic.
            return jax.grad(lambda z: self.payoff(carry.critic, z, s))(players)

        def both(z: Players) -> jax.Array:
            # (θ^(k), ω_t) and (θ_t, ω^(k)) in one pass with twice the rows.
            (a, b), (other_a, other_b) = (self.actions(each, s) for each in (z, opponent))
            joined = [jnp.concatenate(pair) for pair in ((a, other_a), (other_b, b), (s, s))]
            return 2.0 * self.mean_value(carry.critic, *joined)

        return jax.grad(both)(players)

    def end(self, carry: CriticCarry, players: Players) -> CriticCarry:
        """Polyak-update the targets of the critics and the players."""
        state: CriticState = carry.critic
        critics = polyak_update(self.tau, state.target_critics, state.critics)
        actors = polyak_update(self.tau, state.target_players, players)
        return carry._replace(critic=state._replace(target_critics=critics, target_players=actors))

    def act(self, actor: Network | None, seen: jax.Array) -> Any:
        """μ(s) or ν(s), from what the player sees of s; None if the player does not exist."""
        return None if actor is None else jnp.tanh(apply_network(actor, seen, self.activation))

    def actions(self, players: Players, s: jax.Array) -> list[Any]:
        """Both players' actions for many observations."""
        act = jax.vmap(self.act, (None, 0))
        return [act(actor, seen) for actor, seen in zip(players, self.game.views(s), strict=True)]

    def next_values(self, state: CriticState, observations: jax.Array, normals: Any) -> jax.Array:
        """min_i Σ_branches w Q_targ,i(s', ã), with smoothing noise on each branch."""
        noise = self.target_noise, self.target_noise_clip

        def one(s: jax.Array, normals: Any) -> jax.Array:
            lottery = self.game.branches(*map(self.act, state.target_players, self.game.views(s)))
            branches = [
                (weight, a if normals is None else smooth_target_action(a, normals[i], *noise))
                for i, (weight, a) in enumerate(lottery)
            ]
            q = (functools.partial(self.q, phi, s) for phi in state.target_critics)
            return jnp.stack([expected_q(each, branches) for each in q]).min()

        return jax.vmap(one, (0, None if normals is None else 1))(observations, normals)

    def payoff(self, state: CriticState, players: Players, s: jax.Array) -> jax.Array:
        """Mean over observations s of Σ_branches w Q_1(s, ·) at both players' actions."""
        a, b = self.actions(players, s)
        return self.mean_value(state, a, b, s)

    def mean_value(self, state: CriticState, a: Any, b: Any, s: jax.Array) -> jax.Array:
        """Mean of Σ_branches w Q_1(s, ·) at given actions."""

        def one(s: jax.Array, a: jax.Array, b: Any) -> Any:
            q = functools.partial(self.q, state.critics[0], s)
            return expected_q(q, self.game.branches(a, b))

        return jax.vmap(one)(s, a, b).mean()
