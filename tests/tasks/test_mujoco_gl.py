"""MuJoCo reads MUJOCO_GL when it is imported: a wrong value is one sentence, where it is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["train", "Hopper-v5", "--steps", "1", "--out", "run"], 2),
        (["watch", "run", "--out", "a.mp4"], 2),
        (["presets"], 0),
    ],
)
def test_a_wrong_value_is_one_sentence(arguments: list[str], code: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mixedne.cli.main", *arguments],
        env={**os.environ, "MUJOCO_GL": "bogus"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    sentence = "mixedne: MuJoCo cannot be loaded with MUJOCO_GL=bogus: invalid value"
    assert done.stderr.startswith(sentence) == bool(code)
    assert done.stderr.count("\n") <= 1
    assert not any(tmp_path.iterdir())
