"""A worker process: reads jobs as lines of JSON from stdin, and reports events on stdout.

``python -m mixedne.studies.worker STUDY_FOLDER``. When stdin ends, the study has no more jobs or
its process has died: the running job is saved and ended. SIGTERM does the same.
"""

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from mixedne.errors import InvalidInputError
from mixedne.studies.folder import Locks, StudyFolder
from mixedne.studies.jobs import is_being_trained, throttled, try_job
from mixedne.studies.plan import PlannedRun

PATIENCE = 60
"""Seconds in which a job that is to end can save itself."""

REPORT_EVERY = 0.5
"""Seconds between two reports of progress."""


def main() -> int:
    """Run jobs until there are no more."""
    # Whatever a library prints must not get between the events.
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin, lines), daemon=True).start()
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
    folders = [folder.run_folder(run) for run in runs]

    def report(stage: str, done: int, total: int) -> None:
        event = {"event": "progress", "stage": stage, "done": done, "total": total}
        # If nobody reads any more, stdin has ended as well, and that saves the job.
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(event), file=events)

    try:
        if not locks.acquire(runs):
            return {"event": "held"}
    except InvalidInputError as refused:
        return {"event": "failed", "error": str(refused)}
    try:
        if any(is_being_trained(path) for path in folders):
            return {"event": "held"}
        error = try_job(runs, folders, throttled(report, REPORT_EVERY))
    finally:
        locks.release(runs)
    return {"event": "failed", "error": error} if error else {"event": "finished"}


def _read(stdin: IO[str], lines: "queue.Queue[str]") -> None:
    """Pass jobs on; at the end of stdin, have the running job saved and ended."""
    for line in stdin:
        lines.put(line)
    lines.put("")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
