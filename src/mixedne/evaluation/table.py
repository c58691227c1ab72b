"""The evaluation table: its columns; writing, reading, joining and searching tables.

A table's file contains a checksum, so that damage is not mistaken for a result. While an
evaluation runs, its finished chunks are kept next to the table in a hidden folder, named after a
hash of the arguments, so that it can be resumed; other evaluations never read them.
"""

import contextlib
import functools
import hashlib
import io
import os
import re
import shutil
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.errors import InvalidInputError, check_number
from mixedne.evaluation.grids import BASIC, Grid, episode_seed
from mixedne.evaluation.handles import PolicyHandle, find_policy
from mixedne.evaluation.runs import PROVENANCE
from mixedne.files import unfinished_files, write_beside
from mixedne.shifts import Axis, Shift, is_nominal, shift_axes

FORMAT_VERSION = "1"
"""Format version in the metadata of the Parquet file."""

_BEFORE: dict[Any, Any] = {
    **dict.fromkeys(("run", "policy", "task", "task_version"), pl.String),
    **{name: pl.DataType.from_python(kind) for name, kind in PROVENANCE.items()},
    "mass_mode": pl.String,
}
_AFTER: dict[Any, Any] = {
    "acting": pl.String,
    "episode": pl.Int64,
    "episode_seed": pl.Int64,
    "return": pl.Float64,
    "length": pl.Int64,
    "terminated": pl.Boolean,
    "diverged": pl.Boolean,
    "versions": pl.String,
}
# The columns before and after those of the shifts.

RESULTS = ("return", "length", "terminated", "diverged", "versions")
"""Columns with the results of an episode; the other columns identify the episode."""

MAX_ROWS = 10_000_000
"""Maximum number of rows of a file; more are treated as damage."""

_FORMER = {"body_masses": "mass", "geom_frictions": "friction"}
# Older tables store factors on single bodies and geoms as strings such as "foot=3.0,torso=2.0".

_SEAL, _BLANK = b"sha256 of this file with zeros here: ", b"0" * 64
# In the metadata, at the file's end. The bytes are checked before anything parses them.


def table_schema(columns: Iterable[str]) -> dict[Any, Any]:
    """The schema, in order, of a table with these columns of shifts."""
    shifts = {str(axis): pl.Float64 for axis in shift_axes({*columns, *BASIC})}
    return {**_BEFORE, **shifts, **_AFTER}


SCHEMA = table_schema(())
"""Columns of every table, one row per episode. Further shifts have columns after ``rho``."""


def world_columns(
    shift: Shift, axes: Sequence[Axis], parameters: Collection[str]
) -> dict[str, Any]:
    """The columns that describe a world, in a task with these parameters.

    An axis that belongs to one task, such as ρ, is null in other tasks.
    """
    elsewhere = [a for a in axes if a.entry.keyword is not None and a.parameter not in parameters]
    numbers = {str(axis): None if axis in elsewhere else shift.number(axis) for axis in axes}
    return {"mass_mode": shift.mass_mode, **numbers}


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write an evaluation table with its checksum; raises a one-sentence ``OSError`` on failure."""
    file = io.BytesIO()
    seal = (_SEAL + _BLANK).decode()
    table.write_parquet(file, metadata={"format_version": FORMAT_VERSION, "checksum": seal})
    try:
        with write_beside(path) as temporary:
            temporary.write_bytes(_sealed(file.getvalue()))
    except OSError as error:
        raise type(error)(f"{path} cannot be written: {error.strerror}") from None


def _sealed(content: bytes) -> bytes:
    """The bytes of a table's file, with their checksum filled in."""
    head, seal, tail = content.rpartition(_SEAL)
    rest = tail[len(_BLANK) :]
    digest = hashlib.sha256(head + seal + _BLANK + rest).hexdigest()
    return head + seal + digest.encode() + rest


