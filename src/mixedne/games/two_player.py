"""Tasks that are games of two players already (``tasks.parallel``): the adversary is the other one.

Each player sees its own observation, and the critic both, ours first, with both actions.
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
    """The game that the task is; ``InvalidInputError`` if it is none."""
    if task.opponent is None:
        raise InvalidInputError(
            f"the formulation pettingzoo needs a task pettingzoo:module:factory, not {task.id}"
        )
    seen, *box = task.opponent
    wrap = functools.partial(OpponentEnv, agent_size=task.action_size)
    game = joint_game("pettingzoo", None, task, Box(*box), wrap, unseen=seen)
    return replace(game, unseen_by_adversary=task.observation_size, scaled=0)


class OpponentEnv(gym.ObservationWrapper[Any, Any, Any]):
    """Takes our agent's action, followed by the opponent's, and shows what both see."""

    def __init__(self, env: gym.Env[Any, Any], agent_size: int) -> None:
        """``env``: a task's, around a ``TwoPlayerEnv``."""
        super().__init__(env)
        self._agent_size = agent_size

    def step(self, action: NDArray[np.floating]) -> Any:
        """The game's step."""
        game: Any = self.unwrapped
        game.moves = lambda seen: action[self._agent_size :]
        return super().step(action[: self._agent_size])

    def observation(self, observation: Any) -> NDArray[np.float64]:
        """What both see."""
        game: Any = self.unwrapped
        return np.concatenate([np.asarray(observation, float), game.opponent_sees])
