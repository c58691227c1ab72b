"""The batched simulator against a plain Gymnasium loop, with the same NumPy policy.

The paper's mass sweep: 21 masses, 10 episodes each. The loop is timed on every seventh
episode and scaled up; both sides alternate, and the fastest of three rounds counts. Raw
``mj_step`` on the states that the loop visits is the limit for one core.

    OPENBLAS_NUM_THREADS=1 python benchmarks/simulator.py HalfCheetah-v5 --threads 2
"""

import argparse
import itertools
import time
from collections.abc import Callable

import gymnasium as gym
import mujoco
import numpy as np
from numpy.typing import NDArray

from mixedne.tasks import Shift, Task, make_env, make_worlds, resolve_task

Array = NDArray[np.float64]
MORTAL = ("Walker2d", "Hopper", "Ant", "Humanoid")
MASSES = [round(0.05 * k, 2) for k in range(10, 20)] + [round(0.1 * k, 1) for k in range(10, 21)]
CASES = [(Shift(mass=mass), seed) for mass in MASSES for seed in range(10)]
SAMPLE = CASES[::7]


def fixed_policy(task: Task) -> Callable[[Array], Array]:
    """A random (64, 64, tanh) network."""
    rng = np.random.default_rng(0)
    sizes = [task.observation_size, 64, 64, task.action_size]
    weights = [rng.normal(size=(n, m)) / n**0.5 for n, m in itertools.pairwise(sizes)]

    def policy(observations: Array) -> Array:
        for weight in weights:
            observations = np.tanh(observations @ weight)
        return observations

    return policy


def time_worlds(task: Task, policy: Callable[[Array], Array], steps: int, threads: int) -> float:
    """Seconds for all episodes together."""
    start = time.perf_counter()
    worlds = make_worlds(task, CASES, threads=threads, terminate=task.name not in MORTAL)
    observations = worlds.reset()
    for _ in range(steps):
        observations = worlds.step(policy(observations)).observations
    worlds.close()
    return time.perf_counter() - start


def plain_env(task: Task, shift: Shift) -> gym.Env[Array, Array]:
    """Gymnasium's environment without this package's wrapper."""
    options = {"terminate_when_unhealthy": False} if task.name in MORTAL else {}
    env = make_env(task, shift, **options)
    assert isinstance(env, gym.Wrapper)
    return env.env


def time_loop(task: Task, policy: Callable[[Array], Array], steps: int) -> tuple[float, float]:
    """Seconds for all episodes, of a plain loop and of its ``mj_step`` alone."""
    loop = physics = 0.0
    for shift, seed in SAMPLE:
        env = plain_env(task, shift)
        observation, _ = env.reset(seed=seed)
        start = time.perf_counter()
        actions = []
        for _ in range(steps):
            actions.append(policy(observation))
            observation = env.step(actions[-1])[0]
        loop += time.perf_counter() - start
        env.reset(seed=seed)
        robot = env.unwrapped
        model, data, repeat = robot.model, robot.data, robot.frame_skip  # type: ignore[attr-defined]
        start = time.perf_counter()
        for action in actions:
            data.ctrl[:] = action
            mujoco.mj_step(model, data, repeat)
        physics += time.perf_counter() - start
    scale = len(CASES) / len(SAMPLE)
    return loop * scale, physics * scale


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("task")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    task = resolve_task(options.task)
    policy = fixed_policy(task)
    rounds = [
        (
            time_worlds(task, policy, options.steps, options.threads),
            *time_loop(task, policy, options.steps),
        )
        for _ in range(3)
    ]
    worlds, loop, physics = np.min(rounds, axis=0)
    print(
        f"{task.id}, {options.threads} threads: worlds {worlds:.1f} s, Gymnasium loop {loop:.1f} s "
        f"({loop / worlds:.2f} times), raw mj_step {physics:.1f} s on one core "
        f"({physics / options.threads / worlds:.0%} of the worlds' time)"
    )


if __name__ == "__main__":
    main()