def read_table(path: Path) -> pl.DataFrame:
    """Read an evaluation table; raises ``InvalidInputError`` if it is missing or damaged."""
    damaged = InvalidInputError(
        f"{path} is damaged or no evaluation table: move it away to evaluate anew"
    )
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InvalidInputError(f"there is no evaluation table {path}") from None
    except OSError:
        raise damaged from None
    has_seal = _SEAL in content
    if has_seal and _sealed(content) != content:
        raise damaged
    try:
        version = pl.read_parquet_metadata(io.BytesIO(content)).get("format_version")
        table = _current_columns(parse_parquet(content))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in polars is not an Exception
        raise damaged from None
    if version != FORMAT_VERSION:
        raise InvalidInputError(f"{path} has the format_version {version}, not {FORMAT_VERSION}")
    if not has_seal:
        _warn_of_no_checksum()
    return table


def parse_parquet(content: bytes) -> pl.DataFrame:
    """Parse a Parquet file; raises if it has too many rows: few bytes may contain very many."""
    rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
    check_number("the number of rows", rows, at_most=MAX_ROWS)
    return pl.read_parquet(io.BytesIO(content))


def read_run_table(folder: Path) -> pl.DataFrame:
    """The evaluation table of a run; raises if it is of another run or an earlier policy.

    If the policy is damaged or missing, the table is accepted as it is.
    """
    path = folder / "evaluation.parquet"
    table = read_table(path)
    if not is_current(table, folder):
        raise InvalidInputError(f"{path} has episodes of another policy than the one beside it")
    return table


def is_current(table: pl.DataFrame, folder: Path) -> bool:
    """Whether a table's episodes are of the policy in a folder, as far as this is known."""
    try:
        here = find_policy(folder).label
    except InvalidInputError:
        return True
    return bool(table["policy"].drop_nulls().is_in([here]).all())


@functools.cache  # once is enough: a study may have a thousand
def _warn_of_no_checksum() -> None:
    words = "evaluation tables of an older version have no checksum"
    warnings.warn(f"{words}: damage to them cannot be noticed", stacklevel=3)


def _current_columns(table: pl.DataFrame) -> pl.DataFrame:
    """Convert a table of an older version to the current columns; others are dropped.

    Older tables have strings instead of one column per shifted body and geom, and only δ for the
    adversary's strength.
    """
    if "strength" not in table.columns:
        table = table.with_columns(strength="delta")
    for former, parameter in _FORMER.items():
        texts = table[former].drop_nulls().unique() if former in table.columns else ()
        parts = {part for text in texts for part in text.split(",") if part}
        for name in sorted({part.rpartition("=")[0] for part in parts}):
            number = pl.col(former).str.extract(rf"(?:^|,){re.escape(name)}=([^=,]+)(?:,|$)")
            column = number.cast(pl.Float64).alias(str(Axis(parameter, name)))
            table = table.with_columns(column)
    schema = table_schema(table.columns)
    return concat_tables([table.select(list(schema)).cast(schema)])


