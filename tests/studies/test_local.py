"""What workers are started with, and one whose study has died."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mixedne.config import configure
from mixedne.config.identity import to_json
from mixedne.studies import local
from mixedne.studies.folder import Locks, StudyFolder
from mixedne.studies.local import ONE_THREAD, compilation_cache, worker_environment
from mixedne.studies.plan import PlannedRun


def test_a_worker_has_one_thread_whatever_the_user_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in (*ONE_THREAD, "MINE"):
        monkeypatch.setenv(name, "8")
    made = worker_environment()
    assert {made[name] for name in ONE_THREAD} == {"1"}
    assert made["MINE"] == "8"


def test_compiled_programs_are_kept_where_only_the_user_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache = tmp_path / "cache" / "mixedne" / "compiled"
    assert worker_environment()["JAX_COMPILATION_CACHE_DIR"] == str(cache)
    assert cache.stat().st_mode & 0o777 == 0o700
    cache.chmod(0o777)  # others could have put programs there
    assert compilation_cache() is None
    assert "JAX_COMPILATION_CACHE_DIR" not in worker_environment()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, by its specification
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert compilation_cache() == tmp_path / "home" / ".cache" / "mixedne" / "compiled"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert compilation_cache() is None
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    assert worker_environment()["JAX_COMPILATION_CACHE_DIR"] == "mine"


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
