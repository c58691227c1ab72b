"""What the actor-critic agents share: the carry of their oracles, and their critics."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.agents.base import Batches, Transition
from mixedne.agents.losses import critic_loss, td_target
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.solvers import Oracle
from mixedne.types import Players, PyTree


class Sums(NamedTuple):
    """Sums over minibatch steps, for the metrics."""

    critic_loss: jax.Array
    """Mean squared error over the minibatch, summed over the critics."""
    value: jax.Array
    """Mean of the first critic over the minibatch."""
    target: jax.Array
    """Mean of the targets Y."""


class CriticCarry(NamedTuple):
    """What the oracle remembers from one minibatch step to the next."""

    critic: Any
    """The agent's critic state: critics, targets and optimisers."""
    batch: jax.Array
    """How many minibatches are used."""
    sums: Sums


def init_carry(critic: Any) -> CriticCarry:
    """The carry at the start of a program."""
    return CriticCarry(critic, jnp.zeros([], jnp.int32), Sums(*jnp.zeros(len(Sums._fields))))


def batch_at(tree: PyTree, i: jax.Array) -> PyTree:
    """Minibatch i, or what else goes with it."""
    return jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, i, keepdims=False), tree)


def make_oracle(agent: Any, batches: Batches) -> Oracle:
    """The oracle of an actor-critic agent: its ``begin``, ``gradients`` and ``end``."""
    return Oracle(
        functools.partial(agent.gradients, batches),
        functools.partial(agent.begin, batches),
        next_batch,
        agent.end,
    )


def finish(
    payoff: Callable[[Any, Players, jax.Array], jax.Array],
    carry: CriticCarry,
    players: Players,
    batches: Batches,
) -> tuple[Any, dict[str, jax.Array]]:
    """The critic state, and the metrics: sums, and the payoff on the last minibatch."""
    last = batches.transitions.observation[carry.batch - 1]
    return carry.critic, {**carry.sums._asdict(), "payoff": payoff(carry.critic, players, last)}


def next_batch(
    key: jax.Array, carry: CriticCarry, players: Players, opponent: Players | None
) -> CriticCarry:
    """A fresh minibatch for a second gradient of the same step: the oracle's ``resample``."""
    del key, players, opponent
    return carry._replace(batch=carry.batch + 1)


def polyak_update(tau: float, target: PyTree, source: PyTree) -> PyTree:
    """Target networks: τ target + (1 − τ) source. As in the paper, τ is the share kept."""
    return jax.tree.map(lambda old, new: tau * old + (1.0 - tau) * new, target, source)


def init_critics(
    key: jax.Array, count: int, sizes: Sequence[int], *, layer_norm: bool
) -> tuple[Network, ...]:
    """So many critics Q_i(s, a), each with weights of its own."""
    return tuple(
        init_network(k, (*sizes, 1), layer_norm=layer_norm) for k in jax.random.split(key, count)
    )


def q_value(critic: Network, observation: jax.Array, action: jax.Array, activation: str) -> Any:
    """Q(s, a), a number."""
    return apply_network(critic, jnp.concatenate([observation, action]), activation)[0]


def update_critics(
    optimizer: optax.GradientTransformation,
    carry: CriticCarry,
    batch: Transition,
    next_values: jax.Array,
    *,
    gamma: float,
    activation: str,
) -> CriticCarry:
    """One step of all critics down Σ_i (Y − Q_i)² with Y = r + γ (1 − d) V(s')."""
    state = carry.critic
    target = jax.vmap(td_target, (0, 0, 0, None))(
        batch.reward, batch.terminated, next_values, gamma
    )

    def loss(critics: tuple[Network, ...]) -> tuple[jax.Array, jax.Array]:
        def one(s: jax.Array, a: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
            values = [q_value(critic, s, a, activation) for critic in critics]
            return critic_loss(values, y), values[0]

        losses, values = jax.vmap(one)(batch.observation, batch.action, target)
        return losses.mean(), values.mean()

    (error, value), gradients = jax.value_and_grad(loss, has_aux=True)(state.critics)
    steps, moments = optimizer.update(gradients, state.critic_optimizer, state.critics)
    critics = optax.apply_updates(state.critics, steps)
    state = state._replace(critics=critics, critic_optimizer=moments)
    sums = jax.tree.map(jnp.add, carry.sums, Sums(error, value, target.mean()))
    return CriticCarry(state, carry.batch + 1, sums)


def critic_adam(learning_rate: float, weight_decay: float) -> optax.GradientTransformation:
    """Adam; weight decay is an L2 penalty on the critic's loss."""
    if weight_decay == 0:
        return optax.adam(learning_rate)
    return optax.chain(optax.add_decayed_weights(weight_decay), optax.adam(learning_rate))
