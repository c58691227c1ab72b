"""Formulations: how two players make one action, and what the critic then values.

A formulation turns the agent's action a and the adversary's action b into a *lottery*: a few
branches, each with the probability that it happens and the action that the critic sees in it.
Everything else follows: the world plays one branch, drawn by its probability, and the value of
(a, b) is the mean of the critic over the branches.

``nr-mdp``   noisy action robust MDP: one branch, (1 − δ) a + δ b
``pr-mdp``   probabilistic action robust MDP: a with probability 1 − δ, b with δ

Both are from Tessler et al. 2019; the paper trains under the first. With δ = 0 there is no
adversary, and either is the ordinary MDP. A formulation whose adversary pushes bodies (RARL)
would declare its own action size and show the critic both actions side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.names import FORMULATIONS


class Branch(NamedTuple):
    """One thing that may happen with two actions."""

    weight: float  # its probability
    action: Any  # what is executed, and what the critic sees


@dataclass(frozen=True)
class Formulation:
    """The rules by which two players act. Actions may be NumPy or JAX arrays."""

    name: str
    delta: float  # δ: the adversary's share
    branches: Callable[[Any, Any], tuple[Branch, ...]]
    """(agent's action, adversary's action or None) → the lottery."""
    branch_count: int
    players_meet: bool
    """Whether a branch mixes the actions, so that one's gradient depends on the other's action."""

    @property
    def has_adversary(self) -> bool:
        """Whether there is a second player at all."""
        return self.delta > 0

    def adversary_size(self, action_size: int) -> int:
        """How many numbers the adversary's action has."""
        return action_size if self.has_adversary else 0

    def critic_size(self, action_size: int) -> int:
        """How many numbers of action the critic sees."""
        return action_size

    def execute(self, agent: Any, adversary: Any, chance: Any, where: Any = np.where) -> Any:
        """The action that the world gets; ``chance`` is uniform on [0, 1)."""
        *others, last = self.branches(agent, adversary)
        executed, below = last.action, 1.0 - last.weight
        for weight, action in reversed(others):
            executed = where(chance < below, action, executed)
            below -= weight
        return executed


def make_formulation(name: str, delta: float) -> Formulation:
    """The formulation of that name, with the adversary's share δ."""
    if name == "rarl":
        raise InvalidInputError(f"the formulation {name} is not there yet")
    check_choice("formulation", name, FORMULATIONS)
    check_number("delta", delta, at_least=0, below=1)

    lotteries: dict[str, Callable[[Any, Any], tuple[Branch, ...]]] = {
        "nr-mdp": lambda a, b: (Branch(1.0, (1 - delta) * a + delta * b),),
        "pr-mdp": lambda a, b: (Branch(1 - delta, a), Branch(delta, b)),
    }
    if delta == 0:
        return Formulation(name, 0.0, lambda a, b: (Branch(1.0, a),), 1, players_meet=False)
    is_mixed = name == "nr-mdp"
    return Formulation(name, delta, lotteries[name], 1 if is_mixed else 2, players_meet=is_mixed)
