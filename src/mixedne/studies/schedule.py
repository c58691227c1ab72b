"""Jobs through an executor: in order, again where they failed, later where another has them.

The scheduler knows nothing of processes or clusters. An executor starts jobs and reports events;
``local`` and ``ray`` have one each.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mixedne.studies.costs import UnitCosts, job_seconds
from mixedne.studies.plan import PlannedRun, jobs
from mixedne.studies.store import StudyFolder

WAIT = 2.0
"""Seconds until a run that another process has is looked at again."""

POLL = 0.5
"""Seconds after which whoever watches is shown the board again, whatever happens."""


@dataclass
class Job:
    """Runs that are trained together, usually one."""

    runs: list[PlannedRun]
    attempts: int = 0
    """That have failed."""
    not_before: float = 0.0

    @property
    def name(self) -> str:
        """For people."""
        more = f" and {len(self.runs) - 1} more" if len(self.runs) > 1 else ""
        return self.runs[0].name + more


@dataclass(frozen=True)
class Event:
    """What became of a job, or how far it is."""

    job: Job
    kind: str
    """``progress``, ``finished``, ``failed`` or ``held`` (by another process)."""
    what: str = ""
    done: int = 0
    total: int = 1
    error: str = ""


class Executor(Protocol):
    """Does jobs somewhere."""

    def free(self) -> int:
        """How many more jobs it can take now."""

    def start(self, job: Job) -> None:
        """Take a job."""

    def poll(self, seconds: float) -> list[Event]:
        """What has happened; waits at most so long for something to happen."""

    def stop(self) -> None:
        """Have the jobs under way saved, where that is possible, and given up."""


@dataclass
class Board:
    """How far a study is, for whoever watches."""

    total: int
    """Runs."""
    done: int
    """Finished, before or now."""
    running: dict[str, Event] = field(default_factory=dict)
    """By the job's name."""
    failed: dict[str, str] = field(default_factory=dict)
    """Errors of the runs that are given up, by name."""
    retried: int = 0
    """Attempts that failed and were repeated."""
    news: list[str] = field(default_factory=list)
    """What has happened since the board was shown last."""
    seconds_left: float | None = None


def run_all(
    folder: StudyFolder,
    runs: Sequence[PlannedRun],
    executor: Executor,
    *,
    retries: int,
    show: Callable[[Board], None],
) -> Board:
    """Finish all runs, or give up on them; an interruption has those under way saved."""
    left = folder.unfinished(runs)
    board = Board(total=len(runs), done=len(runs) - len(left))
    clock = _Clock(left)
    waiting = deque(Job(job) for job in jobs(left))
    running: list[Job] = []
    try:
        _start(folder, executor, waiting, running, board)
        while waiting or running:
            for event in executor.poll(POLL):
                board.running[event.job.name] = event
                if event.kind != "progress":
                    del board.running[event.job.name]
                    running.remove(event.job)
                    _settle(event, waiting, board, retries)
            _start(folder, executor, waiting, running, board)
            board.seconds_left = clock.left(waiting, board.running)
            show(board)
            board.news.clear()
    finally:
        executor.stop()
    return board


def _start(
    folder: StudyFolder,
    executor: Executor,
    waiting: "deque[Job]",
    running: list[Job],
    board: Board,
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
            board.done += len(job.runs)
            board.news.append(f"{job.name}: finished elsewhere")
            continue
        running.append(job)
        board.running[job.name] = Event(job, "progress", "starting")
        executor.start(job)


def _settle(event: Event, waiting: "deque[Job]", board: Board, retries: int) -> None:
    """Count a job that has ended, or put it back."""
    job = event.job
    if event.kind == "finished":
        board.done += len(job.runs)
        board.news.append(f"{job.name}: finished")
    elif event.kind == "held":
        if not job.not_before:
            board.news.append(f"{job.name}: another process works on it: waiting")
        waiting.append(Job(job.runs, job.attempts, time.monotonic() + WAIT))
    elif job.attempts < retries:
        board.retried += 1
        board.news.append(f"{job.name}: {event.error}; trying again")
        # One by one, so that a bad run takes no others with it.
        waiting.extend(Job([run], job.attempts + 1) for run in job.runs)
    else:
        board.failed |= {run.name: event.error for run in job.runs}
        board.news.append(f"{job.name}: {event.error}; given up")


class _Clock:
    """Foretells the end from what has been done since the start."""

    def __init__(self, runs: Sequence[PlannedRun]) -> None:
        self._costs = {
            run.name: job_seconds(job, UnitCosts()) / len(job) for job in jobs(runs) for run in job
        }
        self._started = time.monotonic()
        self._first: float | None = None

    def left(self, waiting: "deque[Job]", running: dict[str, Event]) -> float | None:
        """Seconds left, or None while there is nothing to go by."""
        rest = sum(self._costs[run.name] for job in waiting for run in job.runs)
        for event in running.values():
            share = event.done / max(event.total, 1) if event.what == "training" else 0.0
            share = 1.0 if event.what == "evaluating" else share
            rest += (1 - share) * sum(self._costs[run.name] for run in event.job.runs)
        if self._first is None:
            self._first = rest
        achieved = self._first - rest
        elapsed = time.monotonic() - self._started
        return rest * elapsed / achieved if achieved > 0 else None
