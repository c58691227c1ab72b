"""Writing files atomically, without accidental overwriting, and with detection of damage.

Digests detect damage. They prove nothing about who wrote a file: whoever can modify it can also
write a matching digest.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixedne.errors import InvalidInputError, parse_json

if TYPE_CHECKING:
    import polars as pl


@contextlib.contextmanager
def write_beside(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; rename it to ``path`` on success.

    The temporary name keeps the suffix, because writers choose the format by it. A ``durable``
    file is synced to disk before it is renamed, and its name before this returns: after a power
    cut, ``path`` has either the complete old content or the complete new content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}-{secrets.token_hex(8)}{path.suffix}")
    # Unlike tempfile's, this file has the permissions that the user's umask gives to new files.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield temporary
        if durable:
            _synchronise(temporary)
        temporary.replace(path)
        if durable:
            _synchronise(path.parent)
    except OSError as error:
        if error.errno is not None and not error.filename:  # a full disk names no file
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def check_new_file(path: Path, what: str, *suffixes: str, overwrite: bool) -> Path:
    """Return ``path`` if ``what`` can be written there, else raise; call it before long work."""
    if path.suffix not in suffixes:
        raise InvalidInputError(f"{what} must end in {' or '.join(suffixes)}, not {path.name}")
    if path.is_dir():
        raise InvalidInputError(f"{what} {path} is a folder")
    if path.exists() and not overwrite:
        raise InvalidInputError(f"{path} exists: choose another file or pass overwrite=True")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InvalidInputError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise InvalidInputError(f"{path} cannot be written: {folder} is not writable")
    return path


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def finished_digest(folder: Path, name: str) -> str | None:
    """The digest of a file from ``finished.json`` of a study's run; None if there is none."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # absent, older or damaged
        found = parse_json((folder / "finished.json").read_bytes())["digests"][name]
        return found if isinstance(found, str) else None
    return None


def find_modules_here(*tasks: str | None) -> None:
    """Let ``module:Id`` name a module in the current directory, for tasks typed by the user only.

    The directory is appended to ``sys.path``, so that it hides no installed package.
    """
    here = os.getcwd()
    if any(":" in task for task in tasks if task) and here not in sys.path:
        sys.path.append(here)


def read_bytes(path: str | Path) -> bytes:
    """Read a file's bytes; raises ``InvalidInputError`` if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None


def readable(name: str | Path) -> str:
    """A file's name as valid text, whatever bytes it consists of."""
    return os.fsencode(name).decode(errors="replace")


def parse_toml(content: bytes, file: str) -> dict[str, Any]:
    """Parse a TOML document, or raise with one sentence that begins with the file."""
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        reason = str(error)
        raise InvalidInputError(f"{file} is no TOML: {reason[:1].lower()}{reason[1:]}") from None


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON file that includes a digest of its own content."""
    with write_beside(path) as temporary:
        temporary.write_text(sealed_json(document))


def sealed_json(document: Mapping[str, Any]) -> str:
    """A JSON text that includes a digest of its own content."""
    document = finite_json(document)
    sealed = {**document, "sha256": _content_digest(document)}
    return json.dumps(sealed, indent=2, allow_nan=False) + "\n"


def finite_json(document: Any) -> Any:
    """The document as JSON can express it, with paths as strings, and NaN and ±∞ as null."""
    return json.loads(json.dumps(document, default=os.fspath), parse_constant=lambda _: None)


def read_json(path: Path, *, warn: bool = True) -> dict[str, Any]:
    """Read a file written by ``write_json``; raises for anything else.

    Files of older versions, which have no digest, are read with a warning.
    """
    content = read_bytes(path)
    try:
        document = parse_json(content)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInputError(f"{path} is damaged or no JSON file: {reason}") from None
    if not isinstance(document, dict):
        raise InvalidInputError(f"{path} is damaged: it must hold a JSON object")
    written = document.pop("sha256", None)
    if written is None and warn:
        warnings.warn(
            f"{path.name} is of an older version and carries no digest: damage to it would not "
            "be noticed",
            stacklevel=2,
        )
    if written not in (None, _content_digest(document)):
        raise InvalidInputError(f"{path} is damaged: its content does not match its digest")
    return document


def _content_digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def unfinished_files(folder: Path, stems: str) -> list[Path]:
    """Leftovers of a killed ``write_beside``, for files whose stems match a regular expression."""
    name = re.compile(rf"\.({stems})-[^.]+\.\w+")
    return [path for path in folder.glob(".*") if name.fullmatch(path.name)]


def write_table(table: "pl.DataFrame", path: Path) -> None:
    """Write a table as Parquet, with its format_version in the file's metadata."""
    content = io.BytesIO()  # on a full disk, polars would not raise an OSError
    table.write_parquet(content, metadata={"format_version": "1"})
    with write_beside(path) as temporary:
        temporary.write_bytes(content.getvalue())


@contextlib.contextmanager
def new_folder(path: Path, *, mark: str, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder next to ``path``; rename it to ``path`` on success.

    An existing folder that is not empty is replaced only with ``overwrite``, and only if it
    contains a file named ``mark``, i.e. was made by an earlier call. The old folder is removed
    after the new one is in place.
    """
    path = path.resolve()
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"the output folder {path} exists and is not a folder")
    holds_something = path.is_dir() and any(path.iterdir())
    if holds_something and not overwrite:
        raise InvalidInputError(
            f"the output folder {path} is not empty: choose another or pass overwrite=True"
        )
    if Path.cwd().is_relative_to(path) or (holds_something and not (path / mark).is_file()):
        raise InvalidInputError(
            f"the output folder {path} holds other things, which are not overwritten: "
            "choose another"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    except OSError as error:
        raise InvalidInputError(
            f"the output folder {path} cannot be made: {error.strerror}"
        ) from None
    try:
        (work / "new").mkdir()
        yield work / "new"
        if path.exists():
            path.replace(work / "old")
        (work / "new").replace(path)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _synchronise(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
