"""The study folder: where runs are, which are finished, and who works on them.

``runs/NAME-IDENTIFIER/``   ordinary run folders; several studies can share them
``studies/NAME.json``       a study's plan, as it was last started
``studies/NAME.log``        the messages of its workers
``lock``                    one byte for each run; the process that works on a run locks its byte

A finished run has ``finished.json``: its identifier, hashes of its evaluations, its configuration,
and the size and SHA-256 digest of every file that makes its result. It tells whether a run is
finished and its files are whole. A digest finds damage; it does not say who wrote a file.
"""

import contextlib
import errno
import fcntl
import functools
import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl

from mixedne.config.identity import identifier
from mixedne.errors import InvalidInputError, parse_json
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.table import read_run_table, read_table
from mixedne.files import digest, read_json, unfinished_files, write_beside
from mixedne.policies import NAMES
from mixedne.studies.plan import PlannedRun

FORMAT_VERSION = 1
"""The version of ``finished.json`` and of the plans."""

CONFIG, EVALUATION, FINISHED = "config.json", "evaluation.parquet", "finished.json"
RESULT_FILES = (
    *(f"{name}.{suffix}" for name in NAMES for suffix in ("json", "safetensors")),
    *(EVALUATION, CONFIG, "metrics.jsonl"),
)

UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a JSON file of unknown content can raise."""

RECEIVED = ".received-"
"""Begins the name of the folder in which a run that comes from elsewhere is unpacked."""

PLANS = 2**48
"""The byte of ``lock`` for the files of ``studies``; those of runs are below."""


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

    def strays(self, run: PlannedRun) -> list[Path]:
        """What writers of a run have left behind if they were killed."""
        unpacked = self.path / f"{RECEIVED}{run.name}"
        files = unfinished_files(self.run_folder(run), "|".join(["config", *NAMES, "finished"]))
        return [*([unpacked] if unpacked.is_dir() else []), *files]

    def unfinished(self, runs: Iterable[PlannedRun]) -> list[PlannedRun]:
        """The runs that are not finished, or not evaluated as their study asks."""
        left = []
        for run in runs:
            made = read_finished(self.run_folder(run)) or Finished()
            needed = map(evaluation_hash, run.evaluations)
            if not (made.trained and made.evaluations.issuperset(needed)):
                left.append(run)
        return left

    def save_plan(self, study: str, runs: Sequence[PlannedRun], command: str | None = None) -> bool:
        """Write a study's plan and what was typed; returns whether it had other runs before."""
        document = {"format_version": FORMAT_VERSION, "study": study, "command": command}
        listed = ",\n".join(map(json.dumps, plan_json(runs)))  # one run per line
        body = f"\n{listed}\n]}}\n"
        text = f'{json.dumps(document)[:-1]}, "runs": [{body}'
        old = b""
        with contextlib.suppress(OSError):  # a plan that cannot be read counts as another
            old = (self.studies / f"{study}.json").read_bytes()
        if old != text.encode():
            self.write(f"{study}.json", text)
        return bool(old) and not old.endswith(body.encode())

    def write(self, name: str, text: str) -> None:
        """Write a file of ``studies``, and remove what writers that were killed have left."""
        with self.locks.open("r+b") as file:
            lock(file, PLANS, wait=True)
            for path in unfinished_files(self.studies, ".+"):
                path.unlink(missing_ok=True)
            with write_beside(self.studies / name) as temporary:
                temporary.write_text(text)


def plan_json(runs: Iterable[PlannedRun]) -> list[dict[str, Any]]:
    """The runs of a plan as JSON."""
    return [{"run": run.name, "identifier": run.identifier, **run.to_json()} for run in runs]


