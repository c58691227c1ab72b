"""Estimates of how long runs take on one core, from a few unit costs.

A run of DDPG, TD3 or SAC consists of steps of the task and of inner updates, Σ K_t; the time of an
update is proportional to the number of weights involved. VPG consists of samples, always for eight
runs: a job with fewer costs the same. Evaluation consists of steps of the task, counted as if every
episode ran to its time limit. The estimates are for planning: they should be correct within a
factor of two. The unit costs below are those of the machine in ``benchmarks/README.md``.

``python -m mixedne.studies.costs TASK…`` measures those of this machine and prints one line of
JSON. It takes about ten seconds, mostly for compilation, and measures CPU time, so that other
work on the machine has little influence. The study starts it as a separate process, and so needs
no JAX itself.
"""

import contextlib
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mixedne.config import total_updates
from mixedne.config.identity import LANES, to_json
from mixedne.errors import TrainingError
from mixedne.evaluation.grids import Grid
from mixedne.files import find_modules_here
from mixedne.schedules import warmup_steps
from mixedne.studies.plan import PlannedRun, group_runs
from mixedne.tasks import PAPER_TASKS, Shift, Task, make_worlds, resolve_task

STEP_SECONDS = {
    "HalfCheetah": 46e-6,
    "Hopper": 107e-6,
    "Ant": 313e-6,
    "Humanoid": 809e-6,
    "Walker2d": 95e-6,
    "Swimmer": 46e-6,
    "Reacher": 25e-6,
    "InvertedPendulum": 40e-6,
    "toy": 5e-6,
}
"""Seconds per step in a batch of worlds, by the task's name. The first four are from the evaluation
benchmark; the others were measured relative to HalfCheetah. The default for other tasks is
100e-6."""


@dataclass(frozen=True)
class UnitCosts:
    """Seconds that one core of a machine needs for each unit of work."""

    weight_seconds: float = 4.5e-8 / 128
    """Per weight and transition in an update, for several forward and backward passes. From 0.82 ms
    for an inner update of two-player DDPG on HalfCheetah, and 3.8 ms on Humanoid."""
    acting_seconds: float = 75e-6
    """For one action of the players while collecting, without the task's step."""
    sample_seconds: float = 1e-6
    """Per step of the toy MDP in VPG, for one of eight runs that are trained together. Measured
    once, by hand, on a busy machine."""
    start_seconds: float = 10.0
    """From the start of a job to its first update, for imports and compilation."""
    step_seconds: Mapping[str, float] = field(default_factory=lambda: STEP_SECONDS)


class Effort(NamedTuple):
    """The cost of runs: counts, which do not depend on the machine, and seconds on one core."""

    runs: int
    steps: int
    """Number of environment steps in training."""
    inner_updates: int
    episodes: int
    """Number of evaluation episodes."""
    seconds: float
    """Seconds of all jobs, on one core."""
    longest: float
    """Seconds of the longest job, on one core."""

    def elapsed(self, cores: int, *, stages: int) -> float:
        """Estimated seconds on ``cores`` cores, in stages that run one after another."""
        return max(self.seconds / cores, stages * self.longest)


def effort(runs: Sequence[PlannedRun], costs: UnitCosts) -> Effort:
    """The total effort of all runs."""
    times = [job_seconds(job, costs) for job in group_runs(runs)]
    return Effort(
        runs=len(runs),
        steps=sum(run.fields["steps"] for run in runs),
        inner_updates=sum(inner_updates(run.fields) for run in runs),
        episodes=sum(_episodes(run.evaluations) for run in runs),
        seconds=sum(times),
        longest=max(times, default=0.0),
    )


def job_seconds(job: Sequence[PlannedRun], costs: UnitCosts) -> float:
    """Seconds for training and evaluation of a job of ``plan.group_runs`` on one core."""
    fields = job[0].fields  # the others have as many steps and episodes
    task = resolve_task(fields["task"])
    step = costs.step_seconds.get(task.name, 100e-6)
    episodes = _episodes_in_training(fields, task) + _episodes(job[0].evaluations)
    evaluating = len(job) * episodes * (task.max_episode_steps or 1000) * step
    if fields["agent"] == "vpg":
        samples = _rollouts(fields) * fields["horizon"] * fields["trajectories"]
        return costs.start_seconds + LANES * samples * costs.sample_seconds + evaluating
    collecting = fields["steps"] * (costs.acting_seconds + step)
    updating = inner_updates(fields) * update_seconds(fields, task, costs)
    return costs.start_seconds + collecting + updating + evaluating


def inner_updates(fields: Mapping[str, Any]) -> int:
    """Σ K_t over a run's outer steps; a step of Extra-Adam counts as two."""
    halves = 2 if fields["solver"] == "extra-adam" else 1
    if fields["agent"] == "vpg":
        chain = fields["inner_steps"] if fields["solver"] == "mixedne-ld" else halves
        return int(fields["steps"] * chain)
    updates = total_updates(fields)
    if fields["solver"] == "mixedne-ld":
        return _chain_steps(updates, fields["inner_growth"], fields["inner_max"])
    return int(halves * updates)


