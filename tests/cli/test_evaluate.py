"""``mixedne evaluate`` as a user meets it."""

import json
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from mixedne.cli.main import main
from mixedne.files import write_json
from mixedne.policies import save_policy
from probes.commands import COMMAND, mixedne
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder, as training will leave one."""
    folder = tmp_path / "pendulum"
    save_policy(folder, random_policy(PENDULUM))
    config = {"format_version": 1, "agent": "ddpg", "solver": "gad", "formulation": "nr-mdp"}
    config |= {"delta": 0.1, "preset": "paper", "seed": 7, "steps": 1000, "task": PENDULUM}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_json_keeps_its_contract(run: Path, tmp_path: Path) -> None:
    done = mixedne(
        "evaluate", "pendulum", "--mass", "0.5:2:3", "--noise", "0,0.5", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["mass"], row["noise"]) for row in rows] == [
        (mass, noise) for mass in (0.5, 1.25, 2.0) for noise in (0.0, 0.5)
    ]
    for row in rows:
        assert row["task"] == PENDULUM
        assert row["friction"] == 1
        assert row["episodes"] == 10
        assert row["min_return"] <= row["mean_return"]
        assert row["std_return"] >= 0
    table = pl.read_parquet(run / "evaluation.parquet")
    assert table.height == 60
    assert table["train_seed"].unique().to_list() == [7]
    assert table["solver"].unique().to_list() == ["gad"]
    first = table.filter((pl.col("mass") == 0.5) & (pl.col("noise") == 0))["return"]
    assert rows[0]["mean_return"] == pytest.approx(first.mean())
    assert {path.name for path in tmp_path.iterdir()} == {"pendulum"}  # no log files


def test_every_task_has_a_table_of_its_own(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_policy(tmp_path / "other", random_policy("InvertedDoublePendulum-v5"))
    assert main(["evaluate", str(run), str(tmp_path / "other"), "--episodes", "1"]) == 0
    printed = capsys.readouterr().out
    titles = [
        line.split(",")[0].strip() for line in printed.splitlines() if "over episodes" in line
    ]
    assert titles == ["InvertedPendulum-v5", "InvertedDoublePendulum-v5"]


def test_a_second_evaluation_joins_the_first(run: Path) -> None:
    for masses in ("0.5,1", "1,2"):
        assert main(["evaluate", str(run), "--mass", masses, "--episodes", "2"]) == 0
    table = pl.read_parquet(run / "evaluation.parquet")
    assert sorted(table["mass"].unique()) == [0.5, 1, 2]
    assert table.height == 6
    assert main(["evaluate", str(run), "--mass", "2", "--episodes", "2", "--overwrite"]) == 0
    assert pl.read_parquet(run / "evaluation.parquet")["mass"].to_list() == [2, 2]


def test_an_output_file_is_written_but_not_overwritten(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "table.parquet"
    arguments = ["evaluate", str(run), "--episodes", "2", "--out", str(out)]
    assert main(arguments) == 0
    assert pl.read_parquet(out).height == 2
    assert not (run / "evaluation.parquet").exists()
    assert main(arguments) == 2
    assert "exists: choose another file or pass --overwrite" in capsys.readouterr().err
    assert main([*arguments, "--overwrite"]) == 0


def test_an_axis_without_effect_is_said(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--friction", "0.5,1", "--episodes", "1"]) == 0
    said = capsys.readouterr()
    assert f"mixedne: friction changes nothing in {PENDULUM}" in said.err
    assert "friction" in said.out


def test_the_table_shows_a_shift_of_one_value(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise its returns would look like those of the nominal world."""
    for words, heads in ((["--mass", "2"], ["run", "mass", "episodes"]), ([], ["run", "episodes"])):
        assert main(["evaluate", str(run), *words, "--episodes", "1"]) == 0
        head = capsys.readouterr().out.splitlines()[2]
        assert head.split()[: len(heads)] == heads


