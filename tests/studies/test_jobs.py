"""One job of a study, with training that only says what it was asked."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mixedne.config import Config, configure
from mixedne.config.identity import to_json
from mixedne.evaluation.grids import Grid
from mixedne.studies.folder import StudyFolder
from mixedne.studies.jobs import repair, run_job
from mixedne.studies.plan import PlannedRun
from mixedne.training import run as training
from probes.studies import pretend_run


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
