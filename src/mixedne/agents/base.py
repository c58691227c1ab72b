"""The interface of all agents, and the base class of the actor-critic agents.

An agent only provides a solver with an :class:`~mixedne.solvers.Oracle`. A compiled program of many
outer steps calls ``init_carry``, then the solver's steps with ``oracle``, then ``finish``.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import optax

from mixedne.agents.losses import critic_loss, td_target
from mixedne.agents.networks import Network, apply_network, init_network
from mixedne.solvers import Carry, Oracle, SolverState
from mixedne.types import Players, PyTree


class Transition(NamedTuple):
    """A transition that the critic learns from, or many of them, with leading axes."""

    observation: jax.Array  # s, normalised
    action: jax.Array  # ā: what was executed
    reward: jax.Array
    terminated: jax.Array  # d: 1 where the task, not the time limit, ended the episode
    next_observation: jax.Array  # s', normalised


class Batches(NamedTuple):
    """The minibatches of a compiled program, with the random numbers that they need.

    All random numbers are drawn in bulk beforehand, which is faster than drawing inside the loop.
    """

    transitions: Transition  # (capacity, batch, …)
    normals: jax.Array | None
    """(capacity, ``normals_per_batch``, batch, action size): standard normals for the agent."""
    rate: jax.Array | None = None
    """(capacity,): the remaining fraction of the learning rates; None if they do not decay."""


class Agent(Protocol):
    """Initial state and oracle of an agent."""

    @property
    def policy_head(self) -> str:
        """The head in the policy file, which turns the network's outputs into actions."""

    @property
    def normals_per_batch(self) -> int:
        """Number of standard normals per minibatch step, in units of (batch, action size)."""

    def init(self, key: jax.Array) -> tuple[Players, Any]:
        """Initial players, and the critic state (everything else that is learned), or None."""

    def init_carry(self, critic: Any) -> Carry:
        """The oracle's carry at the start of a program."""

    def oracle(self, batches: Any) -> Oracle:
        """The oracle for these :class:`Batches`; they are None if the agent plays episodes."""

    def finish(self, carry: Any, players: Players, batches: Any) -> tuple[Any, dict[str, Any]]:
        """The critic state at the end of a program, and its metrics by name."""


class CriticCarry(NamedTuple):
    """State of an actor-critic agent's oracle between minibatch steps."""

    critic: Any  # the agent's critic state: critics, targets and optimisers
    batch: jax.Array  # how many minibatches are used
    sums: dict[str, jax.Array]
    """Sums over minibatch steps of critic loss, mean value of the first critic, and mean of Y."""


