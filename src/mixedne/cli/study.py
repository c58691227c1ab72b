"""``mixedne study``: a whole experiment."""

import contextlib
import dataclasses
import os
import shlex
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from mixedne.cli.board import watching
from mixedne.cli.console import duration, note, noted_warnings, print_json, print_table
from mixedne.errors import InvalidInputError, TrainingError, check_number

if TYPE_CHECKING:
    import polars as pl

    from mixedne.studies.conduct import Outcome
    from mixedne.studies.costs import Effort
    from mixedne.studies.plan import PlannedRun
    from mixedne.studies.schedule import Executor
    from mixedne.studies.search import Choice
    from mixedne.studies.spec import Study as Spec
    from mixedne.studies.store import StudyFolder

MEASURES = ("nominal", "mean", "worst")

Names = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME")]


@dataclass(frozen=True)
class Study:
    """Plan, run, resume and evaluate a whole experiment."""

    about: ClassVar[str] = """\
A study is a TOML file, or one of those that ship: smoke; paper-ddpg, paper-ddpg-one-player,
paper-td3, paper-sac, paper-vpg; paper-search-ddpg, equal-search-ddpg, and the same for td3 and
vpg. It can be stopped at any time: the same command goes on with it. Several studies may share a
folder, and a run that two of them name is done once.

Examples:
  mixedne study smoke --out studies
  mixedne study paper-ddpg --tasks Hopper-v5 --seeds 2 --dry-run
  mixedne study mine.toml --workers 8 --out studies
  mixedne study paper-td3 --executor ray --address auto --out studies"""

    study: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME|FILE.toml")]
    """The study."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """The study folder; only a dry run needs none."""
    tasks: Names = ()
    """Only these tasks, or others than the study's."""
    agents: Names = ()
    """Only these agents."""
    solvers: Names = ()
    """Only these solvers."""
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """So many seeds, counting up from the first; a search keeps its own."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Steps of every run."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Runs at a time; by default one for each core."""
    executor: Literal["local", "ray"] = "local"
    """Worker processes on this machine, or a Ray cluster (needs mixedne[ray])."""
    address: Annotated[str | None, tyro.conf.arg(metavar="A")] = None
    """Of the Ray cluster; without it, Ray starts one on this machine."""
    retries: int = 2
    """How often a run that fails is tried again."""
    dry_run: bool = False
    """Print the plan and an estimate of the time, and do nothing."""
    reference_costs: bool = False
    """Estimate by the costs of the machine of the benchmarks, without measuring this one."""
    json: bool = False
    """Print one JSON document: the plan of a dry run, or what became of the study."""

    def run(self) -> None:
        """Plan; then run, evaluate and print, unless it is a dry run."""
        if not self.study:
            raise InvalidInputError("study needs a name or a file, e.g. mixedne study smoke")
        if self.out is None and not self.dry_run:
            raise InvalidInputError("study needs a folder: pass --out DIR")
        check_number("workers", 1 if self.workers is None else self.workers, at_least=1)
        check_number("retries", self.retries, at_least=0)
        if self.address is not None and self.executor != "ray":
            raise InvalidInputError("--address has an effect only with --executor ray")

        from mixedne.studies.spec import find_study

        spec = find_study(self.study).select(
            tasks=self.tasks,
            agents=self.agents,
            solvers=self.solvers,
            seeds=self.seeds,
            steps=self.steps,
        )
        if self.dry_run:
            self._plan(spec)
        else:
            self._conduct(spec, self.out or Path())

    def _plan(self, spec: "Spec") -> None:
        """Print what would be done."""
        from mixedne.studies.calibration import calibrate
        from mixedne.studies.costs import UnitCosts, effort
        from mixedne.studies.plan import expand
        from mixedne.studies.search import expected
        from mixedne.studies.store import StudyFolder, plan_json

        runs = expand(spec)
        reports = expected(spec, runs)
        left = runs if self.out is None else StudyFolder(self.out).unfinished(runs)
        if self.reference_costs:
            costs = UnitCosts()
        else:
            note("measuring this machine for about fifteen seconds")
            costs = calibrate(sorted({run.fields["task"] for run in runs}))
        whole, rest = effort([*runs, *reports], costs), effort([*left, *reports], costs)
        workers = self.workers or len(os.sched_getaffinity(0))
        if self.json:
            print_json(
                {
                    "study": spec.name,
                    "runs": plan_json(runs),
                    "finished": len(runs) - len(left),
                    "reported": len(reports),
                    "total": whole._asdict(),
                    "left": rest._asdict(),
                    "workers": workers,
                }
            )
            return
        _print_plan(spec, runs, reports)
        print(f"{whole.runs} runs, {len(runs) - len(left)} of them finished")
        stages = 2 if left and reports else 1  # what is reported has to wait for the choice
        print(describe(rest, workers, stages))

    def _conduct(self, spec: "Spec", out: Path) -> None:
        """Do it, and print what came of it."""
        from mixedne.studies.conduct import conduct
        from mixedne.studies.store import StudyFolder

        folder = StudyFolder(out)
        executor = self._executor(folder, spec.name)
        started = time.monotonic()
        try:
            with noted_warnings(), _heeding_termination():
                outcome = conduct(
                    spec,
                    folder,
                    executor,
                    retries=self.retries,
                    command=shlex.join(["mixedne", *sys.argv[1:]]),
                    watching=watching,
                    say=note,
                )
                self._print(spec, folder, outcome, time.monotonic() - started)
        except KeyboardInterrupt:
            note(f"stopped; go on with: {shlex.join(['mixedne', *sys.argv[1:]])}")
            raise
        if outcome.failed:
            name, error = next(iter(outcome.failed.items()))
            log = folder.log(spec.name)
            more = f"; {log} says more" if log.exists() else ""
            raise TrainingError(
                f"{len(outcome.failed)} of {outcome.total} runs failed, the first of them "
                f"{name}: {error}; the same command tries them again{more}"
            )

    def _executor(self, folder: "StudyFolder", name: str) -> "Callable[[], Executor]":
        """What makes the executor; whether it can be had is found out now."""
        if self.executor == "ray":
            from mixedne.studies.ray_cluster import RayExecutor, check_address, find_ray

            find_ray()
            check_address(self.address)
            return lambda: RayExecutor(folder, self.address, self.workers)

        from mixedne.studies.local import LocalExecutor

        workers = self.workers or len(os.sched_getaffinity(0))
        return lambda: LocalExecutor(folder, folder.log(name), workers)

    def _print(
        self, spec: "Spec", folder: "StudyFolder", outcome: "Outcome", seconds: float
    ) -> None:
        from mixedne.studies.plan import settings_in_words
        from mixedne.studies.results import results, summarise

        reported = f"{spec.name}-reported" if spec.search else spec.name
        settings = settings_in_words(outcome.runs)
        table = summarise(results(folder.path, study=reported), settings)
        if self.json:
            choices = None if outcome.choices is None else map(dataclasses.asdict, outcome.choices)
            print_json(
                {
                    "study": spec.name,
                    "out": str(folder.path),
                    "runs": outcome.total,
                    "failed": [{"run": r, "error": e} for r, e in outcome.failed.items()],
                    "retried": outcome.retried,
                    "seconds": round(seconds, 1),
                    "choices": None if choices is None else list(choices),
                    "results": table.to_dicts(),
                }
            )
            return
        if outcome.choices:
            _print_choices(outcome.choices)
        _print_results(table)
        for name, error in outcome.failed.items():
            note(f"failed: {name}: {error}")
        note(f"{outcome.total - len(outcome.failed)} of {outcome.total} runs are in {folder.runs}")


