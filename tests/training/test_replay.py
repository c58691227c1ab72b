"""The replay: its window against a plain list, its file, and a disk that is full."""

import itertools
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixedne import InvalidInputError
from mixedne.training.replay import Layout, Replay
from probes.transitions import window

HUMANOID = Layout(
    {
        "observation": 348,
        "next_observation": 348,
        "agent_action": 17,
        "adversary_action": 17,
        "action": 17,
        "reward": 1,
        "discount": 1,
    }
)


def numbered(start: int, stop: int, width: int = 3) -> np.ndarray:
    """Rows that tell their number: row i is (i, i + 1/4, i + 1/2, …)."""
    return (np.arange(start, stop)[:, None] + np.arange(width) / 4).astype(np.float32)


def test_columns_by_hand() -> None:
    layout = Layout({"observation": 2, "action": 3, "reward": 1})
    assert layout.width == 6
    assert layout.columns == {
        "observation": slice(0, 2),
        "action": slice(2, 5),
        "reward": slice(5, 6),
    }


@pytest.mark.parametrize("size", [0, -1, 1.0])
def test_fields_of_other_sizes_are_refused(size: Any) -> None:
    with pytest.raises(InvalidInputError, match="the size of reward must be a whole number of at"):
        Layout({"x": 2, "reward": size})


def test_a_million_humanoid_transitions_fit_in_four_gibibytes() -> None:
    # 2·348 + 3·17 + 2 = 749 numbers of 4 bytes: 2 996 bytes a row, 2.996 GB for 10⁶ rows.
    # 4 GiB are 4.295 GB, so 433 000 spare rows still fit.
    assert HUMANOID.width == 2 * 348 + 3 * 17 + 2 == 749
    assert 10**6 * HUMANOID.width * 4 == 2_996_000_000
    assert (10**6 + 433_000) * HUMANOID.width * 4 < 4 * 2**30


def test_the_file_holds_the_rows_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run" / "replay.f32"
    replay = Replay.create(path, width=HUMANOID.width, capacity=8, spare=2)
    assert path.stat().st_size == (8 + 2) * 749 * 4
    assert path.stat().st_blocks * 512 >= path.stat().st_size  # allocated, not sparse
    rows = numbered(0, 10, 749)
    replay.append(rows)
    assert path.read_bytes() == rows.astype("<f4").tobytes()
    replay.close()
    assert [file.name for file in path.parent.iterdir()] == ["replay.f32"]


@pytest.mark.parametrize("in_memory", [True, False])
def test_the_window_by_hand(in_memory: bool, tmp_path: Path) -> None:
    replay = Replay.create(None if in_memory else tmp_path / "replay.f32", 3, capacity=4, spare=2)
    assert len(replay) == 0
    replay.append(numbered(0, 1)[0])
    replay.append(numbered(1, 3))
    assert (len(replay), replay.count) == (3, 3)
    np.testing.assert_array_equal(window(replay), numbered(0, 3))
    replay.append(numbered(3, 5))  # the window is full, the ring of 6 is not
    np.testing.assert_array_equal(window(replay), numbered(1, 5))
    replay.append(numbered(5, 9))  # rows 6, 7, 8 go round to the places of 0, 1, 2
    assert (len(replay), replay.count) == (4, 9)
    np.testing.assert_array_equal(window(replay), numbered(5, 9))
    replay.append(numbered(9, 15))  # as many as the ring has
    np.testing.assert_array_equal(window(replay), numbered(11, 15))
    replay.append(np.zeros((0, 3)))
    assert replay.count == 15
    replay.close()


@pytest.mark.parametrize("shape", [(7, 3), (2, 4), (4,), (), (1, 1, 3)])
def test_rows_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    replay = Replay.create(None, 3, capacity=4, spare=2)
    with pytest.raises(InvalidInputError, match="takes up to 6 rows of 3 numbers"):
        replay.append(np.zeros(shape))
    assert replay.count == 0


@settings(max_examples=150)
@given(st.data())
def test_a_checkpoint_finds_its_window_again(data: st.DataObject) -> None:
    capacity, spare = data.draw(st.integers(1, 12)), data.draw(st.integers(0, 8))
    sizes = st.lists(st.integers(0, capacity + spare), max_size=6)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "replay.f32"
        replay = Replay.create(path, 3, capacity, spare)
        history: list[list[float]] = []
        for _ in range(data.draw(st.integers(1, 4))):
            for size in data.draw(sizes):
                rows = numbered(replay.count, replay.count + size)
                history += rows.tolist()
                replay.append(rows)
            kept, left = replay.count, spare
            for size in data.draw(sizes):
                replay.append(-1 - numbered(0, min(size, left)))
                left -= min(size, left)
            replay.close()
            replay = Replay.open(path, 3, capacity, spare, kept)
            assert len(replay) == min(kept, capacity)
            assert window(replay).tolist() == history[-capacity:]
        replay.close()


def test_one_transition_too_many_spoils_the_window(tmp_path: Path) -> None:
    path = tmp_path / "replay.f32"
    replay = Replay.create(path, 3, capacity=4, spare=2)
    replay.append(numbered(0, 6))
    for number in (6, 7, 8):
        replay.append(numbered(number, number + 1))
        spoilt = not np.array_equal(window(Replay.open(path, 3, 4, 2, 6)), numbered(2, 6))
        assert spoilt == (number == 8)


