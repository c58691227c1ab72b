"""Gymnasium environments: checked, shifted, and in batches.

Whatever an environment does wrong is reported in one sentence, in training as in evaluations:
:func:`make_env` always wraps environments with these checks.
"""

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, first_line
from mixedne.shifts import NOMINAL, Channels, Shift
from mixedne.shifts.model import apply_shift, physics_kept
from mixedne.tasks.registry import gymnasium_env, mujoco_model, no_mujoco_warnings, simulated_time
from mixedne.tasks.task import Array, Mask, Step, Task, Worlds


def make_env(
    task: Task, shift: Shift = NOMINAL, *, finite_rewards: bool = False, **options: Any
) -> gym.Env[Any, Any]:
    """A single Gymnasium environment of the task, with the shift applied and verified.

    The results of ``reset`` and ``step`` are checked; ``finite_rewards`` also refuses rewards that
    are NaN or infinite: an evaluation counts them, but nothing can be learned from them.
    ``options`` are passed to the environment (``render_mode``, ``terminate_when_unhealthy``, …).
    """
    task.check_axes(shift.axes)
    env = gymnasium_env(task.id, **shift.keywords, **options)
    model, in_model = mujoco_model(env), shift.only("model")
    if model is not None:
        with no_mujoco_warnings:
            apply_shift(model, shift)
    if isinstance(env, gym.wrappers.TimeLimit):  # check results inside it: it unpacks them
        env.env = CheckedEnv(env.env, task, finite_rewards, in_model)
    else:
        env = CheckedEnv(env, task, finite_rewards, in_model)
    if shift.only("actions", "observations").values:
        env = ShiftedEnv(env, task, shift)
    return env


_PLAIN = (float, bool, np.floating, np.bool_)  # what rewards and flags nearly always are


class CheckedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """Raises for invalid results of ``reset`` and ``step``; silences MuJoCo's warnings."""

    def __init__(
        self, env: gym.Env[Any, Any], task: Task, finite_rewards: bool, shift: Shift = NOMINAL
    ) -> None:
        """``finite_rewards``: whether rewards that are NaN or infinite are also refused.

        ``shift``: what was shifted in the model, and must outlast a reset.
        """
        super().__init__(env)
        self._task, self._finite_rewards, self._shift = task, finite_rewards, shift
        self._steps, self._when = 0, "no reset"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the environment; raises ``InvalidInputError`` for invalid results."""
        self._steps, self._when = 0, f"reset(seed={seed})"
        kept = physics_kept(self, self._shift.axes) if self._shift.values else nullcontext()
        with kept:
            result = self._call("(observation, info)", self.env.reset, seed=seed, options=options)
        self._check_observation(result[0])
        return result

    def step(self, action: Any) -> Any:
        """Step the environment; raises ``InvalidInputError`` for invalid results."""
        self._steps += 1
        names = "(observation, reward, terminated, truncated, info)"
        result = self._call(names, self.env.step, action)
        self._check_observation(result[0])
        for name, value in zip(("reward", "terminated", "truncated"), result[1:4], strict=True):
            if not isinstance(value, _PLAIN) and (
                np.ndim(value) or np.asarray(value).dtype.kind not in "biuf"
            ):
                raise self._fault(f"returned the {name} {_short(value)}, which is no number")
        if self._finite_rewards and not np.isfinite(result[1]):
            raise self._fault(f"returned the reward {_short(result[1])}")
        return result

    def _call(self, names: str, function: Any, *arguments: Any, **options: Any) -> Any:
        """Call a method of the environment, which must return as many values as there are names."""
        try:
            with no_mujoco_warnings:
                result = function(*arguments, **options)
        except InvalidInputError as error:
            raise self._fault(str(error)) from None
        except (Exception, SystemExit) as error:  # whatever its own code raises
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise self._fault(f"raised {reason}") from error
        if not isinstance(result, tuple | list) or len(result) != 1 + names.count(","):
            raise self._fault(f"returned {_short(result)}, which is not {names}")
        return result

    def _check_observation(self, observation: Any) -> None:
        size = self._task.observation_size
        try:
            is_real = not np.iscomplexobj(observation)  # of which float takes a part
            numbers = np.asarray(observation, float) if is_real else np.empty(0)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (size,):
            raise self._fault(f"returned the observation {_short(observation)}, not {size} numbers")
        if not np.isfinite(numbers).all():
            words = "which holds NaN or infinity"
            raise self._fault(f"returned the observation {_short(observation)}, {words}")

    def _fault(self, words: str) -> InvalidInputError:
        when = f"step {self._steps} after {self._when}" if self._steps else self._when
        return InvalidInputError(f"the environment {self._task.id} misbehaves: {when} {words}")


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


class ShiftedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """Shifts the actions and observations of a single environment, as ``Worlds`` do for many."""

    def __init__(self, env: gym.Env[Any, Any], task: Task, shift: Shift) -> None:
        """``task`` provides the sizes of actions and observations."""
        super().__init__(env)
        self._task, self._shift = task, shift

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the environment; the observation is shifted."""
        observation, info = self.env.reset(seed=seed, options=options)
        drawn = int(np.random.default_rng().integers(2**63)) if seed is None else seed
        self._on_actions, self._on_observations = (
            Channels(where, [self._shift], [drawn], self._task)
            for where in ("actions", "observations")
        )
        return self._on_observations(np.asarray(observation, float)[None])[0], info

    def step(self, action: Any) -> Any:
        """Step the environment with the shifted action; the observation is shifted."""
        action = np.asarray(action)
        if not np.issubdtype(action.dtype, np.floating):
            action = action.astype(float)
        observation, *rest = self.env.step(self._on_actions(action[None])[0])
        return self._on_observations(np.asarray(observation, float)[None])[0], *rest


