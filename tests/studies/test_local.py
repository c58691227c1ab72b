"""What workers are started with."""

from pathlib import Path

import pytest

from mixedne.studies.local import ONE_THREAD, environment
from mixedne.studies.store import StudyFolder


def test_a_worker_has_one_thread_whatever_the_user_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*ONE_THREAD, "MINE"):
        monkeypatch.setenv(name, "8")
    made = environment(StudyFolder(tmp_path))
    assert {made[name] for name in ONE_THREAD} == {"1"}
    assert made["MINE"] == "8"
