"""Finding a task by name, and making its environment.

A name is one of the paper's eight (with or without a version; v5 by default, v4 selectable),
``toy``, or any Gymnasium id or ``module:Id`` whose observations and actions are flat boxes.
"""

import copy
import difflib
import functools
import re
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np

from mixedne.errors import InvalidInputError
from mixedne.tasks.actions import NoisyActions
from mixedne.tasks.paper_tasks import RULES
from mixedne.tasks.quiet import quiet_construction, quiet_mujoco
from mixedne.tasks.shifts import (
    NOMINAL,
    Shift,
    apply_shift,
    check_axes,
    ineffective_parts,
    verify_shift,
)
from mixedne.tasks.task import Task
from mixedne.tasks.toy import EPISODE_STEPS, NOMINAL_RHO, ToyEnv

PAPER_TASKS = tuple(dict.fromkeys(name for name, _ in RULES))
"""The paper's eight, in its order."""

JAX_TASKS = ("toy",)
"""Those that can be played inside a compiled program."""

DEFAULT_VERSION = "v5"
"""Of the paper's tasks, where a name has none."""

DEFAULT_FRAME_RATE = 30
"""Of films of tasks that do not say theirs."""


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
            axes=("noise", "rho"),
            nominal_rho=NOMINAL_RHO,
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
    check_axes(task.id, task.axes, shift)
    if task.name == "toy":
        rho = NOMINAL_RHO if shift.rho is None else shift.rho
        env: gym.Env[Any, Any] = ToyEnv(rho, **options)
    else:
        env = _make(task.id, **options)
    if "mass" in task.axes:
        model = _mujoco_model(env)
        with quiet_mujoco:
            nominal = copy.copy(model)
            apply_shift(model, nominal, shift)
            verify_shift(model, nominal, shift)
        env = _QuietEnv(env)
    if shift.noise > 0:
        env = NoisyActions(env, shift.noise, task.action_low, task.action_high)
    return env


def parts_without_effect(task: Task, shift: Shift) -> tuple[str, ...]:
    """The parts of a shift that change nothing in this task, to be reported to the user.

    They are called ``mass``, ``friction``, ``mass of BODY`` and ``friction of GEOM``.
    """
    check_axes(task.id, task.axes, shift)
    if "mass" not in task.axes:
        return ()
    nominal, _ = blueprint(task)
    with quiet_mujoco:
        return ineffective_parts(nominal, shift)


@functools.lru_cache(maxsize=16)
def blueprint(task: Task) -> tuple[mujoco.MjModel, int]:
    """A MuJoCo task's nominal model, not to be changed, and how often a step repeats mj_step."""
    env = _make(task.id)
    try:
        return copy.copy(_mujoco_model(env)), getattr(env.unwrapped, "frame_skip", 1)
    finally:
        env.close()


def frame_rate(task: Task) -> int:
    """Frames a second at which a film with one frame a step shows the task as it happens."""
    if "mass" in task.axes:
        nominal, frame_skip = blueprint(task)
        return max(1, round(1 / (nominal.opt.timestep * frame_skip)))
    if task.name == "toy":
        return DEFAULT_FRAME_RATE
    env = _make(task.id)
    try:
        return max(1, round(env.metadata.get("render_fps") or DEFAULT_FRAME_RATE))
    finally:
        env.close()


class _QuietEnv(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps MuJoCo's warnings, of a robot that flies apart, from the user."""

    def step(self, action: Any) -> Any:
        with quiet_mujoco:
            return self.env.step(action)

    def reset(self, **options: Any) -> Any:
        with quiet_mujoco:
            return self.env.reset(**options)


def _make(full_name: str, **options: Any) -> gym.Env[Any, Any]:
    """Gymnasium's environment of that id, or one clear sentence."""
    if not re.fullmatch(r"([\w.]+:)?[\w./-]+", full_name):
        raise InvalidInputError(_unknown(full_name))
    try:
        with quiet_construction():
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
        axes=("mass", "friction", "noise") if _mujoco_model(env) is not None else ("noise",),
    )


def _flat_box(full_name: str, what: str, space: gym.Space[Any]) -> gym.spaces.Box:
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1:
        return space
    raise InvalidInputError(f"the {what} of {full_name} must be a flat Box, not {space}")


def _mujoco_model(env: gym.Env[Any, Any]) -> mujoco.MjModel | None:
    """The environment's MuJoCo model, if it has one."""
    model = getattr(env.unwrapped, "model", None)
    return model if isinstance(model, mujoco.MjModel) else None
