"""A million Humanoid transitions: their size, what sampling them costs, what a checkpoint costs.

    python benchmarks/own/replay.py [--transitions 1000000] [--core 0]

Sampling is compared with the update that it feeds (two-player DDPG with MixedNE-LD, K = 1), and a
checkpoint with the training between two of them (10 000 steps at the speed measured here). Reading
and checking the whole replay, as on resumption, is timed as well. The file goes into the current
folder for the time being. One core. Prints one line of JSON.
"""

import argparse
import os

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--transitions", type=int, default=1_000_000)
parser.add_argument("--core", type=int, default=0)
arguments = parser.parse_args()

os.sched_setaffinity(0, {arguments.core})

import json
import tempfile
import time
from pathlib import Path

import numpy as np

from mixedne.config import configure
from mixedne.training.folder import RunFolder
from mixedne.training.run import advance, hold_to_one_thread
from mixedne.training.streams import Stream, generator
from mixedne.training.training_run import TrainingRun
from mixedne.training.updates import make_updater

CYCLES = 20


def main() -> None:
    """Fill a run's replay, then time sampling, cycles and checkpoints."""
    hold_to_one_thread()
    config = configure(
        "Humanoid-v5", steps=10 * arguments.transitions, replay_size=arguments.transitions
    )
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = RunFolder(Path(name) / "run")
        folder.open(config, resume=False)
        updater = make_updater(config)
        run = TrainingRun(config, folder, updater)
        run.begin(resume=False)
        if run.experience is None or run.experience.replay is None:
            raise RuntimeError("an off-policy run has a replay")
        replay = run.experience.replay
        random = np.random.default_rng(0)
        block = 0.1 * random.standard_normal((10_000, replay.width), np.float32)
        while replay.count < arguments.transitions:
            replay.append(block)
        run.step = replay.count
        advance([run], updater)  # compiles
        rows = np.empty((config.updates, config.batch_size, replay.width), np.float32)
        sampling = []
        for i in range(CYCLES):
            start = time.perf_counter()
            replay.sample(generator(0, Stream.MINIBATCH, i), rows.shape[:2], out=rows)
            sampling.append((time.perf_counter() - start) / config.updates)
        updates, cycles = [], []
        for _ in range(CYCLES):
            start = time.perf_counter()
            advance([run], updater)
            cycles.append(time.perf_counter() - start)
            start = time.perf_counter()
            [(state, metrics)] = updater.advance([run.inputs()], run.updates, config.updates)
            run.take(state, metrics, config.updates)
            updates.append((time.perf_counter() - start) / config.updates)
        run.save(keep=False)
        checkpoints = []
        for _ in range(5):
            replay.append(block[: config.checkpoint_every])
            run.step = replay.count
            start = time.perf_counter()
            run.save(keep=False)
            checkpoints.append(time.perf_counter() - start)
        replay._checksums.clear()
        start = time.perf_counter()
        replay.checksums()
        verification = time.perf_counter() - start
        between = np.median(cycles) * config.checkpoint_every / config.collect_steps
        gibibytes = folder.replay.stat().st_size / 2**30
        report = {
            "gibibytes": round(gibibytes, 2),
            "verification_seconds_per_gibibyte": round(verification / gibibytes, 2),
            "sampling_milliseconds": round(1e3 * float(np.median(sampling)), 3),
            "update_milliseconds": round(1e3 * float(np.median(updates)), 3),
            "sampling_share": round(float(np.median(sampling) / np.median(updates)), 3),
            "checkpoint_seconds": round(float(np.median(checkpoints)), 3),
            "checkpoint_share": round(float(np.median(checkpoints) / between), 4),
        }
        run.close()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
