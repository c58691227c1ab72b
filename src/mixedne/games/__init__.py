"""Games: a world, and two players who act in it.

``game``         the definition of a game
``actions``      NR-MDP and PR-MDP: two actions are combined into one
``forces``       RARL: the adversary pushes bodies
``parameters``   the adversary sets physical parameters
``ranges``       parameters that are fixed for an episode: domain randomisation, M2TD3
``two_player``   tasks that are two-player games themselves: PettingZoo's
``parallel``     any of these games as a PettingZoo environment
``attacks``      a frozen policy and its task as the environment of an attacker

``linear_quadratic``   a PettingZoo game with a known equilibrium
"""

import functools
import inspect
from collections.abc import Callable
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

MAKERS: dict[str, Callable[..., Game]] = {
    **dict.fromkeys(("nr-mdp", "pr-mdp"), action_game),
    "rarl": force_game,
    "parameters": parameter_game,
    "m2td3": m2td3_game,
    "pettingzoo": two_player_game,
}
"""By formulation, the function that makes its game; its arguments are the settings."""


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
    """The game of a task under a formulation, which uses only its own settings.

    The settings are fields of :class:`~mixedne.config.Config`, where they are explained.
    """
    check_choice("formulation", formulation, FORMULATIONS)
    if formulation != "pettingzoo" and task.opponent is not None:
        raise InvalidInputError(
            f"{task.id} is a game of two already: its formulation is pettingzoo, not {formulation}"
        )
    given: dict[str, Any] = {"name": formulation, "delta": delta, "parameters": parameters}
    given |= {"bodies": bodies, "axes": axes, "force": force, "rate": rate}
    return MAKERS[formulation](task, **{name: given[name] for name in _arguments(formulation)})


def make_game_env(task: Task, game: Game, **options: Any) -> gym.Env[Any, Any]:
    """The game as a Gymnasium environment, whose actions are the executed ones.

    Actions are in the units of ``game.executed``; the reward is the agent's. ``options`` are
    passed to the task's environment.
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
    """A task's game as a PettingZoo ``ParallelEnv`` with the agents ``agent`` and ``adversary``.

    Args:
      task: name of the task, e.g. ``"Hopper-v5"``.
      formulation: how the adversary acts: ``nr-mdp``, ``pr-mdp``, ``rarl`` or ``parameters``.
      render_mode: render mode of the task's environment.
      settings: settings of the formulation (``delta``; ``bodies``, ``axes``, ``force``;
        ``parameters``, ``rate``), with the same defaults as in training, e.g. δ = 0.1.

    Returns:
      The environment. Actions are in physical units, the adversary's reward is the negative of
      the agent's, and ``state()`` is the input of a critic.

    Examples:
      >>> import mixedne
      >>> env = mixedne.games.parallel_env("Hopper-v5", "rarl", force=2.0)
      >>> env.action_space("adversary")  # newtons, along x and z
      Box(-2.0, 2.0, (2,), float32)
      >>> seen, infos = env.reset(seed=0)
      >>> actions = {name: env.action_space(name).sample() for name in env.agents}
      >>> sum(env.step(actions)[1].values())
      0.0
    """
    _check_settings(formulation, settings)
    find_pettingzoo()
    from mixedne.games.parallel import ParallelGame

    if STRENGTHS.get(formulation) == "delta":
        settings = {"delta": 0.1, **settings}
    found = resolve_task(task)
    settings = {name: tuple(x) if isinstance(x, list) else x for name, x in settings.items()}
    if isinstance(settings.get("parameters"), str):
        settings["parameters"] = (settings["parameters"],)
    game = make_game(found, formulation, **settings)
    if not game.has_adversary:
        reason = "delta must be above 0"
        if STRENGTHS.get(formulation) != "delta":
            reason = f"the adversary of {formulation} does not act"
        raise InvalidInputError(f"without a second player there is no game: {reason}")
    options = {} if render_mode is None else {"render_mode": render_mode}
    return ParallelGame(make_game_env(found, game, **options), found, game)


def _arguments(formulation: str) -> list[str]:
    """The arguments of a formulation's game, besides the task."""
    return [name for name in inspect.signature(MAKERS[formulation]).parameters if name != "task"]


def _check_settings(formulation: str, settings: dict[str, Any]) -> None:
    """Raise unless all of these are settings of the formulation."""
    check_choice("formulation", formulation, FORMULATIONS)
    own = [name for name in _arguments(formulation) if name != "name"]
    for name in settings:
        if name not in own:
            has = f"has {', '.join(own)}" if own else "has none"
            raise InvalidInputError(f"{name} is no setting of {formulation}, which {has}")
