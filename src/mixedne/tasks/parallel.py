"""PettingZoo's parallel environments of two agents, as tasks: one of the two is ours.

``pettingzoo:module:factory`` is what a module's factory returns; ``pettingzoo:module:factory:red``
says that the agent ``red`` is ours, which otherwise is the first. The other one is the opponent. It
makes *no move*, the zeros of its box or what is nearest to them, unless someone moves it.

An episode ends when it ends for either. Rewards that do not sum to zero are refused where they are
met: in the first step that pays them.
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
    """The module ``pettingzoo``, or one sentence that says how to install it."""
    words = "PettingZoo is not installed: pip install 'mixedne[pettingzoo]'"
    return optional_import("pettingzoo", words)


def parallel_task(name: str, *, opponent: float = 1.0, **options: Any) -> gym.Env[Any, Any]:
    """The game of that name, as our agent's environment; ``options`` go to the factory."""
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
    """A game of two players, as one of them sees it."""

    def __init__(self, game: Any, ours: str | None, share: float) -> None:
        """``ours``: the name of the agent that is ours, or None for the first.

        ``share``: how much of its moves the opponent makes: 0 is no move.
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
        """What the opponent sees at this moment."""
        self.moves: Callable[[Any], Any] = lambda seen: self._no_move
        """What the opponent does, by what it sees; at first, nothing."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """A new episode of the game."""
        observations, infos = self._game.reset(seed=seed, options=options)
        return self._look(observations), infos.get(self._players[0], {})

    def step(self, action: Any) -> Any:
        """Both move at once."""
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
        """What the game draws."""
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
