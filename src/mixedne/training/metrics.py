"""The metrics of a run in training: sums between lines, and writing ``metrics.jsonl``.

They are optionally written to TensorBoard, too, by tensorboardX, an optional extra.
``docs/algorithms.md`` explains each number, and :mod:`mixedne.metrics` the format of a line.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixedne.errors import InvalidInputError, optional_import
from mixedne.metrics import format_line, parse_metrics
from mixedne.shifts import PARAMETERS


@dataclass
class MetricMeans:
    """Sums and counts since the last line; they are part of a checkpoint."""

    sums: dict[str, float] = field(default_factory=dict)

    def add(self, values: Mapping[str, float]) -> None:
        """Add to the sums."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value)

    def mean(self, name: str, count: str) -> float | None:
        """A sum divided by a count; None if the count is zero."""
        number = self.sums.get(count, 0.0)
        return self.sums[name] / number if number else None


class MetricsWriter:
    """Appends to a run's ``metrics.jsonl`` and, optionally, to its TensorBoard file."""

    def __init__(self, path: Path, tensorboard: Path | None = None) -> None:
        """Set the paths; nothing is written before ``open``."""
        self._path, self._tensorboard_folder = path, tensorboard
        self._tensorboard: Any = None
        self._checksum = 0
        self.size = 0
        """Bytes of the file that belong to the run; a killed process may have written more."""
        self.written: list[dict[str, Any]] = []
        """The lines that this process has written; a reader that takes them clears the list."""

    def check(self, size: int) -> None:
        """Raise if the first ``size`` bytes of the file are not those that were written."""
        content = self._path.read_bytes()[:size] if self._path.is_file() else b""
        if len(content) < size or (content and not content.endswith(b"\n")):
            raise InvalidInputError(f"{self._path} has lost lines")
        metrics = parse_metrics(content)
        if metrics.damage is not None:
            raise InvalidInputError(f"{self._path} is damaged: {metrics.damage}")
        self._checksum = metrics.checksum

    def open(self, step: int) -> None:
        """Truncate the file to the run's ``size``, and continue from ``step``."""
        self.check(self.size)
        if self._path.is_file():
            with self._path.open("ab") as file:
                file.truncate(self.size)
        if self._tensorboard_folder is not None:
            words = "tensorboard needs the extra: pip install 'mixedne[tensorboard]'"
            library = optional_import("tensorboardX", words)
            # What stands there after the step no longer counts.
            folder = str(self._tensorboard_folder)
            self._tensorboard = library.SummaryWriter(folder, purge_step=step + 1)

    def write(self, *lines: dict[str, Any]) -> None:
        """Append lines."""
        self.written += lines
        with self._path.open("ab") as file:
            for line in lines:
                text, self._checksum = format_line(line, self._checksum)
                file.write(text.encode())
            self.size = file.tell()
        if self._tensorboard is not None:
            self._add_scalars(lines)

    def _add_scalars(self, lines: Iterable[dict[str, Any]]) -> None:
        for line in lines:
            place = "".join(f"{axis}_{line[axis]:g}/" for axis in PARAMETERS if axis in line)
            for name, value in line.items():
                if name not in ("step", *PARAMETERS) and isinstance(value, float | int):
                    tag = f"{line['kind']}/{place}{name}"
                    self._tensorboard.add_scalar(tag, value, line["step"])
        self._tensorboard.flush()

    def close(self) -> None:
        """Close the TensorBoard file."""
        if self._tensorboard is not None:
            self._tensorboard.close()
