"""Two-player vanilla policy gradient (paper, VPG appendix).

Both players are Gaussian: a ~ N(μ(s), v(s)) with a linear mean and a softplus variance. They play
whole episodes against each other, in a world that is written in JAX, and each climbs or descends
the policy gradient that it reads off them,

    g  = (1 − δ)/n Σ_τ Σ_t γ^t G_t ∇_θ log π(a_t | s_t)
    g' =      δ /n Σ_τ Σ_t γ^t G_t ∇_ω log π'(b_t | s_t)        G_t = Σ_(u ≥ t) γ^(u−t) r_u

with a_t and b_t as sampled; they are clipped to [−1, 1] before the formulation mixes them. Since
nothing is differentiated but log π, this holds under every formulation: without the factors 1 − δ
and δ, which the paper prints, these are unbiased estimates of the gradients of E Σ γ^t r_t.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.games import Formulation
from mixedne.solvers import Oracle
from mixedne.types import Players, World


class Evidence(NamedTuple):
    """What a player reads its gradient off: n episodes of H steps."""

    observation: jax.Array
    """s_t: (n, H, observation size)."""
    action: jax.Array
    """The player's own a_t, before it was clipped: (n, H, action size)."""
    weight: jax.Array
    """γ^t G_t: (n, H)."""


class Carry(NamedTuple):
    """What the oracle remembers from turn to turn."""

    evidence: Players
    """Of the episodes played last."""
    returns: jax.Array
    """Sum over turns of the episodes' mean undiscounted return."""
    turns: jax.Array
    """How often episodes were played."""


class PolicyGradientAgent(NamedTuple):
    """An agent that plays by itself: how it starts, and how it answers a solver."""

    init: Callable[[jax.Array], Players]
    """key → players."""
    oracle: Oracle
    open_carry: Callable[[], Carry]
    """A carry with nothing in it."""
    policy_head: str
    """How the policy file makes actions of the network's outputs."""


