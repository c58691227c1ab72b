"""Tiny environments with a known value and a known best action.

Each separates one thing that can go wrong in an actor-critic. They are registered with Gymnasium
when this module is imported; ``probes.environments:Value-v0`` is a task's name. All have one
number to see and one action in [−1, 1], so that their programs are the same.
"""

from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
from numpy.typing import NDArray

Observation = NDArray[np.float32]

NAMES = ("Value", "ObservationUse", "Discount", "TimeLimit", "Action", "TwoPlayer", "Slider")


class Probe(gym.Env[Observation, NDArray[np.float32]]):
    """One step, then the end, with a random sign to see unless a subclass says otherwise."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.seen = 0.0
        self.taken = 0

    def first(self) -> float:
        """What is seen at the reset."""
        return float(self.np_random.choice([-1.0, 1.0]))

    def reward(self, action: float) -> float:
        raise NotImplementedError

    def move(self) -> bool:
        """Change what is seen; whether that is the end."""
        return True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.seen, self.taken = self.first(), 0
        return self._observe(), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        reward = self.reward(float(action[0]))
        self.taken += 1
        ended = self.move()
        return self._observe(), reward, ended, False, {}

    def _observe(self) -> Observation:
        return np.array([self.seen], np.float32)


class Value(Probe):
    """Reward 1, once: the value is 1. Fails if the critic does not learn, or looks past the end."""

    def reward(self, action: float) -> float:
        return 1.0


class ObservationUse(Probe):
    """The reward is what was seen, ±1: so is the value. Fails if s does not reach the critic."""

    def reward(self, action: float) -> float:
        return self.seen


class Discount(Probe):
    """Sees −1, then +1; reward 1 at the second step.

    The values are γ · 1 at −1 and 1 at +1. Fails if γ, s' or the targets go wrong.
    """

    def first(self) -> float:
        return -1.0

    def reward(self, action: float) -> float:
        return float(self.taken == 1)

    def move(self) -> bool:
        self.seen = 1.0
        return self.taken == 2


class TimeLimit(Probe):
    """Reward 1 at every step, without end; but an episode is cut after two steps.

    A cut is no end, so the value is 1 + γ + γ² + … = 1 / (1 − γ), and not 1 + γ at the most.
    """

    def reward(self, action: float) -> float:
        return 1.0

    def move(self) -> bool:
        return False


class Action(Probe):
    """Sees s = ±1; reward 1 − (a − s/2)²: the best action is s/2, and its value is 1."""

    def reward(self, action: float) -> float:
        return 1.0 - (action - self.seen / 2) ** 2


class TwoPlayer(Probe):
    """Sees s = ±1; reward R(x) = ((1 + x) / 2)² of x = s · (the executed action).

    R grows on [−1, 1] from R(−1) = 0 to R(1) = 1, so a player that wants more of it moves x up
    and one that wants less moves it down, whatever the other does: the best actions are
    dominant, a = s for the agent and b = −s for the adversary, and they are the only
    equilibrium. With the adversary's share δ its value is

    NR-MDP   x = (1 − δ) · 1 + δ · (−1) = 1 − 2δ, so R(1 − 2δ) = (1 − δ)²
    PR-MDP   (1 − δ) R(1) + δ R(−1) = 1 − δ
    alone    R(1) = 1

    and if the adversary pulled the wrong way it would be 1 in either.

    A reward with its peak inside, such as 1 − (ā − c)² with |c| ≤ 1 − 2δ, would be no such probe
    under NR-MDP. The adversary answers any a with the end ±1 that is farther, so max_a min_b is
    1 − δ², at (1 − δ) a = c; but to either end the agent has the perfect answer
    a = (c ∓ δ) / (1 − δ), so min_b max_a is 1. The two differ: the only equilibria are mixed,
    with the adversary at +1 and at −1 half the time each. Nor can a smooth reward have a strict
    equilibrium of NR-MDP inside: there R' = 0, and R'' < 0 for the agent but > 0 for the adversary.
    """

    def reward(self, action: float) -> float:
        return two_player_reward(self.seen * action)


def two_player_reward(x: float) -> float:
    """R(x)."""
    return ((1.0 + x) / 2) ** 2


class Slider(Probe):
    """A body of 1 kg on a rail, pushed for 0.1 s by a motor of 10 N; reward s · (its speed then).

    With a force f on the body and its mass times k, that is s (10 a + f) · 0.1 / k: linear in a and
    f, so that the best actions are dominant, a = s, f = −s F and the largest k. The values:

    RARL, |f| ≤ F = 2.5            (10 − 2.5) · 0.1 = 0.75
    parameters, k from 0.5 to 2    10 · 0.1 / 2 = 0.5

    The mass lies off the body's origin, because MuJoCo precomputes the inertia of simpler bodies.
    """

    def __init__(self) -> None:
        super().__init__()
        self.model = mujoco.MjModel.from_xml_string(
            """<mujoco><option timestep="0.1"/><worldbody><body name="block">
            <joint name="rail" type="slide" axis="1 0 0"/><geom pos="1 0 0" size="0.1" mass="1"/>
            </body></worldbody><actuator><motor joint="rail" gear="10"/></actuator></mujoco>"""
        )
        self.data = mujoco.MjData(self.model)

    def first(self) -> float:
        mujoco.mj_resetData(self.model, self.data)
        return super().first()

    def reward(self, action: float) -> float:
        self.data.ctrl[:] = action
        mujoco.mj_step(self.model, self.data)
        return float(self.seen * self.data.qvel[0])


for _name in NAMES:
    gym.register(
        f"{_name}-v0",
        entry_point=f"{__name__}:{_name}",
        max_episode_steps=2 if _name == "TimeLimit" else None,
    )

for _name in ("TwoPlayer", "Slider"):  # with a time limit, which evaluations need
    gym.register(f"{_name}-v1", entry_point=f"{__name__}:{_name}", max_episode_steps=1)
