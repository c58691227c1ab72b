"""The examples run and are as short as promised."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_your_own_game(capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES / "own_game.py"
    assert len(path.read_text().splitlines()) <= 25
    found = runpy.run_path(str(path))
    for players, close in ((found["sampled"], 0.05), (found["found"], 0.001)):
        assert abs(float(players.agent)) < close
        assert abs(float(players.adversary)) < close
    assert "MixedNE-LD on" in capsys.readouterr().out
