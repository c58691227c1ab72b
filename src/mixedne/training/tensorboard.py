"""The metrics for TensorBoard, by tensorboardX: an optional extra."""

import importlib
from pathlib import Path
from typing import Any

from mixedne.errors import InvalidInputError
from mixedne.shifts import PARAMETERS


class TensorBoard:
    """Writes lines of metrics as scalars."""

    def __init__(self, folder: Path, step: int) -> None:
        """Write to ``folder``; what stands there after ``step`` no longer counts."""
        try:
            library = importlib.import_module("tensorboardX")
        except ImportError:
            raise InvalidInputError(
                "tensorboard needs the extra: pip install 'mixedne[tensorboard]'"
            ) from None
        self._writer = library.SummaryWriter(str(folder), purge_step=step + 1)

    def write(self, *lines: dict[str, Any]) -> None:
        """Add the numbers of these lines."""
        for line in lines:
            place = "".join(f"{axis}_{line[axis]:g}/" for axis in PARAMETERS if axis in line)
            for name, value in line.items():
                if name not in ("step", *PARAMETERS) and isinstance(value, float | int):
                    tag = f"{line['kind']}/{place}{name}"
                    self._writer.add_scalar(tag, value, line["step"])
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()