def test_reopening_gives_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "replay.f32"
    replay = Replay.create(path, 4, capacity=5, spare=3)
    bits = np.random.default_rng(0).integers(2**32, size=(13, 4), dtype=np.uint32)
    bits[-2, 0] = 0x7FC12345  # a NaN with a payload
    for part in np.split(bits, [6]):
        replay.append(part.view(np.float32))
    before = window(replay)
    replay.close()
    after = window(Replay.open(path, 4, 5, 3, 13))
    np.testing.assert_array_equal(after.view(np.uint32), before.view(np.uint32))
    np.testing.assert_array_equal(after.view(np.uint32), bits[-5:])


@pytest.mark.parametrize(
    "change", [{"width": 4}, {"capacity": 5}, {"spare": 1}, {"width": 2, "capacity": 6}]
)
def test_a_file_of_another_size_is_refused(change: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "replay.f32"
    Replay.create(path, 3, 4, 2).close()
    settings = {"width": 3, "capacity": 4, "spare": 2, **change}
    with pytest.raises(InvalidInputError, match=r"must have \d+ bytes for .*, not 72$"):
        Replay.open(path, **settings, count=0)
    assert path.stat().st_size == 72


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be opened: No such file"):
        Replay.open(tmp_path / "replay.f32", 3, 4, 2, 0)
    for width, capacity, spare in ((0, 4, 2), (3, 0, 2), (3, 4, -1), (3, 4.0, 2)):
        with pytest.raises(InvalidInputError, match="must be a whole number of at least"):
            Replay.create(tmp_path / "replay.f32", width, capacity, spare)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_new_replay_takes_the_place_of_an_old_one(tmp_path: Path) -> None:
    path = tmp_path / "replay.f32"
    old = Replay.create(path, 3, 4, 2)
    old.append(numbered(0, 4))
    new = Replay.create(path, 3, 2, 0)
    np.testing.assert_array_equal(window(old), numbered(0, 4))  # whoever still has it keeps it
    assert path.read_bytes() == bytes(2 * 3 * 4)
    new.close()


def test_a_closed_replay_cannot_be_used(tmp_path: Path) -> None:
    replay = Replay.create(tmp_path / "replay.f32", 3, 4, 2)
    replay.append(numbered(0, 4))
    replay.close()
    replay.close()
    with pytest.raises(IndexError):
        replay.sample(np.random.default_rng(0), (1,))
    with pytest.raises(ValueError, match="broadcast"):
        replay.append(numbered(4, 6))


def test_a_full_disk_is_an_error_at_once_and_leaves_no_file(tmp_path: Path) -> None:
    code = (
        "import resource\n"
        "from pathlib import Path\n"
        "from mixedne.training.replay import Replay\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        f"    Replay.create(Path({str(tmp_path / 'replay.f32')!r}), 749, 1000, 10)\n"
        "except OSError as error:\n"
        "    print(error.strerror)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "File too large"
    assert not list(tmp_path.iterdir())


def test_sampling_covers_the_window_and_nothing_else() -> None:
    replay = Replay.create(None, 3, capacity=20, spare=7)
    replay.append(numbered(0, 5))
    assert set(replay.sample(np.random.default_rng(0), (300,))[:, 0]) == set(range(5))
    replay.append(numbered(5, 27))
    replay.append(numbered(27, 47))
    drawn = replay.sample(np.random.default_rng(0), (50, 400))
    assert drawn.shape == (50, 400, 3)
    numbers, counts = np.unique(drawn[..., 0], return_counts=True)
    np.testing.assert_array_equal(numbers, np.arange(27, 47))
    # 20 000 draws, each row 1 000 ± 31: six deviations on either side.
    assert np.abs(counts - 1000).max() < 6 * 31


def test_sampling_is_determined_by_the_generator() -> None:
    replay = Replay.create(None, 3, capacity=1000, spare=7)
    with pytest.raises(InvalidInputError, match="an empty replay cannot be sampled"):
        replay.sample(np.random.default_rng(0), (4,))
    replay.append(numbered(0, 1000))
    first, again, other = (
        replay.sample(np.random.default_rng(seed), (8, 16)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    out = np.empty((8, 16, 3), np.float32)
    assert replay.sample(np.random.default_rng(1), (8, 16), out) is out
    np.testing.assert_array_equal(out, first)


def test_checksums_cover_the_window_also_round_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def expected(*edges: int) -> list[int]:
        spans = itertools.pairwise(edges)
        return [zlib.crc32(numbered(*span).astype("<f4").tobytes()) for span in spans]

    monkeypatch.setattr("mixedne.training.replay.BLOCK", 3)
    replay = Replay.create(None, 3, capacity=7, spare=2)
    assert replay.checksums() == expected(0, 0)
    replay.append(numbered(0, 5))
    assert replay.checksums() == expected(0, 3, 5)
    replay.append(numbered(5, 9))
    assert replay.checksums() == expected(2, 3, 6, 9)
    replay.append(numbered(9, 14))  # stands at the places of 0 to 4
    assert replay.checksums() == expected(7, 9, 12, 14)


@pytest.mark.parametrize("place", range(0, 12 * 7, 5))
def test_checksums_find_every_altered_row_of_the_window(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mixedne.training.replay.BLOCK", 3)
    shape = {"width": 3, "capacity": 7, "spare": 0}
    replay = Replay.create(tmp_path / "replay.f32", **shape)
    replay.append(numbered(0, 6))
    replay.append(numbered(6, 12))
    written = replay.checksums()
    replay.close()
    content = bytearray((tmp_path / "replay.f32").read_bytes())
    content[place] ^= 1
    (tmp_path / "replay.f32").write_bytes(content)
    assert Replay.open(tmp_path / "replay.f32", **shape, count=12).checksums() != written