@contextlib.contextmanager
def _heeding_termination() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C: workers save, and the user is told how to go on."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not in the main thread, where signals go
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def describe(effort: "Effort", workers: int, stages: int) -> str:
    """An effort in words."""
    words = [
        f"to do: {effort.runs} runs, {effort.steps:,} steps",
        f"{effort.inner_updates:,} inner updates",
        f"{effort.episodes:,} episodes of evaluation",
        f"about {effort.seconds / 3600:.3g} core-hours",
    ]
    seconds = effort.elapsed(workers, stages=stages)
    return f"{', '.join(words)}: {duration(seconds)} with {workers} workers"


def _print_plan(spec: "Spec", runs: "list[PlannedRun]", reports: "list[PlannedRun]") -> None:
    """One row for each kind of run."""
    kinds: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for run in runs:
        kinds[*run.case, run.fields["steps"]].append(run.configuration)
    rows = [
        [
            *(str(word or "–") for word in (task, agent, solver, formulation)),
            *(f"{delta:g}", preset, f"{steps:,}", str(len(set(each))), str(len(each))),
        ]
        for (task, agent, solver, formulation, delta, preset, steps), each in kinds.items()
    ]
    columns = ["task", "agent", "solver", "formulation", "δ", "preset", "steps"]
    title = f"{spec.name}: {spec.about}" if spec.about else spec.name
    print_table(title, [*columns, "configurations", "runs"], rows)
    if reports:
        seeds, again = ({run.fields["seed"] for run in each} for each in (runs, reports))
        print(
            f"The best configuration of each row, by nominal return on seeds {_range(seeds)}, "
            f"is then run with seeds {_range(again)}: {len(reports)} more runs"
        )


def _print_choices(choices: "list[Choice]") -> None:
    """What was chosen, beside the paper's tables."""
    rows = [
        [
            *(str(choice.case[name] or "–") for name in ("task", "agent", "solver")),
            f"{choice.case['delta']:g}",
            str(choice.candidates),
            f"{choice.mean_return:.1f}",
            _values(choice.chosen),
            _values(choice.paper or {}),
        ]
        for choice in choices
    ]
    columns = [
        "task",
        "agent",
        "solver",
        "δ",
        "configurations",
        "nominal return",
        "chosen",
        "paper",
    ]
    print_table("Chosen by nominal return, beside the paper's tables", columns, rows)


def _print_results(table: "pl.DataFrame") -> None:
    """Returns by task and method, and by settings where they differ."""
    settings = ["settings"] if any(table["settings"]) else []
    rows = [
        [
            *(str(row[name] or "–") for name in ("task", "agent", "solver", "formulation")),
            *(f"{row['delta']:g}", row["preset"]),
            *(row[name] or "–" for name in settings),
            *(row["acting"], str(row["runs"])),
            *("–" if row[name] is None else f"{row[name]:.1f}" for name in MEASURES),
        ]
        for row in table.iter_rows(named=True)
    ]
    if rows:
        columns = ["task", "agent", "solver", "formulation", "δ", "preset", *settings]
        columns += ["acting", "runs"]
        title = "Return in the nominal world, on average over all shifts, and at the worst shift"
        print_table(title, [*columns, *MEASURES], rows)


def _values(values: Mapping[str, Any]) -> str:
    words = [
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    ]
    return ", ".join(words) or "–"


def _range(seeds: set[int]) -> str:
    return f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else str(min(seeds))