def concat_tables(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all tables. A shift that is missing in a table is nominal there."""
    whole = pl.concat(tables, how="diagonal")
    whole = whole.with_columns(
        pl.col(str(axis)).fill_null(axis.nominal)
        for axis in shift_axes(whole.columns)
        if axis.nominal is not None and axis.entry.keyword is None
    )
    order = [name for name in table_schema(whole.columns) if name in whole.columns]
    return whole.select(*order, *(name for name in whole.columns if name not in order))


def join_tables(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """The old and the new rows, where an episode that was run again replaces its old row.

    A policy is identified by its hash, whatever its name; old rows of a run whose policy has
    changed are dropped.
    """
    names = new.select("policy", pl.col("run").alias("now")).drop_nulls().unique("policy")
    old = old.join(names, on="policy", how="left", maintain_order="left")
    old = old.with_columns(run=pl.coalesce("now", "run")).drop("now")
    changed = ~pl.col("policy").is_in(new["policy"].implode()) & pl.col("run").is_in(
        new.filter(pl.col("policy").is_not_null())["run"].implode()
    )
    whole = concat_tables([old.filter(~changed.fill_null(False)), new])
    episode = [name for name in whole.columns if name not in RESULTS]
    return whole.unique(episode, keep="last", maintain_order=True)


def has_evaluation(
    table: pl.DataFrame, policy: PolicyHandle, grid: Grid, parameters: Collection[str]
) -> bool:
    """Whether a table has all episodes of a policy's evaluation; ``parameters``: the task's."""
    acting = policy.acting(stochastic=grid.stochastic)
    own = table.filter(
        pl.col("policy").eq_missing(policy.label), pl.col("acting").eq_missing(acting)
    )
    return evaluation_rows(own, grid, parameters).height >= grid.size * grid.episodes


def evaluation_rows(table: pl.DataFrame, grid: Grid, parameters: Collection[str]) -> pl.DataFrame:
    """The rows of a table that belong to an evaluation; ``parameters``: the task's."""
    axes = grid.columns
    if not {str(axis) for axis in axes}.issubset(table.columns):
        return table.clear()
    wanted = pl.DataFrame(
        [
            {
                **world_columns(shift, axes, parameters),
                "episode_seed": episode_seed(grid.seed, episode),
            }
            for shift in grid.shifts()
            for episode in range(grid.episodes)
        ],
        schema_overrides={str(axis): pl.Float64 for axis in axes},
    )
    plain = table.filter(is_nominal(table.columns, but=wanted.columns))
    return plain.join(wanted, on=wanted.columns, how="semi", nulls_equal=True)


class ChunkStore:
    """The tables of an evaluation's chunks, by number, and the output file for their rows."""

    def __init__(
        self,
        out: str | Path | None,
        fingerprint: str | None,
        *,
        overwrite: bool = False,
        join: bool = False,
    ) -> None:
        """``out`` is the file to write; without a fingerprint, chunks are not kept on disk.

        Raises if the result cannot be written, before any work is done.
        """
        self._out = out = None if out is None else Path(out)
        self._overwrite, self._join = overwrite, join
        self._folder: Path | None = None
        self._tables: dict[int, pl.DataFrame] = {}
        if out is None:
            return
        if out.suffix != ".parquet":
            raise InvalidInputError(f"the output file must end in .parquet, not {out.name}")
        if out.is_dir():
            raise InvalidInputError(f"the output file {out} is a folder")
        self._read_old(out)
        nearest = next(parent for parent in out.absolute().parents if parent.exists())
        if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
            raise InvalidInputError(f"{out} cannot be written: {nearest} is not writable")
        if fingerprint is not None:
            self._folder = out.parent / f".{out.stem}-{fingerprint[:16]}.partial"

    def has(self, number: int) -> bool:
        """Whether an interrupted evaluation has left this chunk, undamaged."""
        if self._folder is None:
            return False
        with contextlib.suppress(InvalidInputError):
            self._tables[number] = read_table(self._folder / f"{number:06d}.parquet")
        return number in self._tables

    def put(self, number: int, table: pl.DataFrame) -> None:
        """Keep a finished chunk."""
        self._tables[number] = table
        if self._folder is not None:
            with contextlib.suppress(FileNotFoundError):  # the same evaluation has finished
                write_table(table, self._folder / f"{number:06d}.parquet")

    def finish(self) -> pl.DataFrame:
        """All chunks in order, written to the output file, or joined with it, if there is one."""
        table = concat_tables(self._tables[number] for number in sorted(self._tables))
        if self._out is not None:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            with _locked(self._out.parent):
                for left in unfinished_files(self._out.parent, re.escape(self._out.stem)):
                    if left.suffix == ".parquet":  # of a process that was killed
                        left.unlink()
                old = self._read_old(self._out)
                write_table(table if old is None else join_tables(old, table), self._out)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        return table

    def _read_old(self, out: Path) -> pl.DataFrame | None:
        """The table to join with, which another process may have written in the meantime."""
        if out.exists() and not (self._join or self._overwrite):
            raise InvalidInputError(f"{out} exists: choose another file or pass overwrite=True")
        return read_table(out) if self._join and out.exists() else None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Acquire the lock of a folder, so that evaluations write their tables one after another."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(ImportError, OSError):  # where the system has no such locks
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
