"""Types that the whole package shares."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

PyTree: TypeAlias = Any
"""A tree of arrays, as in JAX: parameters, optimiser states, batches."""

Payoff: TypeAlias = Callable[[PyTree, PyTree], Any]
"""The agent's payoff J(θ, ω), a scalar. The adversary's payoff is its negative."""

LAYER_NORM_EPSILON = 1e-6
"""Added to the variance by layer norm, in ``policies`` (NumPy) and in ``agents.networks`` (JAX)."""

LOG_DEVIATION_RANGE = (-20.0, 2.0)
"""Range of log σ of a squashed Gaussian policy, in ``policies`` and in ``agents.losses``."""

T = TypeVar("T")


class Players(NamedTuple, Generic[T]):
    """A pair of values, one for each of the two players of a zero-sum game.

    The values may be trees of parameters, trees of gradients or single numbers. A player that
    does not exist is ``None``, JAX's empty tree, which costs neither memory nor time.
    """

    agent: T
    """The agent's value, e.g. θ, which maximises the payoff J."""
    adversary: T
    """The adversary's value, e.g. ω, which minimises the payoff J."""


class World(NamedTuple):
    """A task written in JAX, for playing whole episodes inside a compiled program.

    Its states are its observations. Randomness is passed in, as numbers from [0, 1).
    """

    start: Any
    """The initial state of every episode, a vector."""
    action_size: int
    draws: int
    """Number of random numbers per step."""
    step: Callable[[Any, Any, Any], tuple[Any, Any]]
    """(state, action, draws) → (next state, reward)."""
