"""Games as PettingZoo environments, see ``games.parallel_env``. Needs PettingZoo."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from mixedne.games.game import Game
from mixedne.shifts.channels import LOTTERY, episode_generator
from mixedne.tasks import Task

Actions = dict[str, NDArray[np.floating]]


class ParallelGame(ParallelEnv):  # type: ignore[misc]  # PettingZoo is optional, so its types are
    """A game with the agents ``agent`` and ``adversary``, whose reward is the negative.

    Each player has its own action space, in physical units, and observes what it does in training.
    """

    def __init__(self, env: gym.Env[Any, Any], task: Task, game: Game) -> None:
        """``env``: the game's Gymnasium environment."""
        self._env, self._game = env, game
        self.metadata = {**env.metadata, "name": f"{task.id}_{game.name}"}
        self.render_mode = env.render_mode
        self.possible_agents = ["agent", "adversary"]
        self.agents: list[str] = []
        self._chance = np.random.default_rng()
        boxes = [[end.astype(np.float32) for end in box] for box in game.boxes if box]
        acted = [gym.spaces.Box(low, high) for low, high in boxes]
        seen = [gym.spaces.Box(-np.inf, np.inf, (size,), np.float64) for size in game.sees]
        self.action_spaces = dict(zip(self.possible_agents, acted, strict=True))
        self.observation_spaces = dict(zip(self.possible_agents, seen, strict=True))

    def observation_space(self, agent: str) -> gym.spaces.Box:
        """The observation space of a player."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gym.spaces.Box:
        """The action space of a player."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Actions, dict[str, dict[str, Any]]]:
        """Start a new episode; the seed determines all randomness in it."""
        if seed is not None:
            self._chance = episode_generator(seed, LOTTERY)
        observation, info = self._env.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        return self._views(observation), {name: dict(info) for name in self.agents}

    def step(self, actions: Actions) -> tuple[Any, ...]:
        """Step the game with the actions of both players."""
        names = self.agents
        boxes = (self.action_spaces[name] for name in names)
        a, b = (
            np.clip(np.asarray(actions[name], np.float32), box.low, box.high)
            for name, box in zip(names, boxes, strict=True)
        )
        # This works in physical units, too: actions share one box, or are concatenated.
        executed = np.asarray(self._game.execute(a, b, self._chance.random()), np.float32)
        observation, reward, terminated, truncated, info = self._env.step(executed)
        if terminated or truncated:
            self.agents = []
        return (
            self._views(observation),
            dict(zip(names, (float(reward), -float(reward)), strict=True)),
            dict.fromkeys(names, bool(terminated)),
            dict.fromkeys(names, bool(truncated)),
            {name: dict(info) for name in names},
        )

    def state(self) -> NDArray[np.float64]:
        """The input of a critic."""
        return self._state

    def render(self) -> Any:
        """Render the task's environment."""
        return self._env.render()

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _views(self, observation: NDArray[Any]) -> Actions:
        self._state = np.asarray(observation, float)
        return dict(zip(self.possible_agents, self._game.views(self._state), strict=True))