def _rollouts(fields: Mapping[str, Any]) -> int:
    """How often VPG plays episodes: after a chain's first step, frozen opponents need their own."""
    once = inner_updates(fields)
    is_frozen = fields["solver"] == "mixedne-ld" and fields["inner"] == "frozen"
    return 2 * once - fields["steps"] if is_frozen and fields["delta"] > 0 else once


def update_seconds(fields: Mapping[str, Any], task: Task, costs: UnitCosts) -> float:
    """Seconds per inner update of the critics, and of the players when they are updated.

    Of the two updates of Extra-Adam's step, one is of the players alone.
    """
    players = 1 if fields["delta"] == 0 else 2
    actor = _weights([task.observation_size, *fields["hidden"], task.action_size])
    hidden = fields["critic_hidden"] or fields["hidden"]
    critic = _weights([task.observation_size + task.action_size, *hidden, 1])
    critics = fields["critics"] / (2 if fields["solver"] == "extra-adam" else 1)
    touched = critics * critic + players * actor / fields["policy_delay"]
    return touched * fields["batch_size"] * costs.weight_seconds


@lru_cache
def _chain_steps(updates: int, growth: float, maximum: int) -> int:
    """Σ K_t over ``updates`` outer steps."""
    if not growth:
        return updates
    inner_steps, block, total = warmup_steps(growth, maximum), 2**20, 0
    for done in range(0, updates, block):
        chains = inner_steps(np.arange(done, min(done + block, updates)) + 1)
        total += int(chains.sum())
        if chains[-1] == maximum:  # and so are all later ones
            return total + maximum * (updates - done - len(chains))
    return total


def _weights(sizes: Sequence[int]) -> int:
    return sum(a * b for a, b in pairwise(sizes))


def _episodes_in_training(fields: Mapping[str, Any], task: Task) -> int:
    """Number of evaluation episodes during training."""
    if not fields["evaluate_every"]:
        return 0
    shifts = len(fields["evaluate_masses"]) if "mass" in task.axes else 1
    if "rho" in task.axes:
        shifts = len(fields["evaluate_rhos"])
    return int(fields["steps"] // fields["evaluate_every"] * shifts * fields["evaluate_episodes"])


def _episodes(evaluations: Iterable[Grid]) -> int:
    return sum(grid.size * grid.episodes for grid in evaluations)


def calibrate(tasks: Sequence[str]) -> UnitCosts:
    """Measure the unit costs of this machine in a separate process."""
    command = [sys.executable, "-P", "-m", "mixedne.studies.costs", *tasks]  # as for workers
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        raise TrainingError(f"the calibration failed: {reason}")
    return UnitCosts(**json.loads(done.stdout))


def measure(tasks: Sequence[str]) -> UnitCosts:
    """Measure the unit costs in this process: updates on HalfCheetah, and each task's steps.

    Acting and VPG are not measured, but scaled in proportion to the time of an update.
    """
    from mixedne.training.run import train

    times: list[float] = []
    with tempfile.TemporaryDirectory(prefix="mixedne-") as place:
        run = train(
            "HalfCheetah-v5",
            steps=600,
            collect_steps=100,
            update_after=200,
            replay_size=10_000,
            inner_growth=100.0,  # K_t is 15 throughout
            updates=15,
            evaluate_every=0,
            out=f"{place}/run",
            callback=lambda _: times.append(time.process_time()),
        )
    start_seconds = time.process_time()  # since the process began
    config, task, reference = run.config, resolve_task(run.config.task), UnitCosts()
    cycle = min(after - before for before, after in pairwise(times[2:]))
    collecting = config.collect_steps * (reference.acting_seconds + _measure_step(task))
    weights = update_seconds(to_json(config), task, UnitCosts(weight_seconds=1.0))
    weight_seconds = (cycle - collecting) / (config.updates * config.inner_max * weights)
    slower = weight_seconds / reference.weight_seconds
    return UnitCosts(
        weight_seconds=weight_seconds,
        acting_seconds=slower * reference.acting_seconds,
        sample_seconds=slower * reference.sample_seconds,
        start_seconds=start_seconds,
        step_seconds={task.name: _measure_step(task) for task in map(resolve_task, tasks)},
    )


def _measure_step(task: Task) -> float:
    """Seconds per step of a task in a batch of worlds; the minimum, since noise only adds time."""
    count, steps = 16, 30
    shifts = [(Shift(), seed) for seed in range(count)]
    worlds = make_worlds(task, shifts, threads=1, terminate=task.name not in PAPER_TASKS)
    generator = np.random.default_rng(0)
    worlds.reset()
    times = []
    with contextlib.closing(worlds):
        for _ in range(3):
            started = time.process_time()
            for _ in range(steps):
                size = (len(worlds.active), task.action_size)
                ended = worlds.step(generator.uniform(task.action_low, task.action_high, size))
                if (ended.terminated | ended.truncated).any():
                    worlds.reset()
            times.append(time.process_time() - started)
    return min(times) / (steps * count)


if __name__ == "__main__":
    find_modules_here(*sys.argv[1:])
    print(json.dumps(dataclasses.asdict(measure(sys.argv[1:]))))
