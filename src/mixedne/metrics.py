"""The lines of ``metrics.jsonl``: each a JSON object that ends in a checksum.

``crc32`` is the checksum of the rest of the line, chained to that of the previous line. This
detects lines that are modified, missing, repeated or swapped, except for lines missing at the end.
In runs of studies, the digest in ``finished.json`` detects those, too.
"""

import hashlib
import json
import math
import warnings
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mixedne.errors import InvalidInputError
from mixedne.files import finished_digest, read_bytes

FILE = "metrics.jsonl"

FORMAT_VERSION = 2
"""The format_version of every line; lines of version 1 have no checksum."""

RENAMED = {"temperature": "noise_scale"}
"""Keys of earlier versions, with their current names."""

_CHECKSUM = ', "crc32": '


class Metrics(NamedTuple):
    """The lines of a file, up to its end or its first damaged line."""

    lines: list[dict[str, Any]]
    damage: str | None = None
    """What is wrong with the first damaged line, if there is one."""
    checksum: int = 0
    """Checksum of the last line."""


def format_line(values: Mapping[str, Any], before: int) -> tuple[str, int]:
    """A line and its checksum, where ``before`` is the checksum of the previous line.

    NaN and ±∞ become null.
    """
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
    text = json.dumps({"format_version": FORMAT_VERSION, **finite})
    checksum = zlib.crc32(text.encode(), before)
    return f"{text[:-1]}{_CHECKSUM}{checksum}}}\n", checksum


def parse_metrics(content: bytes) -> Metrics:
    """Parse a file's content; a last line without a line break is still being written."""
    lines: list[dict[str, Any]] = []
    checksum = 0
    *whole, _ = content.split(b"\n")
    is_checked = not content.startswith(b'{"format_version": 1,')
    if not is_checked:
        warnings.warn(
            f"{FILE} is of an older version and carries no checksums: damage to it would not be "
            "noticed",
            stacklevel=2,
        )
    for number, line in enumerate(whole, 1):
        body, found, written = line.rpartition(_CHECKSUM.encode())
        checksum = zlib.crc32(body + b"}", checksum)
        if written != b"%d}" % checksum if is_checked else found:
            return Metrics(lines, f"line {number} does not match its checksum", checksum)
        try:
            values = json.loads(line)
            lines.append({RENAMED.get(key, key): value for key, value in values.items()})
        except (ValueError, AttributeError, RecursionError):
            return Metrics(lines, f"line {number} is no JSON object", checksum)
        lines[-1].pop("crc32", None)
    return Metrics(lines, None, checksum)


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read the metrics of a run folder; raises if they are damaged."""
    path = folder / FILE
    content = read_bytes(path)
    metrics = parse_metrics(content)
    if metrics.damage is not None:
        raise InvalidInputError(f"{path} is damaged: {metrics.damage}")
    if finished_digest(folder, FILE) not in (None, hashlib.sha256(content).hexdigest()):
        raise InvalidInputError(f"{path} is damaged: it is not what the run was finished with")
    return metrics.lines


def last_evaluation(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's last evaluation, one for each shift."""
    lines = [line for line in read_metrics(folder) if line.get("kind") == "evaluation"]
    return [line for line in lines if line["step"] == lines[-1]["step"]]


def best_evaluation(lines: Iterable[Mapping[str, Any]]) -> float | None:
    """The highest mean return over all shifts of an evaluation; None without evaluations."""
    found: dict[int, list[float]] = {}
    for line in lines:
        if line.get("kind") == "evaluation":
            mean = math.nan if line["return_mean"] is None else line["return_mean"]
            found.setdefault(line["step"], []).append(mean)
    means = (sum(returns) / len(returns) for returns in found.values())
    return max(filter(math.isfinite, means), default=None)
