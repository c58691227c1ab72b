"""Games: a world, and two players who act in it.

``game``         what a game is
``actions``      NR-MDP and PR-MDP: two actions become one
``forces``       RARL: the adversary pushes bodies
``parameters``   the adversary sets physical parameters
``ranges``       worlds that hold for an episode: domain randomisation, M2TD3
``two_player``   tasks that are games already: PettingZoo's
``parallel``     any of them as an environment of PettingZoo's
``attacks``      a frozen policy as the world of an attacker

``linear_quadratic``   a game of PettingZoo's with a known equilibrium
"""

import functools
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from mixedne.errors import InvalidInputError, check_choice
from mixedne.games.actions import action_game
from mixedne.games.forces import force_game
from mixedne.games.game import Box, Branch, Game
from mixedne.games.parameters import parameter_game
from mixedne.games.ranges import m2td3_game, randomised
from mixedne.games.two_player import two_player_game
from mixedne.names import FORMULATIONS, STRENGTHS
from mixedne.tasks import Task, make_env, resolve_task
from mixedne.tasks.parallel import find_pettingzoo

if TYPE_CHECKING:
    from mixedne.games.parallel import ParallelGame

__all__ = ["Box", "Branch", "Game", "make_game", "make_game_env", "parallel_env", "randomised"]


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
    if formulation == "pettingzoo":
        return two_player_game(task)
    if task.opponent is not None:
        raise InvalidInputError(
            f"{task.id} is a game of two already: its formulation is pettingzoo, not {formulation}"
        )
    if formulation == "rarl":
        return force_game(task, bodies, axes, force)
    if formulation == "parameters":
        return parameter_game(task, parameters, rate)
    if formulation == "m2td3":
        return m2td3_game(task, parameters)
    return action_game(task, formulation, delta)


def make_game_env(task: Task, game: Game, **options: Any) -> gym.Env[Any, Any]:
    """The game as a Gymnasium environment: it takes what the game's lottery executes.

    Actions are in the units of ``game.executed``; the reward is the agent's. ``options`` go to the
    task's environment.
    """
    env = game.wrap(make_env(task, **options))
    low, high = (end.astype(np.float32) for end in game.executed)
    env.action_space = gym.spaces.Box(low, high)
    if game.unseen:
        env.observation_space = gym.spaces.Box(-np.inf, np.inf, (game.observation_size,), float)
    return env


def parallel_env(
    task: str, formulation: str = "nr-mdp", *, render_mode: str | None = None, **settings: Any
) -> "ParallelGame":
    """The game as a PettingZoo ``ParallelEnv``; its agents are ``agent`` and ``adversary``.

    ``settings`` are those of the formulation (``delta``, ``bodies``, ``parameters``, …), with the
    defaults of training: δ is 0.1.
    """
    find_pettingzoo()
    from mixedne.games.parallel import ParallelGame

    if STRENGTHS.get(formulation) == "delta":
        settings = {"delta": 0.1, **settings}
    found = resolve_task(task)
    settings = {name: tuple(x) if isinstance(x, list) else x for name, x in settings.items()}
    game = make_game(found, formulation, **settings)
    if not game.has_adversary:
        reason = "delta must be above 0"
        if STRENGTHS.get(formulation) != "delta":
            reason = f"the adversary of {formulation} does not act"
        raise InvalidInputError(f"without a second player there is no game: {reason}")
    options = {} if render_mode is None else {"render_mode": render_mode}
    return ParallelGame(make_game_env(found, game, **options), found, game)
