"""Speed of the evaluator against a plain Gymnasium loop with the same policy.

    python benchmarks/evaluation.py [TASK …] [--threads 1 2] [--rounds 3]
    python benchmarks/evaluation.py --callable [--load 2]
    python benchmarks/evaluation.py [TASK …] --set [NAME] [--points 10] [--episodes 5]

The paper's mass sweep, 21 masses × 10 episodes, with a fixed (64, 64, tanh) policy. The plain
loop is what anybody would write: one environment from ``gymnasium.make`` for each mass, its
masses multiplied, ``policy(observation)`` at every step. It plays every seventh episode, and
its time is scaled up. Episodes that end early are kept going (Hopper, Ant, Humanoid). The two
run in turn; raw ``mj_step`` on the loop's own actions, divided by the number of threads, is
the limit that no exact simulator can pass.

``--callable`` instead times a policy from elsewhere that multiplies matrices, with the threads
of BLAS that NumPy takes by default: Swimmer, 3 masses × 3 episodes, against a plain loop with
``OPENBLAS_NUM_THREADS=1`` and without. ``--load N`` keeps N other processes busy meanwhile.

``--set`` instead runs the grid of an uncertainty set, by default rrls-3d in Hopper, with 10 points
on each axis and 5 episodes a point. The plain loop keeps one environment, into whose model it
writes each world's values before the reset, as RRLS's ``set_params`` does, and plays every
``--every``-th episode of a batch after the evaluator has played all; the returns must agree.
"""

import os
import sys

if "--callable" not in sys.argv:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the policy's products are small

import argparse
import multiprocessing
import subprocess
import time
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
from numpy.typing import NDArray

from mixedne.evaluation.grids import NAMED_GRIDS, Grid, episode_seed
from mixedne.evaluation.handles import PolicyHandle
from mixedne.evaluation.sweep import Case, evaluate, run_chunk
from mixedne.policies import Policy, PolicySpec
from mixedne.shifts.model import find_element
from mixedne.shifts.sets import find_set
from mixedne.tasks import Shift, Task, make_env, resolve_task
from mixedne.tasks.registry import quiet_construction
from mixedne.tasks.simulator import skip_islands

Array = NDArray[np.float64]

GRID = Grid(mass=NAMED_GRIDS["paper"]["mass"], episodes=10)
CASES = [Case(0, shift, episode) for shift in GRID.shifts() for episode in range(GRID.episodes)]
EVERY = 7
BATCH = 256  # worlds that advance together
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
        [PolicyHandle("policy", policy)], task, GRID, CASES, threads=threads, terminate=ends
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
        env.unwrapped.model.body_mass *= shift.number("mass")  # type: ignore[attr-defined]
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


def matrix_policy(task: Task) -> Callable[[Array], Array]:
    """A callable that knows nothing of this package: two layers of 256."""
    rng = np.random.default_rng(0)
    sizes = (task.observation_size, 256, 256, task.action_size)
    layers = [rng.standard_normal(pair) / pair[0] ** 0.5 for pair in pairwise(sizes)]

    def act(observations: Array) -> Array:
        for layer in layers:
            observations = np.tanh(observations @ layer)
        return observations

    return act


def time_callable(how: str) -> float:
    """Seconds of 9 episodes of Swimmer, by ``evaluate`` or by a plain loop."""
    task = resolve_task("Swimmer-v5")
    policy, masses = matrix_policy(task), (0.5, 1.0, 2.0)
    start = time.perf_counter()
    if how == "evaluate":
        evaluate(policy, task.id, mass=masses, episodes=3)
        return time.perf_counter() - start
    for mass, episode in product(masses, range(3)):
        env = make_env(task, Shift(mass=mass))
        observation, _ = env.reset(seed=episode_seed(0, episode))
        over = False
        while not over:
            observation, _, terminated, truncated, _ = env.step(policy(observation[None])[0])
            over = terminated or truncated
    return time.perf_counter() - start


