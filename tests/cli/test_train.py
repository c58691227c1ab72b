"""``mixedne train`` as a user meets it: what it prints, and the folder that it leaves."""

import dataclasses
import io
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import mixedne
from mixedne import InvalidInputError
from mixedne.cli.main import main
from mixedne.cli.parse import parse
from mixedne.cli.train import Train
from mixedne.config import SETTINGS, Config, configure
from mixedne.metrics import read_metrics
from mixedne.progress import Bar
from mixedne.training.run import Status, watching
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
    done = Laboratory().train(*LANGEVIN, "--out", str(out), "--json")
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
    assert set(config) == fields | {"format_version", "command", "machine", "versions", "sha256"}
    assert config["command"].startswith("mixedne train ")
    assert config["format_version"] == 1
    assert {"python", "mixedne", "jax", "numpy", "gymnasium", "mujoco"} <= set(config["versions"])
    overrides: dict[str, Any] = {
        **{"hidden": [8], "batch_size": 8, "collect_steps": 10, "updates": 4, "update_after": 20},
        **{"metrics_every": 40, "checkpoint_every": 50, "evaluate_episodes": 1, "delta": 0.1},
        **{"evaluate_masses": [1, 2], "steps": 400, "seed": 3, "evaluate_every": 200},
        **{"normalise_observations": True, "inner_growth": 0.02, "replay_size": 130},
        "keep_policies": 2,
    }
    expected = configure("InvertedPendulum", **overrides)
    said = {name: config[name] for name in fields}
    assert said == json.loads(json.dumps(dataclasses.asdict(expected)))


def test_every_line_of_metrics_keeps_its_contract(made: tuple[Path, str, str]) -> None:
    lines = read_metrics(made[0])
    for line in lines:
        assert line["format_version"] == 2
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
        *("config.json", "metrics.jsonl", "checkpoint", "best", "policies"),
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


