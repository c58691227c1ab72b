"""The study folder: where runs lie, which are finished, and who works on them.

``runs/NAME-IDENTIFIER/``   ordinary run folders; studies on one folder share them
``studies/NAME.json``       a study's plan, as it was last started
``studies/NAME.log``        what its workers said
``lock``                    one byte for each run; whoever works on a run holds its byte
``compiled/``               what JAX has compiled; may be deleted at any time

A finished run has ``finished.json``: its identifier, the sizes of the files that make its result,
and hashes of the evaluations made. One look at each tells whether a run is finished and its files
are whole, without opening them.
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
from mixedne.studies.plan import PlannedRun, run_to_json

FORMAT_VERSION = 1
"""Of ``finished.json`` and of the plans."""

EVALUATION = "evaluation.parquet"
FINISHED = "finished.json"
RESULT_FILES = (
    *("policy.json", "policy.safetensors", "adversary.json", "adversary.safetensors"),
    EVALUATION,
)


class StudyFolder:
    """A folder of runs that one or several studies fill."""

    def __init__(self, path: Path) -> None:
        """Paths alone; nothing is made yet."""
        self.path = path
        self.runs = path / "runs"
        self.studies = path / "studies"
        self.compiled = path / "compiled"
        self.locks = path / "lock"

    def open(self) -> None:
        """Make the folder; one that holds other things is left alone."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInputError(f"the output folder {self.path} is a file")
        if self.path.is_dir() and any(self.path.iterdir()) and not self.studies.is_dir():
            raise InvalidInputError(
                f"the output folder {self.path} holds other things than studies: choose another"
            )
        try:
            for folder in (self.studies, self.runs, self.compiled):
                folder.mkdir(parents=True, exist_ok=True)
            self.locks.touch()
        except OSError as error:
            raise InvalidInputError(
                f"the output folder {self.path} cannot be made: {error.strerror}"
            ) from None

    def log(self, study: str) -> Path:
        """Where the workers of a study write what they have to say."""
        return self.studies / f"{study}.log"

    def run_folder(self, run: PlannedRun) -> Path:
        """Where a run lies."""
        return self.runs / run.name

    def unfinished(self, runs: Iterable[PlannedRun]) -> list[PlannedRun]:
        """The runs that are not finished, or not evaluated as their study asks."""
        there = set()
        with contextlib.suppress(FileNotFoundError):
            there = set(os.listdir(self.runs))
        left = []
        for run in runs:
            made = read_finished(self.runs / run.name) if run.name in there else NOTHING
            needed = map(evaluation_hash, run.evaluations)
            if not (made.trained and made.evaluations.issuperset(needed)):
                left.append(run)
        return left

    def freeze(
        self, study: str, runs: Sequence[PlannedRun], command: str | None = None
    ) -> str | None:
        """Write a study's plan, and what was typed; says so if it had other runs."""
        path = self.studies / f"{study}.json"
        document = {"format_version": FORMAT_VERSION, "study": study, "command": command}
        head = json.dumps(document)[:-1]
        listed = ",\n".join(json.dumps(run) for run in plan_json(runs))  # a run a line
        body = f"\n{listed}\n]}}\n"
        had = b""
        with contextlib.suppress(OSError):  # what cannot be read is another plan
            had = path.read_bytes()
        text = f'{head}, "runs": [{body}'.encode()
        if had == text:
            return None
        with write_beside(path) as temporary:
            temporary.write_bytes(text)
        if had and not had.endswith(body.encode()):
            return f"the study {study} in {self.path} had another plan: runs in both are kept"
        return None


def plan_json(runs: Iterable[PlannedRun]) -> list[dict[str, Any]]:
    """The runs of a plan as a document."""
    return [{"run": run.name, "identifier": run.identifier, **run_to_json(run)} for run in runs]


@functools.cache
def evaluation_hash(grid: Grid) -> str:
    """Tells evaluations apart."""
    text = json.dumps(grid.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Finished(NamedTuple):
    """What a run has behind it."""

    trained: bool
    evaluations: frozenset[str]
    """Hashes of the evaluations made."""


NOTHING = Finished(trained=False, evaluations=frozenset())


def read_finished(folder: Path) -> Finished:
    """What is finished of a run; a file that is not whole counts for nothing."""
    try:
        said = json.loads((folder / FINISHED).read_text())
        damaged = {name for name, size in said["files"].items() if _size(folder, name) != size}
        if said["format_version"] != FORMAT_VERSION or damaged - {EVALUATION}:
            return NOTHING
        return Finished(trained=True, evaluations=frozenset(() if damaged else said["evaluations"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return NOTHING


def mark_finished(
    folder: Path, identifier: str, evaluations: Iterable[Grid] = (), before: Iterable[str] = ()
) -> None:
    """Say that a run is trained, and evaluated like this, beside what it was before.

    ``before`` are hashes of evaluations that were in the table when it was smaller.
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
    """Which runs this process works on: bytes of one file, freed when the process ends.

    A process may have one of these at a time: the system frees all of a process's bytes when
    it closes the file once.
    """

    def __init__(self, path: Path) -> None:
        """Holds nothing yet."""
        self._file: IO[bytes] = path.open("r+b")

    def take(self, runs: Sequence[PlannedRun]) -> bool:
        """Take all of these runs, or none because another process has one of them."""
        for number, run in enumerate(runs):
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(run))
            except OSError as error:
                self.free(runs[:number])
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    return False
                raise InvalidInputError(
                    f"{self._file.name} cannot be locked: {error.strerror}"
                ) from None
        return True

    def free(self, runs: Iterable[PlannedRun]) -> None:
        """Let others at these runs."""
        for run in runs:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(run))

    def close(self) -> None:
        """Let go of everything."""
        self._file.close()


def _byte(run: PlannedRun) -> int:
    return int(run.identifier, 16)
