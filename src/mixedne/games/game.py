"""The definition of a game: a world, and two players who act in it.

Players choose actions in [−1, 1], each scaled to its player's own box. A game turns the agent's
action a and the adversary's action b into a *lottery*: a few branches, each with a probability and
the action that the world executes and the critic sees in it. Everything else follows from this:
the world samples one branch, and the value of (a, b) is the expectation of the critic over the
branches. The agent receives the task's reward, the adversary its negative.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixedne.types import Players


class Branch(NamedTuple):
    """One possible outcome of two actions."""

    weight: float  # its probability
    action: Any  # what is executed, and what the critic sees


class Box(NamedTuple):
    """The bounds, in physical units, that actions in [−1, 1] are scaled to."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Dimension of an action."""
        return len(self.low)

    def scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values in the box, as a player chooses them: in [−1, 1]."""
        return np.asarray(2 * (values - self.low) / (self.high - self.low) - 1)

    def shrunk(self, share: float) -> "Box":
        """A share of the box, around its centre."""
        centre, reach = (self.low + self.high) / 2, (self.high - self.low) / 2
        return Box(centre - share * reach, centre + share * reach)


@dataclass(frozen=True, eq=False)
class Game:
    """The rules by which two players act in a world. Actions may be NumPy or JAX arrays."""

    name: str
    strength: float | None
    """Strength of the adversary: δ, a force in newtons, or a rate; None if it has only bounds."""
    observation_size: int
    """Observation size of the world, which is what the critic sees."""
    boxes: Players[Box | None]
    """The box of each player's actions; None if there is no adversary."""
    executed: Box
    """The box of the executed actions."""
    branches: Callable[[Any, Any], tuple[Branch, ...]]
    """(agent's action, adversary's action or None) → the lottery."""
    branch_count: int = 1
    absent: Callable[[Any], Any] | None = None
    """Agent's action → the adversary's with which all is as if there were no adversary; None if the
    game has none."""
    agent_share: float = 1.0
    """The share of the executed action that is the agent's; the rest is the adversary's."""
    players_meet: bool = True
    """Whether a branch mixes actions, so that a player's gradient depends on the other's action."""
    unseen: int = 0
    """Number of observations, counted from the end, that the agent does not see."""
    unseen_by_adversary: int = 0
    """Number of observations, counted from the start, that the adversary does not see."""
    scaled: int = 0
    """Number of observations, counted from the end, that need no normaliser."""
    wrap: Callable[[Any], Any] = lambda env: env
    """Wraps the task's environment into the game's, whose actions are the executed ones."""

    @property
    def has_adversary(self) -> bool:
        """Whether there is a second player."""
        return self.boxes.adversary is not None

    @property
    def sizes(self) -> Players[int]:
        """Dimension of each player's action."""
        return Players(*(0 if box is None else box.size for box in self.boxes))

    @property
    def sees(self) -> Players[int]:
        """Number of observations that each player sees (agent: the first; adversary: the last)."""
        size = self.observation_size
        return Players(size - self.unseen, size - self.unseen_by_adversary)

    def views(self, observation: Any) -> Players[Any]:
        """The part of an observation, or of a batch of them, that each player sees."""
        return Players(observation[..., : self.sees[0]], observation[..., -self.sees[1] :])

    def execute(self, agent: Any, adversary: Any, chance: Any, where: Any = np.where) -> Any:
        """The action that the world executes, in [−1, 1]; ``chance`` is uniform on [0, 1)."""
        *others, last = self.branches(agent, adversary)
        executed, below = last.action, 1.0 - last.weight
        for weight, action in reversed(others):
            executed = where(chance < below, action, executed)
            below -= weight
        return executed


def joint_game(
    name: str,
    strength: float | None,
    task: Any,
    adversary: Box,
    wrap: Callable[[Any], Any],
    unseen: int = 0,
    absent: NDArray[np.float64] | None = None,
) -> Game:
    """A game whose adversary has its own actions: the world and the critic get (a, b).

    ``absent`` is an action of the adversary, in physical units, that leaves the task as it is.
    """
    agent = Box(task.action_low, task.action_high)
    nothing = None if absent is None else adversary.scaled(absent).astype(np.float32)
    both = Box(*(np.concatenate(ends) for ends in zip(agent, adversary, strict=True)))
    return Game(
        name,
        strength,
        task.observation_size + unseen,
        Players(agent, adversary),
        both,
        branches=lambda a, b: (Branch(1.0, a.__array_namespace__().concat([a, b], axis=-1)),),
        absent=None if nothing is None else lambda a: nothing,
        unseen=unseen,
        scaled=unseen,
        wrap=wrap,
    )
