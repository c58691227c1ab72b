"""Speed of two-player VPG with MixedNE-LD on the toy MDP, as training makes it.

    python benchmarks/own/vpg.py [--steps 1000] [--seeds 5] [--core 0]

The paper's values for δ = 0.1: one episode of 500 steps an outer step, N_k = 1. One core, and so
many seeds side by side. Without metrics, evaluations and checkpoints, as the peer. Prints one line
of JSON.
"""

import argparse
import os

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=1000, help="timed outer steps")
parser.add_argument("--seeds", type=int, default=5, help="at most 8")
parser.add_argument("--core", type=int, default=0)
arguments = parser.parse_args()

os.sched_setaffinity(0, {arguments.core})

import json
import time

from mixedne.config import configure
from mixedne.solvers import SolverState
from mixedne.training.run import hold_to_one_thread
from mixedne.training.updates import OnPolicyUpdater, RunInputs
from mixedne.versions import versions


def main() -> None:
    """Compile, then train against the clock."""
    hold_to_one_thread()
    configs = [configure("toy", agent="vpg", seed=seed) for seed in range(arguments.seeds)]
    updater, call = OnPolicyUpdater(configs[0]), configs[0].metrics_every
    states = [updater.init(config.seed) for config in configs]

    def advance(done: int) -> list[SolverState]:
        runs = list(map(RunInputs, configs, states))
        return [state for state, _ in updater.advance(runs, done, call)]

    compiling = time.perf_counter()
    states = advance(0)
    start, start_cpu = time.perf_counter(), time.process_time()
    for done in range(call, call + arguments.steps, call):
        states = advance(done)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    report = {
        "milliseconds_per_step": round(1e3 * seconds / arguments.steps / arguments.seeds, 4),
        "seconds_to_compile": round(start - compiling, 1),
        "share_of_core": round(cpu_seconds / seconds, 2),
        "versions": versions("jax", "numpy"),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
