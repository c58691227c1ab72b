"""Look up tasks by name, and their nominal models.

A name is one of the paper's eight tasks or HumanoidStandup (with or without a version; v5 by
default, v4 available), ``toy``, any Gymnasium id or ``module:Id`` whose observations and actions
are flat boxes, or ``pettingzoo:module:factory``, a two-player game (``parallel``).

MuJoCo prints warnings and appends them to a file in the working directory; Gymnasium warns of
versions that are not the newest. Both are silenced during calls of this package, and only then:
no warning filter or handler outlives a call.
"""

import contextlib
import copy
import difflib
import functools
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import gymnasium as gym
import mujoco

from mixedne.boxes import MAX_ACTION
from mixedne.errors import InvalidInputError, first_line
from mixedne.shifts import Axis, Shift
from mixedne.shifts.model import axis_effects, check_targets
from mixedne.tasks.mujoco_tasks import PAPER_SPECS, TASK_SPECS
from mixedne.tasks.parallel import PREFIX, TwoPlayerEnv, parallel_task
from mixedne.tasks.task import Opponent, Task
from mixedne.tasks.toy import EPISODE_STEPS, ToyEnv

PAPER_TASKS = tuple(dict.fromkeys(name for name, _ in PAPER_SPECS))
"""The paper's eight tasks, in its order."""

BATCHED_TASKS = tuple(dict.fromkeys(name for name, _ in TASK_SPECS))
"""Tasks of the batched simulator: the paper's and HumanoidStandup."""

JAX_TASKS = ("toy",)
"""Tasks that can be played inside a compiled program."""

DEFAULT_VERSION = "v5"
"""Version of a batched task if its name has none."""


EnvironmentFactory: TypeAlias = Callable[[], gym.Env[Any, Any]]
"""A function or class without arguments that makes an environment."""

_FACTORIES: dict[str, EnvironmentFactory] = {}
# By their id in Gymnasium's registry, in this process.


class _NoMujocoWarnings:
    """Silences MuJoCo's warnings, and with them its log file, inside a ``with`` block.

    MuJoCo has one handler for the whole process. Blocks may be nested and overlap between
    threads: the last one to exit restores the handler that the first one found.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._handler: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._handler = mujoco.get_mju_user_warning()
                mujoco.set_mju_user_warning(lambda message: None)
            self._depth += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                mujoco.set_mju_user_warning(self._handler)


no_mujoco_warnings = _NoMujocoWarnings()
"""The only instance in a process: ``with no_mujoco_warnings: …``."""


_CONSTRUCTION = threading.RLock()


@contextlib.contextmanager
def quiet_construction() -> Iterator[None]:
    """Silence warnings of MuJoCo's compiler and of Gymnasium while making an environment.

    What its modules print goes to stderr: stdout belongs to results. One thread at a time: what is
    set here is the process's.
    """
    with (
        _CONSTRUCTION,
        no_mujoco_warnings,
        contextlib.redirect_stdout(sys.stderr),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message=r"(\x1b\[\d+m)?WARN: ")  # Gymnasium's logger
        yield


def task_id(task: str | EnvironmentFactory) -> str:
    """The name of a task; a factory is registered with Gymnasium under its own name.

    A factory replaces an earlier one of the same name, e.g. when a notebook cell is run again.
    The time limit is that of the environment's specification or of its ``TimeLimit``.
    """
    if isinstance(task, str):
        return task
    if not callable(task):
        raise InvalidInputError(
            f"a task must be a name or a function that makes an environment, not {task!r}"
        )
    name = re.sub(r"\W", "", getattr(task, "__name__", "")) or "Environment"
    found = f"{name}-v0"
    if found in gym.registry and found not in _FACTORIES:
        raise InvalidInputError(
            f"Gymnasium has a {found} already: give the function {name} another name"
        )
    if _FACTORIES.get(found) is not task:
        gym.registry.pop(found, None)
        creator: Any = task
        gym.register(found, entry_point=creator, max_episode_steps=_time_limit(found, task))
        _FACTORIES[found] = task
        resolve_task.cache_clear()
        nominal_model.cache_clear()
    return found


def _time_limit(name: str, factory: EnvironmentFactory) -> int | None:
    """The time limit of a factory's environment."""
    try:
        made: Any = factory()
    except Exception as error:
        raise InvalidInputError(f"{name} cannot be made: {first_line(error)}") from None
    if not isinstance(made, gym.Env):
        raise InvalidInputError(f"{name} must make a gymnasium.Env, not {type(made).__name__}")
    limit = getattr(made.spec, "max_episode_steps", None)
    env = made
    while limit is None and isinstance(env, gym.Wrapper):
        limit, env = getattr(env, "_max_episode_steps", None), env.env
    made.close()
    return limit


