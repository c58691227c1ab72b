"""The local executor: worker processes on this machine, one core each.

JAX and NumPy's libraries are held to one thread in a worker, so that N workers do N times the
work. A worker lives for many jobs. One that dies takes only its job with it, which is tried again;
when the study's own process dies, the workers see it, save and go.
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

from mixedne.studies.plan import run_to_json
from mixedne.studies.schedule import Event, Job
from mixedne.studies.store import StudyFolder

JOBS_PER_PROCESS = 50
"""Then a fresh one takes over: what libraries keep does not pile up."""

PATIENCE = 60.0
"""Seconds in which workers that are told to stop may save."""

ONE_THREAD = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("POLARS_MAX_THREADS", "NPROC"),
)
"""Held to one in a worker, whatever the user's environment says; the last is XLA's."""


class LocalExecutor:
    """So many worker processes."""

    def __init__(self, folder: StudyFolder, log: Path, workers: int) -> None:
        """Starts nothing yet."""
        self._folder, self._log, self._workers = folder, log, workers
        self._all: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    def free(self) -> int:
        """How many more jobs it can take now."""
        return self._workers - sum(worker.job is not None for worker in self._all)

    def start(self, job: Job) -> None:
        """Give the job to an idle worker, or to a new one."""
        idle = next((worker for worker in self._all if worker.job is None), None)
        if idle is not None and idle.jobs >= JOBS_PER_PROCESS:
            self._remove(idle)
            idle = None
        if idle is None:
            idle = _Worker(self._folder, self._log)
            self._all.append(idle)
            self._selector.register(idle.output, selectors.EVENT_READ, idle)
        idle.give(job)

    def poll(self, seconds: float) -> list[Event]:
        """What the workers have said, and which of them have died."""
        events = []
        for key, _ in self._selector.select(seconds):
            worker: _Worker = key.data
            said, has_ended = worker.listen()
            events += said
            if has_ended:
                job = worker.job
                self._remove(worker)
                if job is not None:
                    events.append(Event(job, "failed", error=worker.end()))
        return events

    def stop(self) -> None:
        """Have every worker save and go; those that take too long are killed."""
        try:
            for worker in self._all:
                worker.ask_to_stop()
            deadline = time.monotonic() + PATIENCE
            for worker in self._all:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    worker.process.wait(max(0.0, deadline - time.monotonic()))
        finally:
            for worker in self._all:
                worker.process.kill()
            for worker in list(self._all):
                self._remove(worker)

    def _remove(self, worker: "_Worker") -> None:
        self._selector.unregister(worker.output)
        self._all.remove(worker)
        worker.close()


def environment(folder: StudyFolder) -> dict[str, str]:
    """Of a worker."""
    return {
        # Runs that differ in their seed alone share their compiled programs.
        "JAX_COMPILATION_CACHE_DIR": str(folder.compiled.resolve()),
        **os.environ,
        **dict.fromkeys(ONE_THREAD, "1"),
    }


class _Worker:
    """One process, seen from outside."""

    def __init__(self, folder: StudyFolder, log: Path) -> None:
        with log.open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mixedne.studies.worker", str(folder.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=environment(folder),
                start_new_session=True,  # Ctrl-C is the parent's to hear
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
        line = json.dumps({"runs": [run_to_json(run) for run in job.runs]}) + "\n"
        with contextlib.suppress(BrokenPipeError):  # it has died: its output says so, too
            self._input.write(line.encode())
            self._input.flush()

    def listen(self) -> tuple[list[Event], bool]:
        """What it has said, and whether it has ended."""
        content = self.output.read()
        self._heard += content or b""
        *lines, self._heard = self._heard.split(b"\n")
        events = []
        for line in lines:
            said = json.loads(line)
            if self.job is None:
                continue
            kind = said.pop("event")
            events.append(Event(self.job, kind, **said))
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
        """Let it go: without its pipes, it ends."""
        for pipe in (self._input, self.output):
            with contextlib.suppress(OSError):
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
