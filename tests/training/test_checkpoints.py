"""Checkpoints: the same bits back, and a way back from damage, full disks and kills."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from mixedne import InvalidInputError
from mixedne.training import checkpoints
from mixedne.training.checkpoints import (
    DTYPES,
    Checkpoint,
    load_checkpoints,
    newest_step,
    save_checkpoint,
)


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """The newest that is whole."""
    return next(load_checkpoints(folder), None)


def make(step: int, size: int = 50) -> Checkpoint:
    rng = np.random.default_rng(step)
    tensors = {"weight": rng.standard_normal((size, 3)), "key": rng.integers(9, size=2)}
    return Checkpoint(step, tensors, {"count": 3 * step, "best": None})


def assert_same(loaded: Checkpoint | None, saved: Checkpoint) -> None:
    assert loaded is not None
    assert (loaded.step, loaded.notes) == (saved.step, saved.notes)
    assert set(loaded.tensors) == set(saved.tensors)
    for name, tensor in saved.tensors.items():
        found = loaded.tensors[name]
        assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)
        assert found.tobytes() == tensor.tobytes()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def file_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:012d}.safetensors"


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (4, 5)])
def test_every_kind_of_tensor_comes_back(shape: tuple[int, ...], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tensors = {
        f"a/{dtype}": np.asarray(rng.integers(0, 100, size=shape)).astype(dtype) for dtype in DTYPES
    }
    notes = {"count": 2**60, "list": [1, 2.5, None, "é\n"], "deep": {"x": {"y": True}}}
    saved = Checkpoint(12_000, tensors, notes)
    save_checkpoint(tmp_path / "run" / "checkpoints", saved)
    assert names(tmp_path / "run" / "checkpoints") == ["step-000000012000.safetensors"]
    loaded = load_checkpoint(tmp_path / "run" / "checkpoints")
    assert_same(loaded, saved)
    assert loaded is not None
    for tensor in loaded.tensors.values():
        tensor[...] = 0  # whoever loads it may write to it


def test_numbers_come_back_to_the_last_bit(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(2**32, size=1000, dtype=np.uint32)
    saved = Checkpoint(1, {"x": bits.view(np.float32), "y": np.array([np.nan, -0.0, np.inf])}, {})
    save_checkpoint(tmp_path, saved)
    assert_same(load_checkpoint(tmp_path), saved)


def test_tensors_that_lie_otherwise_in_memory_come_back(tmp_path: Path) -> None:
    x = np.arange(12.0).reshape(3, 4)
    views = {"transposed": x.T, "strided": x[::2, ::-1], "big-endian": x.astype(">f8")}
    save_checkpoint(tmp_path, Checkpoint(1, views))
    loaded = load_checkpoint(tmp_path)
    assert loaded is not None
    for name, view in views.items():
        np.testing.assert_array_equal(loaded.tensors[name], view)


def test_a_checkpoint_without_tensors_or_notes_comes_back(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, Checkpoint(0, {}))
    assert_same(load_checkpoint(tmp_path), Checkpoint(0, {}))


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    assert load_checkpoint(tmp_path) is None
    assert load_checkpoint(tmp_path / "missing") is None
    assert newest_step(tmp_path / "missing") is None
    (tmp_path / "step-notes.safetensors").write_text("not ours")
    for step in (0, 5, 100, 2 * 10**12):
        save_checkpoint(tmp_path, make(step))
    assert names(tmp_path) == [
        "step-000000000100.safetensors",
        "step-2000000000000.safetensors",
        "step-notes.safetensors",
    ]
    assert newest_step(tmp_path) == 2 * 10**12
    newest, older = load_checkpoints(tmp_path)
    assert_same(newest, make(2 * 10**12))
    assert_same(older, make(100))


def test_a_run_that_has_gone_back_leaves_the_later_ones_behind(tmp_path: Path) -> None:
    for step in (100, 200):
        save_checkpoint(tmp_path, make(step))
    file_of(tmp_path, 200).write_bytes(b"")
    with pytest.warns(UserWarning, match="going back"):
        assert_same(load_checkpoint(tmp_path), make(100))
    save_checkpoint(tmp_path, make(150))
    assert [checkpoint.step for checkpoint in load_checkpoints(tmp_path)] == [150, 100]


def test_saving_a_step_again_replaces_it(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, make(100))
    save_checkpoint(tmp_path, make(200))
    changed = Checkpoint(200, make(7).tensors, {"again": True})
    save_checkpoint(tmp_path, changed)
    assert_same(load_checkpoint(tmp_path), changed)
    assert len(names(tmp_path)) == 2


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".step-000000000100-ab_c1234.safetensors").write_bytes(b"half")
    others = [".replay-abc.f32", ".step-notes", ".steps-000000000100-abc.safetensors", "notes"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    save_checkpoint(tmp_path, make(200))
    assert names(tmp_path) == sorted([*others, "step-000000000200.safetensors"])


def flip(place: int) -> Any:
    def damage(content: bytes) -> bytes:
        changed = bytearray(content)
        changed[place] ^= 1
        return bytes(changed)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        *(lambda content, n=n: content[:n] for n in (0, 1, 7, 8, 9, 100, 400)),
        *(lambda content, n=n: content[:n] for n in (-1, -8, -600)),
        *(flip(place) for place in (0, 5, 8, 20, -1, -9, -700)),
        lambda content: content + b"\0",
        lambda content: bytes(len(content)),
        lambda content: b"[" * 100_000,
        lambda content: (100_000).to_bytes(8, "little") + b"[" * 100_000,
        lambda content: (2).to_bytes(8, "little") + b"{}",
        lambda content: b"\x80\x04junk",
        lambda content: content.replace(b"300", b"301"),  # in the notes
        lambda content: content.replace(b'"weight"', b'"height"'),
        lambda content: content.replace(b"[50,3]", b"[3,50]"),
        lambda content: content.replace(b'"I64"', b'"U64"'),
    ],
)
def test_a_damaged_checkpoint_gives_way_to_the_one_before(damage: Any, tmp_path: Path) -> None:
    for step in (50, 100):
        save_checkpoint(tmp_path, make(step))
    content = file_of(tmp_path, 100).read_bytes()
    assert damage(content) != content
    file_of(tmp_path, 100).write_bytes(damage(content))
    with pytest.warns(UserWarning, match="is damaged") as caught:
        assert_same(load_checkpoint(tmp_path), make(50))
    assert [str(warning.message) for warning in caught] == [
        f"the checkpoint {file_of(tmp_path, 100)} is damaged; going back to the one before"
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"format_version": None},
        {"notes": None},
        {"notes": "{"},
        {"sha256": None},
        {"sha256": "0" * 64},
    ],
)
def test_foreign_metadata_is_taken_for_damage(change: dict[str, Any], tmp_path: Path) -> None:
    save_checkpoint(tmp_path, make(100))
    file = file_of(tmp_path, 100)
    with safe_open(file, framework="np") as opened:
        metadata = opened.metadata()
    tensors = load_file(file)
    if change.get("notes"):  # as if they had been unreadable from the start
        change = {**change, "sha256": checkpoints._digest(100, change["notes"], tensors)}
    save_file(tensors, file, metadata)
    assert_same(load_checkpoint(tmp_path), make(100))
    changed = {**metadata, **change}
    save_file(tensors, file, {name: text for name, text in changed.items() if text is not None})
    with pytest.warns(UserWarning, match="is damaged"):
        assert load_checkpoint(tmp_path) is None


def test_a_checkpoint_of_another_version_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """Going back or starting anew would throw the run's time away without a word."""
    save_checkpoint(tmp_path, make(100))
    file = file_of(tmp_path, 100)
    with safe_open(file, framework="np") as opened:
        metadata = opened.metadata()
    save_file(load_file(file), file, {**metadata, "format_version": "1"})
    with pytest.raises(InvalidInputError, match="format_version 1, not 3: its run cannot"):
        load_checkpoint(tmp_path)