@functools.cache
def evaluation_hash(grid: Grid) -> str:
    """A hash that differs for different evaluations."""
    text = json.dumps(grid.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Finished(NamedTuple):
    """What ``finished.json`` says of a run, and which files are not as it says."""

    evaluations: frozenset[str] = frozenset()
    """The hashes of its evaluations."""
    damaged: frozenset[str] = frozenset({FINISHED})
    config: Any = None
    """What ``config.json`` holds; older versions did not record it."""
    has_digests: bool = True

    @property
    def trained(self) -> bool:
        """Whether all but its evaluations is whole."""
        return not self.damaged - {EVALUATION}


def read_finished(folder: Path) -> Finished | None:
    """What of a run is finished, with every file looked at; None if it never was."""
    try:
        mark = parse_json((folder / FINISHED).read_text())
        digests = mark.get("digests")
        damaged = {
            name
            for name, size in mark["files"].items()
            if not _is_whole(folder / name, size, digests[name] if digests else None)
        }
        if digests is None and read_config(folder).get("identifier") != mark["identifier"]:
            damaged.add(CONFIG)
        if mark["format_version"] != FORMAT_VERSION:
            return Finished()
        made = frozenset(() if EVALUATION in damaged else mark["evaluations"])
        return Finished(made, frozenset(damaged), mark.get("config"), digests is not None)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UNREADABLE:
        return Finished()


def mark_finished(folder: Path, identifier: str, evaluations: Iterable[str] = ()) -> None:
    """Record that a run is trained and has the evaluations with these hashes."""
    files = [folder / name for name in RESULT_FILES if (folder / name).is_file()]
    config = folder / CONFIG
    document = {
        "format_version": FORMAT_VERSION,
        "identifier": identifier,
        "files": {path.name: path.stat().st_size for path in files},
        "digests": {path.name: digest(path) for path in files},
        "evaluations": sorted(evaluations),
        "config": read_json(config, warn=False) if config in files else None,
    }
    with write_beside(folder / FINISHED) as temporary:
        temporary.write_text(json.dumps(document) + "\n")


def read_evaluations(folder: Path) -> pl.DataFrame:
    """A run's evaluation table.

    It may have grown since the run was finished: then it vouches for itself by its checksum and by
    the policy in it; if it is of an older version and has none, the run's digest of it must.
    """
    path, made = folder / EVALUATION, read_finished(folder) or Finished()
    if EVALUATION not in made.damaged:
        return read_table(path)
    table = read_run_table(folder)
    if "checksum" not in pl.read_parquet_metadata(path):
        raise InvalidInputError(f"{path} is not what was written")
    return table


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of the run in a folder, with its ``identifier``; empty if it is damaged."""
    try:
        found = read_json(folder / CONFIG, warn=False)
        if "agent" not in found:  # a file of another kind
            return {}
        return {**found, "identifier": identifier(found)}
    except UNREADABLE:
        return {}


def _is_whole(path: Path, size: int, expected: str | None) -> bool:
    """Whether a file has its size and, if that is known, its digest."""
    try:
        status = path.stat()
        if status.st_size != size:
            return False
        return expected is None or _digest_at(path, status.st_mtime_ns) == expected
    except OSError:
        return False


@functools.cache
def _digest_at(path: Path, changed: int) -> str:
    """The digest of a file that was last changed then: a study asks more than once."""
    return digest(path)


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
            if not lock(self._file, int(run.identifier, 16)):
                self.release(runs[:number])
                return False
        return True

    def release(self, runs: Iterable[PlannedRun]) -> None:
        """Unlock these runs."""
        for run in runs:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, int(run.identifier, 16))

    def close(self) -> None:
        """Unlock everything."""
        self._file.close()


def lock(file: IO[bytes], byte: int, *, wait: bool = False) -> bool:
    """Lock a byte of a file; whether this process has it now."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, byte)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise InvalidInputError(f"{file.name} cannot be locked: {error.strerror}") from None
    return True


def pack(folder: Path) -> bytes:
    """A run folder as an archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return content.getvalue()


def unpack(content: bytes, folder: Path) -> None:
    """Put a run folder in its place, whole or not at all; it replaces what was begun there."""
    work = folder.parents[1] / f"{RECEIVED}{folder.name}"
    finish_unpacking(work, folder)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(work / "new")
        folder.parent.mkdir(exist_ok=True)
        if folder.exists():
            folder.replace(work / "old")
        (work / "new").replace(folder)
    finally:
        finish_unpacking(work, folder)


def finish_unpacking(work: Path, folder: Path) -> None:
    """The end of :func:`unpack`, also of one that was killed."""
    if (work / "old").exists() and not folder.exists():
        (work / "new").replace(folder)
    shutil.rmtree(work, ignore_errors=True)
