"""Studies: throughput of local workers, and what the paper's experiments cost.

    python benchmarks/studies.py throughput [--rounds 5] [--runs 4] [--steps 20000]
    python benchmarks/studies.py tables [--check]
    python benchmarks/studies.py simulate [--workers 1000] [--days-between-deaths 1]

The first does the same study with one worker and with two, in turn, and prints how many times the
throughput two reach; a round's order alternates. Runs are two-player DDPG with MixedNE-LD on
HalfCheetah with the paper's networks. Start-up and compilation count. The second writes two tables
of docs/studies.md: what studies cost by the unit costs in ``mixedne.studies.costs``, and what these
predict for the runs in results/ beside how long their training took. The third drives the real
scheduler by a simulated clock: the paper's searches on so many workers, which die now and then; a
run goes on from its last checkpoint on another worker, and the dead one is back after five minutes.
It prints how long the searches take, beside the least possible.
"""

import argparse
import dataclasses
import heapq
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from sweeps import training_minutes
from tables import Tables, markdown, write

from mixedne.names import SOLVERS
from mixedne.studies import scheduler
from mixedne.studies.costs import UnitCosts, effort, job_seconds
from mixedne.studies.folder import StudyFolder
from mixedne.studies.plan import expand
from mixedne.studies.results import expected_runs
from mixedne.studies.scheduler import Event, Job
from mixedne.studies.spec import find_study, named_studies

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "studies.md"

STUDIES = {
    "reproduce-ddpg": "reproduction",
    "reproduce-ddpg-controls": "reproduction",
    "sets-2d": "sets",
    "recipe-search": "recipe",
    "recipe-finals": "recipe",
    "recipe-results": "recipe",
}
"""Studies with runs in ``results``, and the folder there."""

CORES = (2, 64, 1000)

CHECKPOINTS = 50
"""In a run of the paper's length."""
RESTART_SECONDS = 300.0
"""Until a worker that died is back."""

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


def costs() -> str:
    """The cost of every study that ships, as a table in Markdown."""
    header = ["study", "runs", "steps", "inner updates", "core-hours"]
    header += [f"{cores} cores" for cores in CORES]
    rows = []
    for name in named_studies():
        study = find_study(name)
        runs = expand(study)
        runs += expected_runs(study, runs)
        whole = effort(runs, UnitCosts())
        stages = 2 if study.search else 1  # what is reported has to wait for the choice
        times = [whole.elapsed(cores, stages=stages) for cores in CORES]
        numbers = [f"{whole.runs:,}", f"{whole.steps / 1e6:,.2f} M"]
        numbers += [f"{whole.inner_updates / 1e6:,.2f} M", _hours(whole.seconds)]
        rows.append([f"`{name}`", *numbers, *map(_words, times)])
    return markdown(header, rows)


def measured() -> str:
    """Predicted and measured minutes of training, by study and method, as a table in Markdown."""
    rows: list[list[str]] = []
    whole: list[tuple[float, float]] = []
    for study, place in STUDIES.items():
        # Configurations of one method that cost the same share a row.
        groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for run in expand(find_study(study)):
            folder = ROOT / "results" / place / "runs" / run.name
            if folder.is_dir():
                predicted = job_seconds([dataclasses.replace(run, evaluations=())], UnitCosts())
                times = predicted / 60, training_minutes(folder)
                group = _method(run.fields), f"{times[0]:.1f}"
                groups.setdefault(group, []).append(times)
        for (method, words), times_of in groups.items():
            predicted, found = times_of[0][0], sorted(minutes for _, minutes in times_of)
            cells = [words, f"{found[0]:.1f}", f"{found[-1]:.1f}"]
            rows.append([study, method, str(len(found)), *cells, f"{found[0] / predicted:.2f}"])
            whole += times_of
    model, clock = (sum(times) for times in zip(*whole, strict=True))
    sums = [f"{model:.0f}", f"{clock:.0f} in all", "", f"{clock / model:.2f}"]
    rows.append(["all", "", str(len(whole)), *sums])
    header = ["study", "method", "runs", "predicted, min", "shortest", "longest", "ratio"]
    return markdown(header, rows)