def test_a_checkpoint_under_another_name_is_taken_for_damage(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, make(100))
    file_of(tmp_path, 100).rename(file_of(tmp_path, 101))
    with pytest.warns(UserWarning, match="is damaged"):
        assert load_checkpoint(tmp_path) is None


def test_without_a_whole_checkpoint_there_is_none(tmp_path: Path) -> None:
    for step in (50, 100):
        save_checkpoint(tmp_path, make(step))
        file_of(tmp_path, step).write_bytes(b"")
    with pytest.warns(UserWarning, match="is damaged") as caught:
        assert load_checkpoint(tmp_path) is None
    assert len(caught) == 2


@pytest.mark.parametrize(
    ("checkpoint", "message"),
    [
        (Checkpoint(-1, {}), "must be a whole number of at least 0, not -1"),
        (Checkpoint(1.5, {}), "must be a whole number"),  # type: ignore[arg-type]
        (Checkpoint(1, {"x": np.array(["a"])}), "the dtype of the tensor x cannot be"),
        (Checkpoint(1, {"x": np.array([None])}), "the dtype of the tensor x must be one of"),
        (Checkpoint(1, {}, {"x": np.float32(1)}), "the notes of a checkpoint must be JSON"),
    ],
)
def test_what_cannot_be_saved_is_refused(
    checkpoint: Checkpoint, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        save_checkpoint(tmp_path, checkpoint)
    assert names(tmp_path) == []


def test_a_checkpoint_is_on_the_disk_before_it_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    fsync, replace = os.fsync, Path.replace

    def watched_fsync(handle: int) -> None:
        done.append(("fsync", Path(os.readlink(f"/proc/self/fd/{handle}")).name))
        fsync(handle)

    def watched_replace(self: Path, target: Path) -> Path:
        done.append(("rename", self.name))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    save_checkpoint(tmp_path, make(100))
    temporary = done[0][1]
    assert temporary.startswith(".step-000000000100-")
    assert done == [("fsync", temporary), ("rename", temporary), ("fsync", tmp_path.name)]


def test_a_full_disk_keeps_the_old_ones_and_leaves_no_litter(tmp_path: Path) -> None:
    for step in (50, 100):
        save_checkpoint(tmp_path, make(step))
    code = (
        "import resource, numpy as np\n"
        "from mixedne.training.checkpoints import Checkpoint, save_checkpoint\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        f"    save_checkpoint({str(tmp_path)!r}, Checkpoint(150, {{'x': np.ones(10**5)}}, {{}}))\n"
        "except OSError as error:\n"
        "    print(error.strerror)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "File too large"
    assert names(tmp_path) == [file_of(tmp_path, step).name for step in (50, 100)]
    newest, older = load_checkpoints(tmp_path)
    assert_same(newest, make(100))
    assert_same(older, make(50))


SAVE_FOR_EVER = """
import os, sys, numpy as np
from mixedne.training.checkpoints import Checkpoint, load_checkpoints, save_checkpoint
folder = sys.argv[1]
last = next(load_checkpoints(folder), None)
step = 0 if last is None else last.step
while True:
    step += 1
    save_checkpoint(folder, Checkpoint(step, {"x": np.full(500_000, step)}, {"count": 3 * step}))
    os.write(1, f"{step}\\n".encode())
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_the_newest_checkpoint_whole(tmp_path: Path) -> None:
    moments = random.Random(0)
    for number in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        lines = [process.stdout.readline()]  # the first is saved
        time.sleep(moments.uniform(0, 0.1))
        before = names(tmp_path)
        while number % 2 and process.poll() is None and names(tmp_path) == before:
            pass  # every other kill falls on a moment when files come or go
        process.send_signal(signal.SIGKILL)
        lines += process.communicate()[0].splitlines()
        step = max(int(line) for line in lines if line.strip())
        loaded = load_checkpoint(tmp_path)  # a damaged one would warn, and warnings are errors
        assert loaded is not None
        assert loaded.step in (step, step + 1)  # saved, or saved but not yet told
        assert (loaded.tensors["x"] == loaded.step).all()
        assert loaded.notes == {"count": 3 * loaded.step}
    save_checkpoint(tmp_path, make(10**6))
    assert len(names(tmp_path)) == 2