@pytest.mark.parametrize("words", [[], ["--delta=0"], ["--solver", "gad"], ["--formulation=rarl"]])
def test_help_shows_the_values_of_robust(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """They depend on whether there are chains."""
    options = shown(capsys, "Hopper-v5", "--preset", "robust", *words)
    config = parse(["train", "Hopper-v5", "--preset", "robust", *words]).config
    for name in ("agent", "solver", "steps", "updates", "inner_max", "tau", "beta", "output"):
        assert f"(default: {getattr(config, name)})" in options[f"--{name.replace('_', '-')}"]
    assert "(default: 0.2)" in options["--target-noise"]
    assert "0.2 with the others" in options["--target-noise"]


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
        assert (found.config.normalise_observations, found.config.critic_layer_norm) == expected
    found = parse(["train", "Hopper-v5", "--normalise-observations"])
    assert isinstance(found, Train)
    assert found.config.normalise_observations


def test_choices_are_found_wherever_they_stand() -> None:
    words = ["--delta=0.0", "--agent", "td3", "Hopper-v5", "--solver", "extra-adam"]
    found = parse(["train", *words, "--eta", "0.01"])
    assert isinstance(found, Train)
    expected = configure("Hopper-v5", agent="td3", solver="extra-adam", delta=0.0, eta=0.01)
    assert found.config == expected
    sac = parse(["train", "Hopper-v5", "--agent", "sac", "--solver", "None"])
    assert isinstance(sac, Train)
    assert (sac.config.solver, sac.config.delta) == (None, 0.0)


def test_an_option_that_was_typed_is_kept_also_at_its_default() -> None:
    words = ["train", "Hopper-v5", "--agent", "td3", "--sigma", "0.1"]
    assert parse(words).config.target_noise == 0.1
    assert parse([*words, "--target-noise", "0.01"]).config.target_noise == 0.01
    assert parse([*words, "--target_noise=0.01"]).config.target_noise == 0.01


@pytest.mark.parametrize("folder", ["output", "gamma", "steps", "no-output"])
def test_a_folder_may_be_named_like_an_option(folder: str) -> None:
    """And does not set that option to its default, against the preset's value."""
    found = parse(["train", "Swimmer-v5", "--preset", "robust", "--out", folder])
    assert found.out == Path(folder)
    assert found.config == configure("Swimmer-v5", preset="robust")


def test_whole_numbers_can_be_typed_as_floats() -> None:
    config = parse(["train", "Hopper-v5", "--steps", "1e5", "--hidden", "1e1", "8.0"]).config
    assert (config.steps, config.hidden) == (100_000, (10, 8))


def test_help_is_grouped_by_who_uses_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    titles: dict[str, str] = {}
    title = ""
    for line in capsys.readouterr().out.splitlines():
        text = line.strip("╭─╮│ ")
        if text.startswith("--"):
            titles[text.split()[0].strip(",")[2:].replace("-", "_")] = title
        elif text.endswith("options"):
            title = text.removesuffix(" options")
    for name, known in SETTINGS.items():
        if name not in ("task", "agent", "solver", "formulation", "delta", "preset"):
            assert titles[name] == ("options" if name in ("steps", "seed") else known.group)
    assert titles["sigma"] == "agent ddpg or td3"
    assert titles["batch_size"] == "agent ddpg, td3 or sac"
    assert titles["beta"] == "solver mixedne-ld"
    assert titles["metrics_every"] == "logging and evaluation"


LOCAL_TASK = """
import gymnasium as gym
from gymnasium.envs.classic_control import PendulumEnv
gym.register("Local-v0", PendulumEnv, max_episode_steps=20)
"""


def test_a_task_that_was_typed_may_lie_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_local_tasks.py").write_text(LOCAL_TASK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    with pytest.raises(InvalidInputError, match="my_local_tasks"):
        configure("my_local_tasks:Local-v0")  # not typed: it may come from a file
    typed = parse(["train", "my_local_tasks:Local-v0", "--steps", "10"])
    assert typed.config.task == "my_local_tasks:Local-v0"


def status(step: int, steps: int = 500_000, rate: float = 100.0) -> Status:
    return Status(step, steps, rate, -1234.5, 12, 1234.5)


def test_a_bar_fits_into_80_columns_and_starts_where_the_run_resumes() -> None:
    screen = Console(file=io.StringIO(), width=80, force_terminal=True, legacy_windows=False)
    bar = Bar("some.module:InvertedDoublePendulum-v5 ddpg", screen)
    assert bar.tasks[0].total is None  # not at 0: the run may go on from anywhere
    resumed = status(400_000)
    bar.show(resumed.step, resumed.steps, resumed.seconds_left, str(resumed))
    task = bar.tasks[0]
    assert [task.completed, task.total] == [400_000, 500_000]
    with screen.capture() as printed:
        screen.print(*bar.get_renderables())
    first, second = re.sub(r"\x1b\[[0-9;]*m", "", printed.get()).splitlines()
    assert first.rstrip().endswith("400,000/500,000 17 min left")  # at the speed since the resume
    assert "━━━━" in first
    assert second.rstrip() == "100 steps/s, K 12, return -1234.5, evaluated 1234.5"


def test_elsewhere_progress_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with watching(configure("Hopper", steps=1000)) as watch:
        for step in range(510, 1001, 10):  # of a run that was resumed
            watch(status(step, 1000))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) <= 12
    assert lines[-1].startswith("step 1000 of 1000, 100 steps/s, K 12")
    assert lines[-1].endswith("0 s left")


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
        (["toy", "--agent", "vpg", "--formulation", "rarl"], "vpg takes no rarl"),
        (["Reacher", "--formulation", "rarl"], "rarl needs bodies and force for Reacher-v5"),
        (["Hopper", "--formulation", "rarl", "--axes", "y"], "axes must be able to move Hopper-v5"),
        (
            ["Hopper", "--formulation", "rarl", "--bodies", "arm"],
            "body must be one of world, torso",
        ),
        (["Hopper", "--bodies", "torso"], "bodies has an effect only with formulation rarl"),
        (
            ["Hopper", "--formulation", "parameters", "--parameters", "mass=2:1"],
            "the first bound of mass must be below the second: 2:1",
        ),
        (["Hopper-v5", "--delta", "1"], "delta must be below 1, not 1.0"),
        (["Hopper-v5", "--preset", "robust", "--agent", "sac"], "is for td3, not for sac"),
        (["Hopper-v5", "--preset", "robust", "--solver", "None"], "td3 needs a solver"),
        (["Hopper-v5", "--solver", "gad", "--sigma0", "0.1"], "sigma0 has an effect only with"),
        (["Hopper-v5", "--gamma", "2"], "gamma must be at most 1, not 2.0"),
        (["Hopper-v5", "--steps", "many"], "--steps: must be a whole number, not 'many'"),
        (["Hopper-v5", "--steps", "1.5"], "--steps: must be a whole number, not '1.5'"),
        (["Hopper-v5", "--step", "3"], "there is no option --step; did you mean --steps?"),
        (["Hopper-v5", "--hidden", "0"], "hidden must be at least 1, not (0,)"),
        (["Hopper-v5", "Ant-v5"], "there is no place for the argument Ant-v5"),
        (["Hopper-v5", "--gama", "0.9"], "there is no option --gama; did you mean --gamma?"),
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


def test_a_run_that_is_shorter_than_its_preset_says_so(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="learns nothing: it has 20 steps, and updates begin"):
        mixedne.train(
            "InvertedPendulum",
            agent="td3",
            steps=20,
            hidden=(4,),
            collect_steps=10,
            evaluate_every=0,
            out=tmp_path / "run",
        )


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
        callback=lambda status: steps.append(status.step),
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
