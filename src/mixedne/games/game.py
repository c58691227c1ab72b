"""What a game is: a world, and two players who act in it.

Players name actions in [−1, 1], which stand for numbers in boxes of their own. A game turns the
agent's action a and the adversary's action b into a *lottery*: a few branches, each with the
probability that it happens and the action that the world executes and the critic sees in it.
Everything else follows: the world plays one branch, drawn by its probability, and the value of
(a, b) is the mean of the critic over the branches. The agent is paid the task's reward, the
adversary its negative.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixedne.types import Players


class Branch(NamedTuple):
    """One thing that may happen with two actions."""

    weight: float  # its probability
    action: Any  # what is executed, and what the critic sees


class Box(NamedTuple):
    """What actions in [−1, 1] stand for, in units of their own."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many numbers an action has."""
        return len(self.low)


@dataclass(frozen=True, eq=False)
class Game:
    """The rules by which two players act in a world. Actions may be NumPy or JAX arrays."""

    name: str
    strength: float | None
    """Of the adversary: δ, a force in newtons, or a rate; None if its bounds say it all."""
    observation_size: int
    """Of the world: what the critic sees."""
    boxes: Players[Box | None]
    """Each player's actions; None for an adversary that is not there."""
    executed: Box
    """What the world takes."""
    branches: Callable[[Any, Any], tuple[Branch, ...]]
    """(agent's action, adversary's action or None) → the lottery."""
    branch_count: int = 1
    players_meet: bool = True
    """Whether a branch mixes the actions, so that one's gradient depends on the other's action."""
    unseen: int = 0
    """How many observations, the last ones, the agent does not see."""
    unseen_by_adversary: int = 0
    """How many observations, the first ones, the adversary does not see."""
    scaled: int = 0
    """How many observations, the last ones, need no normaliser."""
    wrap: Callable[[Any], Any] = lambda env: env
    """From the task's environment, the game's, which takes executed actions."""

    @property
    def has_adversary(self) -> bool:
        """Whether there is a second player at all."""
        return self.boxes.adversary is not None

    @property
    def sizes(self) -> Players[int]:
        """How many numbers each player's action has."""
        return Players(*(0 if box is None else box.size for box in self.boxes))

    @property
    def sees(self) -> Players[int]:
        """How many observations each player sees: the agent the first, the adversary the last."""
        size = self.observation_size
        return Players(size - self.unseen, size - self.unseen_by_adversary)

    def views(self, observation: Any) -> Players[Any]:
        """What each player sees of an observation, or of a row of them."""
        return Players(observation[..., : self.sees[0]], observation[..., -self.sees[1] :])

    def execute(self, agent: Any, adversary: Any, chance: Any, where: Any = np.where) -> Any:
        """The action that the world gets, in [−1, 1]; ``chance`` is uniform on [0, 1)."""
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
) -> Game:
    """A game whose adversary has actions of its own: the world and the critic get (a, b)."""
    agent = Box(task.action_low, task.action_high)
    both = Box(*(np.concatenate(ends) for ends in zip(agent, adversary, strict=True)))
    return Game(
        name,
        strength,
        task.observation_size + unseen,
        Players(agent, adversary),
        both,
        branches=lambda a, b: (Branch(1.0, a.__array_namespace__().concat([a, b], axis=-1)),),
        unseen=unseen,
        scaled=unseen,
        wrap=wrap,
    )
