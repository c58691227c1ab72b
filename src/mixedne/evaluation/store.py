"""Results of an evaluation as it runs: kept by chunk, so that it can be taken up again.

Finished chunks of an evaluation that writes to ``NAME.parquet`` lie beside it in a hidden
folder named after what was asked for; another request never meets them. The folder goes when
the evaluation is complete.
"""

import os
import shutil
from pathlib import Path

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.table import FORMAT_VERSION, concat_tables, join_tables, read_table
from mixedne.files import write_table


class ChunkStore:
    """Tables by chunk number."""

    def __init__(
        self, out: Path | None, folder: Path | None, old: pl.DataFrame | None = None
    ) -> None:
        """``out`` is the file to write in the end; ``folder`` keeps chunks until then."""
        self._out = out
        self._folder = folder
        self._old = old
        self._tables: dict[int, pl.DataFrame] = {}

    @classmethod
    def open(
        cls,
        out: str | Path | None,
        fingerprint: str | None,
        *,
        overwrite: bool = False,
        join: bool = False,
    ) -> "ChunkStore":
        """A store for an evaluation; without a fingerprint it cannot be taken up again.

        What makes the result impossible to write is found here, before any work.
        """
        if out is None:
            return cls(None, None)
        out = Path(out)
        if out.suffix != ".parquet":
            raise InvalidInputError(f"the output file must end in .parquet, not {out.name}")
        if out.is_dir():
            raise InvalidInputError(f"the output file {out} is a folder")
        if out.exists() and not (overwrite or join):
            raise InvalidInputError(f"{out} exists: choose another file or pass --overwrite")
        nearest = next(parent for parent in out.absolute().parents if parent.exists())
        if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
            raise InvalidInputError(f"{out} cannot be written: {nearest} is not writable")
        old = read_table(out) if join and out.exists() else None
        if fingerprint is None:
            return cls(out, None, old)
        return cls(out, out.parent / f".{out.stem}-{fingerprint[:16]}.partial", old)

    def get(self, number: int) -> pl.DataFrame | None:
        """The chunk of an earlier, interrupted evaluation, if it is there and whole."""
        if self._folder is None:
            return None
        try:
            self._tables[number] = pl.read_parquet(self._chunk_file(number), glob=False)
        except (OSError, pl.exceptions.PolarsError):
            return None
        return self._tables[number]

    def put(self, number: int, table: pl.DataFrame) -> None:
        """Keep a finished chunk."""
        self._tables[number] = table
        if self._folder is not None:
            write_table(table, self._chunk_file(number), FORMAT_VERSION)

    def finish(self) -> pl.DataFrame:
        """All chunks in order, written to the output file, or joined with it, if there is one."""
        table = concat_tables(self._tables[number] for number in sorted(self._tables))
        if self._out is not None:
            whole = table if self._old is None else join_tables(self._old, table)
            write_table(whole, self._out, FORMAT_VERSION)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        return table

    def _chunk_file(self, number: int) -> Path:
        if self._folder is None:
            raise RuntimeError("a store without a folder has no chunk files")
        return self._folder / f"{number:06d}.parquet"
