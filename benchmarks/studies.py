"""Studies: throughput of local workers, and what the paper's experiments cost.

    python benchmarks/studies.py throughput [--rounds 5] [--runs 4] [--steps 20000]
    python benchmarks/studies.py costs

The first does the same study with one worker and with two, in turn, and prints how many times the
throughput two reach; a round's order alternates. Runs are two-player DDPG with MixedNE-LD on
HalfCheetah with the paper's networks. Start-up and compilation count. The second prints the table
of docs/studies.md from the unit costs in ``mixedne.studies.costs``.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mixedne.studies.costs import UnitCosts, effort
from mixedne.studies.plan import expand
from mixedne.studies.results import expected_runs
from mixedne.studies.spec import find_study, named_studies

CORES = (2, 64, 1000)

STUDY = """
[[runs]]
tasks = ["HalfCheetah-v5"]
seeds = {runs}
steps = {steps}

[runs.overrides]
evaluate_every = 0
"""


def throughput(rounds: int, runs: int, steps: int) -> None:
    """Print the seconds of every round, and the ratio with its spread."""
    ratios = []
    with tempfile.TemporaryDirectory() as place:
        study = Path(place) / "benchmark.toml"
        study.write_text(STUDY.format(runs=runs, steps=steps))
        for number in range(rounds):
            order = (1, 2) if number % 2 == 0 else (2, 1)
            taken = {workers: _seconds(study, workers, Path(place)) for workers in order}
            ratios.append(taken[1] / taken[2])
            print(f"one worker {taken[1]:.1f} s, two {taken[2]:.1f} s: {ratios[-1]:.2f} times")
    median = statistics.median(ratios)
    print(f"{median:.2f} times ({min(ratios):.2f} to {max(ratios):.2f}), {rounds} rounds")


def _seconds(study: Path, workers: int, place: Path) -> float:
    out = tempfile.mkdtemp(dir=place)
    command = [sys.executable, "-m", "mixedne.cli.main", "study", str(study), "--out", out]
    started = time.perf_counter()
    subprocess.run([*command, "--workers", str(workers)], check=True, capture_output=True)
    return time.perf_counter() - started


def costs() -> None:
    """Print the cost of every study that ships, as a table in Markdown."""
    columns = ["study", "runs", "steps", "inner updates", "core-hours"]
    columns += [f"{cores} cores" for cores in CORES]
    print(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|")
    for name in named_studies():
        study = find_study(name)
        runs = expand(study)
        runs += expected_runs(study, runs)
        whole = effort(runs, UnitCosts())
        stages = 2 if study.search else 1  # what is reported has to wait for the choice
        times = [whole.elapsed(cores, stages=stages) for cores in CORES]
        numbers = [f"{whole.runs:,}", f"{whole.steps / 1e6:,.2f} M"]
        numbers += [f"{whole.inner_updates / 1e6:,.2f} M", _hours(whole.seconds)]
        print(f"| `{name}` | {' | '.join([*numbers, *map(_words, times)])} |")


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _words(seconds: float) -> str:
    if seconds < 5400:
        return f"{seconds / 60:.2g} min"
    return f"{seconds / 3600:.2g} h" if seconds < 2 * 86400 else f"{seconds / 86400:.2g} days"


def main() -> None:
    """Measure, or print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["throughput", "costs"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    if arguments.what == "costs":
        costs()
    else:
        throughput(arguments.rounds, arguments.runs, arguments.steps)


if __name__ == "__main__":
    main()
