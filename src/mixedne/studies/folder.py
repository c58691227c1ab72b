"""The study folder: where runs are, which are finished, and who works on them.

``runs/NAME-IDENTIFIER/``   ordinary run folders; several studies can share them
``studies/NAME.json``       a study's plan, as it was last started
``studies/NAME.log``        the messages of its workers
``lock``                    one byte for each run; the process that works on a run locks its byte

A finished run has ``finished.json``: its identifier, the sizes of the files that make its result,
and hashes of its evaluations. Reading it tells whether a run is finished and its files are whole,
without opening them.
"""

import contextlib
import errno
import fcntl
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.files import write_beside
from mixedne.studies.plan import PlannedRun

FORMAT_VERSION = 1
"""The version of ``finished.json`` and of the plans."""

EVALUATION = "evaluation.parquet"
FINISHED = "finished.json"
RESULT_FILES = (
    *("policy.json", "policy.safetensors", "adversary.json", "adversary.safetensors"),
    EVALUATION,
)


class StudyFolder:
    """A folder of runs that one or several studies fill."""

    def __init__(self, path: Path) -> None:
        """Creates nothing yet."""
        self.path = path
        self.runs = path / "runs"
        self.studies = path / "studies"
        self.locks = path / "lock"

    def create(self) -> None:
        """Create the folder if it is not there; refuse one that holds other things."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInputError(f"the output folder {self.path} is a file")
        if self.path.is_dir() and any(self.path.iterdir()) and not self.studies.is_dir():
            raise InvalidInputError(
                f"the output folder {self.path} holds other things than studies: choose another"
            )
        try:
            for folder in (self.studies, self.runs):
                folder.mkdir(parents=True, exist_ok=True)
            self.locks.touch()
        except OSError as error:
            raise InvalidInputError(
                f"the output folder {self.path} cannot be made: {error.strerror}"
            ) from None

    def log(self, study: str) -> Path:
        """The file for the messages of a study's workers."""
        return self.studies / f"{study}.log"

    def run_folder(self, run: PlannedRun) -> Path:
        """The folder of a run."""
        return self.runs / run.name

    def unfinished(self, runs: Iterable[PlannedRun]) -> list[PlannedRun]:
        """The runs that are not finished, or not evaluated as their study asks."""
        left = []
        for run in runs:
            made = read_finished(self.runs / run.name)
            needed = map(evaluation_hash, run.evaluations)
            if not (made.trained and made.evaluations.issuperset(needed)):
                left.append(run)
        return left

    def save_plan(self, study: str, runs: Sequence[PlannedRun], command: str | None = None) -> bool:
        """Write a study's plan and what was typed; returns whether it had other runs before."""
        path = self.studies / f"{study}.json"
        document = {"format_version": FORMAT_VERSION, "study": study, "command": command}
        listed = ",\n".join(map(json.dumps, plan_json(runs)))  # one run per line
        body = f"\n{listed}\n]}}\n".encode()
        content = f'{json.dumps(document)[:-1]}, "runs": ['.encode() + body
        old = b""
        with contextlib.suppress(OSError):  # a plan that cannot be read counts as another
            old = path.read_bytes()
        if old != content:
            with write_beside(path) as temporary:
                temporary.write_bytes(content)
        return bool(old) and not old.endswith(body)


def plan_json(runs: Iterable[PlannedRun]) -> list[dict[str, Any]]:
    """The runs of a plan as JSON."""
    return [{"run": run.name, "identifier": run.identifier, **run.to_json()} for run in runs]


@functools.cache
def evaluation_hash(grid: Grid) -> str:
    """A hash that differs for different evaluations."""
    text = json.dumps(grid.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Finished(NamedTuple):
    """What of a run is finished."""

    trained: bool
    evaluations: frozenset[str]
    """The hashes of its evaluations."""


NOTHING = Finished(trained=False, evaluations=frozenset())


def read_finished(folder: Path) -> Finished:
    """What of a run is finished; a damaged file counts as missing."""
    try:
        mark = json.loads((folder / FINISHED).read_text())
        damaged = {name for name, size in mark["files"].items() if _size(folder, name) != size}
        if mark["format_version"] != FORMAT_VERSION or damaged - {EVALUATION}:
            return NOTHING
        return Finished(trained=True, evaluations=frozenset(() if damaged else mark["evaluations"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return NOTHING


def mark_finished(
    folder: Path, identifier: str, evaluations: Iterable[Grid] = (), before: Iterable[str] = ()
) -> None:
    """Record that a run is trained and has these evaluations, besides those recorded before.

    ``before`` are hashes of further evaluations that are still in its table.
    """
    made = read_finished(folder).evaluations.union(before, map(evaluation_hash, evaluations))
    files = {name: (folder / name) for name in RESULT_FILES}
    document = {
        "format_version": FORMAT_VERSION,
        "identifier": identifier,
        "files": {name: path.stat().st_size for name, path in files.items() if path.is_file()},
        "evaluations": sorted(made),
    }
    with write_beside(folder / FINISHED) as temporary:
        temporary.write_text(json.dumps(document) + "\n")


def _size(folder: Path, name: str) -> int | None:
    try:
        return os.stat(f"{folder}/{name}").st_size
    except FileNotFoundError:
        return None


class Locks:
    """Locks on runs: bytes of one file, released when the process ends.

    A process can have only one of these at a time: the system releases all of a process's bytes
    when it closes the file once.
    """

    def __init__(self, path: Path) -> None:
        """Locks nothing yet."""
        self._file: IO[bytes] = path.open("r+b")

    def acquire(self, runs: Sequence[PlannedRun]) -> bool:
        """Lock all of these runs, or none if another process has one of them."""
        for number, run in enumerate(runs):
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(run))
            except OSError as error:
                self.release(runs[:number])
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    return False
                raise InvalidInputError(
                    f"{self._file.name} cannot be locked: {error.strerror}"
                ) from None
        return True

    def release(self, runs: Iterable[PlannedRun]) -> None:
        """Unlock these runs."""
        for run in runs:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(run))

    def close(self) -> None:
        """Unlock everything."""
        self._file.close()


def _byte(run: PlannedRun) -> int:
    return int(run.identifier, 16)
