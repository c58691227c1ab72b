"""What the actor-critic agents share: settings, critics, and the parts of a minibatch step."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
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


@dataclass(frozen=True, eq=False)
class ActorCritic(ABC):
    """Settings and the minibatch step that DDPG, TD3 and SAC share.

    The critic state of a subclass is a NamedTuple with ``critics``, ``critic_optimizer`` and
    ``target_critics``, beside what is its own.
    """

    observation_size: int
    action_size: int
    _: KW_ONLY
    hidden: Sequence[int] = (64, 64)
    activation: str = "tanh"
    actor_layer_norm: bool = False
    critic_layer_norm: bool = False
    gamma: float = 0.99
    tau: float = 0.999
    """τ, the share of the target networks that an update keeps."""
    critic_learning_rate: float = 1e-3
    critic_weight_decay: float = 0.0
    """An L2 penalty on the critic's loss."""

    @abstractmethod
    def next_values(self, state: Any, observations: jax.Array, normals: Any) -> jax.Array:
        """V(s') for a minibatch: what the targets Y bootstrap from."""

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

    def begin(
        self,
        batches: Batches,
        key: jax.Array,
        carry: CriticCarry,
        players: Players,
        opponent: Players | None,
    ) -> CriticCarry:
        """Take the next minibatch; Y = r + γ (1 − d) V(s'); one step of all critics."""
        del key, players, opponent
        batch, normals = batch_at(batches, carry.batch)
        next_values = self.next_values(carry.critic, batch.next_observation, normals)
        target = jax.vmap(td_target, (0, 0, 0, None))(
            batch.reward, batch.terminated, next_values, self.gamma
        )
        state, error, value = self.update_critics(carry.critic, batch, target)
        sums = jax.tree.map(jnp.add, carry.sums, Sums(error, value, target.mean()))
        return CriticCarry(state, carry.batch + 1, sums)

    def update_critics(
        self, state: Any, batch: Transition, target: jax.Array
    ) -> tuple[Any, jax.Array, jax.Array]:
        """One step down Σ_i (Y − Q_i)²; also the loss, and the first critic's mean value."""

        def loss(critics: tuple[Network, ...]) -> tuple[jax.Array, jax.Array]:
            def one(s: jax.Array, a: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
                values = [self.q(phi, s, a) for phi in critics]
                return critic_loss(values, y), values[0]

            losses, values = jax.vmap(one)(batch.observation, batch.action, target)
            return losses.mean(), values.mean()

        (error, value), gradients = jax.value_and_grad(loss, has_aux=True)(state.critics)
        steps, moments = self.critic_optimizer.update(
            gradients, state.critic_optimizer, state.critics
        )
        critics = optax.apply_updates(state.critics, steps)
        return state._replace(critics=critics, critic_optimizer=moments), error, value

    def init_critics(self, key: jax.Array, count: int, action_size: int) -> tuple[Network, ...]:
        """So many critics Q_i(s, a), each with weights of its own."""
        sizes = (self.observation_size + action_size, *self.hidden, 1)
        keys = jax.random.split(key, count)
        return tuple(init_network(k, sizes, layer_norm=self.critic_layer_norm) for k in keys)

    def q(self, phi: Network, s: jax.Array, a: jax.Array) -> Any:
        """Q_φ(s, a), a number."""
        return apply_network(phi, jnp.concatenate([s, a]), self.activation)[0]

    @property
    def critic_optimizer(self) -> optax.GradientTransformation:
        """Adam, with weight decay if there is any."""
        adam = optax.adam(self.critic_learning_rate)
        if self.critic_weight_decay == 0:
            return adam
        return optax.chain(optax.add_decayed_weights(self.critic_weight_decay), adam)

    def init_carry(self, critic: Any) -> CriticCarry:
        """The carry at the start of a program."""
        return CriticCarry(critic, jnp.zeros([], jnp.int32), Sums(*jnp.zeros(len(Sums._fields))))

    def oracle(self, batches: Batches) -> Oracle:
        """The oracle that takes one of these minibatches for each step."""
        return Oracle(
            functools.partial(self.gradients, batches),
            functools.partial(self.begin, batches),
            next_batch,
            self.end,
        )

    def finish(
        self, carry: CriticCarry, players: Players, batches: Batches
    ) -> tuple[Any, dict[str, jax.Array]]:
        """The critic state, and the metrics: sums, and the payoff on the last minibatch."""
        last = batches.transitions.observation[carry.batch - 1]
        payoff = self.payoff(carry.critic, players, last)
        return carry.critic, {**carry.sums._asdict(), "payoff": payoff}


def batch_at(tree: PyTree, i: jax.Array) -> PyTree:
    """Minibatch i, or what else goes with it."""
    return jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, i, keepdims=False), tree)


def next_batch(
    key: jax.Array, carry: CriticCarry, players: Players, opponent: Players | None
) -> CriticCarry:
    """A fresh minibatch for a second gradient of the same step: the oracle's ``resample``."""
    del key, players, opponent
    return carry._replace(batch=carry.batch + 1)


def polyak_update(tau: float, target: PyTree, source: PyTree) -> PyTree:
    """Target networks: τ target + (1 − τ) source. As in the paper, τ is the share kept."""
    return jax.tree.map(lambda old, new: tau * old + (1.0 - tau) * new, target, source)
