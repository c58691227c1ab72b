"""Gives jobs to an executor: in order, again if they fail, later if another process has them.

The scheduler knows nothing of processes or clusters. An executor starts jobs and reports events;
``local`` and ``ray`` have one each.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mixedne.studies.costs import UnitCosts, job_seconds
from mixedne.studies.folder import StudyFolder
from mixedne.studies.plan import PlannedRun, group_runs

WAIT = 2.0
"""Seconds until a run that another process works on is looked at again."""

POLL = 0.5
"""Seconds after which the progress is shown again, even if nothing has happened."""


@dataclass
class Job:
    """Runs that are trained together, usually one."""

    runs: list[PlannedRun]
    failures: int = 0
    """Attempts that have failed."""
    not_before: float = 0.0
    """When it may start, by the monotonic clock."""

    @property
    def name(self) -> str:
        """The name in messages."""
        more = f" and {len(self.runs) - 1} more" if len(self.runs) > 1 else ""
        return self.runs[0].name + more


@dataclass(frozen=True)
class Event:
    """The progress or the end of a job."""

    job: Job
    kind: str
    """``progress``, ``finished``, ``failed`` or ``held`` (by another process)."""
    stage: str = ""
    """``starting``, ``training`` or ``evaluating``."""
    done: int = 0
    """Steps or episodes."""
    total: int = 1
    error: str = ""

    @property
    def share(self) -> float:
        """How much of the stage is done."""
        return self.done / max(self.total, 1)


class Executor(Protocol):
    """Runs jobs somewhere."""

    def free(self) -> int:
        """How many more jobs it can take now."""

    def start(self, job: Job) -> None:
        """Take a job."""

    def poll(self, seconds: float) -> list[Event]:
        """The events since the last call; waits at most so long for one."""

    def stop(self) -> None:
        """Save the running jobs where that is possible, and end them."""


@dataclass
class Progress:
    """How far a study is."""

    total: int
    """The number of runs."""
    done: int
    """Runs that are finished, now or before."""
    running: dict[str, Event] = field(default_factory=dict)
    """The last event of each running job, by the job's name."""
    failed: dict[str, str] = field(default_factory=dict)
    """The errors of the runs that were given up, by the runs' names."""
    retried: int = 0
    """Attempts that failed and were repeated."""
    messages: list[str] = field(default_factory=list)
    """What has happened since the progress was shown last."""
    seconds_left: float | None = None


def run_jobs(
    folder: StudyFolder,
    runs: Sequence[PlannedRun],
    executor: Executor,
    *,
    retries: int,
    show: Callable[[Progress], None],
) -> Progress:
    """Finish all runs, or give up on them; an interruption saves those that are running."""
    left = folder.unfinished(runs)
    progress = Progress(total=len(runs), done=len(runs) - len(left))
    clock = _Clock(left)
    waiting = deque(map(Job, group_runs(left)))
    running: list[Job] = []
    try:
        _start(folder, executor, waiting, running, progress)
        while waiting or running:
            for event in executor.poll(POLL):
                progress.running[event.job.name] = event
                if event.kind != "progress":
                    del progress.running[event.job.name]
                    running.remove(event.job)
                    _end(event, waiting, progress, retries)
            _start(folder, executor, waiting, running, progress)
            progress.seconds_left = clock.seconds_left(waiting, progress.running)
            show(progress)
            progress.messages.clear()
    finally:
        executor.stop()
    return progress


def _start(
    folder: StudyFolder,
    executor: Executor,
    waiting: "deque[Job]",
    running: list[Job],
    progress: Progress,
) -> None:
    """Give the executor jobs while it takes them."""
    for _ in range(len(waiting)):
        if not executor.free():
            return
        job = waiting.popleft()
        if job.not_before > time.monotonic():
            waiting.append(job)
            continue
        if job.not_before and not folder.unfinished(job.runs):  # another study has done it
            progress.done += len(job.runs)
            progress.messages.append(f"{job.name}: finished elsewhere")
            continue
        running.append(job)
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
    elif job.failures < retries:
        progress.retried += 1
        progress.messages.append(f"{job.name}: {event.error}; trying again")
        # One by one, so that the others of the job do not fail with a bad run again.
        waiting.extend(Job([run], job.failures + 1) for run in job.runs)
    else:
        progress.failed |= {run.name: event.error for run in job.runs}
        progress.messages.append(f"{job.name}: {event.error}; given up")


class _Clock:
    """Predicts the end from the cost model and the speed since the start."""

    def __init__(self, runs: Sequence[PlannedRun]) -> None:
        self._costs = {
            run.name: job_seconds(group, UnitCosts()) / len(group)
            for group in group_runs(runs)
            for run in group
        }
        self._started = time.monotonic()
        self._first: float | None = None

    def seconds_left(self, waiting: "deque[Job]", running: dict[str, Event]) -> float | None:
        """The seconds left, or None as long as nothing is done."""
        rest = sum(self._costs[run.name] for job in waiting for run in job.runs)
        for event in running.values():
            trained = {"training": event.share, "evaluating": 1.0}.get(event.stage, 0.0)
            rest += (1 - trained) * sum(self._costs[run.name] for run in event.job.runs)
        if self._first is None:
            self._first = rest
        achieved = self._first - rest
        elapsed = time.monotonic() - self._started
        return rest * elapsed / achieved if achieved > 0 else None
