"""The batched simulator against Gymnasium's own environments, bit for bit."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mixedne.shifts import Axis
from mixedne.tasks import BATCHED_TASKS, Shift, Task, from_unit, make_env, make_worlds, resolve_task

VERSIONED = [f"{name}-{version}" for name in BATCHED_TASKS for version in ("v4", "v5")]
MORTAL = ("Walker2d", "Hopper", "Ant", "Humanoid")

SHIFTS = [
    Shift(),
    Shift(mass=1.7),
    Shift(mass=0.6, mass_mode="consistent"),
    Shift(friction=0.4),
    Shift(noise=0.3),
    Shift(mass=1.3, friction=1.8, noise=0.1),
]


def is_mortal(name: str) -> bool:
    return name.rpartition("-")[0] in MORTAL


def balance(observations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keeps the pole of InvertedPendulum up, so that its episodes last."""
    return np.asarray(observations @ np.array([[0.3], [12.0], [0.6], [2.0]]))


def assert_equal_episodes(
    task: Task, steps: int, dtype: Any = np.float64, *, terminate: bool = True, **options: Any
) -> int:
    """Compare every step of every shift's episode; gives the number of steps compared."""
    cases = [(shift, 11 * i) for i, shift in enumerate(SHIFTS)]
    worlds = make_worlds(task, cases, threads=2, terminate=terminate)
    envs = [make_env(task, shift, **options) for shift, _ in cases]
    observations = worlds.reset()
    starts = [env.reset(seed=seed)[0] for env, (_, seed) in zip(envs, cases, strict=True)]
    np.testing.assert_array_equal(observations, starts)
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(steps):
        # Wider than the box: neither side may clip more than MuJoCo does.
        unit = rng.uniform(-1.2, 1.2, (len(worlds.active), task.action_size))
        actions = from_unit(unit, task.action_low, task.action_high)
        if task.name == "InvertedPendulum":
            actions = balance(observations) + 0.1 * actions
        actions = actions.astype(dtype)
        step = worlds.step(actions)
        results = [
            envs[world].step(action)[:4]
            for world, action in zip(worlds.active, actions, strict=True)
        ]
        wanted = [np.array(part) for part in zip(*results, strict=True)]
        if not terminate:
            wanted[2][:] = False
        for found, expected in zip(step, wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
        compared += len(actions)
        going = ~(step.terminated | step.truncated)
        observations = step.observations[going]
        worlds.drop(~going)
        if not going.any():
            break
    worlds.close()
    return compared


LONG = [name for name in VERSIONED if name.startswith("HumanoidStandup")]
"""Nothing ends their episodes early, and their contacts are many: 40 seconds each."""


@pytest.mark.parametrize("name", LONG)
def test_the_beginning_of_a_long_episode_agrees(name: str) -> None:
    assert assert_equal_episodes(resolve_task(name), 60) == 60 * len(SHIFTS)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in VERSIONED]
)
def test_whole_episodes_agree_with_gymnasium(name: str) -> None:
    task = resolve_task(name)
    assert task.max_episode_steps is not None
    compared = assert_equal_episodes(task, task.max_episode_steps + 1)
    if task.name not in MORTAL:  # the time limit must have been met
        assert compared > 4 * task.max_episode_steps


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in VERSIONED if is_mortal(name)])
def test_episodes_that_ill_health_does_not_end_agree(name: str) -> None:
    steps = 150 if name.startswith("Humanoid") else 400
    options = {"terminate_when_unhealthy": False}
    assert_equal_episodes(resolve_task(name), steps, terminate=False, **options)


def slower(model: Any, factor: float) -> None:
    model.opt.timestep *= factor


@pytest.mark.parametrize("name", ["HalfCheetah-v5", "HumanoidStandup-v4", "Hopper-v5"])
def test_another_time_step_agrees(name: str) -> None:
    """Speeds are distances over the world's own time, and its clock is no divergence."""
    task, axis = resolve_task(name), Axis("custom", "slower", custom=slower)
    cases = [(Shift([(axis, factor)]), 3) for factor in (0.5, 1.5)]
    worlds, envs = make_worlds(task, cases), [make_env(task, shift) for shift, _ in cases]
    worlds.reset()
    for env in envs:
        env.reset(seed=3)
    for _ in range(10):
        step = worlds.step(np.full((2, task.action_size), 0.1))
        rewards = [env.step(np.full(task.action_size, 0.1))[1] for env in envs]
        np.testing.assert_array_equal(step.rewards, rewards)
    assert not worlds.diverged.any()


@pytest.mark.parametrize("version", ["v4", "v5"])
def test_a_fallen_pendulum_agrees(version: str) -> None:
    task = resolve_task(f"InvertedPendulum-{version}")
    worlds = make_worlds(task, [(Shift(), 3)], terminate=False)
    env = make_env(task)
    worlds.reset()
    env.reset(seed=3)
    for _ in range(40):
        step = worlds.step(np.ones((1, 1)))
        observation, reward, *_ = env.step(np.ones(1))
        np.testing.assert_array_equal(step.observations[0], observation)
        assert step.rewards[0] == reward
        assert not step.terminated[0]


@pytest.mark.parametrize("name", [f"{name}-v5" for name in BATCHED_TASKS])
def test_actions_in_single_precision_agree(name: str) -> None:
    assert_equal_episodes(resolve_task(name), 40, np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in VERSIONED if is_mortal(name)])
def test_a_thousand_steps_that_ill_health_does_not_end_agree(name: str) -> None:
    options = {"terminate_when_unhealthy": False}
    compared = assert_equal_episodes(resolve_task(name), 1001, terminate=False, **options)
    assert compared == 1000 * len(SHIFTS)
