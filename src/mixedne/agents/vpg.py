"""Two-player vanilla policy gradient (paper, VPG appendix).

Both players are Gaussian: a ~ N(μ(s), v(s)) with a linear mean and a softplus variance. They play
whole episodes against each other, in a world that is written in JAX, and each ascends or descends
the policy gradient estimated from them,

    g  = (1 − δ)/n Σ_τ Σ_t γ^t G_t ∇_θ log π(a_t | s_t)
    g' =      δ /n Σ_τ Σ_t γ^t G_t ∇_ω log π'(b_t | s_t)        G_t = Σ_(u ≥ t) γ^(u−t) r_u

with a_t and b_t as sampled; they are clipped to [−1, 1] before the formulation mixes them. Since
only log π is differentiated, this holds for every formulation: without the factors 1 − δ and δ of
the paper, these are unbiased estimates of the gradients of E Σ γ^t r_t. Both the factors and γ^t
can be omitted, as in the authors' code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.agents import losses
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.games.game import Game
from mixedne.solvers import Oracle
from mixedne.types import Players, PyTree, World


class Trajectories(NamedTuple):
    """The n episodes of H steps from which a player estimates its gradient."""

    observation: jax.Array  # s_t: (n, H, observation size)
    normal: jax.Array  # ξ_t of the player's own action μ(s_t) + σ(s_t) ξ_t: (n, H, action size)
    weight: jax.Array  # Ψ_t, such as γ^t G_t: (n, H)


class RolloutCarry(NamedTuple):
    """State of the oracle between rollouts."""

    trajectories: Players  # of the last rollout
    returns: jax.Array  # sum over rollouts of their episodes' mean undiscounted return
    rollouts: jax.Array  # how often episodes were played


@dataclass(frozen=True, eq=False)
class VPG:
    """Two-player VPG; with δ = 0, or without an adversary, REINFORCE."""

    world: World
    game: Game
    hidden: Sequence[int] = (16, 16)
    activation: str = "relu"
    layer_norm: bool = False
    gamma: float = 0.99
    horizon: int = 500  # H, steps of an episode
    trajectories: int = 1  # n, episodes played for one gradient
    normalise_returns: bool = False  # shift and scale the G_t to mean 0 and deviation 1
    gamma_weights: bool = True  # weight step t by γ^t G_t, as printed; otherwise by G_t
    share_factors: bool = True  # scale the players' gradients by 1 − δ and δ, as printed
    clip_gradient: float | None = None  # the largest norm of a player's gradient
    policy_head: str = "clipped-gaussian"
    normals_per_batch: int = 0

    def init(self, key: jax.Array) -> tuple[Players, None]:
        """Initial networks; there is no critic."""
        sizes = (len(self.world.start), *self.hidden, 2 * self.world.action_size)
        agent, adversary = (
            init_network(k, sizes, layer_norm=self.layer_norm) for k in jax.random.split(key)
        )
        return Players(agent, adversary if self.game.has_adversary else None), None

    def init_carry(self, critic: None = None) -> RolloutCarry:
        """The carry at the start of a program: the shapes of a rollout, all zero."""
        zero = jnp.zeros([])
        empty = RolloutCarry(Players(None, None), zero, zero)
        players, _ = jax.eval_shape(self.init, jax.random.key(0))
        shapes = jax.eval_shape(self.begin, jax.random.key(0), empty, players, critic)
        return optax.tree.zeros_like(shapes)

    def oracle(self, batches: None = None) -> Oracle:
        """An oracle that plays episodes with the current players."""
        return Oracle(self.gradients, self.begin, resample=self.begin)

    def finish(self, carry: RolloutCarry, players: Any, batches: Any) -> tuple[None, Any]:
        """The metrics of a program's rollouts."""
        return None, {"returns": carry.returns, "rollouts": carry.rollouts}

    def begin(
        self, key: jax.Array, carry: RolloutCarry, players: Players, opponent: Players | None
    ) -> RolloutCarry:
        """Play episodes: one set if the players play against each other, otherwise two."""
        if opponent is None or not self.game.has_adversary:
            trajectories, total = self.rollout(key, players)
            sets = 1
        else:
            first, second = jax.random.split(key)
            one, own = self.rollout(first, Players(players.agent, opponent.adversary))
            other, against = self.rollout(second, Players(opponent.agent, players.adversary))
            trajectories, total, sets = Players(one.agent, other.adversary), own + against, 2
        return RolloutCarry(trajectories, carry.returns + total, carry.rollouts + sets)

    def gradients(self, carry: RolloutCarry, players: Players, opponent: Players | None) -> Players:
        """The policy gradient of each player, estimated from its own trajectories."""
        delta = self.game.strength or 0.0
        shares = (1 - delta, delta) if self.share_factors else (1.0, 1.0)
        found = (
            None if network is None else self.policy_gradient(network, played, share)
            for network, played, share in zip(players, carry.trajectories, shares, strict=True)
        )
        return Players(*found)

    def policy_gradient(self, network: Network, played: Trajectories, share: float) -> PyTree:
        """share/n Σ_τ Σ_t Ψ_t ∇ log π(a_t | s_t), clipped."""

        def one_step(network: Network, s: jax.Array, normal: jax.Array, weight: jax.Array) -> Any:
            mean, deviation = losses.gaussian(apply_network(network, s, self.activation))
            return losses.reinforce_objective(
                losses.gaussian_log_prob(mean, deviation, normal), weight
            )

        def objective(network: Network) -> jax.Array:
            axes = (None, 0, 0, 0)
            steps = jax.vmap(jax.vmap(one_step, axes), axes)(network, *played)
            return share / self.trajectories * steps.sum()

        gradient = jax.grad(objective)(network)
        if self.clip_gradient is None:
            return gradient
        factor = jnp.minimum(1.0, self.clip_gradient / (optax.tree.norm(gradient) + 1e-12))
        return optax.tree.scale(factor, gradient)

    def rollout(self, key: jax.Array, players: Players) -> tuple[Players, jax.Array]:
        """Both players' trajectories, and their episodes' mean undiscounted return."""
        keys = jax.random.split(key, self.trajectories)
        observation, normals, rewards = jax.vmap(self.episode, (0, None))(keys, players)
        weight = self.weights(rewards)
        trajectories = (
            None if network is None else Trajectories(observation, normals[:, :, i], weight)
            for i, network in enumerate(players)
        )
        return Players(*trajectories), rewards.sum(axis=1).mean()

    def episode(self, key: jax.Array, players: Players) -> tuple[jax.Array, jax.Array, jax.Array]:
        """One episode: s_t, both players' ξ_t, and r_t for every step."""
        normal_key, world_key, chance_key = jax.random.split(key, 3)
        normals = jax.random.normal(normal_key, (self.horizon, 2, self.world.action_size))
        draws = jax.random.uniform(world_key, (self.horizon, self.world.draws))
        chance = jax.random.uniform(chance_key, (self.horizon,))

        def step(s: jax.Array, random: tuple[Any, Any, Any]) -> tuple[jax.Array, Any]:
            normals, draws, chance = random
            a, b = map(self.sample, players, (s, s), normals)
            executed = self.game.execute(a, b, chance, where=jnp.where)
            after, reward = self.world.step(s, executed, draws)
            return after, (s, reward)

        _, (observation, rewards) = jax.lax.scan(step, self.world.start, (normals, draws, chance))
        return observation, normals, rewards

    def sample(self, network: Network | None, s: jax.Array, normal: jax.Array) -> Any:
        """μ(s) + σ(s) ξ, clipped to [−1, 1]; None for a player that does not exist."""
        if network is None:
            return None
        mean, deviation = losses.gaussian(apply_network(network, s, self.activation))
        return jnp.clip(mean + deviation * normal, -1, 1)

    def weights(self, rewards: jax.Array) -> jax.Array:
        """Ψ_t for the rewards (n, H) of a rollout: γ^t G_t, or a variant by configuration."""
        if self.gamma_weights and not self.normalise_returns:
            return jax.vmap(losses.discounted_returns_to_go, (0, None))(rewards, self.gamma)
        weight = jax.vmap(losses.returns_to_go, (0, None))(rewards, self.gamma)
        if self.normalise_returns:
            weight = (weight - weight.mean()) / (weight.std() + 1e-8)
        if self.gamma_weights:
            weight = self.gamma ** jnp.arange(self.horizon)[None] * weight
        return weight
