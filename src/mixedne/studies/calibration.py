"""Measures the unit costs of ``costs`` on this machine.

``python -m mixedne.studies.calibration TASK…`` prints one line of JSON. It takes about ten seconds,
mostly for compilation, and counts processor time, so that other work on the machine disturbs it
little. The study starts it as a process of its own, and so needs no JAX itself.
"""

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from mixedne.errors import TrainingError
from mixedne.studies.costs import UnitCosts, update_seconds
from mixedne.tasks import PAPER_TASKS, Shift, Task, make_worlds, resolve_task

TASK = "HalfCheetah-v5"
"""The task on which updates and acting are measured."""

WORLDS = 16
STEPS = 30
ROUNDS = 3
"""The fastest counts, because disturbances only add time."""


def calibrate(tasks: Sequence[str]) -> UnitCosts:
    """The unit costs of this machine, measured in a process of its own."""
    command = [sys.executable, "-m", "mixedne.studies.calibration", *tasks]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        raise TrainingError(f"the calibration failed: {reason}")
    return UnitCosts(**json.loads(done.stdout))


def measure(tasks: Sequence[str]) -> UnitCosts:
    """The unit costs, measured in this process."""
    weight_seconds, collecting_seconds = _measure_training()
    start_seconds = time.process_time()  # since the process began
    reference = UnitCosts()
    slower = weight_seconds / reference.weight_seconds
    return UnitCosts(
        weight_seconds=weight_seconds,
        sample_seconds=slower * reference.sample_seconds,  # VPG is not measured by itself
        acting_seconds=max(collecting_seconds - _measure_step(resolve_task(TASK)), 0.0),
        start_seconds=start_seconds,
        step_seconds={task.name: _measure_step(task) for task in map(resolve_task, tasks)},
    )


def _measure_step(task: Task) -> float:
    """Seconds of one step of a task in a batch of worlds."""
    is_batched = task.name in PAPER_TASKS
    shifts = [(Shift(), seed) for seed in range(WORLDS)]
    worlds = make_worlds(task, shifts, threads=1, terminate=not is_batched)
    generator = np.random.default_rng(0)
    worlds.reset()

    def steps() -> None:
        for _ in range(STEPS):
            size = (len(worlds.active), task.action_size)
            ended = worlds.step(generator.uniform(task.action_low, task.action_high, size))
            if (ended.terminated | ended.truncated).any():
                worlds.reset()

    try:
        return _fastest(steps) / (STEPS * WORLDS)
    finally:
        worlds.close()


def _measure_training() -> tuple[float, float]:
    """Seconds of an inner update for one weight and transition, and of a step of collection.

    Measured on two-player DDPG with chains of 15.
    """
    from mixedne.config import configure
    from mixedne.config.identity import to_json
    from mixedne.training.assembly import make_policies
    from mixedne.training.collection import Experience, no_normaliser
    from mixedne.training.replay import Replay
    from mixedne.training.run import hold_to_one_thread
    from mixedne.training.updates import RunInputs, make_updater

    hold_to_one_thread()
    config = configure(TASK, inner_growth=100.0, updates=15)  # K_t is 15 throughout
    task, updater = resolve_task(config.task), make_updater(config)
    experience = Experience(config, task, None)
    width = experience.layout.width
    replay = Replay.create(None, width, 10_000, 0)
    replay.append(np.random.default_rng(0).standard_normal((10_000, width), np.float32))
    normaliser = no_normaliser(task.observation_size)
    state = updater.init(config.seed)

    def update() -> None:
        nonlocal state
        inputs = RunInputs(config, state, replay, normaliser)
        [(state, _)] = updater.advance([inputs], 0, config.updates)

    update()  # compiles
    update_share = _fastest(update) / (config.updates * config.inner_max)
    weights = update_seconds(to_json(config), task, UnitCosts(weight_seconds=1.0))
    policies = make_policies(config, task, updater.agent.policy_head, state.players, normaliser)
    try:
        experience.start()
        collecting = _fastest(lambda: experience.play(policies, 100, 0, at_random=False)) / 100
    finally:
        experience.close()
    return update_share / weights, collecting


def _fastest(work: Callable[[], object]) -> float:
    """The least processor time, in seconds, that the work takes."""
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    print(json.dumps(dataclasses.asdict(measure(sys.argv[1:]))))