def _method(fields: Mapping[str, Any]) -> str:
    game = "M2TD3" if fields["formulation"] == "m2td3" else f"δ = {fields['delta']:g}"
    return f"{fields['task']}, {SOLVERS[fields['solver']]}, {game}"


class SimulatedWorkers:
    """An executor whose workers need no time but that of a clock of its own."""

    def __init__(self, workers: int, seconds_between_deaths: float, seed: int) -> None:
        """A worker dies after a random time, exponentially distributed with this mean."""
        self._chance, self._mean = random.Random(seed), seconds_between_deaths
        self._idle = workers
        self._agenda: list[tuple[float, int, Event | None]] = []  # None: a worker is back
        self._left: dict[str, float] = {}  # seconds that a run still needs, by name
        self._count = 0
        self.clock = self.deaths = self.worked = 0.0

    def monotonic(self) -> float:
        """The simulated clock, for the scheduler."""
        return self.clock

    def free(self) -> int:
        """Idle workers."""
        return self._idle

    def start(self, job: Job) -> None:
        """Decide when the job will end, and how."""
        needed = self._left.get(job.name) or job_seconds(job.runs, UnitCosts())
        death = self._chance.expovariate(1 / self._mean)
        self._idle -= 1
        if death >= needed:
            self._plan(needed, Event(job, "finished"))
            return
        saved = death - death % (job_seconds(job.runs, UnitCosts()) / CHECKPOINTS)
        self._left[job.name] = needed - saved
        self._plan(death, Event(job, "failed", error="its worker died"))

    def poll(self, seconds: float) -> list[Event]:
        """Go to the next thing that happens."""
        self.clock, _, event = heapq.heappop(self._agenda)
        if event is not None and event.kind == "failed":
            self.deaths += 1
            self._plan(RESTART_SECONDS, None)
            return [event]
        self._idle += 1
        return [] if event is None else [event]

    def stop(self) -> None:
        """Nothing is running."""

    def _plan(self, seconds: float, event: Event | None) -> None:
        self._count += 1
        self.worked += seconds if event else 0.0
        heapq.heappush(self._agenda, (self.clock + seconds, self._count, event))


def simulate(workers: int, days_between_deaths: float) -> None:
    """Print the makespan of each of the paper's searches, and of all together."""
    searches = [name for name in named_studies() if name.startswith("paper-search")]
    plans = {name: expand(find_study(name)) for name in searches}
    plans["all together"] = [run for plan in plans.values() for run in plan]
    print("| searches | runs | deaths | given up | hours | least possible | ratio |")
    print("| --- " * 7 + "|")
    for name, runs in plans.items():
        executor = SimulatedWorkers(workers, days_between_deaths * 86_400, seed=0)
        whole = effort(runs, UnitCosts())
        least = whole.elapsed(workers, stages=1)
        with tempfile.TemporaryDirectory() as place, mock.patch.object(scheduler, "time", executor):
            progress = scheduler.run_jobs(
                StudyFolder(Path(place)),
                runs,
                executor,
                retries=2,
                refused={},
                show=lambda progress: None,
                longest_first=True,
            )
        cells = [f"{len(runs):,}", f"{executor.deaths:.0f}", str(len(progress.failed))]
        cells += [f"{executor.clock / 3600:.2f}", f"{least / 3600:.2f}"]
        print(f"| {name} | {' | '.join(cells)} | {executor.clock / least:.3f} |")


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _words(seconds: float) -> str:
    if seconds < 5400:
        return f"{seconds / 60:.2g} min"
    return f"{seconds / 3600:.2g} h" if seconds < 2 * 86400 else f"{seconds / 86400:.2g} days"


TABLES: Tables = {"costs": costs, "measured": measured}


def main() -> None:
    """Measure, or print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["throughput", "tables", "simulate"])
    parser.add_argument("--check", action="store_true", help="of tables: write nothing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--days-between-deaths", type=float, default=1.0, help="of one worker")
    arguments = parser.parse_args()
    if arguments.what == "tables":
        sys.exit(write(PAGE, TABLES, check=arguments.check))
    elif arguments.what == "simulate":
        simulate(arguments.workers, arguments.days_between_deaths)
    else:
        throughput(arguments.rounds, arguments.runs, arguments.steps)


if __name__ == "__main__":
    main()
