"""M2TD3 (Tanabe et al. 2022): TD3 against a few parameter vectors of the world.

The adversary is not a network but n vectors ω_1 … ω_n in the box [−1, 1]^d, which represents an
uncertainty set. The critic sees the parameters of a transition's world, after the task's
observation, and the agent does not. With the agent μ_θ, the payoff is

    J(θ, ω) = min_k mean over s of Q_1(s, ω_k, μ_θ(s))

which the agent maximises and the worst vector minimises. Vectors that are close to another, or
that have rarely been the worst recently, are redrawn. ``docs/sets.md`` lists the differences from
the authors' code.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mixedne.agents.base import Batches, CriticCarry, batch_at
from mixedne.agents.ddpg_td3 import DDPG, CriticState
from mixedne.agents.losses import smooth_target_action
from mixedne.agents.networks import Network
from mixedne.solvers import Oracle, SolverState
from mixedne.types import Players

MEMORY = 1000
"""Time scale, in steps of the players, of the counts of which vector is the worst."""

LEAST_SHARE, LEAST_DISTANCE = 0.05, 0.1
"""Vectors are redrawn if they were the worst in a smaller fraction of steps than this, or if their
L1 distance from a later vector is at most this."""


@dataclass(frozen=True, eq=False)
class M2TD3(DDPG):
    """TD3, or DDPG, against parameter vectors.

    The solver updates z = ω/``scale`` with the players' learning rate η. The steps of RMSProp, Adam
    and Langevin dynamics do not depend on the scale of the parameters, so ω effectively has its
    own learning rate: ``scale`` · η.
    """

    _: KW_ONLY
    parameter_vectors: int = 5  # n
    scale: float = 1.0

    @property
    def dimension(self) -> int:
        """d, the number of parameters."""
        return self.game.unseen

    @property
    def normals_per_batch(self) -> int:
        """Smoothing noise for the action, and for each parameter."""
        return 1 + self.dimension if self.target_noise > 0 else 0

    def init(self, key: jax.Array) -> tuple[Players, CriticState]:
        """Initial networks, and vectors drawn uniformly from the box."""
        network_key, vector_key = jax.random.split(key)
        players, state = super().init(network_key)
        shares = jnp.ones(self.parameter_vectors) / self.parameter_vectors
        return players._replace(adversary=self.draw(vector_key)), state._replace(shares=shares)

    def draw(self, key: jax.Array) -> jax.Array:
        """Draw n vectors z uniformly from the box."""
        reach, shape = 1.0 / self.scale, (self.parameter_vectors, self.dimension)
        return jax.random.uniform(key, shape, minval=-reach, maxval=reach)

    def project(self, players: Players) -> Players:
        """The vectors' projection onto the box."""
        reach = 1.0 / self.scale
        return players._replace(adversary=jnp.clip(players.adversary, -reach, reach))

    def value(
        self, state: CriticState, agent: Network, vector: jax.Array, s: jax.Array
    ) -> jax.Array:
        """Mean over observations s, from any worlds, of Q_1(s, ω, μ(s))."""
        omega = jnp.broadcast_to(self.scale * vector, (len(s), self.dimension))
        seen = self.game.views(s).agent
        action = jax.vmap(self.act, (None, 0))(agent, seen)
        return self.mean_value(state, action, None, jnp.concatenate([seen, omega], axis=1))

    def worst(self, state: CriticState, players: Players, s: jax.Array) -> jax.Array:
        """The index of the vector with the lowest value."""

        def value(vector: jax.Array) -> jax.Array:
            return self.value(state, players.agent, vector, s)

        return jnp.argmin(jax.vmap(value)(players.adversary))

    def payoff(self, state: CriticState, players: Players, s: jax.Array) -> jax.Array:
        """J(θ, ω); only the worst vector is differentiated."""
        vector = players.adversary[self.worst(state, jax.lax.stop_gradient(players), s)]
        return self.value(state, players.agent, vector, s)

    def gradients(
        self, batches: Batches, carry: CriticCarry, players: Players, opponent: Players | None
    ) -> Players:
        """∇_θ J and ∇_ω J on the step's minibatch, the opponent held fixed."""
        if opponent is None:
            return super().gradients(batches, carry, players, None)
        s = batch_at(batches.transitions.observation, carry.batch - 1)

        def both(z: Players) -> jax.Array:
            own, its = Players(z.agent, opponent.adversary), Players(opponent.agent, z.adversary)
            return self.payoff(carry.critic, own, s) + self.payoff(carry.critic, its, s)

        return jax.grad(both)(players)

    def next_values(self, state: CriticState, observations: jax.Array, normals: Any) -> jax.Array:
        """As in TD3, with smoothing noise also on the parameters that the target critics see."""
        if normals is not None:
            seen, omega = jnp.split(observations, [self.game.sees.agent], axis=1)
            noise = self.target_noise, self.target_noise_clip
            omega = smooth_target_action(omega, normals[1:, :, 0].T, *noise)
            observations, normals = jnp.concatenate([seen, omega], axis=1), normals[:1]
        return super().next_values(state, observations, normals)

    def oracle(self, batches: Any) -> Oracle:
        """DDPG's oracle, which also counts which vector is the worst."""

        def end(carry: CriticCarry, players: Players) -> CriticCarry:
            s = batch_at(batches.transitions.observation, carry.batch - 1)
            worst = jax.nn.one_hot(self.worst(carry.critic, players, s), self.parameter_vectors)
            carry = self.end(carry, players._replace(adversary=None))
            shares = carry.critic.shares + (worst - carry.critic.shares) / MEMORY
            return carry._replace(critic=carry.critic._replace(shares=shares))

        return super().oracle(batches)._replace(end=end)

    def renew(self, key: jax.Array, state: SolverState) -> SolverState:
        """Redraw vectors that are close to others or rarely the worst."""
        vectors, shares = state.players.adversary, state.carry.shares
        apart = jnp.abs(vectors[:, None] - vectors[None]).sum(axis=2) * self.scale
        is_near = jnp.triu(apart <= LEAST_DISTANCE, k=1).any(axis=1)
        least = min(LEAST_SHARE, 0.25 / self.parameter_vectors)  # all begin with 1/n
        is_lost = is_near | (shares < least)
        vectors = jnp.where(is_lost[:, None], self.draw(key), vectors)
        shares = jnp.where(is_lost, 1.0 / self.parameter_vectors, shares)
        return state._replace(
            players=state.players._replace(adversary=vectors),
            carry=state.carry._replace(shares=shares / shares.sum()),
        )

    def worlds(self, state: SolverState) -> tuple[NDArray[Any], NDArray[Any]]:
        """The vectors ω in [−1, 1]^d, and the probability of each in the episodes collected."""
        shares = np.asarray(state.carry.shares, float)
        return np.asarray(self.scale * state.players.adversary), shares / shares.sum()