def test_named_factors_may_be_given_several_times(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--body-mass", "pole=2", "--body-mass", "cart=3", "--episodes", "1", "--json"]
    assert main(["evaluate", str(run), *arguments]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert (row["mass[cart]"], row["mass[pole]"]) == (3.0, 2.0)


def test_any_parameter_can_be_shifted(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--shift", "mass[pole]=0.5:2:4", "--shift", "gravity=0.5,1", "--episodes", "1"]
    assert main(["evaluate", str(run), *arguments, "--noise", "0.1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["mass[pole]"], row["gravity"], row["noise"]) for row in rows] == [
        (mass, gravity, 0.1) for mass in (0.5, 1.0, 1.5, 2.0) for gravity in (0.5, 1.0)
    ]
    assert main(["evaluate", str(run), "--shift", "mass[#2]:abs=3,4", "--episodes", "1"]) == 0
    assert "mass[#2]:abs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mass", "2", "--shift", "mass=3"], "mass is twice among the shifts"),
        (["--body-mass", "pole=2", "--shift", "mass[pole]=3"], "mass[pole] is twice among"),
        (["--shift", "gravty=1"], "did you mean 'gravity'?"),
        (["--shift", "gravity"], "a shift must be NAME=NUMBERS, not 'gravity'"),
        (["--shift", "mass[pol]=2"], "did you mean 'pole'?"),
        (["--shift", "mass[#9]=2"], "body must be a name or #0 to #2, not #9"),
        (["--shift", "gravity=-1"], "gravity must be at least 0, not -1.0"),
        (["--shift", "action-delay=0.5"], "action-delay must be a whole number, not 0.5"),
        (["--set", "rrls-1d", "--points", "x"], "--points: must be a whole number, not 'x'"),
        (["--set", "rrls-1d", "--ends", "up"], "ends must be one of lower, both, not 'up'"),
        (["--shift", "rho=0.1"], "has no axis rho: it can be shifted in mass, friction"),
        (["--shift", "custom[leg]=1"], "needs a ModelShift or a KeywordShift, in Python"),
        (["--shift", "mass[pole]:abs=paper"], "the grid paper has no axis mass[pole]:abs"),
    ],
)
def test_bad_shifts_are_refused(
    run: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(run), *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("heeded_ctrl_c")
def test_ctrl_c_is_no_traceback(tmp_path: Path) -> None:
    save_policy(tmp_path / "cheetah", random_policy("HalfCheetah-v5"))
    commands = [
        ["evaluate", "cheetah", "--mass", "paper", "--episodes", "50"],
        ["saddle", "--seeds", "20000", "--solver", "mixedne-ld", "--out", "figures"],
    ]
    for command in commands:
        with subprocess.Popen(
            [*COMMAND, *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        ) as started:
            assert started.stderr is not None
            started.stderr.readline()  # the first line of progress: work has begun
            started.send_signal(signal.SIGINT)
            said = started.communicate(timeout=60)[1]
        assert started.returncode == 130
        assert "mixedne: interrupted" in said
        assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["cheetah"]


@pytest.mark.slow
def test_a_killed_evaluation_goes_on(tmp_path: Path) -> None:
    save_policy(tmp_path / "cheetah", random_policy("HalfCheetah-v5"))
    arguments = ["evaluate", "cheetah", "--mass", "0.5:2:8", "--episodes", "2"]
    arguments += ["--worlds-at-once", "4", "--out", "table.parquet"]
    started = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob(".table-*.partial/*1.parquet")):
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert not (tmp_path / "table.parquet").exists()
    done = mixedne(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    whole = mixedne(*arguments[:-1], "whole.parquet", cwd=tmp_path)
    assert whole.returncode == 0
    tables = [pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("table", "whole")]
    assert tables[0].equals(tables[1])
    assert {path.name for path in tmp_path.iterdir()} == {
        "cheetah",
        "table.parquet",
        "whole.parquet",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "evaluate needs at least one run folder"),
        (["nowhere"], "there is no policy at nowhere"),
        (["RUN", "--task", "Hoper-v5"], "there is no task 'Hoper-v5'; did you mean Hopper-v5"),
        (["RUN", "--task", "Hopper-v5"], "takes 4 observations and gives 1 actions"),
        (["RUN", "--task", "CartPole-v1"], "the actions of CartPole-v1 must be a flat Box"),
        (["RUN", "--seed", "9" * 400], "seed is too large"),
        (["RUN", "--mass", "1:2:1000000000000"], "the count of mass must be at most 10000"),
        (["RUN", "--rho", "0.1"], "InvertedPendulum-v5 has no axis rho"),
        (["RUN", "--mass", "0"], "mass must be above 0, not 0.0"),
        (["RUN", "--friction", "-1"], "friction must be above 0, not -1.0"),
        (["RUN", "--noise", "2"], "noise must be at most 1, not 2.0"),
        (["RUN", "--mass", "heavy"], "mass must be numbers as in 0.5,1,2"),
        (["RUN", "--mass-mode", "real"], "invalid choice 'real' for argument '--mass-mode'"),
        (["RUN", "--body-mass", "pole"], "a shift must be NAME=NUMBERS, not 'pole'"),
        (["RUN", "--body-mass", "pol=2"], "body must be one of world, cart, pole, not 'pol'"),
        (["RUN", "--episodes", "0"], "episodes must be at least 1, not 0"),
        (["RUN", "--threads", "0"], "threads must be at least 1, not 0"),
        (["RUN", "--out", "table.csv"], "the output file must end in .parquet, not table.csv"),
        (["policy.zip"], "pass --trust-pickle if you trust its maker"),
        (["policy.zip", "--trust-pickle"], "is damaged or no Stable-Baselines3 file"),
    ],
)
def test_bad_input_gets_one_sentence_and_writes_nothing(
    arguments: list[str],
    message: str,
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.zip").write_bytes(b"junk")
    before = sorted(tmp_path.rglob("*"))
    given = [str(run) if argument == "RUN" else argument for argument in arguments]
    assert main(["evaluate", *given]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert message in said.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_policy_of_an_older_version_is_noted_in_one_sentence(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = run / "policy.json"
    document = json.loads(described.read_text())
    described.write_text(json.dumps({k: v for k, v in document.items() if "sha256" not in k}))
    assert main(["evaluate", str(run), "--episodes", "1"]) == 0
    assert "mixedne: policy.json is of an older version" in capsys.readouterr().err


def test_a_run_whose_configuration_is_damaged_or_gone_is_refused(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its rows would not say, or say wrongly, how it was trained."""
    config = run / "config.json"
    document = json.loads(config.read_text())
    write_json(config, document)
    text = config.read_text()
    (run / "metrics.jsonl").touch()
    for damaged in (text.replace('"seed": 7', '"seed": 8'), '{"head": "tanh"}', None):
        config.unlink() if damaged is None else config.write_text(damaged)
        assert main(["evaluate", str(run), "--episodes", "1"]) == 2
        assert capsys.readouterr().err.startswith(f"mixedne: {config} ")
    write_json(config, document)
    assert main(["evaluate", str(run), "--episodes", "1"]) == 0


def test_what_an_environment_prints_stays_out_of_the_json(run: Path) -> None:
    task, tests = "probes.loud:Loud-v0", Path(__file__).parents[1]
    arguments = ("--task", task, "--episodes", "1", "--json")
    ended = mixedne("evaluate", str(run), *arguments, cwd=tests)
    assert ended.returncode == 0, ended.stderr
    assert len(json.loads(ended.stdout)) == 1
    assert "hello from the community" in ended.stderr
    assert "made with love" in ended.stderr
    assert "here we go" in ended.stderr


def test_a_name_that_no_file_can_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "x" * 300]) == 2
    assert "cannot be read: File name too long" in capsys.readouterr().err
