"""The study folder: what counts as finished, and who holds what."""

import errno
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.studies.folder import (
    FINISHED,
    Locks,
    StudyFolder,
    evaluation_hash,
    mark_finished,
    read_finished,
)
from mixedne.studies.plan import PlannedRun, expand
from mixedne.studies.spec import parse_study

MASSES = Grid(mass=(0.5, 1.0), episodes=2)


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    made = StudyFolder(tmp_path / "studies")
    made.create()
    return made


def plan(seeds: int) -> list[PlannedRun]:
    text = f"[[runs]]\ntasks = ['InvertedPendulum']\nseeds = {seeds}\n[[evaluations]]\nmass = [0.5]"
    return expand(parse_study(text.encode(), "mine", "mine.toml"))


def finish(folder: StudyFolder, run: PlannedRun) -> Path:
    path = folder.run_folder(run)
    path.mkdir()
    for name in ("policy.json", "policy.safetensors", "evaluation.parquet"):
        (path / name).write_text("whatever")
    mark_finished(path, run.identifier, run.evaluations)
    return path


def test_many_finished_runs_are_recognised_without_reading_them(folder: StudyFolder) -> None:
    runs = plan(1000)
    for run in runs[:-1]:
        finish(folder, run)  # there is no configuration, and no policy that could be read
    assert folder.unfinished(runs) == runs[-1:]


def test_planning_needs_no_jax() -> None:
    code = (
        "import sys, mixedne.studies.scheduler, mixedne.studies.local, mixedne.studies.results;"
        "print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_finished_means_all_of_it_and_whole(folder: StudyFolder) -> None:
    [run] = plan(1)
    path = finish(folder, run)
    made = read_finished(path)
    assert made.trained
    assert made.evaluations == {evaluation_hash(run.evaluations[0])}
    # Another study asks for more; the old evaluation stays known beside the new.
    mark_finished(path, run.identifier, [MASSES])
    assert read_finished(path).evaluations == made.evaluations | {evaluation_hash(MASSES)}
    # A table that has lost its end has to be made again, but the run need not be trained.
    os.truncate(path / "evaluation.parquet", 3)
    assert read_finished(path) == (True, frozenset())
    assert folder.unfinished([run]) == [run]
    mark_finished(path, run.identifier, run.evaluations)
    assert folder.unfinished([run]) == []
    os.truncate(path / "policy.safetensors", 3)
    assert read_finished(path) == (False, frozenset())
    (path / "policy.safetensors").unlink()
    assert folder.unfinished([run]) == [run]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format_version": 2}', "null"])
def test_a_damaged_mark_is_none(content: str, folder: StudyFolder) -> None:
    [run] = plan(1)
    (finish(folder, run) / FINISHED).write_text(content)
    assert folder.unfinished([run]) == [run]


def test_evaluations_are_told_apart() -> None:
    grids = [Grid(), MASSES, Grid(mass=(0.5, 1.0), episodes=3), Grid(stochastic=True)]
    assert len(set(map(evaluation_hash, grids))) == len(grids)


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="holds other things than studies"):
        StudyFolder(tmp_path).create()
    with pytest.raises(InvalidInputError, match="is a file"):
        StudyFolder(tmp_path / "mine.txt").create()
    with pytest.raises(InvalidInputError, match="cannot be made"):
        StudyFolder(tmp_path / "mine.txt" / "below").create()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_plan_is_saved_and_other_runs_are_noticed(folder: StudyFolder) -> None:
    path = folder.studies / "mine.json"
    assert not folder.save_plan("mine", plan(2))
    before = path.stat().st_mtime_ns
    assert not folder.save_plan("mine", plan(2))
    assert path.stat().st_mtime_ns == before
    assert not folder.save_plan("mine", plan(2), "mixedne study mine --workers 3")
    assert json.loads(path.read_text())["command"] == "mixedne study mine --workers 3"
    assert folder.save_plan("mine", plan(3))
    document = json.loads(path.read_text())
    assert document["format_version"] == 1
    assert [run["run"] for run in document["runs"]] == [run.name for run in plan(3)]


def test_one_process_holds_a_run(folder: StudyFolder) -> None:
    runs = plan(3)
    locks = Locks(folder.locks)
    assert locks.acquire(runs[:2])
    tried = (
        "import sys\nfrom pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from studies.test_folder import Locks, plan\n"
        "locks, runs = Locks(Path(sys.argv[1])), plan(3)\n"
        "print(locks.acquire(runs[1:]), locks.acquire(runs[2:]))"
    )
    command = [sys.executable, "-c", tried, str(folder.locks), str(Path(__file__).parents[1])]

    def other() -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert other() == "False True"  # what it could not have whole, it has let go
    locks.release(runs[1:2])
    assert other() == "True True"
    locks.close()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{"])
def test_a_plan_that_cannot_be_read_is_another_one(content: bytes, folder: StudyFolder) -> None:
    path = folder.studies / "mine.json"
    path.write_bytes(content)
    assert folder.save_plan("mine", plan(2))
    assert len(json.loads(path.read_text())["runs"]) == 2


def test_only_a_lock_that_is_held_means_another_process(
    folder: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = Locks(folder.locks)
    for number, is_held in ((errno.EACCES, True), (errno.EAGAIN, True), (errno.ENOLCK, False)):
        monkeypatch.setattr(fcntl, "lockf", Mock(side_effect=OSError(number, "no")))
        if is_held:
            assert not locks.acquire(plan(1))
        else:
            with pytest.raises(InvalidInputError, match="lock cannot be locked: no"):
                locks.acquire(plan(1))
    locks.close()
