"""Run a study: pass jobs to an executor, retry those that fail, and postpone locked ones.

The scheduler knows nothing about processes or clusters. An executor starts jobs and reports events;
``local`` and ``ray`` have one each.
"""

import dataclasses
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from mixedne.studies.costs import UnitCosts, job_seconds
from mixedne.studies.folder import FORMAT_VERSION, StudyFolder
from mixedne.studies.jobs import repair_finished
from mixedne.studies.plan import PlannedRun, expand, group_runs
from mixedne.studies.results import Choice, choose, reported_runs, results_of
from mixedne.studies.spec import Study

WAIT = 2.0
"""Seconds until a run that another process works on is checked again."""


@dataclass
class Job:
    """Runs that are trained together, usually one."""

    runs: list[PlannedRun]
    failures: int = 0
    """Number of failed attempts."""
    not_before: float = 0.0
    """Earliest start, by the monotonic clock."""

    @property
    def name(self) -> str:
        """The job's name in messages."""
        more = f" and {len(self.runs) - 1} more" if len(self.runs) > 1 else ""
        return self.runs[0].name + more


@dataclass(frozen=True)
class Event:
    """The progress or the end of a job."""

    job: Job
    kind: str
    """``progress``, ``finished``, ``failed``, ``held`` (by another process) or ``lost`` (with the
    cluster)."""
    stage: str = ""
    """``starting``, ``training`` or ``evaluating``."""
    done: int = 0
    """Number of steps or episodes done."""
    total: int = 1
    error: str = ""

    @property
    def share(self) -> float:
        """The fraction of the stage that is done."""
        return self.done / max(self.total, 1)


class Executor(Protocol):
    """Runs jobs, e.g. in processes or on a cluster."""

    def free(self) -> int:
        """Number of jobs that can be started now."""

    def start(self, job: Job) -> None:
        """Start a job."""

    def poll(self, seconds: float) -> list[Event]:
        """The events since the last call; waits at most ``seconds`` for one."""

    def stop(self) -> None:
        """Stop the running jobs, saving them if possible."""


@dataclass
class Progress:
    """The progress of a study."""

    total: int
    """The number of runs."""
    done: int
    """Number of finished runs, including those that were finished before."""
    running: dict[str, Event] = field(default_factory=dict)
    """The last event of each running job, by the job's name."""
    failed: dict[str, str] = field(default_factory=dict)
    """The errors of the runs that were given up, by the runs' names."""
    retried: int = 0
    """Number of failed attempts that were retried."""
    messages: list[str] = field(default_factory=list)
    """Messages since the progress was last shown."""
    seconds_left: float | None = None


Display = Callable[[str], AbstractContextManager[Callable[[Progress], None]]]
"""A context manager that takes the unit ("runs") and yields a function to show the progress."""


class Outcome(NamedTuple):
    """The outcome of a study."""

    runs: list[PlannedRun]
    """The runs whose results are reported; for a search, those of the selected configurations."""
    total: int
    """The number of all runs."""
    failed: dict[str, str]
    """The errors of the runs that were given up, by the runs' names."""
    retried: int
    choices: list[Choice] | None = None
    """The configurations that a search selected."""


def run_study(
    study: Study,
    folder: StudyFolder,
    make_executor: Callable[[], Executor],
    *,
    retries: int,
    retrain_damaged: bool = False,
    command: str | None = None,
    display: Display,
    log: Callable[[str], None],
) -> Outcome:
    """Do all unfinished runs of a study; for a search, also select, and run what is selected.

    With ``retrain_damaged``, finished runs that cannot be repaired are trained again. ``command``
    is what the user typed; the plan records it. ``log`` shows messages to the user.
    """
    runs = expand(study)
    folder.create()

    def run_all(runs: list[PlannedRun], plan: str, unit: str, **order: bool) -> Progress:
        if folder.save_plan(plan, runs, command):
            log(f"the study {plan} in {folder.path} had another plan: runs in both are kept")
        refused = repair_finished(folder, runs, retrain=retrain_damaged)
        with display(unit) as show:
            executor = make_executor()
            return run_jobs(
                folder, runs, executor, retries=retries, refused=refused, show=show, **order
            )

    if study.search is None:
        progress = run_all(runs, study.name, "runs")
        return Outcome(runs, progress.total, progress.failed, progress.retried)
    # Nothing can be selected before the last run is finished.
    first = run_all(runs, study.name, "runs compared", longest_first=True)
    choices = choose(study.search, runs, results_of(runs, folder))
    document = {
        "format_version": FORMAT_VERSION,
        "study": study.name,
        "choices": [dataclasses.asdict(choice) for choice in choices],
    }
    folder.write(f"{study.name}-chosen.json", json.dumps(document, indent=1) + "\n")
    chosen = reported_runs(study, (choice.fields for choice in choices))
    second = run_all(chosen, f"{study.name}-reported", "runs reported")
    failed = first.failed | second.failed
    retried = first.retried + second.retried
    return Outcome(chosen, first.total + second.total, failed, retried, choices)


