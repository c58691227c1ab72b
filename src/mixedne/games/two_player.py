"""Tasks that are two-player games themselves (``tasks.parallel``): the opponent is the adversary.

Each player sees its own observation; the critic sees both, the protagonist's first, and both
actions.
"""

import functools
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.games.game import Box, Game, joint_game
from mixedne.tasks import Task


def two_player_game(task: Task) -> Game:
    """The game of a two-player task; raises ``InvalidInputError`` for other tasks."""
    if task.opponent is None:
        raise InvalidInputError(
            f"the formulation pettingzoo needs a task pettingzoo:module:factory, not {task.id}"
        )
    seen, *box = task.opponent
    wrap = functools.partial(OpponentEnv, agent_size=task.action_size)
    game = joint_game("pettingzoo", None, task, Box(*box), wrap, unseen=seen)
    return replace(game, unseen_by_adversary=task.observation_size, scaled=0)


class OpponentEnv(gym.ObservationWrapper[Any, Any, Any]):
    """An environment with the actions and the observations of protagonist and opponent in a row."""

    def __init__(self, env: gym.Env[Any, Any], agent_size: int) -> None:
        """``env``: a task's environment, which wraps a ``TwoPlayerEnv``."""
        super().__init__(env)
        self._agent_size = agent_size

    def step(self, action: NDArray[np.floating]) -> Any:
        """Step the game with the actions of both players."""
        game: Any = self.unwrapped
        game.moves = lambda seen: action[self._agent_size :]
        return super().step(action[: self._agent_size])

    def observation(self, observation: Any) -> NDArray[np.float64]:
        """The observations of both players."""
        game: Any = self.unwrapped
        return np.concatenate([np.asarray(observation, float), game.opponent_sees])
