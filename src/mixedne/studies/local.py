"""The local executor: worker processes on this machine, one core each.

JAX and NumPy's libraries are limited to one thread in a worker, so that N workers do N times the
work. A worker runs many jobs. If it dies, only its current job is lost, and is retried; if the
study's own process dies, its workers notice it, save and exit.

``python -m mixedne.studies.local STUDY_FOLDER`` is a worker. It reads jobs as lines of JSON from
stdin and reports events on stdout. When stdin is closed, because there are no more jobs or the
study's process has died, the running job is saved and stopped. SIGTERM does the same.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from mixedne.compilation import cache_settings
from mixedne.errors import InvalidInputError
from mixedne.files import find_modules_here
from mixedne.studies.folder import Locks, StudyFolder
from mixedne.studies.jobs import is_being_trained, throttled, try_job
from mixedne.studies.plan import PlannedRun
from mixedne.studies.scheduler import Event, Job
from mixedne.versions import cores

JOBS_PER_PROCESS = 50
"""Number of jobs after which a worker is replaced, so that leaks in libraries do not add up."""

PATIENCE = 60.0
"""Seconds that workers get to save when they are stopped."""

ONE_THREAD = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("POLARS_MAX_THREADS", "NPROC"),
)
"""Environment variables that are set to 1 in a worker, overriding the user's; the last is XLA's."""


class LocalExecutor:
    """A fixed number of worker processes."""

    def __init__(self, folder: StudyFolder, log: Path, workers: int | None) -> None:
        """Start nothing yet; by default there is one worker per core."""
        self._folder, self._log, self._limit = folder, log, workers or cores()
        self._workers: list[_Worker] = []
        self._heard: _Heard = queue.Queue()

    def free(self) -> int:
        """Number of jobs that can be started now."""
        return self._limit - sum(worker.job is not None for worker in self._workers)

    def start(self, job: Job) -> None:
        """Pass the job to an idle worker, or to a new one."""
        idle = next((worker for worker in self._workers if worker.job is None), None)
        if idle is not None and idle.jobs >= JOBS_PER_PROCESS:
            self._workers.remove(idle)
            idle.close()
            idle = None
        if idle is None:
            idle = _Worker(self._folder, self._log, self._heard)
            self._workers.append(idle)
        idle.give(job)

    def poll(self, seconds: float) -> list[Event]:
        """The workers' events; if a worker died, its job has failed."""
        events = []
        with contextlib.suppress(queue.Empty):
            worker, said = self._heard.get(timeout=seconds)
            while True:
                job = worker.job
                if said is None and worker in self._workers:
                    self._workers.remove(worker)
                    said = {"kind": "failed", "error": worker.close()}
                if said is not None and job is not None:
                    events.append(Event(job, **said))
                    worker.job = job if said["kind"] == "progress" else None
                worker, said = self._heard.get_nowait()
        return events

    def stop(self) -> None:
        """Make every worker save and exit; those that take too long are killed."""
        deadline = time.monotonic() + PATIENCE
        try:
            for worker in self._workers:
                worker.process.terminate()
            for worker in self._workers:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    worker.process.wait(max(0.0, deadline - time.monotonic()))
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.close()


def worker_environment() -> dict[str, str]:
    """The environment variables of a worker."""
    return {
        # Runs that differ only in their seed share compiled programs.
        **cache_settings(),
        **os.environ,
        **dict.fromkeys(ONE_THREAD, "1"),
    }


class _Worker:
    """The study's handle of a worker process."""

    def __init__(self, folder: StudyFolder, log: Path, heard: "_Heard") -> None:
        with log.open("ab") as messages:
            self.process = subprocess.Popen(
                # -P: a module in the current directory must not replace an installed one.
                [sys.executable, "-P", "-m", "mixedne.studies.local", str(folder.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                env=worker_environment(),
                start_new_session=True,  # Ctrl-C goes to the parent alone
            )
        self.job: Job | None = None
        self.jobs = 0
        threading.Thread(target=self._listen, args=(heard,), daemon=True).start()

    def give(self, job: Job) -> None:
        self.job = job
        self.jobs += 1
        document = {"runs": [run.to_json() for run in job.runs]}
        with contextlib.suppress(BrokenPipeError):  # it has died, and its output ends as well
            print(json.dumps(document), file=self.process.stdin, flush=True)

    def close(self) -> str:
        """Close its stdin, so that it exits; returns how it exited, in words."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self.process.wait(PATIENCE)
            if code >= 0:
                return f"its worker ended with code {code}"
            return f"its worker was killed ({signal.Signals(-code).name})"
        return "its worker does not end"

    def _listen(self, heard: "_Heard") -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):  # the last line of a killed worker may be incomplete
                    heard.put((self, json.loads(line)))
        heard.put((self, None))


_Heard = queue.Queue[tuple[_Worker, dict[str, Any] | None]]
"""Messages of workers; None when a worker has exited."""


def main() -> int:
    """Run jobs as a worker, until there are no more."""
    # Whatever a library prints must not get between the events.
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_jobs, args=(lines,), daemon=True).start()
    folder = StudyFolder(Path(sys.argv[1]))
    locks = Locks(folder.locks)
    try:
        while line := lines.get():
            print(json.dumps(run_one(json.loads(line), folder, locks, events)), file=events)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.stderr.flush()
        os._exit(130)  # a compiled program may still run in a thread, and crash on the way out
    return 0


def run_one(job: Any, folder: StudyFolder, locks: Locks, events: IO[str]) -> dict[str, Any]:
    """Run one job, reporting its progress; returns its last event."""
    runs = [PlannedRun.from_json(document) for document in job["runs"]]
    find_modules_here(*(run.fields["task"] for run in runs))
    folders = [folder.run_folder(run) for run in runs]

    def report(stage: str, done: int, total: int) -> None:
        event = {"kind": "progress", "stage": stage, "done": done, "total": total}
        # If nobody reads events any more, stdin is closed as well, and that saves the job.
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(event), file=events)

    try:
        if not locks.acquire(runs):
            return {"kind": "held"}
    except InvalidInputError as refused:
        return {"kind": "failed", "error": str(refused)}
    try:
        if any(is_being_trained(path) for path in folders):
            return {"kind": "held"}
        error = try_job(runs, folders, throttled(report, seconds=0.5))
    finally:
        locks.release(runs)
    return {"kind": "failed", "error": error} if error else {"kind": "finished"}


def _read_jobs(lines: "queue.Queue[str]") -> None:
    """Pass jobs on; when stdin is closed, have the running job saved and stopped."""
    for line in sys.stdin:
        lines.put(line)
    lines.put("")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