def compare_callable(load: int) -> None:
    """Print the seconds of each way, in processes of their own, beside so many busy ones."""
    busy = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(load)]
    for process in busy:
        process.start()
    for how in ("evaluate", "loop"):
        for threads in (None, "1"):
            environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
            environment |= {} if threads is None else {"OPENBLAS_NUM_THREADS": threads}
            command = [sys.executable, __file__, "--callable", "--once", how]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            words = "BLAS as it is" if threads is None else "BLAS held to one thread outside"
            print(f"{how}, {words}, {load} busy: {float(done.stdout):.1f} s", flush=True)
    for process in busy:
        process.kill()


def compare_set(task: Task, grid: Grid, every: int, threads: int, rounds: int) -> None:
    """Print the seconds of a grid by the evaluator, and by a plain loop on a sample, in turn.

    They take turns after every batch of worlds, so that whatever else the machine does meets both.
    """
    policy = fixed_policy(task)
    cases = [Case(0, shift, episode) for shift in grid.shifts() for episode in range(grid.episodes)]
    handles, seconds = [PolicyHandle("policy", policy)], []
    for first in [*range(0, len(cases), BATCH)] * rounds:
        batch = cases[first : first + BATCH]
        start = time.perf_counter()
        table = run_chunk(handles, task, grid, batch, threads=threads, terminate=False)
        mine = time.perf_counter() - start
        theirs, found = plain_set(task, policy, grid, batch[::every])
        if found != table["return"].to_list()[::every]:
            raise RuntimeError("the loop and the evaluator differ")
        seconds.append((mine, theirs * len(batch) / len(found)))
    mine, theirs = np.transpose(seconds)
    low, middle, high = np.quantile(theirs / mine, [0.05, 0.5, 0.95])
    print(
        f"{task.id}, {len(grid.shifts())} points × {grid.episodes} episodes, {threads} thread(s): "
        f"{mine.sum() / rounds:.1f} s, plain loop {theirs.sum() / rounds:.1f} s, ratio "
        f"{middle:.2f} (nine in ten batches: {low:.2f} to {high:.2f})",
        flush=True,
    )


def plain_set(
    task: Task, policy: Policy, grid: Grid, cases: Sequence[Case]
) -> tuple[float, list[float]]:
    """Seconds of a plain loop over some episodes, and their returns."""
    options = {"terminate_when_unhealthy": False} if task.name in MORTAL else {}
    with quiet_construction():
        env = gym.make(task.id, **options)
    model: Any = env.unwrapped.model  # type: ignore[attr-defined]
    nominal = model.body_mass.copy(), model.geom_friction.copy()
    start, returns = time.perf_counter(), []
    for _, shift, episode in cases:
        model.body_mass[:], model.geom_friction[:] = nominal
        for axis, value in shift.values:
            place = slice(None) if axis.target is None else find_element(model, axis)
            if axis.parameter == "mass":
                model.body_mass[place] = value
            else:
                model.geom_friction[place, 0] = value
        observation, _ = env.reset(seed=episode_seed(grid.seed, episode))
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(policy(observation))
            total += float(reward)
            over = terminated or truncated
        returns.append(total)
    return time.perf_counter() - start, returns


def _spin() -> None:
    while True:
        pass


def main() -> None:
    """Print a line for each task and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", help="HalfCheetah-v5; with --set, Hopper-v5")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, help="3; with --set, 1")
    parser.add_argument("--callable", action="store_true")
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--set", metavar="NAME", nargs="?", const="rrls-3d")
    parser.add_argument("--points", type=int)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--every", type=int, default=64)
    parser.add_argument("--once", choices=["evaluate", "loop"])
    arguments = parser.parse_args()
    tasks = arguments.tasks or ["Hopper-v5" if arguments.set else "HalfCheetah-v5"]
    if arguments.once:
        print(time_callable(arguments.once))
        return
    if arguments.callable:
        compare_callable(arguments.load)
        return
    for name, threads in product(tasks, arguments.threads) if arguments.set else ():
        task = resolve_task(name)
        axes = find_set(arguments.set).grid(task.id, arguments.points)
        grid = Grid(axes, episodes=arguments.episodes)
        compare_set(task, grid, arguments.every, threads, arguments.rounds or 1)
    for name in () if arguments.set else tasks:
        task = resolve_task(name)
        policy = fixed_policy(task)
        for threads in arguments.threads:
            rounds = [
                (ours(task, policy, threads), *plain(task, policy))
                for _ in range(arguments.rounds or 3)
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
