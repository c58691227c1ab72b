"""``mixedne train`` as a user meets it: what it prints, and the folder that it leaves."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import mixedne
from mixedne.cli.main import main, parse
from mixedne.cli.train import Train
from mixedne.config import Config, configure
from mixedne.training.metrics import read_metrics
from probes.runs import LANGEVIN, Laboratory

TRAINING = {
    *("format_version", "kind", "step", "updates", "episodes", "inner_steps", "noise_scale"),
    *("seconds", "steps_per_second", "episodes_ended", "return_mean", "length_mean"),
    *("critic_loss", "value_mean", "target_mean", "payoff", "agent_gradient_norm"),
    *("adversary_gradient_norm", "player_distance", "entropy_weight"),
}
EVALUATION = {
    *("format_version", "kind", "step", "mass", "episodes"),
    *("return_mean", "return_std", "length_mean"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A run folder, and what was printed on stdout and stderr."""
    folder = tmp_path_factory.mktemp("runs")
    out = folder / "run"
    done = Laboratory(folder / "cache").train(*LANGEVIN, "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    return out, done.stdout, done.stderr


def test_json_is_one_document(made: tuple[Path, str, str]) -> None:
    out, printed, said = made
    document = json.loads(printed)
    assert document["run"] == str(out)
    assert document["steps"] == 400
    assert [row["mass"] for row in document["evaluation"]] == [1.0, 2.0]
    assert {row["step"] for row in document["evaluation"]} == {400}
    assert "step 200 of 400" in said


def test_the_configuration_is_complete(made: tuple[Path, str, str]) -> None:
    config = json.loads((made[0] / "config.json").read_text())
    fields = {field.name for field in dataclasses.fields(Config)}
    assert set(config) == fields | {"format_version", "command", "machine", "versions"}
    assert config["command"].startswith("mixedne train ")
    assert config["format_version"] == 1
    assert {"python", "mixedne", "jax", "numpy", "gymnasium", "mujoco"} <= set(config["versions"])
    wishes: dict[str, Any] = {
        **{"hidden": [8], "batch_size": 8, "collect_steps": 10, "updates": 4, "update_after": 20},
        **{"metrics_every": 40, "checkpoint_every": 50, "evaluate_episodes": 1, "delta": 0.1},
        **{"evaluate_masses": [1, 2], "steps": 400, "seed": 3, "evaluate_every": 200},
        **{"normalise_observations": True, "inner_growth": 0.02, "replay_size": 130},
    }
    expected = configure("InvertedPendulum", **wishes)
    said = {name: config[name] for name in fields}
    assert said == json.loads(json.dumps(dataclasses.asdict(expected)))


def test_every_line_of_metrics_keeps_its_contract(made: tuple[Path, str, str]) -> None:
    lines = read_metrics(made[0])
    for line in lines:
        assert line["format_version"] == 1
        assert set(line) == (TRAINING if line["kind"] == "training" else EVALUATION)
    training = [line for line in lines if line["kind"] == "training"]
    assert [line["step"] for line in training] == list(range(40, 401, 40))
    # Cycles of 10 steps; the first two collect 20 transitions, which are not yet more than 20.
    assert [line["updates"] for line in training] == [(s // 10 - 2) * 4 for s in range(40, 401, 40)]
    assert sum(line["episodes_ended"] for line in training) == training[-1]["episodes"]
    for line in training:
        assert line["entropy_weight"] is None
        assert line["player_distance"] > 0
        assert line["critic_loss"] >= 0
        exact = 1e-3 * (1 - 5e-5) ** line["updates"]
        assert line["noise_scale"] == pytest.approx(exact, rel=1e-12)
    evaluated = [(x["step"], x["mass"]) for x in lines if x["kind"] == "evaluation"]
    assert evaluated == [(200, 1.0), (200, 2.0), (400, 1.0), (400, 2.0)]


def test_the_folder_holds_what_is_promised_and_can_be_moved(
    made: tuple[Path, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = made[0]
    files = {path.name for path in out.iterdir() if path.name != "evaluation.parquet"}
    assert files == {
        *("config.json", "metrics.jsonl", "checkpoint"),
        *("policy.json", "policy.safetensors", "adversary.json", "adversary.safetensors"),
    }
    assert not (out / "checkpoint" / "replay.f32").exists()
    moved = Path(shutil.copytree(out, tmp_path / "elsewhere" / "moved"))
    observations = np.random.default_rng(0).standard_normal((5, 4))
    here, there = (mixedne.load_policy(path)(observations) for path in (out, moved))
    np.testing.assert_array_equal(here, there)
    assert main(["evaluate", str(moved), "--mass", "0.5,1", "--episodes", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    table = pl.read_parquet(moved / "evaluation.parquet")
    assert table.height == 4
    provenance = {"agent": "ddpg", "solver": "mixedne-ld", "formulation": "nr-mdp", "delta": 0.1}
    provenance |= {"preset": "paper", "train_seed": 3, "steps": 400, "run": "moved"}
    for name, value in provenance.items():
        assert table[name].unique().to_list() == [value]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """What the help says of every option: its text in one line."""
    with pytest.raises(SystemExit) as stop:
        main(["train", *arguments, "--help"])
    assert stop.value.code == 0
    options: dict[str, str] = {}
    name = ""
    for line in capsys.readouterr().out.splitlines():
        text = line.strip("│ ")
        if text.startswith("--"):
            name = text.split()[0].strip(",")
        options[name] = f"{options.get(name, '')} {text}"
    return options


def test_help_shows_the_presets_values(capsys: pytest.CaptureFixture[str]) -> None:
    choices = ["HalfCheetah-v5", "--agent", "td3", "--solver=gad", "--delta", "0.2"]
    options = shown(capsys, *choices, "--preset", "authors")
    config = configure("HalfCheetah-v5", agent="td3", solver="gad", delta=0.2, preset="authors")
    assert f"(default: {config.sigma})" in options["--sigma"]
    assert "(default: 256 256)" in options["--hidden"]
    assert "(default: 25000)" in options["--random-steps"]
    assert "(default: 0.2)" in options["--target-noise"]
    assert "(default: gad)" in options["--solver"]
    assert set(options) >= {
        f"--{field.name.replace('_', '-')}"
        for field in dataclasses.fields(Config)
        if field.name != "task"
    }


def test_help_needs_no_task(capsys: pytest.CaptureFixture[str]) -> None:
    options = shown(capsys)
    assert "(default: 64 64)" in options["--hidden"]
    assert "Examples:" in options[""]


def test_flags_can_be_turned_on_and_off(capsys: pytest.CaptureFixture[str]) -> None:
    options = shown(capsys, "Hopper-v5", "--preset", "authors")
    flags = "--normalise-observations, --no-normalise-observations"
    assert flags in options["--normalise-observations"]
    assert "(default: True)" in options["--normalise-observations"]
    for given, expected in (
        ([], (True, True)),
        (["--no-normalise-observations"], (False, True)),
        (["--normalise-observations", "--no-critic-layer-norm"], (True, False)),
    ):
        found = parse(["train", "Hopper-v5", "--preset", "authors", *given])
        assert isinstance(found, Train)
        assert (found.normalise_observations, found.critic_layer_norm) == expected
    found = parse(["train", "Hopper-v5", "--normalise-observations"])
    assert isinstance(found, Train)
    assert found.normalise_observations


def test_choices_are_found_wherever_they_stand() -> None:
    words = ["--delta=0.0", "--agent", "td3", "Hopper-v5", "--solver", "extra-adam"]
    found = parse(["train", *words, "--eta", "0.01"])
    assert isinstance(found, Train)
    expected = configure("Hopper-v5", agent="td3", solver="extra-adam", delta=0.0, eta=0.01)
    assert {f.name: getattr(found, f.name) for f in dataclasses.fields(Config)} == (
        dataclasses.asdict(expected)
    )
    sac = parse(["train", "Hopper-v5", "--agent", "sac", "--solver", "None"])
    assert isinstance(sac, Train)
    assert (sac.solver, sac.delta) == (None, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "train needs a task, e.g. mixedne train Hopper-v5"),
        (["Hoper-v5"], "there is no task 'Hoper-v5'; did you mean Hopper-v5"),
        (["Hopper-v5", "--solver", "None"], "ddpg needs a solver: mixedne-ld, gad or extra-adam"),
        (["Hopper-v5", "--agent", "td3", "--solver", "None"], "td3 needs a solver"),
        (["Hopper-v5", "--solver", "none"], "solver must be one of mixedne-ld, gad, extra-adam"),
        (["Hopper-v5", "--agent", "sac", "--solver", "gad"], "sac takes no solver"),
        (["Hopper-v5", "--agent", "sac", "--delta", "0.1"], "sac has no adversary"),
        (["Hopper-v5", "--agent", "vpg"], "vpg plays in tasks that are written in JAX"),
        (["Hopper-v5", "--formulation", "rarl"], "the formulation rarl is not there yet"),
        (["Hopper-v5", "--delta", "1"], "delta must be below 1, not 1.0"),
        (["Hopper-v5", "--solver", "gad", "--sigma0", "0.1"], "sigma0 has an effect only with"),
        (["Hopper-v5", "--gamma", "2"], "gamma must be at most 1, not 2.0"),
        (["Hopper-v5", "--steps", "many"], "--steps: invalid literal for int()"),
        (["Hopper-v5", "--hidden", "0"], "hidden must be sizes from 1 on"),
        (["Hopper-v5", "--gama", "0.9"], "did you mean --gamma?"),
        (["Hopper-v5", "--out", "taken"], "the output folder taken is a file"),
        (["Hopper-v5", "--out", "taken/run"], "taken/run cannot be made"),
        (["CartPole-v1"], "the actions of CartPole-v1 must be a flat Box"),
    ],
)
def test_bad_input_gets_one_sentence_and_writes_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    short = [] if not arguments or "--steps" in arguments else ["--steps", "1"]
    assert main(["train", *arguments, *short]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("mixedne: ")
    assert message in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        (KeyboardInterrupt("saved"), "stopped and saved; go on with: mixedne train a --resume\n"),
        (KeyboardInterrupt(), "stopped; go on with: mixedne train a --resume\n"),
    ],
)
def test_only_what_was_saved_is_said_to_be(
    stop: KeyboardInterrupt,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def train_config(*_: Any, **__: Any) -> None:
        raise stop

    monkeypatch.setattr("mixedne.training.run.train_config", train_config)
    monkeypatch.setattr("sys.argv", ["mixedne", "train", "a"])
    command = parse(["train", "InvertedPendulum"])
    with pytest.raises(KeyboardInterrupt):
        command.run()
    assert capsys.readouterr().err == message


def test_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings: dict[str, Any] = {"hidden": (4,), "batch_size": 4, "collect_steps": 10, "updates": 2}
    settings |= {"update_after": 10, "evaluate_every": 0}
    steps: list[int] = []
    run = mixedne.train(
        "InvertedPendulum",
        solver="gad",
        delta=0,
        steps=45,
        seed=6,
        watch=lambda status: steps.append(status.step),
        **settings,
    )
    assert run.path == Path("runs/InvertedPendulum-v5-ddpg-gad-delta0-seed6")
    assert run.config == configure(
        "InvertedPendulum-v5", solver="gad", delta=0.0, steps=45, seed=6, **settings
    )
    assert steps == [10, 20, 30, 40, 45]
    assert run.policy(np.zeros(4)).shape == (1,)
    assert not list(run.path.glob("adversary*"))
    [line] = read_metrics(run.path)  # the last cycle has one, whatever metrics_every is
    assert (line["step"], line["updates"], line["player_distance"]) == (45, 8, None)
    before = (run.path / "policy.safetensors").read_bytes()
    other = mixedne.train(
        "InvertedPendulum", solver="gad", delta=0, steps=45, seed=7, out="b", **settings
    )
    assert (other.path / "policy.safetensors").read_bytes() != before
    with pytest.raises(mixedne.InvalidInputError, match=r"another with out=, or .* resume=True"):
        mixedne.train(
            "InvertedPendulum", solver="gad", delta=0, steps=45, seed=7, out="b", **settings
        )
