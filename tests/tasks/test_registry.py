"""Tasks by name, and the quiet with which they are made."""

import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
import pytest

from mixedne.errors import InvalidInputError
from mixedne.tasks import BATCHED_TASKS, PAPER_TASKS, Shift, make_env, resolve_task

CHANNELS = ("observation-noise", "action-delay")
MUJOCO = (
    *("mass", "friction", "sliding-friction", "noise", "gravity", "damping"),
    *("actuator-strength", *CHANNELS),
)


def test_the_papers_tasks_are_v5_by_default_and_v4_on_request() -> None:
    assert len(PAPER_TASKS) == 8
    assert (*PAPER_TASKS, "HumanoidStandup") == BATCHED_TASKS
    for name in BATCHED_TASKS:
        assert resolve_task(name).id == f"{name}-v5"
        assert resolve_task(f"{name}-v4").version == "v4"


def test_a_task_describes_its_environment() -> None:
    task = resolve_task("InvertedPendulum")
    assert (task.name, task.version, task.max_episode_steps) == ("InvertedPendulum", "v5", 1000)
    assert (task.observation_size, task.action_size) == (4, 1)
    assert (task.action_low.tolist(), task.action_high.tolist()) == ([-3.0], [3.0])
    assert task.axes == MUJOCO
    assert "rho" not in task.axes
    assert task == resolve_task("InvertedPendulum-v5")


@pytest.mark.parametrize(
    ("name", "identity", "axes", "steps"),
    [
        ("toy", "toy", ("noise", "rho", *CHANNELS), 500),
        ("Pendulum-v1", "Pendulum-v1", ("noise", *CHANNELS), 200),
        ("Pusher", "Pusher-v5", MUJOCO, 100),
        ("gymnasium:Pendulum-v1", "gymnasium:Pendulum-v1", ("noise", *CHANNELS), 200),
    ],
)
def test_other_tasks(name: str, identity: str, axes: tuple[str, ...], steps: int) -> None:
    task = resolve_task(name)
    assert (task.id, task.axes, task.max_episode_steps) == (identity, axes, steps)
    observation, _ = make_env(task).reset(seed=0)
    assert observation.shape == (task.observation_size,)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Hoper", "did you mean Hopper"),
        ("Hopper-v9", "did you mean Hopper-v5"),
        ("Hopper-v3", "cannot be made"),
        ("nowhere:Hopper-v5", "No module named 'nowhere'"),
        ("two:colons:here", "there is no task"),
        ("", "there is no task"),
        ("CartPole-v1", "actions of CartPole-v1 must be a flat Box, not Discrete"),
        ("FrozenLake-v1", "observations of FrozenLake-v1 must be a flat Box"),
    ],
)
def test_unknown_and_unfit_tasks_are_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        resolve_task(name)
    assert "\n" not in str(caught.value)


class Acting(gym.Env[Any, Any]):
    """Has any action space."""

    def __init__(self, space: Any = None, **options: Any) -> None:
        self.observation_space, self.action_space = gym.spaces.Box(-1, 1, (1,)), space


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [([-1, 0], [1, 0], "action of .* is fixed"), ([-1e10], [1e10], "must lie within ±1e\\+09")],
)
def test_actions_that_no_policy_can_have_are_refused(
    low: list[float], high: list[float], message: str
) -> None:
    space = gym.spaces.Box(np.array(low), np.array(high), dtype=np.float64)
    name = f"Acting{len(low)}-v0"
    gym.register(name, entry_point=Acting, kwargs={"space": space}, max_episode_steps=5)
    with pytest.raises(InvalidInputError, match=message):
        resolve_task(name)


def test_axes_that_a_task_lacks_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="toy has no axis mass: it can be shifted in noise"):
        make_env(resolve_task("toy"), Shift(mass=2.0))
    with pytest.raises(InvalidInputError, match="no axis friction"):
        make_env(resolve_task("Pendulum-v1"), Shift(friction=2.0))


def test_options_reach_the_environment() -> None:
    env = make_env(resolve_task("Hopper"), terminate_when_unhealthy=False)
    env.reset(seed=0)
    assert not any(env.step(np.ones(3))[2] for _ in range(200))


def test_nothing_is_said_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """HalfCheetah's model is deprecated in part, v4 is out of date, and this one explodes."""
    monkeypatch.chdir(tmp_path)
    filters = list(warnings.filters)
    handler = mujoco.get_mju_user_warning()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = make_env(resolve_task("HalfCheetah-v4"), Shift({"mass[torso]": 1e-12}))
        env.reset(seed=0)
        env.unwrapped.data.qvel[:] = np.inf  # type: ignore[attr-defined]
        env.step(np.ones(6))
    assert caught == []
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    assert list(warnings.filters) == filters
    assert mujoco.get_mju_user_warning() is handler


def test_mujoco_would_have_spoken(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the test above relies on: outside this package the warnings are real."""
    monkeypatch.chdir(tmp_path)
    gym.make("HalfCheetah-v5")
    assert "settotalmass" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["MUJOCO_LOG.TXT"]
    with pytest.warns(DeprecationWarning, match="out of date"):
        gym.make("Hopper-v4")


def test_two_threads_leave_stdout_as_it_was() -> None:
    class Slow(gym.Env[Any, Any]):
        def __init__(self, **options: Any) -> None:
            time.sleep(0.02)
            self.observation_space = self.action_space = gym.spaces.Box(-1, 1, (1,))

    gym.register("Slow-v0", entry_point=Slow, max_episode_steps=5)
    stdout, filters = sys.stdout, list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        [*pool.map(make_env, [resolve_task("Slow-v0")] * 8)]
    assert sys.stdout is stdout
    assert list(warnings.filters) == filters


def test_tasks_need_no_jax() -> None:
    code = "import sys, mixedne.tasks; sys.exit(any(m == 'jax' for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
