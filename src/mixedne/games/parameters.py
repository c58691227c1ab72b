"""An adversary that sets physical parameters of the world, within bounds.

The parameters v are set once per episode (left), or move in every step by at most a fraction ρ of
their range (right),

    v_t = v_0 for t > 0, and v_0 = b_0           v_t = clip(v_(t−1) + b_t), |b_t| ≤ ρ (high − low)

and step t has the physics of v_t. An episode begins with the nominal parameters, clipped to their
range (or its middle, where the parts of the model differ). To make the game Markov, the adversary
and the critic see, after the task's observation, the parameters of the previous step, scaled to
[−1, 1], and, if they are set once, whether they still have to be set (1, then 0). The agent sees
neither.
"""

import functools
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_number
from mixedne.games.game import Box, Game, joint_game
from mixedne.games.ranges import Ranges
from mixedne.shifts.model import physics_kept
from mixedne.tasks import Task
from mixedne.tasks.sets import nominal_value


def parameter_game(task: Task, parameters: tuple[str, ...] | None, rate: float | None) -> Game:
    """A game over parameters: set once per episode, or moved by ``rate`` of their range a step."""
    if not parameters:
        raise InvalidInputError(
            "the formulation parameters needs parameters= and their bounds, as in "
            "'mass[torso]=0.5:2' 'friction=0.4:2'"
        )
    ranges = Ranges.find(task, "parameters", parameters)
    limits = box = ranges.limits
    start = np.array([nominal_value(task, axis) for axis in ranges.axes], float)  # None is NaN
    start = np.where(np.isnan(start), (limits.low + limits.high) / 2, start)
    start = absent = np.clip(start, *limits)
    if rate is not None:
        check_number("rate", rate, above=0, at_most=1)
        reach = rate * (limits.high - limits.low)
        box, absent = Box(-reach, reach), 0 * reach
    wrap = functools.partial(
        ParametersEnv,
        ranges=ranges,
        is_once=rate is None,
        agent_size=task.action_size,
        start=start,
    )
    unseen = len(ranges.axes) + (rate is None)
    return joint_game("parameters", rate, task, box, wrap, unseen, absent)


class ParametersEnv(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose action is the agent's, followed by the parameters or their changes."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        ranges: Ranges,
        is_once: bool,
        agent_size: int,
        start: NDArray[np.float64],
    ) -> None:
        """``is_once``: whether the first step of an episode sets the parameters for all of it."""
        super().__init__(env)
        self._axes, self._limits = ranges.axes, ranges.limits
        self._is_once, self._agent_size = is_once, agent_size
        self._start = start
        self._write = ranges.writer(self.unwrapped)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the task, with the initial parameters."""
        self._set(self._start, is_open=True)
        with physics_kept(self, self._axes):
            observation, info = self.env.reset(seed=seed, options=options)
        return np.concatenate([observation, self._shown]), info

    def step(self, action: NDArray[np.floating]) -> Any:
        """Step the task, with the new parameters."""
        chosen = np.asarray(action[self._agent_size :], float)
        if not self._is_once:
            self._set(self.values + chosen)
        elif self._is_open:
            self._set(chosen)
        observation, *rest = self.env.step(action[: self._agent_size])
        return np.concatenate([observation, self._shown]), *rest

    def _set(self, values: NDArray[np.float64], *, is_open: bool = False) -> None:
        self.values, self._is_open = np.clip(values, *self._limits), is_open
        self._write(self.values)
        scaled = self._limits.scaled(self.values)
        self._shown = np.append(scaled, is_open) if self._is_once else scaled
