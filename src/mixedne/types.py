"""The nouns that the whole package shares."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

PyTree: TypeAlias = Any
"""A tree of arrays, as JAX understands it: parameters, optimiser states, batches."""

Payoff: TypeAlias = Callable[[PyTree, PyTree], Any]
"""The agent's payoff J(θ, ω): a scalar. The adversary receives its negative."""

LAYER_NORM_EPSILON = 1e-6
"""Added to the variance by layer norm, in ``policies`` (NumPy) and in ``agents.networks`` (JAX)."""

LOG_DEVIATION_RANGE = (-20.0, 2.0)
"""Of a squashed Gaussian policy, in ``policies`` and in ``agents.losses``."""

T = TypeVar("T")


class Players(NamedTuple, Generic[T]):
    """One thing for each of the two players of a zero-sum game.

    The thing may be a tree of parameters, a tree of gradients or a single number. A player
    that does not exist is ``None``, JAX's empty tree: it costs neither memory nor time.
    """

    agent: T
    """θ: maximises the payoff J."""
    adversary: T
    """ω: minimises the payoff J."""


class World(NamedTuple):
    """A task written in JAX: what is needed to play whole episodes inside a program.

    Its states are its observations. Chance comes from outside, as numbers from [0, 1).
    """

    start: Any
    """The state, a vector, in which every episode starts."""
    action_size: int
    draws: int
    """How many numbers chance takes for a step."""
    step: Callable[[Any, Any, Any], tuple[Any, Any]]
    """(state, action, draws) → (next state, reward)."""
