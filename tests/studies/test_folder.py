"""The study folder: what counts as finished, and who holds what."""

import errno
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock
from zipfile import BadZipFile

import pytest

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.studies.folder import (
    FINISHED,
    RESULT_FILES,
    Locks,
    StudyFolder,
    evaluation_hash,
    mark_finished,
    pack,
    read_finished,
    unpack,
)
from mixedne.studies.plan import PlannedRun, expand
from mixedne.studies.spec import parse_study
from probes.studies import drop_digests

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
    for name in RESULT_FILES:
        (path / name).write_text("whatever")
    (path / "config.json").write_text(json.dumps(run.fields))
    mark_finished(path, run.identifier, map(evaluation_hash, run.evaluations))
    return path


def test_many_finished_runs_are_recognised(folder: StudyFolder) -> None:
    runs = plan(300)
    for run in runs[:-1]:
        finish(folder, run)  # files that cannot be read, with the right digests
    assert folder.unfinished(runs) == runs[-1:]


@pytest.mark.parametrize("name", RESULT_FILES)
def test_a_flipped_byte_is_noticed_and_so_is_a_folder(name: str, folder: StudyFolder) -> None:
    [run] = plan(1)
    path = finish(folder, run) / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for damage in (path.unlink, path.mkdir, path.exists):
        made = read_finished(path.parent)
        assert made is not None
        assert made.damaged == {name}
        assert made.trained == (name == "evaluation.parquet")
        assert folder.unfinished([run]) == [run]
        damage()


def test_what_older_versions_finished_stays_finished(folder: StudyFolder) -> None:
    runs = plan(2)
    for run in runs:
        drop_digests(finish(folder, run))
    assert folder.unfinished(runs) == []
    # A configuration is known by the run's identifier, in place of a digest.
    foreign = folder.run_folder(runs[0]) / "config.json"
    foreign.write_bytes((folder.run_folder(runs[1]) / "config.json").read_bytes())
    made = read_finished(foreign.parent)
    assert made is not None
    assert made.damaged == {"config.json"}
    assert not made.has_digests


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
    assert made is not None
    assert made.trained
    assert made.evaluations == {evaluation_hash(run.evaluations[0])}
    # A table that has lost its end has to be made again, but the run need not be trained.
    os.truncate(path / "evaluation.parquet", 3)
    made = read_finished(path)
    assert made is not None
    assert (made.trained, made.evaluations) == (True, frozenset())
    assert folder.unfinished([run]) == [run]
    mark_finished(path, run.identifier, map(evaluation_hash, run.evaluations))
    assert folder.unfinished([run]) == []
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
    (folder.studies / ".mine-0123456789abcdef.json").touch()  # of a writer that was killed
    assert folder.save_plan("mine", plan(3))
    assert [path.name for path in folder.studies.iterdir()] == ["mine.json"]
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


def test_folders_travel_whole(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "checkpoint").mkdir(parents=True)
    (source / "policy.json").write_text("policy")
    (source / "checkpoint" / "lock").touch()
    target = tmp_path / "study" / "runs" / "run"
    target.parents[1].mkdir()
    for _ in range(2):  # the second replaces the first
        unpack(pack(source), target)
        names = sorted(str(path.relative_to(target)) for path in target.rglob("*"))
        assert names == ["checkpoint", "checkpoint/lock", "policy.json"]
        (target / "begun").touch()
    with pytest.raises(BadZipFile):
        unpack(pack(source)[:100], target)
    assert (target / "begun").exists()
    assert [path.name for path in (tmp_path / "study").iterdir()] == ["runs"]
