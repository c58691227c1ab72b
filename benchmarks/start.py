"""How long `mixedne train` takes to start, with and without the programs of an earlier start.

    python benchmarks/start.py [--rounds 3] [--core 0] [-- TASK --agent td3 …]

A start is the whole process: imports, compilation, and 300 steps of a small run, of which the last
hundred are with updates. Each round has an empty cache folder: the first start fills it, the second
finds it full, and a third is told --no-cache. One core. Prints one line of JSON.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mixedne.versions import versions

RUN = ("HalfCheetah-v5", "--agent", "ddpg", "--solver", "mixedne-ld")
SHORT = ("--steps", "300", "--update-after", "199", "--evaluate-every", "0")


def start(arguments: list[str], cache: Path, out: Path) -> float:
    """The seconds of one start."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-m", "mixedne.cli.main", "train", *arguments, "--out", str(out)]
    began = time.perf_counter()
    subprocess.run(
        command, env={**ours, "XDG_CACHE_HOME": str(cache)}, check=True, capture_output=True
    )
    return time.perf_counter() - began


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("run", nargs="*", default=RUN)
    given = parser.parse_args()
    os.sched_setaffinity(0, {given.core})
    arguments = [*given.run, *SHORT]
    seconds: dict[str, list[float]] = {"first": [], "second": [], "no_cache": []}
    with tempfile.TemporaryDirectory() as name:
        for number in range(given.rounds):
            place = Path(name) / str(number)
            for which, measured in seconds.items():
                options = ["--no-cache"] if which == "no_cache" else []
                measured.append(start([*arguments, *options], place, place / which))
    ratios = [b / a for a, b in zip(seconds["first"], seconds["second"], strict=True)]
    report = {
        **{name: [round(each, 1) for each in measured] for name, measured in seconds.items()},
        "second / first": round(statistics.median(ratios), 2),
        "versions": versions("jax", "gymnasium", "mujoco"),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
