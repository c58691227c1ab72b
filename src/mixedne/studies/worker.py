"""A worker process: jobs come as lines of JSON on stdin, what becomes of them goes to stdout.

``python -m mixedne.studies.worker STUDY_FOLDER``. When stdin ends, the one who gave the jobs has
gone, or has no more: a job under way is saved and given up. A signal to stop (SIGTERM) does the
same.
"""

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import IO, Any

from mixedne.errors import InvalidInputError, TrainingError
from mixedne.studies.plan import run_from_json
from mixedne.studies.store import Locks, StudyFolder

PATIENCE = 60
"""Seconds in which a job that is given up may save itself."""

TELL_EVERY = 0.5
"""Seconds between two reports of progress."""


def main() -> int:
    """Do jobs until there are no more."""
    # Whatever a library prints must not get between the reports.
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin, lines), daemon=True).start()
    folder = StudyFolder(Path(sys.argv[1]))
    locks = Locks(folder.locks)
    try:
        while line := lines.get():
            print(json.dumps(_answer(json.loads(line), folder, locks, reports)), file=reports)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.stderr.flush()
        os._exit(130)  # a compiled program may still run in a thread, and crash on the way out
    return 0


def _answer(job: Any, folder: StudyFolder, locks: Locks, reports: IO[str]) -> dict[str, Any]:
    """Do one job; what became of it."""
    runs = [run_from_json(document) for document in job["runs"]]
    folders = [folder.run_folder(run) for run in runs]
    told = 0.0

    def tell(what: str, done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_EVERY:
            told = time.monotonic()
            report = {"event": "progress", "what": what, "done": done, "total": total}
            # Where nobody listens any more, stdin has ended, too: the job is saved for that.
            with contextlib.suppress(BrokenPipeError):
                print(json.dumps(report), file=reports)

    from mixedne.studies.work import do_job, is_being_trained

    try:
        if not locks.take(runs):
            return {"event": "held"}
    except InvalidInputError as error:
        return {"event": "failed", "error": str(error)}
    try:
        if any(is_being_trained(path) for path in folders):
            return {"event": "held"}
        do_job(runs, folders, tell)
    except (InvalidInputError, TrainingError, OSError, MemoryError) as error:
        _log(f"{runs[0].name}: {error}")
        return {"event": "failed", "error": str(error) or "out of memory"}
    except Exception as error:
        _log(traceback.format_exc())
        return {"event": "failed", "error": f"{type(error).__name__}: {error}"}
    finally:
        locks.free(runs)
    return {"event": "finished"}


def _log(text: str) -> None:
    with contextlib.suppress(OSError):  # a full disk must not hide what it has done
        print(text, file=sys.stderr)


def _read(stdin: IO[str], lines: "queue.Queue[str]") -> None:
    """Pass jobs on; at the end, have the job under way saved and given up."""
    for line in stdin:
        lines.put(line)
    lines.put("")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
