"""Games: a world, and two players who act in it.

``game``         what a game is
``actions``      NR-MDP and PR-MDP: two actions become one
``forces``       RARL: the adversary pushes bodies
``parameters``   the adversary sets physical parameters
``attacks``      a frozen policy as the world of an attacker
"""

import functools
from typing import Any

import gymnasium as gym
import numpy as np

from mixedne.errors import check_choice
from mixedne.games.actions import action_game
from mixedne.games.forces import force_game
from mixedne.games.game import Box, Branch, Game
from mixedne.games.parameters import parameter_game
from mixedne.names import FORMULATIONS
from mixedne.tasks import Task, make_env

__all__ = ["Box", "Branch", "Game", "make_game", "make_game_env"]


@functools.lru_cache(maxsize=64)
def make_game(
    task: Task,
    formulation: str,
    *,
    delta: float | None = None,
    bodies: str | None = None,
    axes: str | None = None,
    force: float | None = None,
    parameters: tuple[str, ...] | None = None,
    rate: float | None = None,
) -> Game:
    """The game of a task under a formulation, which reads those of the settings that are its own.

    They are fields of the configuration, and explained there.
    """
    check_choice("formulation", formulation, FORMULATIONS)
    if formulation == "rarl":
        return force_game(task, bodies, axes, force)
    if formulation == "parameters":
        return parameter_game(task, parameters, rate)
    return action_game(task, formulation, delta)


def make_game_env(task: Task, game: Game) -> gym.Env[Any, Any]:
    """The game as a Gymnasium environment: it takes what the game's lottery executes.

    Actions are in the units of ``game.executed``; the reward is the agent's.
    """
    env = game.wrap(make_env(task))
    low, high = (end.astype(np.float32) for end in game.executed)
    env.action_space = gym.spaces.Box(low, high)
    if game.unseen:
        env.observation_space = gym.spaces.Box(-np.inf, np.inf, (game.observation_size,), float)
    return env
