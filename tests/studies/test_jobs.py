"""One job of a study, with training that only says what it was asked."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixedne.config import Config, configure
from mixedne.config.identity import to_json
from mixedne.evaluation.grids import Grid
from mixedne.studies.folder import StudyFolder, mark_finished
from mixedne.studies.jobs import repair, repair_finished, run_job
from mixedne.studies.plan import PlannedRun
from mixedne.studies.results import results
from mixedne.training import run as training
from mixedne.training.checkpoints import Checkpoint, save_checkpoint
from probes.studies import drop_digests, pretend_run


def test_runs_that_were_begun_otherwise_are_trained_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [PlannedRun(to_json(configure("toy", agent="vpg", seed=seed))) for seed in range(3)]
    folders = [tmp_path / run.name for run in runs]
    for folder in folders:
        folder.mkdir()
    begun = {**runs[1].fields, "checkpoint_every": 7}
    (folders[1] / "config.json").write_text(json.dumps(begun))
    asked: list[list[int]] = []

    def train_runs(configs: Sequence[Config], *_: Any, **__: Any) -> None:
        asked.append([config.seed for config in configs])

    monkeypatch.setattr(training, "train_runs", train_runs)
    run_job(runs, folders, lambda *_: None)
    assert asked == [[0, 2], [1]]


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_a_folder_without_a_whole_configuration_is_set_aside(
    content: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "metrics.jsonl").touch()
    if content is not None:
        (folder / "config.json").write_text(content)
    with pytest.warns(UserWarning, match="is damaged or gone: the run begins anew"):
        repair(folder)
    assert not folder.exists()
    assert (tmp_path / "run.damaged-1" / "metrics.jsonl").exists()


def test_what_a_start_leaves_that_was_killed_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoint").mkdir(parents=True)
    (tmp_path / "run" / "checkpoint" / "lock").touch()
    (tmp_path / "run" / ".config-abc.json").touch()
    repair(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_evaluations_of_other_studies_stay_known(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "out")
    folder.create()
    run = pretend_run(folder, 0, Grid(episodes=1))
    more = dataclasses.replace(run, evaluations=(Grid(episodes=1, noise=(0.5,)),))
    path = folder.run_folder(run)
    for each in (run, more):
        run_job([each], [path], lambda *_: None)
    assert folder.unfinished([run, more]) == []
    # What is damaged without a change of size is known no more.
    table = path / "evaluation.parquet"
    table.write_bytes(bytes(table.stat().st_size))
    last = dataclasses.replace(run, evaluations=(Grid(episodes=2),))
    with pytest.warns(UserWarning, match="its episodes are run again"):
        run_job([last], [path], lambda *_: None)
    assert folder.unfinished([run, more, last]) == [run, more]


@pytest.fixture
def finished(tmp_path: Path) -> tuple[StudyFolder, PlannedRun]:
    """A finished run in a study folder."""
    folder = StudyFolder(tmp_path / "out")
    folder.create()
    run = pretend_run(folder, 0, Grid(episodes=1))
    run_job([run], [folder.run_folder(run)], lambda *_: None)
    return folder, run


def foreign(path: Path) -> None:
    """Put another run's configuration in the place of a run's."""
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "seed": 7}, indent=2) + "\n")


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage", [foreign, as_folder, Path.unlink, lambda path: os.truncate(path, 50)]
)
@pytest.mark.parametrize("is_older", [False, True])
def test_a_finished_run_gets_its_configuration_back(
    damage: Callable[[Path], None], is_older: bool, finished: tuple[StudyFolder, PlannedRun]
) -> None:
    folder, run = finished
    config = folder.run_folder(run) / "config.json"
    content = config.read_bytes()
    if is_older:
        drop_digests(config.parent)
    damage(config)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert repair_finished(folder, [run]) == {}
    assert f"{config} was damaged or gone: it is restored" in [str(w.message) for w in told]
    assert is_older or config.read_bytes() == content
    assert folder.unfinished([run]) == []
    assert results(folder.path)["identifier"].to_list() == [run.identifier]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["policy.safetensors", "policy.json", "finished.json"])
def test_what_no_checkpoint_holds_is_refused_unless_retraining_is_asked_for(
    name: str, finished: tuple[StudyFolder, PlannedRun]
) -> None:
    folder, run = finished
    path = folder.run_folder(run)
    os.truncate(path / name, 10) if name == "finished.json" else flip(path / name)
    refused = repair_finished(folder, [run])
    assert refused == {
        run.name: f"{path} is damaged ({name}) and cannot be made again from its checkpoint: "
        "pass --retrain-damaged to train the run again"
    }
    assert (path / name).exists()
    with pytest.warns(UserWarning, match="is damaged: the run begins anew, and what there was"):
        assert repair_finished(folder, [run], retrain=True) == {}
    assert not path.exists()
    assert path.with_name(f"{path.name}.damaged-1").is_dir()


@pytest.mark.parametrize("damage", [flip, as_folder, Path.unlink])
def test_a_policy_is_left_to_a_job_if_the_last_checkpoint_is_whole(
    damage: Callable[[Path], None], finished: tuple[StudyFolder, PlannedRun]
) -> None:
    folder, run = finished
    path = folder.run_folder(run)
    last = Checkpoint(run.fields["steps"], {"any": np.zeros(3)})
    save_checkpoint(path / "checkpoint", last)
    damage(path / "policy.safetensors")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert repair_finished(folder, [run]) == {}
    assert not (path / "policy.safetensors").exists()
    flip(next((path / "checkpoint").glob("step-*")))
    with pytest.warns(UserWarning, match="is damaged; going back"):
        assert list(repair_finished(folder, [run])) == [run.name]


def test_metrics_cannot_be_made_again(finished: tuple[StudyFolder, PlannedRun]) -> None:
    folder, run = finished
    path = folder.run_folder(run)
    (path / "metrics.jsonl").write_text("{}\n")
    mark_finished(path, run.identifier)
    (path / "metrics.jsonl").write_text("[]\n")
    save_checkpoint(path / "checkpoint", Checkpoint(run.fields["steps"], {"any": np.zeros(3)}))
    assert "damaged (metrics.jsonl)" in repair_finished(folder, [run])[run.name]


def test_older_versions_bring_one_warning(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "out")
    folder.create()
    runs = [pretend_run(folder, seed) for seed in range(3)]
    assert repair_finished(folder, runs) == {}  # and no warning, which would be an error
    for run in runs:
        drop_digests(folder.run_folder(run))
    with pytest.warns(UserWarning, match="3 finished runs in .* kept no digests") as told:
        assert repair_finished(folder, runs) == {}
    assert len(told) == 1


def test_what_a_killed_process_left_goes_but_not_what_a_live_one_writes(
    finished: tuple[StudyFolder, PlannedRun],
) -> None:
    folder, run = finished
    path = folder.run_folder(run)
    stray = path / ".finished-0123456789abcdef.json"
    stray.touch()
    # A run that comes from elsewhere, and whose receiver was killed between two renames.
    received = folder.path / f".received-{run.name}"
    received.mkdir()
    shutil.copytree(path, received / "new")
    path.replace(received / "old")
    holds = (
        "import fcntl, sys\nfile = open(sys.argv[1], 'r+b')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX, 1, int(sys.argv[2], 16))\nprint(flush=True)\ninput()"
    )
    command = [sys.executable, "-c", holds, str(folder.locks), run.identifier]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert repair_finished(folder, [run]) == {}
        assert received.is_dir()
        other.communicate(b"\n")
    assert repair_finished(folder, [run]) == {}
    assert not received.exists()
    assert repair_finished(folder, [run]) == {}  # now that its files are in their place
    assert not stray.exists()
    assert folder.unfinished([run]) == []
