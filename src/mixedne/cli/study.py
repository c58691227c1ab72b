"""``mixedne study``: run a whole experiment."""

import contextlib
import dataclasses
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from mixedne.cli import study_tables
from mixedne.cli.console import notes_only, print_json
from mixedne.cli.streams import note
from mixedne.errors import InvalidInputError, TrainingError, check_number
from mixedne.progress import duration

if TYPE_CHECKING:
    from mixedne.studies.folder import StudyFolder
    from mixedne.studies.scheduler import Executor, Outcome
    from mixedne.studies.spec import Study as Spec

Count = Annotated[int | None, arg(metavar="N")]
Names = Annotated[tuple[str, ...] | None, arg(metavar="NAME")]


@dataclass(frozen=True)
class Study:
    """Plan, run, resume and evaluate a whole experiment."""

    study: Annotated[str, Positional, arg(metavar="NAME|FILE.toml")]
    """An included study, or your own file."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """The study folder; required unless it is a dry run."""
    tasks: Names = None
    """Run only these tasks; any that the study does not have make all of its runs use these."""
    agents: Names = None
    """Run only these agents."""
    solvers: Names = None
    """Run only these solvers."""
    seeds: Count = None
    """Number of seeds, counted from the study's smallest; a search keeps its own seeds."""
    steps: Count = None
    """Number of steps of every run."""
    workers: Count = None
    """Number of parallel runs; by default one per core."""
    executor: Literal["local", "ray"] = "local"
    """Run on worker processes of this machine, or on a Ray cluster (needs mixedne[ray])."""
    address: Annotated[str | None, arg(metavar="A")] = None
    """Address of the Ray cluster; without it, Ray starts one on this machine."""
    retries: int = 2
    """Number of times a failed run is retried."""
    retrain_damaged: bool = False
    """Retrain damaged runs that cannot be restored from a checkpoint."""
    allow_import: bool = False
    """Allow tasks of the form module:Id in the file, which import and run that module."""
    dry_run: bool = False
    """Only print the plan and an estimate of the time."""
    reference_costs: bool = False
    """Estimate the time from costs on the benchmark machine instead of measuring this machine."""
    json: bool = False
    """Print one JSON document: the plan of a dry run, or the results of the study."""

    def run(self) -> None:
        """Print the plan of a dry run; otherwise run the study and print its results."""
        if not self.study:
            raise InvalidInputError("study needs a name or a file, e.g. mixedne study smoke")
        if self.out is None and not self.dry_run:
            raise InvalidInputError("study needs a folder: pass --out DIR")
        check_number("workers", 1 if self.workers is None else self.workers, at_least=1)
        check_number("retries", self.retries, at_least=0)
        if self.address is not None and self.executor != "ray":
            raise InvalidInputError("--address has an effect only with --executor ray")

        from mixedne.studies.spec import find_study

        # Tasks that the user names replace those of the file.
        found = find_study(self.study, allow_import=self.allow_import or bool(self.tasks))
        selection = ("tasks", "agents", "solvers", "seeds", "steps")
        spec = found.select(**{name: getattr(self, name) for name in selection})
        if self.dry_run:
            self.print_plan(spec)
        else:
            self.run_and_print(spec)

    def print_plan(self, spec: "Spec") -> None:
        """Print the plan of the study."""
        from mixedne.studies.costs import UnitCosts, calibrate, effort
        from mixedne.studies.folder import StudyFolder, plan_json
        from mixedne.studies.plan import expand
        from mixedne.studies.results import expected_runs
        from mixedne.versions import cores

        folder = None if self.out is None else StudyFolder(self.out)
        runs = expand(spec)
        reported = expected_runs(spec, runs, folder)
        left = runs if folder is None else folder.unfinished(runs)
        # Until the search is complete, nobody knows which runs will be reported.
        later = reported if folder is None or left else folder.unfinished(reported)
        if self.reference_costs:
            costs = UnitCosts()
        else:
            note("measuring this machine for about fifteen seconds")
            costs = calibrate(sorted({run.fields["task"] for run in runs}))
        whole, rest = effort([*runs, *reported], costs), effort([*left, *later], costs)
        workers, finished = self.workers or cores(), whole.runs - rest.runs
        if self.json:
            document = {"study": spec.name, "runs": plan_json(runs), "finished": finished}
            document |= {"reported": len(reported), "total": whole._asdict()}
            print_json({**document, "left": rest._asdict(), "workers": workers})
            return
        study_tables.print_runs(spec, runs, reported)
        print(f"{whole.runs} runs, {finished} of them finished")
        stages = 2 if left and later else 1  # reported runs have to wait for the search
        print(
            f"to do: {rest.runs} runs, {rest.steps:,} steps, {rest.inner_updates:,} inner updates, "
            f"{rest.episodes:,} episodes of evaluation, about {rest.seconds / 3600:.3g} "
            f"core-hours: {duration(rest.elapsed(workers, stages=stages))} with {workers} workers"
        )

    def run_and_print(self, spec: "Spec") -> None:
        """Run the study and print the results."""
        from mixedne.studies.folder import StudyFolder
        from mixedne.studies.results import results_of, summarise
        from mixedne.studies.scheduler import run_study

        folder = StudyFolder(self.out or Path())
        make_executor: Callable[[], Executor]
        if self.executor == "ray":
            from mixedne.studies.ray import RayExecutor, check_address, find_ray

            find_ray()
            check_address(self.address)
            make_executor = partial(RayExecutor, folder, self.address, self.workers)
        else:
            from mixedne.studies.local import LocalExecutor

            make_executor = partial(LocalExecutor, folder, folder.log(spec.name), self.workers)
        started, command = time.monotonic(), shlex.join(["mixedne", *sys.argv[1:]])
        with in_foreground(resume=command):
            outcome = run_study(
                spec,
                folder,
                make_executor,
                retries=self.retries,
                retrain_damaged=self.retrain_damaged,
                command=command,
                display=study_tables.show_progress,
                log=note,
            )
        seconds = time.monotonic() - started
        with notes_only():
            table = summarise(results_of(outcome.runs, folder), outcome.runs)
        if self.json:
            choices = outcome.choices
            print_json(
                {
                    "study": spec.name,
                    "out": str(folder.path),
                    "runs": outcome.total,
                    "failed": [{"run": r, "error": e} for r, e in outcome.failed.items()],
                    "retried": outcome.retried,
                    "seconds": round(seconds, 1),
                    "choices": None if choices is None else [*map(dataclasses.asdict, choices)],
                    "results": table.to_dicts(),
                }
            )
        else:
            if outcome.choices:
                study_tables.print_choices(outcome.choices)
            study_tables.print_results(table)
            for name, error in outcome.failed.items():
                note(f"failed: {name}: {error}")
            done = outcome.total - len(outcome.failed)
            note(f"{done} of {outcome.total} runs are in {folder.runs}")
        raise_failures(spec, folder, outcome)


