"""A worker whose study has gone."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mixedne.config import configure
from mixedne.config.identity import to_json
from mixedne.studies import work
from mixedne.studies.plan import planned, run_to_json
from mixedne.studies.store import Locks, StudyFolder
from mixedne.studies.worker import _answer


class Broken(io.StringIO):
    """A pipe that nobody reads."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_training_outlives_whoever_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must come to the point where a request to stop has it saved."""
    folder = StudyFolder(tmp_path / "out")
    folder.open()
    saved: list[Path] = []

    def do_job(
        runs: object, folders: Sequence[Path], tell: Callable[[str, int, int], None]
    ) -> None:
        tell("training", 1, 2)
        saved.extend(folders)

    monkeypatch.setattr(work, "do_job", do_job)
    run = planned(to_json(configure("InvertedPendulum")))
    locks = Locks(folder.locks)
    answer = _answer({"runs": [run_to_json(run)]}, folder, locks, Broken())
    locks.close()
    assert answer == {"event": "finished"}
    assert saved == [folder.run_folder(run)]
