"""The metrics of a run: sums between two lines, writing ``metrics.jsonl``, and reading it.

``docs/algorithms.md`` says what each number means.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixedne.errors import InvalidInputError
from mixedne.training.tensorboard import TensorBoard

FORMAT_VERSION = 1
"""The format_version of every line of ``metrics.jsonl``."""

RENAMED = {"temperature": "noise_scale"}
"""Keys of earlier versions, and what they are called now."""


@dataclass
class MetricMeans:
    """Sums and counts since the last line; a checkpoint keeps them."""

    sums: dict[str, float] = field(default_factory=dict)

    def add(self, values: Mapping[str, float]) -> None:
        """Add to the sums."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value)

    def mean(self, name: str, count: str) -> float | None:
        """A sum divided by a count; None where nothing was counted."""
        number = self.sums.get(count, 0.0)
        return self.sums[name] / number if number else None


class MetricsWriter:
    """Appends to a run's ``metrics.jsonl`` and, if asked for, to its TensorBoard file."""

    def __init__(self, path: Path, tensorboard: Path | None = None) -> None:
        """Nothing is written before ``open``."""
        self._path, self._tensorboard_folder = path, tensorboard
        self._tensorboard: TensorBoard | None = None
        self.size = 0
        """Bytes that belong to the run; a killed process may have written more."""

    def has_lost_lines(self, size: int) -> bool:
        """Whether the file has fewer bytes than these."""
        return self._size_now() < size

    def open(self, step: int) -> None:
        """Remove what was written after the run's ``size``, and continue from ``step``."""
        if self._size_now() > self.size:
            with self._path.open("ab") as file:
                file.truncate(self.size)
        if self._tensorboard_folder is not None:
            self._tensorboard = TensorBoard(self._tensorboard_folder, step)

    def write(self, *lines: dict[str, Any]) -> None:
        """Append lines; numbers that JSON lacks become null."""
        text = "".join(
            json.dumps({"format_version": FORMAT_VERSION, **_finite(line)}) + "\n" for line in lines
        )
        with self._path.open("ab") as file:
            file.write(text.encode())
            self.size = file.tell()
        if self._tensorboard is not None:
            self._tensorboard.write(*lines)

    def close(self) -> None:
        """Close the TensorBoard file."""
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _size_now(self) -> int:
        return self._path.stat().st_size if self._path.is_file() else 0


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a run folder's metrics."""
    try:
        lines = (path / "metrics.jsonl").read_text().splitlines()
        return [
            {RENAMED.get(name, name): value for name, value in json.loads(line).items()}
            for line in lines
        ]
    except (ValueError, AttributeError):
        raise InvalidInputError(f"{path / 'metrics.jsonl'} is damaged") from None


def last_evaluation(path: Path) -> list[dict[str, Any]]:
    """The lines of a run's last evaluation, one for each shift."""
    lines = [line for line in read_metrics(path) if line["kind"] == "evaluation"]
    return [line for line in lines if line["step"] == lines[-1]["step"]]


def _finite(line: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in line.items()
    }
