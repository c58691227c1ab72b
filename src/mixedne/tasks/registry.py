"""Finding a task by name, and making its environment.

A name is one of the paper's eight (with or without a version; v5 by default, v4 selectable),
``toy``, or any Gymnasium id or ``module:Id`` whose observations and actions are flat boxes.
"""

import copy
import difflib
import functools
import re
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np

from mixedne.errors import InvalidInputError
from mixedne.shifts import NOMINAL, Axis, Shift
from mixedne.shifts.channels import Channels
from mixedne.shifts.model import apply_shift, axis_effects, check_targets
from mixedne.tasks.mujoco_warnings import no_construction_warnings, no_mujoco_warnings
from mixedne.tasks.paper_tasks import TASK_SPECS
from mixedne.tasks.task import Task
from mixedne.tasks.toy import EPISODE_STEPS, ToyEnv

PAPER_TASKS = tuple(dict.fromkeys(name for name, _ in TASK_SPECS))
"""The paper's eight, in its order."""

JAX_TASKS = ("toy",)
"""Those that can be played inside a compiled program."""

DEFAULT_VERSION = "v5"
"""Of the paper's tasks, where a name has none."""

DEFAULT_FRAME_RATE = 30
"""Of videos of tasks that do not say theirs."""


@functools.cache
def resolve_task(name: str) -> Task:
    """The task of that name."""
    if name == "toy":
        one = np.ones(1)
        return Task(
            name="toy",
            version=None,
            max_episode_steps=EPISODE_STEPS,
            observation_size=1,
            action_size=1,
            action_low=-one,
            action_high=one,
        )
    full_name = f"{name}-{DEFAULT_VERSION}" if name in PAPER_TASKS else name
    env = _make(full_name)
    try:
        return _describe(full_name, env)
    finally:
        env.close()


def make_env(task: Task, shift: Shift = NOMINAL, **options: Any) -> gym.Env[Any, Any]:
    """A plain Gymnasium environment of the task, with the shift applied and verified.

    ``options`` go to the environment (``render_mode``, ``terminate_when_unhealthy``, …).
    """
    task.check_axes(shift.axes)
    env = _make(task.id, **shift.keywords, **options)
    model = _mujoco_model(env)
    if model is not None:
        with no_mujoco_warnings:
            apply_shift(model, shift)
        env = _WithoutMujocoWarnings(env)
    if shift.only("actions", "observations").values:
        env = _ShiftedChannels(env, task, shift)
    return env


def check_axes(task: Task, axes: Sequence[Axis]) -> None:
    """Refuse what cannot be shifted in a task, and targets that its model does not have."""
    task.check_axes(axes)
    parts = (axis.entry.physics and (axis.target or axis.entry.physics.refuse) for axis in axes)
    if task.has_model and any(parts):
        check_targets(nominal_model(task)[0], axes)


def shift_effects(task: Task, shift: Shift) -> dict[Axis, float]:
    """How much each axis of a shift changes the physics; 0 is nothing. See ``axis_effects``."""
    check_axes(task, shift.axes)
    if not task.has_model:
        return {}
    with no_mujoco_warnings:
        return axis_effects(nominal_model(task)[0], shift)


@functools.lru_cache(maxsize=16)
def nominal_model(task: Task) -> tuple[mujoco.MjModel, int]:
    """A MuJoCo task's nominal model, not to be changed, and how often a step repeats mj_step."""
    env = _make(task.id)
    try:
        return copy.copy(_mujoco_model(env)), getattr(env.unwrapped, "frame_skip", 1)
    finally:
        env.close()


def frame_rate(task: Task) -> int:
    """Frames a second at which a video with one frame a step shows the task as it happens."""
    if task.has_model:
        nominal, frame_skip = nominal_model(task)
        return max(1, round(1 / (nominal.opt.timestep * frame_skip)))
    if task.name == "toy":
        return DEFAULT_FRAME_RATE
    env = _make(task.id)
    try:
        return max(1, round(env.metadata.get("render_fps") or DEFAULT_FRAME_RATE))
    finally:
        env.close()


class _WithoutMujocoWarnings(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps MuJoCo's warnings of physics that diverge from the user."""

    def step(self, action: Any) -> Any:
        with no_mujoco_warnings:
            return self.env.step(action)

    def reset(self, **options: Any) -> Any:
        with no_mujoco_warnings:
            return self.env.reset(**options)


class _ShiftedChannels(gym.Wrapper[Any, Any, Any, Any]):
    """Shifts the actions and observations of a single environment, as ``Worlds`` do of many."""

    def __init__(self, env: gym.Env[Any, Any], task: Task, shift: Shift) -> None:
        super().__init__(env)
        self._task, self._shift = task, shift

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        observation, info = self.env.reset(seed=seed, options=options)
        drawn = int(np.random.default_rng().integers(2**63)) if seed is None else seed
        self._on_actions, self._on_observations = (
            Channels(where, [self._shift], [drawn], self._task)
            for where in ("actions", "observations")
        )
        return self._on_observations(np.asarray(observation, float)[None])[0], info

    def step(self, action: Any) -> Any:
        action = np.asarray(action)
        if not np.issubdtype(action.dtype, np.floating):
            action = action.astype(float)
        observation, *rest = self.env.step(self._on_actions(action[None])[0])
        return self._on_observations(np.asarray(observation, float)[None])[0], *rest


def _make(full_name: str, **options: Any) -> gym.Env[Any, Any]:
    """Gymnasium's environment of that id, or one clear sentence."""
    if not re.fullmatch(r"([\w.]+:)?[\w./-]+", full_name):
        raise InvalidInputError(_unknown(full_name))
    try:
        if full_name == "toy":
            return ToyEnv(**options)
        with no_construction_warnings():
            return gym.make(full_name, disable_env_checker=True, **options)
    except (gym.error.UnregisteredEnv, gym.error.DeprecatedEnv):
        raise InvalidInputError(_unknown(full_name)) from None
    except Exception as error:  # of Gymnasium, or whatever the environment's own code raises
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise InvalidInputError(f"the task {full_name!r} cannot be made: {reason}") from None


def _unknown(name: str) -> str:
    known = ["toy", *PAPER_TASKS, *gym.registry]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known[:9])}"
    return f"there is no task {name!r}; {hint}"


def _describe(full_name: str, env: gym.Env[Any, Any]) -> Task:
    """What the environment says of itself."""
    observations = _flat_box(full_name, "observations", env.observation_space)
    actions = _flat_box(full_name, "actions", env.action_space)
    if not actions.is_bounded():
        raise InvalidInputError(f"the actions of {full_name} must be bounded, not {actions}")
    spec = gym.spec(full_name) if env.spec is None else env.spec
    module, colon, _ = full_name.rpartition(":")
    name, _, version = (module + colon + spec.id).rpartition("-v")
    return Task(
        name=name or version,
        version=f"v{version}" if name else None,
        max_episode_steps=spec.max_episode_steps,
        observation_size=observations.shape[0],
        action_size=actions.shape[0],
        action_low=actions.low.astype(float),
        action_high=actions.high.astype(float),
        has_model=_mujoco_model(env) is not None,
    )


def _flat_box(full_name: str, what: str, space: gym.Space[Any]) -> gym.spaces.Box:
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1:
        return space
    raise InvalidInputError(f"the {what} of {full_name} must be a flat Box, not {space}")


def _mujoco_model(env: gym.Env[Any, Any]) -> mujoco.MjModel | None:
    """The environment's MuJoCo model, if it has one."""
    model = getattr(env.unwrapped, "model", None)
    return model if isinstance(model, mujoco.MjModel) else None
