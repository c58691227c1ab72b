"""Speed of our training from end to end on HalfCheetah-v5, with one update after every step.

    python benchmarks/own/train_speed.py --agent td3 --solver gad [--formulation rarl]
        [--delta 0] [--steps 5000] [--core 0]

Networks (64, 64), batches of 128, K_t = 1. Steps and updates alternate in cycles of 50, as in the
paper's TD3. The first updates, in which everything is compiled, come before the clock starts, and
are timed as ``start_up_seconds``, from the start of the process. One core. Prints one line of JSON.
"""

import time

BEGAN = time.perf_counter()

import argparse
import os

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--agent", choices=["ddpg", "td3"], default="td3")
parser.add_argument("--solver", default="gad")
parser.add_argument("--formulation", default="nr-mdp")
parser.add_argument("--delta", type=float)
parser.add_argument("--steps", type=int, default=5000, help="timed steps")
parser.add_argument("--core", type=int, default=0)
arguments = parser.parse_args()

os.sched_setaffinity(0, {arguments.core})

import json
import tempfile
from pathlib import Path
from typing import Any

from mixedne.config import configure
from mixedne.training.run import train_config
from mixedne.versions import versions

FIRST_UPDATE, WARM_UP = 200, 1500


def main() -> None:
    """Train past the warm-up, then on against the clock."""
    marks: dict[str, Any] = {}

    def watch(status: Any) -> None:
        now = time.perf_counter(), time.process_time()
        if "first" not in marks and status.step >= FIRST_UPDATE:
            marks["first"] = now
        if "start" not in marks and status.step >= WARM_UP:
            marks["start"] = now
        marks["end"] = now

    config = configure(
        "HalfCheetah-v5",
        agent=arguments.agent,
        solver=arguments.solver,
        formulation=arguments.formulation,
        delta=arguments.delta,
        steps=WARM_UP + arguments.steps,
        collect_steps=50,
        updates=50,
        random_steps=0,
        update_after=FIRST_UPDATE - 1,
        evaluate_every=0,
    )
    with tempfile.TemporaryDirectory() as folder:
        train_config(config, out=Path(folder) / "run", watch=watch)
    (start, start_cpu), (end, end_cpu) = marks["start"], marks["end"]
    report = {
        "steps_per_second": round(arguments.steps / (end - start), 1),
        "start_up_seconds": round(marks["first"][0] - BEGAN, 1),
        "share_of_core": round((end_cpu - start_cpu) / (end - start), 2),
        "versions": versions("jax", "gymnasium", "mujoco"),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
