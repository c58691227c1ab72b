"""What digests cost: their share of a run, and the time to verify a replay on resumption.

    python benchmarks/digests.py [--steps 20000] [--gigabytes 1]

The run is DDPG by MixedNE-LD on HalfCheetah with a checkpoint every 10 000 steps, as by default.
Times are of the processor, so that other work on the machine counts little.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mixedne
from mixedne import files
from mixedne.training import checkpoints
from mixedne.training import metrics as writer
from mixedne.training.replay import Replay

WIDTH = 17 + 6 + 6 + 1 + 1 + 1 + 17
"""Numbers in a transition of HalfCheetah with two players, about."""


PARTS: tuple[tuple[Any, str], ...] = (
    (checkpoints, "_digest"),
    (Replay, "checksums"),
    (files, "_content_digest"),
    (writer, "format_line"),
)
"""What computes digests while a run is trained; those of its two policies weigh less."""


def share_of_a_run(steps: int, folder: Path) -> tuple[float, float]:
    """Seconds of digests, and of the whole run, start and compilation left out."""
    spent, begun = 0.0, time.process_time()

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            nonlocal spent
            start = time.process_time()
            try:
                return function(*arguments)
            finally:
                spent += time.process_time() - start

        return timed

    def callback(status: Any) -> bool:
        nonlocal begun, spent
        if status.step <= 2000:  # compiled by then
            begun, spent = time.process_time(), 0.0
        return True

    for place, name in PARTS:
        setattr(place, name, around(getattr(place, name)))
    mixedne.train("HalfCheetah-v5", steps=steps, out=folder, callback=callback)
    return spent, time.process_time() - begun


def seconds_per_gigabyte(gigabytes: float, folder: Path) -> float:
    """To verify a replay that was opened again."""
    rows = int(gigabytes * 1e9 / (4 * WIDTH))
    place = folder / "replay.f32"
    replay = Replay.create(place, WIDTH, rows, 0)
    block = np.random.default_rng(0).standard_normal((10_000, WIDTH), np.float32)
    for first in range(0, rows, len(block)):
        replay.append(block[: rows - first])
    replay.close()
    opened = Replay.open(place, WIDTH, rows, 0, rows)
    start = time.perf_counter()
    opened.checksums()
    spent = time.perf_counter() - start
    opened.close()
    return spent / gigabytes


def main() -> None:
    """Measure and print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    wishes = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spent, whole = share_of_a_run(wishes.steps, Path(folder) / "run")
        print(f"digests: {spent:.3f} s of {whole:.1f} s, {100 * spent / whole:.2f} % of a run")
        found = seconds_per_gigabyte(wishes.gigabytes, Path(folder))
        print(f"verifying a replay: {found:.2f} s per gigabyte")


if __name__ == "__main__":
    main()
