"""What every agent is to the rest of the package.

An agent gives a solver an :class:`~mixedne.solvers.Oracle` and nothing else. A compiled program
of many outer steps goes: ``init_carry``, then the solver's steps with ``oracle``, then ``finish``.
"""

from typing import Any, NamedTuple, Protocol

import jax

from mixedne.solvers import Carry, Oracle
from mixedne.types import Players


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


class Batches(NamedTuple):
    """The minibatches of a compiled program, and the random numbers that go with them.

    Everything random is drawn in bulk beforehand: drawing inside the loop costs more.
    """

    transitions: Transition
    """(capacity, batch, …)"""
    normals: jax.Array | None
    """(capacity, ``normals_per_batch``, batch, action size): standard normals for the agent."""


class Agent(Protocol):
    """How an agent starts, and how it answers a solver."""

    @property
    def policy_head(self) -> str:
        """How the policy file makes actions of the network's outputs."""

    @property
    def normals_per_batch(self) -> int:
        """Standard normals for one minibatch step, in units of (batch, action size)."""

    def init(self, key: jax.Array) -> tuple[Players, Any]:
        """First players, and the critic state: what is learned beside them, or None."""

    def init_carry(self, critic: Any) -> Carry:
        """The oracle's carry at the start of a program."""

    def oracle(self, batches: Any) -> Oracle:
        """The oracle that uses these :class:`Batches`; None for an agent that plays episodes."""

    def finish(
        self, carry: Any, players: Players, batches: Any
    ) -> tuple[Any, dict[str, jax.Array]]:
        """The critic state at the end of a program, and its metrics by name."""
