"""Games in a world of a given size, for tests that need no task."""

import numpy as np

from mixedne.games import Box, Game, make_game
from mixedne.games.game import joint_game
from mixedne.tasks import Task


def flat_task(observation_size: int = 3, action_size: int = 2) -> Task:
    """Sizes, and actions in [−1, 1]."""
    high = np.ones(action_size)
    return Task("flat", None, None, observation_size, action_size, -high, high)


def action_game(name: str, delta: float, observation_size: int = 3, action_size: int = 2) -> Game:
    """NR-MDP or PR-MDP."""
    return make_game(flat_task(observation_size, action_size), name, delta=delta)


def separate_game(
    observation_size: int = 3, action_size: int = 2, adversary_size: int = 3, unseen: int = 2
) -> Game:
    """One whose adversary has actions of its own, and sees more than the agent."""
    high = np.ones(adversary_size)
    task = flat_task(observation_size, action_size)
    return joint_game("separate", None, task, Box(-high, high), lambda env: env, unseen)
