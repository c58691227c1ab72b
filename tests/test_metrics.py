"""Lines of metrics: what was altered, lost, repeated or exchanged is found."""

import hashlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mixedne.errors import InvalidInputError
from mixedne.metrics import FILE, format_line, parse_metrics, read_metrics

LINES: list[dict[str, Any]] = [
    {"kind": "training", "step": step, "return_mean": 1.5 * step, "value": None}
    for step in (10, 20, 30)
]


@pytest.fixture
def content() -> bytes:
    """A file with these lines."""
    checksum, text = 0, ""
    for line in LINES:
        written, checksum = format_line(line, checksum)
        text += written
    return text.encode()


def test_lines_come_back(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_metrics(tmp_path)
    assert [{"format_version": 2, **line} for line in LINES] == found


def test_a_line_that_is_being_written_is_left_out(content: bytes) -> None:
    assert parse_metrics(content[:-1]) == parse_metrics(content[: content.rindex(b"{")])


def test_every_altered_byte_is_found(content: bytes) -> None:
    whole = parse_metrics(content).lines
    for place in range(len(content) - 1):  # without its last newline, a line has no end
        for bit in range(8):
            altered = bytearray(content)
            altered[place] ^= 1 << bit
            metrics = parse_metrics(bytes(altered))
            assert metrics.damage is not None
            assert metrics.lines == whole[: len(metrics.lines)]


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[0], lines[0], *lines[1:]],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: lines[1:],
        lambda lines: [b'{"format_version": 1, "kind": "training"}', *lines],
        lambda lines: [*lines, b'{"format_version": 1, "kind": "training"}'],
    ],
)
@pytest.mark.filterwarnings("ignore:.*carries no checksums")
def test_lost_repeated_and_exchanged_lines_are_found(
    change: Callable[[list[bytes]], list[bytes]], content: bytes, tmp_path: Path
) -> None:
    changed = change(content.splitlines())
    (tmp_path / FILE).write_bytes(b"".join(line + b"\n" for line in changed))
    with pytest.raises(InvalidInputError, match="does not match its checksum"):
        read_metrics(tmp_path)


def test_lines_lost_at_the_end_of_a_finished_run_are_found(content: bytes, tmp_path: Path) -> None:
    mark = {"digests": {FILE: hashlib.sha256(content).hexdigest()}}
    (tmp_path / "finished.json").write_text(json.dumps(mark))
    (tmp_path / FILE).write_bytes(content)
    assert len(read_metrics(tmp_path)) == len(LINES)
    (tmp_path / FILE).write_bytes(content[: content.rindex(b"{")])
    with pytest.raises(InvalidInputError, match="it is not what the run was finished with"):
        read_metrics(tmp_path)
    (tmp_path / "finished.json").write_text("damaged")
    assert len(read_metrics(tmp_path)) == len(LINES) - 1