@dataclass(frozen=True, eq=False)
class ActorCritic(ABC):
    """Settings and the minibatch step that DDPG, TD3 and SAC share.

    The critic state of a subclass is a NamedTuple with ``critics``, ``critic_optimizer``,
    ``target_critics`` and its own fields.
    """

    observation_size: int
    action_size: int
    _: KW_ONLY
    hidden: Sequence[int] = (64, 64)
    critic_hidden: Sequence[int] | None = None  # as hidden unless given
    activation: str = "tanh"
    actor_layer_norm: bool = False
    critic_layer_norm: bool = False
    gamma: float = 0.99
    tau: float = 0.999  # τ, the share of the target networks that an update keeps
    critic_optimizer: str = "adam"  # or adamw
    critic_learning_rate: float = 1e-3
    critic_weight_decay: float = 0.0  # λ: with Adam, of an L2 penalty on the critic's loss

    @abstractmethod
    def next_values(self, state: Any, observations: jax.Array, normals: Any) -> jax.Array:
        """V(s') for a minibatch, from which the targets Y bootstrap."""

    @abstractmethod
    def gradients(
        self, batches: Batches, carry: CriticCarry, players: Players, opponent: Players | None
    ) -> Players:
        """Each player's gradient on the step's minibatch."""

    @abstractmethod
    def end(self, carry: CriticCarry, players: Players) -> CriticCarry:
        """Update the targets."""

    @abstractmethod
    def payoff(self, state: Any, players: Players, s: jax.Array) -> jax.Array:
        """The mean value of the players' actions over observations s, for the metrics."""

    def begin(self, batches: Batches, key: Any, carry: CriticCarry, *players: Any) -> CriticCarry:
        """Take the next minibatch, compute Y = r + γ (1 − d) V(s'), and update all critics."""
        state, (batch, normals, rate) = carry.critic, batch_at(batches, carry.batch)
        next_values = self.next_values(state, batch.next_observation, normals)
        target = td_target(batch.reward, batch.terminated, next_values, self.gamma)

        def loss(critics: tuple[Network, ...]) -> tuple[jax.Array, jax.Array]:
            q = jax.vmap(self.q, (None, 0, 0))
            values = [q(phi, batch.observation, batch.action) for phi in critics]
            return critic_loss(values, target).mean(), values[0].mean()

        (error, value), gradients = jax.value_and_grad(loss, has_aux=True)(state.critics)
        steps, moments = self.optimizer.update(gradients, state.critic_optimizer, state.critics)
        critics = optax.apply_updates(state.critics, scaled(rate, steps))
        found = {"critic_loss": error, "value": value, "target": target.mean()}
        sums = {name: carry.sums[name] + found[name] for name in found}
        state = state._replace(critics=critics, critic_optimizer=moments)
        return CriticCarry(state, carry.batch + 1, sums)

    def init_critics(self, key: jax.Array, count: int, action_size: int) -> tuple[Network, ...]:
        """``count`` critics Q_i(s, a), initialised independently."""
        sizes = (self.observation_size + action_size, *(self.critic_hidden or self.hidden), 1)
        keys = jax.random.split(key, count)
        return tuple(init_network(k, sizes, layer_norm=self.critic_layer_norm) for k in keys)

    def q(self, phi: Network, s: jax.Array, a: jax.Array) -> Any:
        """Q_φ(s, a), a number."""
        return apply_network(phi, jnp.concatenate([s, a]), self.activation)[0]

    @property
    def optimizer(self) -> optax.GradientTransformation:
        """The critics' optimiser, Adam or AdamW, with weight decay if it is set."""
        if self.critic_optimizer == "adamw":
            return optax.adamw(self.critic_learning_rate, weight_decay=self.critic_weight_decay)
        adam = optax.adam(self.critic_learning_rate)
        if self.critic_weight_decay == 0:
            return adam
        return optax.chain(optax.add_decayed_weights(self.critic_weight_decay), adam)

    def init_carry(self, critic: Any) -> CriticCarry:
        """The carry at the start of a program."""
        sums = dict.fromkeys(("critic_loss", "value", "target"), jnp.zeros([]))
        return CriticCarry(critic, jnp.zeros([], jnp.int32), sums)

    def oracle(self, batches: Any) -> Oracle:
        """An oracle that uses one of these minibatches per step."""

        def resample(key: Any, carry: CriticCarry, *players: Any) -> CriticCarry:
            return carry._replace(batch=carry.batch + 1)

        gradients = functools.partial(self.gradients, batches)
        return Oracle(gradients, functools.partial(self.begin, batches), resample, self.end)

    def project(self, players: Players) -> Players:
        """The projection of the players: by default none."""
        return players

    def renew(self, key: jax.Array, state: SolverState) -> SolverState:
        """Redraw parts of the state between compiled programs: by default nothing."""
        del key
        return state

    def worlds(self, state: SolverState) -> Any:
        """The worlds to collect in, with their probabilities; None for no preference."""
        del state

    def finish(self, carry: CriticCarry, players: Players, batches: Batches) -> tuple[Any, Any]:
        """The critic state, and the metrics: sums, and the payoff on the last minibatch."""
        last = batches.transitions.observation[carry.batch - 1]
        return carry.critic, {**carry.sums, "payoff": self.payoff(carry.critic, players, last)}


def batch_at(tree: PyTree, i: jax.Array) -> PyTree:
    """Entry i of every array in a tree, e.g. minibatch i."""
    return jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, i, keepdims=False), tree)


def scaled(rate: jax.Array | None, steps: PyTree) -> PyTree:
    """An optimiser's steps, scaled by a fraction of its learning rate."""
    return steps if rate is None else optax.tree.scale(rate, steps)


def polyak_update(tau: float, target: PyTree, source: PyTree) -> PyTree:
    """τ target + (1 − τ) source. As in the paper, τ is the fraction that is kept."""
    return jax.tree.map(lambda old, new: tau * old + (1.0 - tau) * new, target, source)
