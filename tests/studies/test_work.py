"""One job of a study, with training that only says what it was asked."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mixedne.studies.plan import planned
from mixedne.studies.work import do_job
from mixedne.training import run as training
from mixedne.training.config import Config, configure
from mixedne.training.folder import as_json


def test_runs_that_were_begun_otherwise_are_trained_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [planned(as_json(configure("toy", agent="vpg", seed=seed))) for seed in range(3)]
    folders = [tmp_path / run.name for run in runs]
    for folder in folders:
        folder.mkdir()
    begun = {**runs[1].fields, "checkpoint_every": 7}
    (folders[1] / "config.json").write_text(json.dumps(begun))
    asked: list[list[int]] = []

    def train_group(configs: Sequence[Config], *_: Any, **__: Any) -> None:
        asked.append([config.seed for config in configs])

    monkeypatch.setattr(training, "train_group", train_group)
    do_job(runs, folders, lambda *_: None)
    assert asked == [[0, 2], [1]]
