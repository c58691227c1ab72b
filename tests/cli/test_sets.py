"""``mixedne sets`` and ``evaluate --set`` as a user meets them."""

import json
from pathlib import Path
from typing import Any

import pytest

from mixedne.cli.main import main
from mixedne.policies import save_policy
from mixedne.shifts.sets import named_sets
from probes.commands import mixedne
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"


def make_run(folder: Path, seed: int, task: str = PENDULUM, **more: Any) -> str:
    save_policy(folder, random_policy(task, seed))
    config = {"format_version": 1, "agent": "ddpg", "solver": "gad", "formulation": "nr-mdp"}
    config |= {"delta": 0.1, "preset": "paper", "seed": seed, "steps": 1000, "task": task}
    (folder / "config.json").write_text(json.dumps(config | more))
    return str(folder)


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sets"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in named_sets())
    assert main(["sets", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in listed] == [*named_sets()]
    assert listed[0]["tasks"][:2] == ["Ant", "HalfCheetah"]


def test_one_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sets", "rrls-3d", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["points"], document["ends"]) == (10, "lower")
    hopper = next(task for task in document["tasks"] if task["task"] == "Hopper")
    assert [row["parameter"] for row in hopper["parameters"]] == [
        "sliding-friction[floor]:abs",
        "mass[torso]:abs",
        "mass[thigh]:abs",
    ]
    assert [row["nominal"] for row in hopper["parameters"]] == pytest.approx(
        [1, 3.665, 4.058], 1e-3
    )
    assert len(hopper["faults"]) == 2
    assert main(["sets", "rrls-1d"]) == 0
    said = capsys.readouterr().out
    assert "the upper end left out" in said
    assert "7 of 10 values of sliding-friction[floor]:abs" in said
    assert main(["sets", "rrls-4d"]) == 2
    assert "did you mean 'rrls-3d'?" in capsys.readouterr().err


def test_showing_a_file_runs_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('run')")
    file = tmp_path / "mine.toml"
    file.write_text('[tasks."trap:Task-v0"]\nnoise = [0.1, 0.2]\nnotes = ["mine"]')
    done = mixedne("sets", "mine.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (task,) = json.loads(done.stdout)["tasks"]
    assert (task["task"], task["faults"]) == ("trap:Task-v0", ["mine"])
    file.write_text("[tasks.Hopper]\nnoise = [0.2, 0.1]")
    assert main(["sets", str(file)]) == 2
    assert "line 2, [tasks.Hopper]: noise must have its low end below" in capsys.readouterr().err
    file.write_text("[tasks.Hoper]\nnoise = [0.1, 0.2]")
    assert main(["sets", str(file)]) == 2
    assert "mine, [tasks.Hoper]: there is no task 'Hoper'; did you" in capsys.readouterr().err


def test_an_evaluation_prints_its_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_run(tmp_path / f"run{seed}", seed) for seed in (0, 1)]
    options = ["--set", "m2td3-2d", "--points", "3", "--episodes", "2"]
    assert main(["evaluate", *runs, *options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2 * 9
    for run in ("run0", "run1"):
        own = [row for row in rows if row["run"] == run]
        assert {row["set"] for row in own} == {"m2td3-2d"}
        assert {row["set_worst_return"] for row in own} == {min(r["mean_return"] for r in own)}
        average = sum(row["mean_return"] for row in own) / 9
        assert own[0]["set_mean_return"] == pytest.approx(average)
        assert own[0]["seeds"] == 2
        assert own[0]["seeds_worst_return_low"] <= own[0]["seeds_worst_return"]
    assert main(["evaluate", *runs, *options]) == 0
    said = capsys.readouterr().out
    for words in ("worst", "average", "run0", "mean over seeds, 95 % interval"):
        assert words in said
    assert main(["evaluate", runs[0], "--points", "3"]) == 2
    assert "name a set" in capsys.readouterr().err


def test_one_run_has_scores_without_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", 0)
    options = ["--set", "rrls-1d", "--points", "2", "--episodes", "1"]
    assert main(["evaluate", run, *options]) == 0
    said = capsys.readouterr()
    assert "mean over seeds" not in said.out
    assert "mass[pole]:abs" in said.out
    assert said.err.count("RRLS confuses the masses of cart and pole") == 1
    assert main(["evaluate", run, *options, "--json"]) == 0
    assert "seeds" not in json.loads(capsys.readouterr().out)[0]


def test_runs_with_different_settings_are_not_seeds_of_one_method(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Domain randomisation is in no column of the table, only in the run folder."""
    options = ["--set", "m2td3-1d", "--points", "2", "--episodes", "1"]
    plain = [make_run(tmp_path / f"plain{n}", n, delta=0.0, randomise=None) for n in (0, 1)]
    drawn = [make_run(tmp_path / f"dr{n}", n, delta=0.0, randomise=["rrls-1d"]) for n in (0, 1)]
    assert main(["evaluate", *drawn, *plain, *options]) == 0
    said = capsys.readouterr().out
    scores, seeds = said.split("mean over seeds, 95 % interval")
    assert [word for word in scores.split() if word[:2] in ("dr", "pl")] == [
        *("dr0", "dr1", "plain0", "plain1")  # in the order given
    ]
    methods = [line.split("  ")[1] for line in seeds.splitlines() if "DDPG" in line]
    assert {*methods} == {
        "DDPG, GAD, δ = 0",
        "DDPG, GAD, domain randomisation (rrls-1d), δ = 0",
    }
    assert main(["evaluate", plain[0], drawn[1], *options]) == 0
    assert "mean over seeds" not in capsys.readouterr().out
    assert main(["evaluate", *drawn, plain[0], *options, "--json"]) == 0
    rows = {row["run"]: row for row in json.loads(capsys.readouterr().out)}
    assert [rows[run]["seeds"] for run in ("dr0", "dr1", "plain0")] == [2, 2, 1]


def test_several_runs_and_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table for each task, and what must be known once for each."""
    runs = [make_run(tmp_path / f"run{n}", n) for n in (0, 1)]
    runs.append(make_run(tmp_path / "hopper", 0, "Hopper-v5"))
    options = ["--set", "rrls-1d", "--points", "2", "--episodes", "1"]
    assert main(["evaluate", *runs, *options]) == 0
    said = capsys.readouterr()
    assert said.err.count("RRLS confuses the masses of cart and pole") == 1
    pendulum, hopper = said.out.split("rrls-1d, Hopper-v5: mean return over episodes")
    assert "rrls-1d, InvertedPendulum-v5: mean return over episodes" in pendulum
    assert "hopper" in hopper
    assert "run0" not in hopper
