"""PettingZoo's parallel environments with two agents, as tasks for one of them, the protagonist.

``pettingzoo:module:factory`` is the environment that a module's factory returns. The protagonist is
the first agent, or ``red`` in ``pettingzoo:module:factory:red``. The other agent is the opponent.
Unless it is given a policy, it makes *no move*: zeros, clipped to its box.

An episode ends when it ends for either agent. Rewards must sum to zero; the first step in which
they do not raises an error.
"""

import importlib
import math
import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_choice, optional_import

PREFIX = "pettingzoo:"


def find_pettingzoo() -> Any:
    """The module ``pettingzoo``; if it is missing, an error says how to install it."""
    words = "PettingZoo is not installed: pip install 'mixedne[pettingzoo]'"
    return optional_import("pettingzoo", words)


def parallel_task(name: str, *, opponent: float = 1.0, **options: Any) -> gym.Env[Any, Any]:
    """The protagonist's environment of a game; ``options`` are passed to the factory."""
    pettingzoo = find_pettingzoo()
    found = re.fullmatch(r"pettingzoo:([\w.]+):(\w+)(?::(.+))?", name)
    if found is None:
        raise InvalidInputError(
            "a game of PettingZoo's is named pettingzoo:module:factory or, with the agent that is "
            "ours, pettingzoo:module:factory:agent"
        )
    module, factory, ours = found.groups()
    game = getattr(importlib.import_module(module), factory)(**options)
    if not isinstance(game, pettingzoo.ParallelEnv):
        raise InvalidInputError(f"{factory} must give a ParallelEnv, not a {type(game).__name__}")
    env: gym.Env[Any, Any] = TwoPlayerEnv(game, ours, opponent)
    limit = getattr(game.unwrapped, "max_cycles", None)
    return env if limit is None else gym.wrappers.TimeLimit(env, int(limit))


class TwoPlayerEnv(gym.Env[Any, Any]):
    """A two-player game as the environment of one player, the protagonist."""

    def __init__(self, game: Any, ours: str | None, share: float) -> None:
        """``ours``: the name of the protagonist, or None for the first agent.

        ``share``: factor on the opponent's moves; with 0 it makes no move.
        """
        names = [str(each) for each in game.possible_agents]
        if len(names) != 2:
            raise InvalidInputError(f"there must be two agents, not {len(names)}: {names}")
        mine = names.index(check_choice("our agent", names[0] if ours is None else ours, names))
        self._game, self._share = game, share
        self._players = game.possible_agents[mine], game.possible_agents[1 - mine]
        self.name = names[mine]
        self.observation_space, self.opponent_sight = map(game.observation_space, self._players)
        self.action_space, self.opponent_space = map(game.action_space, self._players)
        self.render_mode = getattr(game, "render_mode", None)
        self.metadata = {"render_modes": [], **getattr(game, "metadata", {})}
        self.opponent_sees: Any = None
        """The opponent's current observation."""
        self.moves: Callable[[Any], Any] = lambda seen: self._no_move
        """The opponent's policy; by default it makes no move."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start a new episode of the game."""
        observations, infos = self._game.reset(seed=seed, options=options)
        return self._look(observations), infos.get(self._players[0], {})

    def step(self, action: Any) -> Any:
        """Step the game with the moves of both players."""
        move, share = self.moves(self.opponent_sees), self._share
        moves = action, share * np.asarray(move) + (1 - share) * self._no_move
        spaces = self.action_space, self.opponent_space
        taken = [np.asarray(a, space.dtype) for a, space in zip(moves, spaces, strict=True)]
        results = self._game.step(dict(zip(self._players, taken, strict=True)))
        observations, rewards, terminated, truncated, infos = results
        mine, its = (rewards[player] for player in self._players)
        if not math.isclose(mine, -its, rel_tol=1e-5, abs_tol=1e-6):
            raise InvalidInputError(
                f"paid {mine:g} to one and {its:g} to the other, and the rewards of a game must "
                "sum to zero"
            )
        ends = (any(map(bool, each.values())) for each in (terminated, truncated))
        return self._look(observations), mine, *ends, infos.get(self._players[0], {})

    def render(self) -> Any:
        """Render the game."""
        return self._game.render()

    def close(self) -> None:
        """Close the game."""
        self._game.close()

    @property
    def _no_move(self) -> NDArray[Any]:
        return np.clip(0.0, self.opponent_space.low, self.opponent_space.high)

    def _look(self, observations: dict[Any, Any]) -> Any:
        ours, its = (observations[player] for player in self._players)
        self.opponent_sees = np.asarray(its, float)
        shape = self.opponent_sight.shape
        if self.opponent_sees.shape != shape or not np.isfinite(self.opponent_sees).all():
            raise InvalidInputError(f"shows the opponent {its}, not {shape[0]} finite numbers")
        return ours
