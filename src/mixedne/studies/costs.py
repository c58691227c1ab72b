"""How long runs take on one core, from a few unit costs.

A run of DDPG, TD3 or SAC consists of steps of the task and of inner updates, Σ K_t; the time of an
update is in proportion to the weights that it touches. VPG consists of samples, always for eight
runs: a job of fewer costs as much. Evaluation consists of steps of the task, counted as if every
episode ran to its time limit. The unit costs below are those of the machine of
``benchmarks/README.md``; ``calibration`` measures others.
An estimate serves for planning: it should be right within a factor of two.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mixedne.config.identity import LANES
from mixedne.evaluation.grids import Grid
from mixedne.schedules import warmup_steps
from mixedne.studies.plan import PlannedRun, group_runs
from mixedne.tasks import Task, resolve_task

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
"""Seconds of one step in a batch of worlds, by the task's name. The first four are the benchmark
of evaluation; the others were measured beside HalfCheetah and scaled by it."""

OTHER_STEP_SECONDS = 100e-6
"""The same for a task that is not listed."""


@dataclass(frozen=True)
class UnitCosts:
    """Seconds that one core of a machine needs for the units of runs."""

    weight_seconds: float = 4.5e-8 / 128
    """For one weight and one transition in an update: forward and back, several times over. From
    0.82 ms for an inner update of two-player DDPG on HalfCheetah, and 3.8 ms on Humanoid."""
    acting_seconds: float = 75e-6
    """For the players to act once while collecting, beside the task's step."""
    sample_seconds: float = 1e-6
    """For one step of the toy MDP in a turn of VPG, of one run among eight that are trained
    together. Measured once, by hand, on a busy machine."""
    start_seconds: float = 10.0
    """Until a job's first update: imports and compilation."""
    step_seconds: Mapping[str, float] = field(default_factory=lambda: STEP_SECONDS)

    def step(self, task: Task) -> float:
        """One step of a task."""
        return self.step_seconds.get(task.name, OTHER_STEP_SECONDS)


class Effort(NamedTuple):
    """What runs take: counts, which no machine changes, and seconds of one core."""

    runs: int
    steps: int
    """Steps of tasks in training."""
    inner_updates: int
    episodes: int
    """Episodes of evaluation."""
    seconds: float
    """On one core."""
    longest: float
    """Seconds of the longest job, on one core."""

    def elapsed(self, cores: int, *, stages: int) -> float:
        """Seconds with so many cores, in stages that wait for each other."""
        return max(self.seconds / cores, stages * self.longest)


def effort(runs: Iterable[PlannedRun], costs: UnitCosts) -> Effort:
    """The effort of all runs together."""
    listed = list(runs)
    times = [job_seconds(job, costs) for job in group_runs(listed)]
    return Effort(
        runs=len(listed),
        steps=sum(run.fields["steps"] for run in listed),
        inner_updates=sum(inner_updates(run.fields) for run in listed),
        episodes=sum(_episodes(run.evaluations) for run in listed),
        seconds=sum(times),
        longest=max(times, default=0.0),
    )


def job_seconds(job: Sequence[PlannedRun], costs: UnitCosts) -> float:
    """Training and evaluation of a job of ``plan.group_runs`` on one core."""
    fields = job[0].fields  # the others have as many steps and episodes
    task = resolve_task(fields["task"])
    step = costs.step(task)
    episodes = _episodes_in_training(fields, task) + _episodes(job[0].evaluations)
    evaluating = len(job) * episodes * (task.max_episode_steps or 1000) * step
    if fields["agent"] == "vpg":
        samples = inner_updates(fields) * fields["horizon"] * fields["trajectories"]
        return costs.start_seconds + LANES * samples * costs.sample_seconds + evaluating
    collecting = fields["steps"] * (costs.acting_seconds + step)
    updating = inner_updates(fields) * update_seconds(fields, task, costs)
    return costs.start_seconds + collecting + updating + evaluating


def inner_updates(fields: Mapping[str, Any]) -> int:
    """Σ K_t over a run's outer steps; Extra-Adam's two halves count as two."""
    halves = 2 if fields["solver"] == "extra-adam" else 1
    if fields["agent"] == "vpg":
        chain = fields["inner_steps"] if fields["solver"] == "mixedne-ld" else halves
        return int(fields["steps"] * chain)
    cycles = -(-fields["steps"] // fields["collect_steps"])
    skipped = min(cycles, fields["update_after"] // fields["collect_steps"])
    updates = (cycles - skipped) * fields["updates"]
    if fields["solver"] == "mixedne-ld":
        return _chain_steps(updates, fields["inner_growth"], fields["inner_max"])
    return int(halves * updates)


def update_seconds(fields: Mapping[str, Any], task: Task, costs: UnitCosts) -> float:
    """One inner update: the critics, and the players on the turns on which they move."""
    players = 1 if fields["delta"] == 0 else 2
    actor = _weights([task.observation_size, *fields["hidden"], task.action_size])
    critic = _weights([task.observation_size + task.action_size, *fields["hidden"], 1])
    touched = fields["critics"] * critic + players * actor / fields["policy_delay"]
    return touched * fields["batch_size"] * costs.weight_seconds


@lru_cache
def _chain_steps(updates: int, growth: float, maximum: int) -> int:
    """Σ K_t over so many updates."""
    return int(warmup_steps(growth, maximum)(np.arange(1, updates + 1)).sum())


def _weights(sizes: Sequence[int]) -> int:
    return sum(a * b for a, b in pairwise(sizes))


def _episodes_in_training(fields: Mapping[str, Any], task: Task) -> int:
    """The episodes of the evaluations during training."""
    if not fields["evaluate_every"]:
        return 0
    shifts = 1
    if task.nominal_rho is not None:
        shifts = len(fields["evaluate_rhos"])
    elif "mass" in task.axes:
        shifts = len(fields["evaluate_masses"])
    return int(fields["steps"] // fields["evaluate_every"] * shifts * fields["evaluate_episodes"])


def _episodes(evaluations: Iterable[Grid]) -> int:
    return sum(_grid_episodes(grid) for grid in evaluations)


@lru_cache
def _grid_episodes(grid: Grid) -> int:
    return len(grid.shifts()) * grid.episodes
