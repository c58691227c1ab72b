"""What the actor-critic agents share: their memory, what feeds them, their critics.

An agent supplies a solver with its :class:`~mixedne.solvers.Oracle` and with nothing else. A
turn of the oracle takes one entry of the :class:`Feed`, which holds everything random that a
program of many turns consumes, drawn in bulk beforehand: drawing inside the loop costs more.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.agents.losses import squared_errors
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.solvers import Oracle
from mixedne.types import Players, PyTree


class Transition(NamedTuple):
    """What the critic learns from; with leading axes, many of them."""

    observation: jax.Array
    """s, normalised."""
    action: jax.Array
    """ā: what was executed."""
    reward: jax.Array
    terminated: jax.Array
    """d: 1 where the task, not the time limit, ended the episode."""
    next_observation: jax.Array
    """s', normalised."""


class Feed(NamedTuple):
    """Minibatches and random numbers, one entry per turn along the first axis."""

    transitions: Transition
    """(turns, batch, …)"""
    normals: jax.Array | None
    """(turns, draws, batch, action size): standard normals for the agent's own use."""
    noise: Players | None
    """Standard normals in the shape of the players: ξ and ξ' of the Langevin steps."""


class Sums(NamedTuple):
    """Sums over turns of what a person wants to see."""

    critic_loss: jax.Array
    """Mean squared error over the minibatch, summed over the critics."""
    value: jax.Array
    """Mean of the first critic over the minibatch."""
    target: jax.Array
    """Mean of the targets y."""


class Carry(NamedTuple):
    """What the oracle remembers from turn to turn."""

    learner: Any
    """The agent's critics, targets and optimisers."""
    turn: jax.Array
    """How many entries of the feed are used."""
    sums: Sums


class Agent(NamedTuple):
    """An agent: how it starts, and how it answers a solver."""

    init: Callable[[jax.Array], tuple[Players, Any]]
    """key → (players, learner)."""
    oracle: Callable[[Feed], Oracle]
    """The oracle that is fed by this feed."""
    payoff: Callable[[Any, Players, Transition], jax.Array]
    """(learner, players, minibatch) → the mean value that the agent maximises."""
    draws: int
    """Normals that a turn takes, in units of (batch, action size)."""
    policy_head: str
    """How the policy file makes actions of the network's outputs."""


def open_carry(learner: Any) -> Carry:
    """A carry for a new feed."""
    return Carry(learner, jnp.zeros([], jnp.int32), Sums(*jnp.zeros(len(Sums._fields))))


def entry(tree: PyTree, turn: jax.Array) -> PyTree:
    """One turn's entry of a feed."""
    return jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, turn, keepdims=False), tree)


def add(carry: Carry, learner: Any, **values: jax.Array) -> Carry:
    """Close the critic's step of a turn."""
    sums = jax.tree.map(jnp.add, carry.sums, Sums(**values))
    return Carry(learner, carry.turn + 1, sums)


def skip_entry(key: jax.Array, carry: Carry, own: Players, opponent: Players) -> Carry:
    """A fresh minibatch for a second gradient of the same turn."""
    del key, own, opponent
    return carry._replace(turn=carry.turn + 1)


def track(tau: float, target: PyTree, source: PyTree) -> PyTree:
    """Target networks: τ target + (1 − τ) source, so τ is the share kept."""
    return jax.tree.map(lambda old, new: tau * old + (1.0 - tau) * new, target, source)


def init_critics(
    key: jax.Array, count: int, sizes: Sequence[int], *, layer_norm: bool
) -> tuple[Network, ...]:
    """So many critics Q_i(s, a), each with weights of its own."""
    return tuple(
        init_network(k, (*sizes, 1), layer_norm=layer_norm) for k in jax.random.split(key, count)
    )


def value_of(critic: Network, observation: jax.Array, action: jax.Array, activation: str) -> Any:
    """Q(s, a), a number."""
    return apply_network(critic, jnp.concatenate([observation, action]), activation)[0]


def improve_critics(
    optimizer: optax.GradientTransformation,
    learner: Any,
    batch: Transition,
    target: jax.Array,
    activation: str,
) -> tuple[Any, jax.Array, jax.Array]:
    """One step down the critics' loss; also the loss, and the first critic's mean value."""

    def loss(critics: tuple[Network, ...]) -> tuple[jax.Array, jax.Array]:
        def one(s: jax.Array, a: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
            values = [value_of(critic, s, a, activation) for critic in critics]
            return squared_errors(values, y), values[0]

        losses, values = jax.vmap(one)(batch.observation, batch.action, target)
        return losses.mean(), values.mean()

    (error, value), gradients = jax.value_and_grad(loss, has_aux=True)(learner.critics)
    steps, moments = optimizer.update(gradients, learner.critic_optimizer, learner.critics)
    critics = optax.apply_updates(learner.critics, steps)
    return learner._replace(critics=critics, critic_optimizer=moments), error, value


def critic_adam(learning_rate: float, weight_decay: float) -> optax.GradientTransformation:
    """Adam; weight decay is an L2 penalty on the critic's loss."""
    if weight_decay == 0:
        return optax.adam(learning_rate)
    return optax.chain(optax.add_decayed_weights(weight_decay), optax.adam(learning_rate))
