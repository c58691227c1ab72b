"""Environments that go wrong, or that keep a record."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Observation = NDArray[np.floating]

GOOD_STEPS = 130
"""Of ``SpoiltReward``: after these its rewards are no numbers."""


class SpoiltReward(gym.Env[Observation, Any]):
    """Pays 1 a step, and after a while NaN; has the sizes of InvertedPendulum."""

    observation_space = gym.spaces.Box(-1, 1, (4,))
    action_space = gym.spaces.Box(-3, 3, (1,))

    def __init__(self, **options: Any) -> None:
        del options
        self.steps = 0

    def reset(self, **options: Any) -> tuple[Observation, dict[str, Any]]:
        super().reset(**options)
        return self.np_random.uniform(-1, 1, 4), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        reward = 1.0 if self.steps <= GOOD_STEPS else float("nan")
        return self.np_random.uniform(-1, 1, 4), reward, False, False, {}


class RaisesInReset(SpoiltReward):
    """Cannot begin."""

    def reset(self, **options: Any) -> tuple[Observation, dict[str, Any]]:
        raise RuntimeError("no reset today")


class RaisesInStep(SpoiltReward):
    """Begins, and fails at once."""

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        raise RuntimeError("no step today")


class Recorder(gym.Env[Observation, Any]):
    """Writes down seeds and actions; odd episodes terminate at step 3, all end at step 5."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.actions: list[Any] = []
        self.elapsed = 0

    def reset(self, *, seed: int | None = None, **_: Any) -> tuple[Observation, dict[str, Any]]:
        assert seed is not None
        self.seeds.append(seed)
        self.elapsed = 0
        return self.observation(), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self.actions.append(np.array(action))
        self.elapsed += 1
        terminated = len(self.seeds) % 2 == 0 and self.elapsed == 3
        return self.observation(), 10.0 * self.elapsed, terminated, self.elapsed == 5, {}

    def observation(self) -> Observation:
        return np.array([len(self.seeds), self.elapsed], float)


gym.register("SpoiltReward-v0", SpoiltReward, max_episode_steps=10)
gym.register("RaisesInReset-v0", RaisesInReset, max_episode_steps=10)
gym.register("RaisesInStep-v0", RaisesInStep, max_episode_steps=10)
gym.register("NoTimeLimit-v0", SpoiltReward)
