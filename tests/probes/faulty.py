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


class Misbehaving(SpoiltReward):
    """Returns or raises something at the reset, or from the third step on."""

    def __init__(self, where: str = "", what: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.where, self.what = where, what

    def reset(self, **options: Any) -> Any:
        good = super().reset(**options)
        return self.spoil() if self.where == "reset" else good

    def step(self, action: Any) -> Any:
        good = super().step(action)
        return self.spoil() if self.where == "step" and self.steps >= 3 else good

    def spoil(self) -> Any:
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


ZEROS, ENDLESS = np.zeros(4), np.array([0, 0, np.inf, 0])

MISBEHAVIOUR: dict[str, tuple[str, Any, str]] = {
    "ResetRaises": ("reset", RuntimeError("no\nreset"), "raised RuntimeError: no"),
    "ResetSaysNothing": ("reset", RuntimeError(), "raised RuntimeError: RuntimeError"),
    "ResetAlone": ("reset", ZEROS, r"which is not \(observation, info\)"),
    "ResetNone": ("reset", None, "returned None, which is not"),
    "ResetShape": ("reset", (np.zeros(3), {}), "not 4 numbers"),
    "ResetText": ("reset", ("abcd", {}), "returned the observation 'abcd', not 4 numbers"),
    "ResetInfinite": ("reset", (ENDLESS, {}), "which holds NaN or infinity"),
    "StepRaises": ("step", KeyError("joint"), "raised KeyError: 'joint'"),
    "StepExits": ("step", SystemExit(3), "raised SystemExit: 3"),
    "StepFourValues": ("step", (ZEROS, 1.0, False, {}), "which is not .observation, reward"),
    "StepShape": ("step", (np.zeros((1, 4)), 1.0, False, False, {}), "not 4 numbers"),
    "StepComplex": ("step", (ZEROS * 1j, 1.0, False, False, {}), "not 4 numbers"),
    "StepRagged": ("step", ([[0.0], []], 1.0, False, False, {}), "not 4 numbers"),
    "StepNaN": ("step", (ZEROS * np.nan, 1.0, False, False, {}), "holds NaN or infinity"),
    "RewardText": (
        "step",
        (ZEROS, "1.0", False, False, {}),
        "the reward '1.0', which is no number",
    ),
    "RewardNone": ("step", (ZEROS, None, False, False, {}), "the reward None"),
    "RewardMany": ("step", (ZEROS, [1.0, 2.0], False, False, {}), "the reward .1.0, 2.0."),
    "EndText": ("step", (ZEROS, 1.0, "no", False, {}), "the terminated 'no', which is no number"),
}
"""By name: where, what, and what is said of it."""


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


for name, (where, what, _) in MISBEHAVIOUR.items():
    options = {"where": where, "what": what}
    gym.register(f"{name}-v0", Misbehaving, max_episode_steps=10, kwargs=options)
gym.register("SpoiltReward-v0", SpoiltReward, max_episode_steps=10)
gym.register("RaisesInReset-v0", RaisesInReset, max_episode_steps=10)
gym.register("RaisesInStep-v0", RaisesInStep, max_episode_steps=10)
gym.register("LongSpoiltReward-v0", SpoiltReward, max_episode_steps=GOOD_STEPS + 1)
gym.register("NoTimeLimit-v0", SpoiltReward)
