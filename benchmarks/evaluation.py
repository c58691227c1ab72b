"""Speed of the evaluator against a plain Gymnasium loop with the same policy.

    python benchmarks/evaluation.py [TASK …] [--threads 1 2] [--rounds 3]

The paper's mass sweep, 21 masses × 10 episodes, with a fixed (64, 64, tanh) policy. The plain
loop is what anybody would write: one environment from ``gymnasium.make`` for each mass, its
masses multiplied, ``policy(observation)`` at every step. It plays every seventh episode, and
its time is scaled up. Episodes that end early are kept going (Hopper, Ant, Humanoid). The two
run in turn; raw ``mj_step`` on the loop's own actions, divided by the number of threads, is
the limit that no exact simulator can pass.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the policy's products are small

import argparse
import time

import gymnasium as gym
import mujoco
import numpy as np

from mixedne.evaluation.grids import NAMED_GRIDS, Grid
from mixedne.evaluation.sources import Source
from mixedne.evaluation.sweep import Case, run_chunk
from mixedne.evaluation.table import episode_seed
from mixedne.policies import Policy, PolicySpec
from mixedne.tasks import Task, resolve_task
from mixedne.tasks.quiet import quiet_construction
from mixedne.tasks.simulator import skip_islands

GRID = Grid(mass=NAMED_GRIDS["paper"]["mass"], episodes=10)
CASES = [Case(0, shift, episode) for shift in GRID.shifts() for episode in range(GRID.episodes)]
EVERY = 7
MORTAL = ("Walker2d", "Hopper", "Ant", "Humanoid")


def fixed_policy(task: Task) -> Policy:
    """A random network, the same in every run."""
    low, high = tuple(task.action_low.tolist()), tuple(task.action_high.tolist())
    spec = PolicySpec(task.observation_size, low, high)
    rng = np.random.default_rng(0)
    tensors = {n: rng.standard_normal(s) / max(s) ** 0.5 for n, s in spec.shapes().items()}
    return Policy(spec, tensors)


def ours(task: Task, policy: Policy, threads: int) -> float:
    """Seconds for the whole sweep."""
    start = time.perf_counter()
    ends = task.name not in MORTAL
    table = run_chunk(
        [Source("policy", policy)], task, GRID, CASES, threads=threads, terminate=ends
    )
    seconds = time.perf_counter() - start
    if table["length"].min() != task.max_episode_steps:
        raise RuntimeError("an episode ended early")
    return seconds


def plain(task: Task, policy: Policy) -> tuple[float, float]:
    """Seconds for the loop, and for its mj_step calls alone, both scaled to the whole sweep."""
    options = {"terminate_when_unhealthy": False} if task.name in MORTAL else {}
    loop = physics = 0.0
    sample = CASES[::EVERY]
    for _, shift, episode in sample:
        with quiet_construction():
            env = gym.make(task.id, **options)
        env.unwrapped.model.body_mass *= shift.mass  # type: ignore[attr-defined]
        model, data = env.unwrapped.model, env.unwrapped.data  # type: ignore[attr-defined]
        actions = []
        start = time.perf_counter()
        observation, _ = env.reset(seed=episode_seed(GRID.seed, episode))
        initial = data.qpos.copy(), data.qvel.copy()
        over = False
        while not over:
            action = policy(observation)
            actions.append(action)
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
        loop += time.perf_counter() - start
        skip = env.unwrapped.frame_skip  # type: ignore[attr-defined]
        skip_islands(model)  # as our worlds do: the limit is the fastest exact mj_step
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = initial
        controls = np.asarray(actions, float)
        start = time.perf_counter()
        for control in controls:
            data.ctrl[:] = control
            mujoco.mj_step(model, data, skip)
        physics += time.perf_counter() - start
        env.close()
    scale = len(CASES) / len(sample)
    return loop * scale, physics * scale


def main() -> None:
    """Print a line for each task and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", default=["HalfCheetah-v5"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for name in arguments.tasks:
        task = resolve_task(name)
        policy = fixed_policy(task)
        for threads in arguments.threads:
            rounds = [
                (ours(task, policy, threads), *plain(task, policy)) for _ in range(arguments.rounds)
            ]
            mine, theirs, physics = np.transpose(rounds)
            ratio, share = theirs / mine, physics / threads / mine
            print(
                f"{name}, {threads} thread(s): {np.median(mine):.1f} s, plain loop "
                f"{np.median(theirs):.1f} s, ratio {np.median(ratio):.2f} "
                f"({ratio.min():.2f} to {ratio.max():.2f}), limit's share {np.median(share):.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
