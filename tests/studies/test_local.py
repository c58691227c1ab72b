"""What workers are started with, and one whose study has died."""

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mixedne.config import configure
from mixedne.config.identity import to_json
from mixedne.studies import local
from mixedne.studies.folder import Locks, StudyFolder
from mixedne.studies.local import ONE_THREAD, worker_environment
from mixedne.studies.plan import PlannedRun
from mixedne.studies.scheduler import Event, Job


def test_a_worker_has_one_thread_whatever_the_user_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in (*ONE_THREAD, "MINE"):
        monkeypatch.setenv(name, "8")
    made = worker_environment()
    assert {made[name] for name in ONE_THREAD} == {"1"}
    assert made["MINE"] == "8"
    assert (
        made["JAX_COMPILATION_CACHE_DIR"] == os.environ["JAX_COMPILATION_CACHE_DIR"]
    )  # the tests'
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    found = worker_environment()["JAX_COMPILATION_CACHE_DIR"]
    assert found == str(tmp_path / "mixedne" / "programs")


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

    monkeypatch.setattr(local, "try_job", try_job)
    run = PlannedRun(to_json(configure("InvertedPendulum")))
    locks = Locks(folder.locks)
    last = local.run_one({"runs": [run.to_json()]}, folder, locks, Broken())
    locks.close()
    assert last == {"kind": "finished"}
    assert saved == [folder.run_folder(run)]


def test_a_module_beside_the_user_replaces_no_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study may run in a stranger's folder."""
    (tmp_path / "safetensors.py").write_text("raise SystemExit('stranger')")
    monkeypatch.chdir(tmp_path)
    folder = StudyFolder(tmp_path / "out")
    folder.create()
    executor = local.LocalExecutor(folder, folder.log("mine"), 1)
    bad = PlannedRun({**to_json(configure("InvertedPendulum")), "task": "Nothing-v5"})
    executor.start(Job([bad]))
    events: list[Event] = []
    while not any(event.kind == "failed" for event in events):
        events += executor.poll(seconds=0.5)
    executor.stop()
    assert "there is no task 'Nothing-v5'" in events[-1].error
