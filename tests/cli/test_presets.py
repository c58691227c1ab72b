"""``mixedne presets`` as a user meets it."""

import json

import pytest

from mixedne.cli.main import main
from mixedne.config import presets
from probes.commands import mixedne


def test_json_is_one_document_and_nothing_else() -> None:
    done = mixedne("presets", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout) == presets.rows()


def test_the_plain_form_shows_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80  # whole on any terminal
    for row in presets.rows():
        assert row["task"] is None or row["task"] in said.out
        assert row["solver"] is None or row["solver"] in said.out
        for name in row.keys() - {"table", "solver", "grid"}:
            assert name in said.out
    cells = [line.split() for line in lines]
    assert ["critic_learning_rate", "0.001", "3e-4", "–"] in cells
    assert ["0", "HalfCheetah", "1e-5,", "0.01,", "1", "0.01", "0.001"] in cells
    assert ["0.1", "Walker2d", "0.01,", "0.01,", "–", "0", "0.3"] in cells
    assert ["0", "toy", "1e-4,", "1e-4,", "10", "1e-4", "0.001"] in cells