def vpg(
    world: World,
    formulation: Formulation,
    *,
    hidden: Sequence[int] = (16, 16),
    activation: str = "relu",
    layer_norm: bool = False,
    gamma: float = 0.99,
    horizon: int = 500,
    trajectories: int = 1,
    normalise_returns: bool = False,
    clip_gradient: float | None = None,
) -> PolicyGradientAgent:
    """Two-player VPG; with δ = 0, or without an adversary, REINFORCE.

    Args:
      world: where the players meet.
      formulation: how their actions make one.
      hidden: sizes of the hidden layers.
      activation: ``relu`` or ``tanh``.
      layer_norm: whether hidden layers have it.
      gamma: γ.
      horizon: H, steps of an episode.
      trajectories: n, episodes played for one gradient.
      normalise_returns: shift and scale the G_t of a turn to mean 0 and deviation 1.
      clip_gradient: the largest norm of a player's gradient.
    """
    sizes = (len(world.start), *hidden, 2 * world.action_size)
    discount = gamma ** jnp.arange(horizon)  # γ^t
    shares = Players(1 - formulation.delta, formulation.delta)

    def init(key: jax.Array) -> Players:
        agent, adversary = (
            init_network(k, sizes, layer_norm=layer_norm) for k in jax.random.split(key)
        )
        return Players(agent, adversary if formulation.has_adversary else None)

    def sample(network: Network | None, s: jax.Array, normals: jax.Array) -> Any:
        if network is None:
            return None
        mean, variance = _gaussian(apply_network(network, s, activation))
        return mean + jnp.sqrt(variance) * normals

    def log_probability(network: Network, s: jax.Array, a: jax.Array) -> jax.Array:
        mean, variance = _gaussian(apply_network(network, s, activation))
        return -0.5 * (jnp.square(a - mean) / variance + jnp.log(2 * jnp.pi * variance)).sum()

    def play(key: jax.Array, players: Players) -> tuple[jax.Array, Players, jax.Array]:
        """One episode: (s_t, both players' actions, r_t) for every step."""
        normal_key, world_key, chance_key = jax.random.split(key, 3)
        normals = jax.random.normal(normal_key, (horizon, 2, world.action_size))
        draws = jax.random.uniform(world_key, (horizon, world.draws))
        chance = jax.random.uniform(chance_key, (horizon,))

        def step(s: jax.Array, random: tuple[Any, Any, Any]) -> tuple[jax.Array, Any]:
            normals, draws, chance = random
            actions = Players(*map(sample, players, (s, s), normals))
            executed = _execute(formulation, actions, chance)
            after, reward = world.step(s, executed, draws)
            return after, (s, actions, reward)

        _, played = jax.lax.scan(step, world.start, (normals, draws, chance))
        return played

    def episodes(key: jax.Array, players: Players) -> tuple[Players, jax.Array]:
        """Both players' evidence, and the episodes' mean return."""
        keys = jax.random.split(key, trajectories)
        observation, actions, rewards = jax.vmap(play, (0, None))(keys, players)
        weight = _weights(rewards, gamma, discount[None], normalise=normalise_returns)
        evidence = Players(
            *(None if a is None else Evidence(observation, a, weight) for a in actions)
        )
        return evidence, rewards.sum(axis=1).mean()

    def prepare(key: jax.Array, carry: Carry, own: Players, opponent: Players) -> Carry:
        """Play with the players of this turn; each against the other as given."""
        if own is opponent or not formulation.has_adversary:
            evidence, total = episodes(key, own)
        else:
            first, second = jax.random.split(key)
            evidence, total = episodes(first, Players(own.agent, opponent.adversary))
            others, _ = episodes(second, Players(opponent.agent, own.adversary))
            evidence = Players(evidence.agent, others.adversary)
        return Carry(evidence, carry.returns + total, carry.turns + 1)

    def gradients(carry: Carry, own: Players, opponent: Players) -> Players:
        """The policy gradient of each player, on its own evidence."""
        del opponent

        def climb(network: Network, evidence: Evidence, share: float) -> Any:
            def objective(network: Network) -> jax.Array:
                each = jax.vmap(jax.vmap(log_probability, (None, 0, 0)), (None, 0, 0))
                logs = each(network, evidence.observation, evidence.action)
                return share / trajectories * (evidence.weight * logs).sum()

            return _clipped(jax.grad(objective)(network), clip_gradient)

        pairs = zip(own, carry.evidence, shares, strict=True)
        return Players(*(None if net is None else climb(net, *rest) for net, *rest in pairs))

    def open_carry() -> Carry:
        nothing = jnp.zeros([])
        shapes = jax.eval_shape(
            prepare,
            jax.random.key(0),
            Carry(Players(None, None), nothing, nothing),
            *[jax.eval_shape(init, jax.random.key(0))] * 2,
        )
        return optax.tree.zeros_like(shapes)

    oracle = Oracle(gradients, prepare, redraw=prepare)
    return PolicyGradientAgent(init, oracle, open_carry, policy_head="clipped-gaussian")


def _gaussian(outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and variance from a network's outputs."""
    mean, spread = jnp.split(outputs, 2)
    return mean, jax.nn.softplus(spread)


def _weights(
    rewards: jax.Array, gamma: float, discount: jax.Array, *, normalise: bool
) -> jax.Array:
    """γ^t G_t = Σ_(u ≥ t) γ^u r_u, for rewards (n, H)."""
    if not normalise:
        return jax.lax.cumsum(discount * rewards, axis=1, reverse=True)

    def earlier(later: jax.Array, reward: jax.Array) -> tuple[jax.Array, jax.Array]:
        here = reward + gamma * later
        return here, here

    nothing = jnp.zeros_like(rewards[:, 0])
    _, to_go = jax.lax.scan(earlier, nothing, rewards.T, reverse=True)
    return discount * (to_go.T - to_go.mean()) / (to_go.std() + 1e-8)


def _execute(formulation: Formulation, actions: Players, chance: jax.Array) -> jax.Array:
    """What the world gets of two sampled actions; ``chance`` is uniform on [0, 1)."""
    inside = (None if a is None else jnp.clip(a, -1, 1) for a in actions)
    *others, last = formulation.branches(*inside)
    executed, below = last.action, 1.0 - last.weight
    for weight, action in reversed(others):
        executed = jnp.where(chance < below, action, executed)
        below -= weight
    return jnp.asarray(executed)


def _clipped(gradient: Any, largest: float | None) -> Any:
    """The gradient, shortened to the largest norm allowed."""
    if largest is None:
        return gradient
    factor = jnp.minimum(1.0, largest / (optax.tree.norm(gradient) + 1e-12))
    return optax.tree.scale(factor, gradient)