def run_jobs(
    folder: StudyFolder,
    runs: Sequence[PlannedRun],
    executor: Executor,
    *,
    retries: int,
    refused: Mapping[str, str],
    show: Callable[[Progress], None],
    longest_first: bool = False,
) -> Progress:
    """Finish all runs, or give up on them; on an interruption, running ones are saved.

    ``refused`` are runs that are not attempted, by name, with the reason. Jobs start in the order
    of the plan, or the longest first by the cost model, so that few workers are idle at the end.
    """
    left = [run for run in folder.unfinished(runs) if run.name not in refused]
    done = len(runs) - len(left) - len(refused)
    progress = Progress(total=len(runs), done=done, failed=dict(refused))
    jobs = group_runs(left)
    costs = {run.name: job_seconds(job, UnitCosts()) / len(job) for job in jobs for run in job}

    def in_order(jobs: Iterable[Job]) -> deque[Job]:
        def seconds(job: Job) -> float:
            return sum(costs[run.name] for run in job.runs)

        return deque(sorted(jobs, key=seconds, reverse=True) if longest_first else jobs)

    waiting = in_order(map(Job, jobs))
    started = time.monotonic()
    try:
        _start(folder, executor, waiting, progress)
        while waiting or progress.running:
            for event in executor.poll(seconds=0.5):
                progress.running[event.job.name] = event
                if event.kind != "progress":
                    del progress.running[event.job.name]
                    _end(event, waiting, progress, retries)
            waiting = in_order(waiting)  # including jobs that were put back
            _start(folder, executor, waiting, progress)
            # Estimate the end from the speed since the start and the cost model.
            rest = sum(costs[run.name] for job in waiting for run in job.runs)
            for event in progress.running.values():
                trained = {"training": event.share, "evaluating": 1.0}.get(event.stage, 0.0)
                rest += (1 - trained) * sum(costs[run.name] for run in event.job.runs)
            achieved, elapsed = sum(costs.values()) - rest, time.monotonic() - started
            progress.seconds_left = rest * elapsed / achieved if achieved > 1e-3 else None
            show(progress)
            progress.messages.clear()
    finally:
        executor.stop()
    return progress


def _start(
    folder: StudyFolder, executor: Executor, waiting: "deque[Job]", progress: Progress
) -> None:
    """Start jobs while the executor has free slots."""
    for _ in range(len(waiting)):
        if not executor.free():
            return
        job = waiting.popleft()
        if job.not_before > time.monotonic():
            waiting.append(job)
        elif job.not_before and not folder.unfinished(job.runs):  # another study has done it
            progress.done += len(job.runs)
            progress.messages.append(f"{job.name}: finished elsewhere")
        else:
            progress.running[job.name] = Event(job, "progress", "starting")
            executor.start(job)


def _end(event: Event, waiting: "deque[Job]", progress: Progress, retries: int) -> None:
    """Count a job that has ended, or put it back into the queue."""
    job = event.job
    if event.kind == "finished":
        progress.done += len(job.runs)
        progress.messages.append(f"{job.name}: finished")
    elif event.kind == "held":
        if not job.not_before:
            progress.messages.append(f"{job.name}: another process works on it: waiting")
        waiting.append(Job(job.runs, job.failures, time.monotonic() + WAIT))
    elif event.kind == "lost":
        progress.messages.append(f"{job.name}: {event.error}; waiting for the cluster")
        waiting.append(job)
    elif job.failures < retries:
        progress.retried += 1
        progress.messages.append(f"{job.name}: {event.error}; trying again")
        # One by one, so that a bad run does not make the other runs of the job fail again.
        waiting.extend(Job([run], job.failures + 1) for run in job.runs)
    else:
        progress.failed |= {run.name: event.error for run in job.runs}
        progress.messages.append(f"{job.name}: {event.error}; given up")
