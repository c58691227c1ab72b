"""The study folder: its runs, which of them are finished, and locks on them.

``runs/NAME-IDENTIFIER/``   ordinary run folders; several studies can share them
``studies/NAME.json``       a study's plan, as it was last started
``studies/NAME.log``        the messages of its workers
``lock``                    one byte for each run; the process that works on a run locks its byte

A finished run has ``finished.json``: its identifier, hashes of its evaluations, its configuration,
and the size and SHA-256 digest of every file of its result. It shows whether a run is finished and
its files are intact. A digest detects damage; it does not prove who wrote a file.
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
from collections.abc import Iterable, Mapping, Sequence
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
"""Exceptions that reading a JSON file of unknown content can raise."""

RECEIVED = ".received-"
"""Prefix of the folder in which a run received from another machine is unpacked."""

PLANS = 2**48
"""The byte of ``lock`` for the files of ``studies``; bytes of runs are below it."""


class StudyFolder:
    """A folder of runs that one or several studies fill."""

    def __init__(self, path: Path) -> None:
        """Set the paths; nothing is created yet."""
        self.path = path
        self.runs = path / "runs"
        self.studies = path / "studies"
        self.locks = path / "lock"

    def create(self) -> None:
        """Create the folder if it does not exist; raise if it contains other things."""
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
        """Leftovers of killed processes that were writing a run."""
        unpacked = self.path / f"{RECEIVED}{run.name}"
        files = unfinished_files(self.run_folder(run), "|".join(["config", *NAMES, "finished"]))
        return [*([unpacked] if unpacked.is_dir() else []), *files]

    def unfinished(self, runs: Iterable[PlannedRun]) -> list[PlannedRun]:
        """The runs that are not finished, or lack evaluations of their study."""
        left = []
        for run in runs:
            made = read_finished(self.run_folder(run)) or Finished()
            needed = map(evaluation_hash, run.evaluations)
            if not (made.trained and made.evaluations.issuperset(needed)):
                left.append(run)
        return left

    def save_plan(self, study: str, runs: Sequence[PlannedRun], command: str | None = None) -> bool:
        """Write a study's plan and its command; returns whether it had other runs before."""
        head, body = plan_text(study, command, plan_json(runs))
        text, old = head + body, b""
        with contextlib.suppress(OSError):  # a plan that cannot be read counts as another
            old = (self.studies / f"{study}.json").read_bytes()
        if old != text.encode():
            self.write(f"{study}.json", text)
        return bool(old) and not old.endswith(body.encode())

    def write(self, name: str, text: str) -> None:
        """Write a file of ``studies``, and remove leftovers of killed processes."""
        with self.locks.open("r+b") as file:
            lock(file, PLANS, wait=True)
            for path in unfinished_files(self.studies, ".+"):
                path.unlink(missing_ok=True)
            with write_beside(self.studies / name) as temporary:
                temporary.write_text(text)


def plan_text(
    study: str, command: str | None, runs: Iterable[Mapping[str, Any]]
) -> tuple[str, str]:
    """A plan's file: its head, and the runs, one per line."""
    document = {"format_version": FORMAT_VERSION, "study": study, "command": command}
    listed = ",\n".join(map(json.dumps, runs))
    return f'{json.dumps(document)[:-1]}, "runs": [', f"\n{listed}\n]}}\n"


def plan_json(runs: Iterable[PlannedRun]) -> list[dict[str, Any]]:
    """The runs of a plan as JSON."""
    return [{"run": run.name, "identifier": run.identifier, **run.to_json()} for run in runs]


@functools.cache
def evaluation_hash(grid: Grid) -> str:
    """A hash that differs for different evaluations."""
    text = json.dumps(grid.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Finished(NamedTuple):
    """The content of ``finished.json``, and which files do not match it."""

    evaluations: frozenset[str] = frozenset()
    """The hashes of the run's evaluations."""
    damaged: frozenset[str] = frozenset({FINISHED})
    config: Any = None
    """The content of ``config.json``; older versions did not record it."""
    has_digests: bool = True

    @property
    def trained(self) -> bool:
        """Whether everything except its evaluations is intact."""
        return not self.damaged - {EVALUATION}


def read_finished(folder: Path) -> Finished | None:
    """Read ``finished.json`` and check every file; None if the run was never finished."""
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

    It may have grown since the run was finished, so it is verified by its own checksum and the
    policy in it; a table of an older version, without a checksum, by the run's digest.
    """
    path, made = folder / EVALUATION, read_finished(folder) or Finished()
    if EVALUATION not in made.damaged:
        return read_table(path)
    table = read_run_table(folder)
    if "checksum" not in pl.read_parquet_metadata(path):
        raise InvalidInputError(f"{path} is not what was written")
    return table


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of the run in a folder, with its ``identifier``; empty if damaged."""
    try:
        found = read_json(folder / CONFIG, warn=False)
        if "agent" not in found:  # a file of another kind
            return {}
        return {**found, "identifier": identifier(found)}
    except UNREADABLE:
        return {}


def _is_whole(path: Path, size: int, expected: str | None) -> bool:
    """Whether a file has the expected size and, if known, the expected digest."""
    try:
        status = path.stat()
        if status.st_size != size:
            return False
        return expected is None or _digest_at(path, status.st_mtime_ns) == expected
    except OSError:
        return False


@functools.cache
def _digest_at(path: Path, changed: int) -> str:
    """The digest of a file, cached by its modification time."""
    return digest(path)


class Locks:
    """Locks on runs, as bytes of one file; they are released when the process ends.

    A process can have only one instance at a time: when it closes the file once, the system
    releases all of its locks.
    """

    def __init__(self, path: Path) -> None:
        """Open the lock file; nothing is locked yet."""
        self._file: IO[bytes] = path.open("r+b")

    def acquire(self, runs: Sequence[PlannedRun]) -> bool:
        """Lock all of these runs, or none if another process has locked one of them."""
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
    """Lock a byte of a file; returns whether this process has the lock."""
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
    """Unpack a run folder atomically; it replaces an unfinished one."""
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
    """The last part of :func:`unpack`, also for one that was killed."""
    if (work / "old").exists() and not folder.exists():
        (work / "new").replace(folder)
    shutil.rmtree(work, ignore_errors=True)
