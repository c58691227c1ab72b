"""TensorBoard: the metrics arrive as scalars."""

import struct
from pathlib import Path

import pytest

from mixedne.training.metrics import MetricsWriter

pytest.importorskip("tensorboardX", reason="needs the extra: make extras")


def scalars(folder: Path) -> dict[tuple[str, int], float]:
    """Tag, step and value of all events in a folder."""
    from tensorboardX.proto import event_pb2

    found = {}
    for path in sorted(folder.iterdir()):
        content, place = path.read_bytes(), 0
        while place < len(content):
            (length,) = struct.unpack_from("<Q", content, place)
            event = event_pb2.Event.FromString(content[place + 12 : place + 12 + length])
            found.update({(v.tag, event.step): v.simple_value for v in event.summary.value})
            place += 16 + length
    return found


def test_lines_become_scalars(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path / "metrics.jsonl", tmp_path / "tensorboard")
    writer.open(0)
    writer.write({"kind": "training", "step": 100, "critic_loss": 0.25, "return_mean": None})
    writer.write({"kind": "evaluation", "step": 200, "mass": 0.5, "return_mean": 7.0})
    writer.write({"kind": "warning", "step": 200, "message": "no number"})
    writer.close()
    assert scalars(tmp_path / "tensorboard") == {
        ("training/critic_loss", 100): 0.25,
        ("evaluation/mass_0.5/return_mean", 200): 7.0,
    }
