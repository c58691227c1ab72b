"""``mixedne study``: a whole experiment."""

import contextlib
import dataclasses
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from mixedne.cli.console import note, noted_warnings, print_json
from mixedne.cli.progress import show_progress
from mixedne.cli.study_tables import describe, print_choices, print_results, print_runs
from mixedne.errors import InvalidInputError, TrainingError, check_number

if TYPE_CHECKING:
    from mixedne.studies.folder import StudyFolder
    from mixedne.studies.scheduler import Executor, Outcome
    from mixedne.studies.spec import Study as Spec

Names = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME")]


@dataclass(frozen=True)
class Study:
    """Plan, run, resume and evaluate a whole experiment."""

    about: ClassVar[str] = """\
A study is a TOML file, or one of those that ship: smoke, quickstart; paper-ddpg,
paper-ddpg-one-player, paper-td3, paper-sac, paper-sac-small (SAC with TD3's networks), paper-vpg;
paper-search-ddpg, equal-search-ddpg, and the same for td3 and vpg. It can be stopped at any time:
the same command resumes it. Several studies can share a folder, and a run that two of them name is
done once.

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
    """The number of seeds, counting up from the first; a search keeps its own."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Steps of every run."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Runs at a time; by default one for each core."""
    executor: Literal["local", "ray"] = "local"
    """Worker processes on this machine, or a Ray cluster (needs mixedne[ray])."""
    address: Annotated[str | None, tyro.conf.arg(metavar="A")] = None
    """Address of the Ray cluster; without it, Ray starts one on this machine."""
    retries: int = 2
    """How often a run that fails is tried again."""
    retrain_damaged: bool = False
    """Train runs again that are damaged and cannot be made again from a checkpoint."""
    allow_import: bool = False
    """Let the file name tasks as module:Id, which runs the code of the module."""
    dry_run: bool = False
    """Print the plan and an estimate of the time, and do nothing."""
    reference_costs: bool = False
    """Estimate with the costs of the benchmarks' machine, without measuring this one."""
    json: bool = False
    """Print one JSON document: the plan of a dry run, or the results of the study."""

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

        # Tasks that the user names replace those of the file.
        spec = find_study(self.study, allow_import=self.allow_import or bool(self.tasks)).select(
            tasks=self.tasks,
            agents=self.agents,
            solvers=self.solvers,
            seeds=self.seeds,
            steps=self.steps,
        )
        if self.dry_run:
            self._print_plan(spec)
        else:
            self._run(spec, self.out or Path())

    def _print_plan(self, spec: "Spec") -> None:
        """Print what would be done."""
        from mixedne.studies.costs import UnitCosts, calibrate, effort
        from mixedne.studies.folder import StudyFolder, plan_json
        from mixedne.studies.plan import expand
        from mixedne.studies.results import expected_runs
        from mixedne.versions import cores

        runs = expand(spec)
        reported = expected_runs(spec, runs)
        left = runs if self.out is None else StudyFolder(self.out).unfinished(runs)
        if self.reference_costs:
            costs = UnitCosts()
        else:
            note("measuring this machine for about fifteen seconds")
            costs = calibrate(sorted({run.fields["task"] for run in runs}))
        whole, rest = effort([*runs, *reported], costs), effort([*left, *reported], costs)
        workers = self.workers or cores()
        if self.json:
            print_json(
                {
                    "study": spec.name,
                    "runs": plan_json(runs),
                    "finished": len(runs) - len(left),
                    "reported": len(reported),
                    "total": whole._asdict(),
                    "left": rest._asdict(),
                    "workers": workers,
                }
            )
            return
        print_runs(spec, runs, reported)
        print(f"{whole.runs} runs, {len(runs) - len(left)} of them finished")
        stages = 2 if left and reported else 1  # what is reported has to wait for the choice
        print(describe(rest, workers, stages))

    def _run(self, spec: "Spec", out: Path) -> None:
        """Do it, and print the results."""
        from mixedne.studies.folder import StudyFolder

        folder = StudyFolder(out)
        started = time.monotonic()
        outcome = run_with_progress(
            spec,
            folder,
            workers=self.workers,
            retries=self.retries,
            retrain_damaged=self.retrain_damaged,
            ray=(self.address,) if self.executor == "ray" else None,
            command=["mixedne", *sys.argv[1:]],
        )
        self._print_outcome(spec, folder, outcome, time.monotonic() - started)
        raise_failures(spec, folder, outcome)

    def _print_outcome(
        self, spec: "Spec", folder: "StudyFolder", outcome: "Outcome", seconds: float
    ) -> None:
        from mixedne.studies.results import results, summarise

        plan = f"{spec.name}-reported" if spec.search else spec.name
        with noted_warnings():
            table = summarise(results(folder.path, study=plan), outcome.runs)
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
            print_choices(outcome.choices)
        print_results(table)
        for name, error in outcome.failed.items():
            note(f"failed: {name}: {error}")
        note(f"{outcome.total - len(outcome.failed)} of {outcome.total} runs are in {folder.runs}")


def run_with_progress(
    spec: "Spec",
    folder: "StudyFolder",
    *,
    workers: int | None,
    retries: int,
    retrain_damaged: bool = False,
    ray: tuple[str | None] | None = None,
    command: Sequence[str],
    resume: Sequence[str] | None = None,
) -> "Outcome":
    """Run a study with progress on stderr.

    Args:
      spec: the study.
      folder: its folder.
      workers: how many runs at a time; None for one on each core.
      retries: how often a run that fails is tried again.
      retrain_damaged: train runs again that are damaged and cannot be repaired.
      ray: with the address of a Ray cluster, the executor is Ray and not this machine.
      command: what the user typed, for the plan.
      resume: the command that is shown after Ctrl-C, if it is another.
    """
    from mixedne.studies.local import LocalExecutor
    from mixedne.studies.scheduler import run_study
    from mixedne.versions import cores

    def make_executor() -> "Executor":
        if ray is not None:
            return RayExecutor(folder, *ray, workers)
        return LocalExecutor(folder, folder.log(spec.name), workers or cores())

    if ray is not None:
        from mixedne.studies.ray import RayExecutor, check_address, find_ray

        find_ray()
        check_address(*ray)
    try:
        with noted_warnings(), _signals_as_interrupt(), _stdout_for_results():
            return run_study(
                spec,
                folder,
                make_executor,
                retries=retries,
                retrain_damaged=retrain_damaged,
                command=shlex.join(command),
                display=show_progress,
                log=note,
            )
    except KeyboardInterrupt:
        note(f"stopped; go on with: {shlex.join(resume or command)}")
        raise


def raise_failures(spec: "Spec", folder: "StudyFolder", outcome: "Outcome") -> None:
    """End with an error if runs were given up."""
    if outcome.failed:
        name, error = next(iter(outcome.failed.items()))
        log = folder.log(spec.name)
        more = f"; {log} says more" if log.exists() else ""
        raise TrainingError(
            f"{len(outcome.failed)} of {outcome.total} runs failed, the first of them "
            f"{name}: {error}; the same command tries them again{more}"
        )


@contextlib.contextmanager
def _signals_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C: workers save, and the user reads how to resume."""
    before = {}
    with contextlib.suppress(ValueError):  # only the main thread can set handlers
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
                before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _stdout_for_results() -> Iterator[None]:
    """Send to stderr what libraries, Ray among them, print meanwhile."""
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