@functools.cache
def resolve_task(name: str) -> Task:
    """The task with that name."""
    full_name = full_task_name(name)
    with contextlib.closing(gymnasium_env(full_name)) as env:
        observations, actions = _boxes(full_name, env.observation_space, env.action_space)
        stem, version, opponent = full_name, "", None
        steps: int | None = EPISODE_STEPS
        world: Any = env.unwrapped
        # An attacker's environment may contain such a game.
        if isinstance(world, TwoPlayerEnv) and full_name.startswith(PREFIX):
            sight, moves = _boxes(full_name, world.opponent_sight, world.opponent_space)
            opponent = Opponent(sight.shape[0], moves.low.astype(float), moves.high.astype(float))
            stem = ":".join([*full_name.split(":")[:3], world.name])
            steps = env.get_wrapper_attr("_max_episode_steps") if env is not world else None
        elif name != "toy":
            spec = gym.spec(full_name) if env.spec is None else env.spec
            module, colon, _ = full_name.rpartition(":")
            stem, _, version = (module + colon + spec.id).rpartition("-v")
            steps = spec.max_episode_steps
        return Task(
            name=stem or version,
            version=f"v{version}" if stem and version else None,
            max_episode_steps=steps,
            observation_size=observations.shape[0],
            action_size=actions.shape[0],
            action_low=actions.low.astype(float),
            action_high=actions.high.astype(float),
            has_model=mujoco_model(env) is not None,
            opponent=opponent,
            factory=_FACTORIES.get(full_name),
        )


def full_task_name(name: str) -> str:
    """The name with its version: ``Hopper-v5`` for ``Hopper``."""
    return f"{name}-{DEFAULT_VERSION}" if name in BATCHED_TASKS else name


def check_axes(task: Task, axes: Sequence[Axis]) -> None:
    """Raise for axes that cannot be shifted in a task, or targets that its model does not have."""
    task.check_axes(axes)
    parts = (axis.entry.physics and (axis.target or axis.entry.physics.refuse) for axis in axes)
    if task.has_model and any(parts):
        check_targets(nominal_model(task)[0], axes)


def shift_effects(task: Task, shift: Shift) -> dict[Axis, float]:
    """How much each axis of a shift changes the physics; 0 is no effect. See ``axis_effects``."""
    check_axes(task, shift.axes)
    if not task.has_model:
        return {}
    with no_mujoco_warnings:
        return axis_effects(nominal_model(task)[0], shift)


@functools.lru_cache(maxsize=16)
def nominal_model(task: Task) -> tuple[mujoco.MjModel, int]:
    """A MuJoCo task's nominal model, which must not be changed, and its frame skip."""
    with contextlib.closing(gymnasium_env(task.id)) as env:
        return copy.copy(mujoco_model(env)), getattr(env.unwrapped, "frame_skip", 1)


def frame_rate(task: Task) -> int:
    """Frames per second at which a video with one frame per step plays in real time."""
    if task.has_model:
        nominal, frame_skip = nominal_model(task)
        return max(1, round(1 / (nominal.opt.timestep * frame_skip)))
    with contextlib.closing(gymnasium_env(task.id)) as env:
        return max(1, round(env.metadata.get("render_fps") or 30))


def gymnasium_env(full_name: str, **options: Any) -> gym.Env[Any, Any]:
    """Make the Gymnasium environment of that id; errors are reported in one sentence."""
    try:
        if full_name == "toy":
            return ToyEnv(**options)
        with quiet_construction():
            if full_name.startswith(PREFIX):
                return parallel_task(full_name, **options)
            if not re.fullmatch(r"([\w.]+:)?[\w./-]+", full_name):
                raise gym.error.UnregisteredEnv
            return gym.make(full_name, disable_env_checker=True, **options)
    except (gym.error.UnregisteredEnv, gym.error.DeprecatedEnv):
        known = ["toy", *BATCHED_TASKS, *gym.registry]
        near = difflib.get_close_matches(full_name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known[:9])}"
        raise InvalidInputError(f"there is no task {full_name!r}; {hint}") from None
    except (Exception, SystemExit) as error:  # from Gymnasium, or from the environment's own code
        reason = first_line(error)
        raise InvalidInputError(f"the task {full_name!r} cannot be made: {reason}") from None


def _boxes(full_name: str, *spaces: gym.Space[Any]) -> list[gym.spaces.Box]:
    """Check that a player's observation and action spaces are boxes, and return them."""
    boxes = []
    for what, space in zip(("observations", "actions"), spaces, strict=True):
        if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
            raise InvalidInputError(f"the {what} of {full_name} must be a flat Box, not {space}")
        boxes.append(space)
    low, high = boxes[1].low, boxes[1].high
    if not boxes[1].is_bounded():
        raise InvalidInputError(f"the actions of {full_name} must be bounded, not {boxes[1]}")
    if max(-low.min(), high.max()) > MAX_ACTION:
        words = f"must lie within ±{MAX_ACTION:g}"
        raise InvalidInputError(f"the actions of {full_name} {words}, not {boxes[1]}")
    if not (low < high).all():
        raise InvalidInputError(f"an action of {full_name} is fixed, its bounds are {boxes[1]}")
    return boxes


def mujoco_model(env: gym.Env[Any, Any]) -> mujoco.MjModel | None:
    """The environment's MuJoCo model, if it has one."""
    model = getattr(env.unwrapped, "model", None)
    return model if isinstance(model, mujoco.MjModel) else None


def simulated_time(env: gym.Env[Any, Any]) -> float:
    """MuJoCo's clock, 0 without MuJoCo; where the physics diverges, it is set back and goes on."""
    data = getattr(env.unwrapped, "data", None)
    return data.time if isinstance(data, mujoco.MjData) else 0.0
