"""Speed of one inner update of two-player DDPG with MixedNE-LD, as training makes it.

    python benchmarks/own/inner_update.py [--updates 3000] [--inner-steps 15] [--no-noise]
        [--core 0]

HalfCheetah's sizes (17 observations, 6 actions), networks (64, 64, tanh), batches of 128, δ = 0.1.
Chains of 15 inner steps, in which the frozen opponents differ from the iterates; minibatches come
from a replay of 100 000 transitions. One core. Prints one line of JSON.
"""

import argparse
import os

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--updates", type=int, default=3000, help="timed inner updates")
parser.add_argument("--inner-steps", type=int, default=15, help="K_t")
parser.add_argument("--core", type=int, default=0)
parser.add_argument("--no-noise", action="store_true", help="RMSProp: draw no Langevin noise")
arguments = parser.parse_args()

os.sched_setaffinity(0, {arguments.core})

import json
import math
import time

import jax
import numpy as np

from mixedne.config import configure, game_of
from mixedne.tasks import resolve_task
from mixedne.training.collection import RunningMoments, transition_layout
from mixedne.training.replay import Replay
from mixedne.training.run import hold_to_one_thread
from mixedne.training.updates import OffPolicyUpdater, RunInputs
from mixedne.versions import versions

CYCLE = 10
"""Outer steps that are timed together; the best of these suffers least from busy neighbours."""


def main() -> None:
    """Compile, then update against the clock."""
    hold_to_one_thread()
    config = configure(
        "HalfCheetah-v5",
        inner_growth=100.0,  # K_t is at its maximum from the first t on
        inner_max=arguments.inner_steps,
        sigma0=0.0 if arguments.no_noise else 1e-2,
    )
    task = resolve_task(config.task)
    layout = transition_layout(game_of(config, task))
    replay = Replay.create(None, layout.width, 100_000, 0)
    replay.append(np.random.default_rng(0).standard_normal((100_000, layout.width), np.float32))
    updater = OffPolicyUpdater(config)
    normaliser = RunningMoments.empty(task.observation_size).scaling()
    first = RunInputs(config, updater.init(config.seed), replay, normaliser)
    [(state, _)] = updater.advance([first], 0, config.updates)
    done, inner_updates, best = config.updates, 0, math.inf
    start, start_cpu = time.perf_counter(), time.process_time()
    while inner_updates < arguments.updates:
        began = time.perf_counter()
        inputs = RunInputs(config, state, replay, normaliser)
        [(state, _)] = updater.advance([inputs], done, CYCLE)
        done += CYCLE
        inner_updates += CYCLE * arguments.inner_steps
        best = min(best, (time.perf_counter() - began) / (CYCLE * arguments.inner_steps))
    jax.block_until_ready(state)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    report = {
        "milliseconds_per_update": round(1e3 * seconds / inner_updates, 4),
        "best_milliseconds_per_update": round(1e3 * best, 4),
        "share_of_core": round(cpu_seconds / seconds, 2),
        "versions": versions("jax", "numpy"),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
