"""The local executor: worker processes on this machine, one core each.

JAX and NumPy's libraries are limited to one thread in a worker, so that N workers do N times the
work. A worker does many jobs. If it dies, only its job is lost, and is tried again; if the study's
own process dies, its workers notice it, save and end.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

from mixedne.studies.folder import StudyFolder
from mixedne.studies.scheduler import Event, Job

JOBS_PER_PROCESS = 50
"""Then a new process takes over, so that what libraries keep does not pile up."""

PATIENCE = 60.0
"""Seconds that workers have to save when they are stopped."""

ONE_THREAD = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("POLARS_MAX_THREADS", "NPROC"),
)
"""Set to 1 in a worker, whatever the user's environment says; the last is XLA's."""


class LocalExecutor:
    """A fixed number of worker processes."""

    def __init__(self, folder: StudyFolder, log: Path, workers: int) -> None:
        """Starts nothing yet."""
        self._folder, self._log, self._workers = folder, log, workers
        self._processes: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    def free(self) -> int:
        """How many more jobs it can take now."""
        return self._workers - sum(worker.job is not None for worker in self._processes)

    def start(self, job: Job) -> None:
        """Give the job to an idle worker, or to a new one."""
        idle = next((worker for worker in self._processes if worker.job is None), None)
        if idle is not None and idle.jobs >= JOBS_PER_PROCESS:
            self._remove(idle)
            idle = None
        if idle is None:
            idle = _Worker(self._folder, self._log)
            self._processes.append(idle)
            self._selector.register(idle.output, selectors.EVENT_READ, idle)
        idle.give(job)

    def poll(self, seconds: float) -> list[Event]:
        """The workers' events; a worker that died has failed its job."""
        events = []
        for key, _ in self._selector.select(seconds):
            worker: _Worker = key.data
            heard, has_ended = worker.listen()
            events += heard
            if has_ended:
                job = worker.job
                self._remove(worker)
                if job is not None:
                    events.append(Event(job, "failed", error=worker.end()))
        return events

    def stop(self) -> None:
        """Have every worker save and end; those that take too long are killed."""
        try:
            for worker in self._processes:
                worker.ask_to_stop()
            deadline = time.monotonic() + PATIENCE
            for worker in self._processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    worker.process.wait(max(0.0, deadline - time.monotonic()))
        finally:
            for worker in self._processes:
                worker.process.kill()
            for worker in list(self._processes):
                self._remove(worker)

    def _remove(self, worker: "_Worker") -> None:
        self._selector.unregister(worker.output)
        self._processes.remove(worker)
        worker.close()


def worker_environment() -> dict[str, str]:
    """The environment variables of a worker."""
    cache = compilation_cache()
    return {
        # Runs that differ in their seed alone share their compiled programs.
        **({} if cache is None else {"JAX_COMPILATION_CACHE_DIR": str(cache)}),
        **os.environ,
        **dict.fromkeys(ONE_THREAD, "1"),
    }


def compilation_cache() -> Path | None:
    """The user's own folder for programs that JAX has compiled; None if there can be none.

    The programs are executables: they never come from a study folder, which others may have
    written, nor from a folder that others can write to.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home and Path(home).is_absolute() else Path("~/.cache").expanduser()
    path = base / "mixedne" / "compiled"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except (OSError, RuntimeError):  # read-only, or no home at all
        return None
    is_private = status.st_uid == os.getuid() and not status.st_mode & 0o022
    return path if is_private else None


class _Worker:
    """A worker process, as the study sees it."""

    def __init__(self, folder: StudyFolder, log: Path) -> None:
        with log.open("ab") as messages:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mixedne.studies.worker", str(folder.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                env=worker_environment(),
                start_new_session=True,  # Ctrl-C goes to the parent alone
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self.output = self.process.stdin, self.process.stdout
        os.set_blocking(self.output.fileno(), False)
        self._heard = b""
        self.job: Job | None = None
        self.jobs = 0

    def give(self, job: Job) -> None:
        self.job = job
        self.jobs += 1
        line = json.dumps({"runs": [run.to_json() for run in job.runs]}) + "\n"
        with contextlib.suppress(BrokenPipeError):  # it has died, and its output ends as well
            self._input.write(line.encode())
            self._input.flush()

    def listen(self) -> tuple[list[Event], bool]:
        """Its events, and whether it has ended."""
        content = self.output.read()
        self._heard += content or b""
        *lines, self._heard = self._heard.split(b"\n")
        events = []
        for line in lines:
            event = json.loads(line)
            if self.job is None:
                continue
            kind = event.pop("event")
            events.append(Event(self.job, kind, **event))
            if kind != "progress":
                self.job = None
        return events, content == b""

    def end(self) -> str:
        """How it ended, in words."""
        code = self.process.wait()
        if code < 0:
            return f"its worker was killed ({signal.Signals(-code).name})"
        return f"its worker ended with code {code}"

    def ask_to_stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()

    def close(self) -> None:
        """Close its pipes, with which it ends."""
        for pipe in (self._input, self.output):
            with contextlib.suppress(OSError):
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