@contextlib.contextmanager
def in_foreground(*, resume: str) -> Iterator[None]:
    """Reserve stdout for the results; after Ctrl-C, print the command that resumes."""
    try:
        with notes_only(), signals_as_interrupt(), stdout_for_results():
            yield
    except KeyboardInterrupt:
        note(f"stopped; go on with: {resume}")
        raise


def raise_failures(spec: "Spec", folder: "StudyFolder", outcome: "Outcome") -> None:
    """Raise an error if any run has failed for good."""
    if outcome.failed:
        name, error = next(iter(outcome.failed.items()))
        log = folder.log(spec.name)
        more = f"; {log} says more" if log.exists() else ""
        raise TrainingError(
            f"{len(outcome.failed)} of {outcome.total} runs failed, the first of them "
            f"{name}: {error}; the same command tries them again{more}"
        )


@contextlib.contextmanager
def signals_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C: workers save, and the user is told how to resume.

    Signals that are ignored, as under ``nohup``, stay ignored. Only the main thread can set
    handlers.
    """
    handlers = {}
    if current_thread() is main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                handlers[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def stdout_for_results() -> Iterator[None]:
    """Redirect to stderr what libraries such as Ray print to stdout in the meantime."""
    try:
        kept = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of them is closed
        yield
        return
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