class GymnasiumWorlds(Worlds):
    """Worlds of any Gymnasium task, one environment each.

    This is slower than the batched simulator. Environments step one after another: Gymnasium's
    vector environments would reset finished worlds automatically.
    """

    def __init__(
        self,
        task: Task,
        cases: Sequence[tuple[Shift, int]],
        *,
        drawn: bool = False,
        opponents: Sequence[Any] = (),
        make: Callable[..., gym.Env[Any, Any]] | None = None,
    ) -> None:
        """One environment per (shift, seed); ``drawn``: whether environments render pictures.

        ``opponents``: see ``make_worlds``. ``make(shift, **options)`` replaces the task's own
        environment by another one with the sizes of ``task``.
        """
        super().__init__(task, cases)
        options: dict[str, Any] = {"render_mode": "rgb_array"} if drawn else {}
        make = functools.partial(make_env, task) if make is None else make
        self._envs = [make(shift.only("model", "task"), **options) for shift in self.shifts]
        for env, shift, moves in zip(self._envs, self.shifts, opponents, strict=False):
            if "opponent" in shift.keywords:
                env.unwrapped.moves = moves  # type: ignore[attr-defined]

    @property
    def diverged(self) -> Mask:
        """Active worlds whose clock MuJoCo has set back since the reset."""
        return self._restarted[self.active]

    def pose(self, world: int) -> Array:
        """The positions of an active world's joints, in a MuJoCo task."""
        data = getattr(self._envs[world].unwrapped, "data", None)
        return super().pose(world) if data is None else np.array(data.qpos)

    def picture(self, world: int) -> NDArray[np.uint8]:
        """Render the environment of an active world."""
        try:
            drawn = self._envs[world].render()
        except Exception as error:  # from Gymnasium, or from the environment's own code
            reason = first_line(error)
            raise InvalidInputError(f"{self.task.id} cannot be drawn: {reason}") from None
        picture = np.asarray(drawn)
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise InvalidInputError(f"{self.task.id} cannot be drawn: it makes no pictures")
        return picture

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            env.close()

    def _start(self) -> Array:
        self._restarted = np.zeros(len(self._envs), bool)
        starts = [env.reset(seed=seed) for env, seed in zip(self._envs, self.seeds, strict=True)]
        return np.array([observation for observation, _ in starts], float)

    def _advance(self, actions: NDArray[np.floating]) -> Step:
        results = []
        for world, action in zip(self.active, actions, strict=True):
            before = simulated_time(self._envs[world])
            results.append(self._envs[world].step(action)[:4])
            self._restarted[world] |= simulated_time(self._envs[world]) < before
        if not results:
            return Step(np.empty((0, self.task.observation_size)), *(np.empty(0, bool),) * 3)
        observations, rewards, terminated, truncated = zip(*results, strict=True)
        return Step(
            np.array(observations, float),
            np.array(rewards, float),
            np.array(terminated, bool),
            np.array(truncated, bool),
        )
