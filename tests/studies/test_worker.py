"""A worker whose study has died."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mixedne.config import configure
from mixedne.config.identity import to_json
from mixedne.studies import worker
from mixedne.studies.folder import Locks, StudyFolder
from mixedne.studies.plan import PlannedRun


class Broken(io.StringIO):
    """A pipe that nobody reads."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_training_goes_on_if_nobody_reads_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must come to the point at which a request to stop saves it."""
    folder = StudyFolder(tmp_path / "out")
    folder.create()
    saved: list[Path] = []

    def try_job(
        runs: object, folders: Sequence[Path], on_progress: Callable[[str, int, int], None]
    ) -> str:
        on_progress("training", 1, 2)
        saved.extend(folders)
        return ""

    monkeypatch.setattr(worker, "try_job", try_job)
    run = PlannedRun(to_json(configure("InvertedPendulum")))
    locks = Locks(folder.locks)
    last = worker.run_one({"runs": [run.to_json()]}, folder, locks, Broken())
    locks.close()
    assert last == {"event": "finished"}
    assert saved == [folder.run_folder(run)]
