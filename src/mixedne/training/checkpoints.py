"""Checkpoints of a run: a folder of safetensors files, of which the last two are kept.

``step-000000012000.safetensors`` holds the run's tensors after 12 000 steps, and in the file's
metadata a format version, the notes (JSON) and a SHA-256 over tensors, notes and step. The file
is written under a temporary name and renamed once it is on disk, so that a crash leaves the old
checkpoints or the new one, and the digest detects later damage. A damaged checkpoint is skipped
with a warning, which is why two are kept. Loading runs no code.

One process at a time may save to a folder.
"""

import hashlib
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mixedne.errors import InvalidInputError, check_choice, check_count
from mixedne.files import unfinished_files, write_beside

FORMAT_VERSION = "3"
"""The format_version of the files; a run cannot continue from those of another version."""

DTYPES = (
    *("bool", "float16", "float32", "float64"),
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
)
"""The dtypes that a checkpoint can hold."""

_NAME = re.compile(r"step-(\d{12,})\.safetensors")


@dataclass(frozen=True)
class Checkpoint:
    """The state from which a run continues as if it had never stopped."""

    step: int
    tensors: dict[str, NDArray[Any]]
    notes: dict[str, Any] = field(default_factory=dict)
    """Counters and the like, as JSON: tuples come back as lists."""


def save_checkpoint(folder: str | Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, then remove all others except the last one before it.

    Checkpoints of later steps are removed, too: the run was set back to before them. If the
    checkpoint cannot be written, the earlier ones are kept.
    """
    folder = Path(folder)
    content = _to_bytes(checkpoint)
    for path in unfinished_files(folder, r"step-\d{12,}"):
        path.unlink(missing_ok=True)
    path = folder / f"step-{checkpoint.step:012d}.safetensors"
    with write_beside(path, durable=True) as temporary:
        temporary.write_bytes(content)
    remove_others(folder, checkpoint.step)


def remove_others(folder: str | Path, step: int) -> None:
    """Remove all checkpoints except that of this step and the last one before it."""
    files = _checkpoint_files(Path(folder))
    earlier = [other for other in files if other < step]
    for other, file in files.items():
        if other not in (step, *earlier[:1]):
            file.unlink(missing_ok=True)


def newest_step(folder: str | Path) -> int | None:
    """The step of the newest checkpoint, by its file name; its content is not checked."""
    return next(iter(_checkpoint_files(Path(folder))), None)


def load_checkpoints(folder: str | Path) -> Iterator[Checkpoint]:
    """All undamaged checkpoints, the newest first; warns of damaged ones."""
    for step, path in _checkpoint_files(Path(folder)).items():
        try:
            version, checkpoint = _from_bytes(step, path.read_bytes())
        except (
            *(SafetensorError, OSError, RecursionError),
            *(ValueError, KeyError, TypeError, AttributeError),
        ):
            warnings.warn(
                f"the checkpoint {path} is damaged; going back to the one before", stacklevel=2
            )
            continue
        if version != FORMAT_VERSION:
            raise InvalidInputError(
                f"the checkpoint {path} has the format_version {version}, not {FORMAT_VERSION}: "
                "its run cannot continue with this version of mixedne; start it again in another "
                "folder"
            )
        yield checkpoint


def _to_bytes(checkpoint: Checkpoint) -> bytes:
    check_count("the step of a checkpoint", checkpoint.step, at_least=0)
    try:
        notes = json.dumps(checkpoint.notes)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"the notes of a checkpoint must be JSON: {error}") from None
    tensors = {}
    for name, tensor in checkpoint.tensors.items():
        check_choice(f"the dtype of the tensor {name}", tensor.dtype.name, DTYPES)
        # The format stores raw memory: little-endian, C order.
        tensors[name] = np.asarray(tensor, tensor.dtype.newbyteorder("<"), order="C")
    metadata = {
        "format_version": FORMAT_VERSION,
        "notes": notes,
        "sha256": _digest(checkpoint.step, notes, tensors),
    }
    return save(tensors, metadata)


def _from_bytes(step: int, content: bytes) -> tuple[str, Checkpoint]:
    """The format_version and the checkpoint in a file's content; raises if anything is wrong."""
    header_size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + header_size])["__metadata__"]
    tensors, notes = load(content), metadata["notes"]
    if metadata["sha256"] != _digest(step, notes, tensors):
        raise ValueError("the digest is that of other content")
    return metadata["format_version"], Checkpoint(step, tensors, json.loads(notes))


def _digest(step: int, notes: str, tensors: dict[str, NDArray[Any]]) -> str:
    """SHA-256 of everything in a checkpoint."""
    names = sorted(tensors)
    shapes = [[name, tensors[name].dtype.name, tensors[name].shape] for name in names]
    digest = hashlib.sha256(json.dumps([step, notes, shapes]).encode())
    for name in names:
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()


def _checkpoint_files(folder: Path) -> dict[int, Path]:
    """All checkpoint files by step, the newest first."""
    found = [(_NAME.fullmatch(path.name), path) for path in folder.glob("step-*.safetensors")]
    files = {int(match[1]): path for match, path in found if match}
    return dict(sorted(files.items(), reverse=True))
