"""The replay buffer: the latest transitions of a run, in one memory-mapped file.

A transition is a row of float32 numbers; ``Layout`` defines the columns. The rows form a ring
buffer. The file, ``replay.f32`` in a run's folder, is just this ring (little-endian, no header),
and a checkpoint does not have to copy it: it stores ``count``, the number of transitions ever
appended, and opening the file with that count restores the same window.

The window is the last ``capacity`` transitions. The ring has ``spare`` more rows, so that the
first ``spare`` transitions appended after a checkpoint overwrite nothing of its window. A run
that keeps two checkpoints must append at most ``spare`` transitions between the older of the two
and the moment when the next checkpoint has replaced it.
"""

import functools
import itertools
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixedne.errors import InvalidInputError, check_count

Array = NDArray[np.float32]

BLOCK = 4096
"""Number of transitions per checksum."""

_DTYPE = np.dtype("<f4")


@dataclass(frozen=True)
class Layout:
    """The columns of each field in a row, in the order of ``sizes``."""

    sizes: Mapping[str, int]
    """The number of columns of each field."""

    def __post_init__(self) -> None:
        for name, size in self.sizes.items():
            check_count(f"the size of {name}", size, at_least=1)

    @functools.cached_property
    def columns(self) -> dict[str, slice]:
        """The columns of each field."""
        edges = itertools.pairwise(itertools.accumulate(self.sizes.values(), initial=0))
        return {name: slice(*edge) for name, edge in zip(self.sizes, edges, strict=True)}

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        return sum(self.sizes.values())


class Replay:
    """A ring buffer of transitions, in a file or in memory."""

    def __init__(self, rows: Array, capacity: int, count: int = 0) -> None:
        """Wrap the ring's rows; use ``create`` or ``open`` instead."""
        self._rows = rows
        self.capacity = capacity
        self.count = count
        """The number of transitions ever appended, which a checkpoint must store."""
        self.ring_size, self.width = rows.shape
        self._checksums: dict[tuple[int, int], int] = {}

    @classmethod
    def create(cls, path: Path | None, width: int, capacity: int, spare: int) -> "Replay":
        """An empty replay in a new file, or in memory if there is no path.

        An earlier file of that name is replaced. The disk space is allocated now: a full disk
        raises ``OSError`` here, without leaving a file, instead of crashing the process later.
        (Systems without ``posix_fallocate``, such as macOS, allocate it as rows are written.)
        """
        size = _file_size(width, capacity, spare)
        if path is None:
            return cls(np.zeros((capacity + spare, width), _DTYPE), capacity)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        try:
            with path.open("x+b") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                return cls(_map(file, width), capacity)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    @classmethod
    def open(cls, path: Path, width: int, capacity: int, spare: int, count: int) -> "Replay":
        """The replay in an existing file, as it was after ``count`` transitions.

        Transitions that were appended later are discarded.
        """
        size = _file_size(width, capacity, spare)
        check_count("the count of a replay", count, at_least=0)
        try:
            file = path.open("r+b")
        except OSError as error:
            raise InvalidInputError(
                f"the replay {path} cannot be opened: {error.strerror}"
            ) from None
        with file:
            found = os.fstat(file.fileno()).st_size
            if found != size:
                raise InvalidInputError(
                    f"the replay {path} must have {size} bytes for {capacity} + {spare} rows "
                    f"of {width} numbers, not {found}"
                )
            return cls(_map(file, width), capacity, count)

    def __len__(self) -> int:
        return min(self.count, self.capacity)

    def append(self, rows: ArrayLike) -> None:
        """Add transitions (n, width), or one (width,), as the newest."""
        new = np.atleast_2d(np.asarray(rows, np.float32))
        if new.ndim != 2 or new.shape[1] != self.width or len(new) > self.ring_size:
            raise InvalidInputError(
                f"the replay takes up to {self.ring_size} rows of {self.width} numbers at a time, "
                f"not the shape {np.shape(rows)}"
            )
        place = self.count % self.ring_size
        before_end = min(len(new), self.ring_size - place)
        self._rows[place : place + before_end] = new[:before_end]
        self._rows[: len(new) - before_end] = new[before_end:]
        self.count += len(new)

    def sample(
        self, generator: np.random.Generator, shape: tuple[int, ...], out: Array | None = None
    ) -> Array:
        """Transitions (*shape, width) drawn uniformly from the window, with replacement."""
        if not len(self):
            raise InvalidInputError("an empty replay cannot be sampled")
        places = generator.integers(len(self), size=shape)  # 0 is the oldest of the window
        oldest = (self.count - len(self)) % self.ring_size
        # With mode "wrap", NumPy does the modulo and writes to out without a buffer.
        return np.take(self._rows, places + oldest, axis=0, out=out, mode="wrap")

    def checksums(self) -> list[int]:
        """CRC-32 of the window, in blocks of ``BLOCK`` transitions ever appended.

        If a process is killed, the operating system keeps its rows; a power cut or a bad disk may
        lose some. Syncing to disk at every checkpoint would cost more than checking on resumption.
        """
        first = self.count - len(self)
        inside = range(first // BLOCK * BLOCK + BLOCK, self.count, BLOCK)
        spans = list(itertools.pairwise([first, *inside, self.count]))
        known = self._checksums
        # Complete blocks do not change, so each is read only once.
        self._checksums = {span: known.get(span) or self._checksum(*span) for span in spans}
        return list(self._checksums.values())

    def _checksum(self, first: int, stop: int) -> int:
        place, rows = first % self.ring_size, stop - first
        before_end = min(rows, self.ring_size - place)
        checksum = zlib.crc32(self._rows[place : place + before_end].data)
        return zlib.crc32(self._rows[: rows - before_end].data, checksum)

    def close(self) -> None:
        """Close the file; the replay cannot be used afterwards."""
        self._rows = np.empty((0, self.width), _DTYPE)  # nothing else holds the mapping


def _file_size(width: int, capacity: int, spare: int) -> int:
    check_count("the width of a replay", width, at_least=1)
    check_count("the capacity of a replay", capacity, at_least=1)
    check_count("the spare rows of a replay", spare, at_least=0)
    return (capacity + spare) * width * _DTYPE.itemsize


def _map(file: IO[bytes], width: int) -> Array:
    return np.asarray(np.memmap(file, _DTYPE)).reshape(-1, width)
