"""The package as Python code meets it: objects in hand, callbacks, docstrings, types."""

import doctest
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

import mixedne
from mixedne import InvalidInputError
from mixedne.cli.main import explain, main
from mixedne.games import make_game
from mixedne.metrics import read_metrics
from mixedne.policies import Policy, save_policy
from mixedne.tasks import registry, resolve_task
from mixedne.training.run import Run, Status
from probes.environments import Action
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"
TINY: dict[str, Any] = {
    **{"solver": "gad", "delta": 0, "hidden": (4,), "batch_size": 4, "collect_steps": 10},
    **{"updates": 1, "update_after": 10, "evaluate_every": 0, "metrics_every": 20, "steps": 100},
}
FUNCTIONS = {
    **{name: getattr(mixedne, name) for name in mixedne.__all__},
    "parallel_env": mixedne.games.parallel_env,
}
FUNCTIONS = {name: it for name, it in FUNCTIONS.items() if inspect.isfunction(it)}


def make_walk() -> gym.Env[Any, Any]:
    """An environment that Gymnasium's registry does not know."""
    return TimeLimit(Action(), 7)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return mixedne.train(PENDULUM, **TINY, out=tmp_path_factory.mktemp("runs") / "run")


class Predictor:
    """What Stable-Baselines3's models have in common with others."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        return self.policy(observation), None


class Regressor:
    """Predicts, and no more."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def predict(self, rows: Any) -> Any:
        return self.policy(rows)


def test_policies_in_hand_give_what_their_files_give(run: Run) -> None:
    expected = mixedne.evaluate(run.path, mass=[0.5, 1.0], episodes=2)["return"].to_list()
    assert run.evaluate(mass=[0.5, 1.0], episodes=2)["return"].to_list() == expected
    for policy in (run, run.policy, Predictor(run.policy), Regressor(run.policy)):
        table = mixedne.evaluate(policy, PENDULUM, mass=[0.5, 1.0], episodes=2)
        assert table["return"].to_list() == expected
    assert mixedne.evaluate({"mine": run}, episodes=1)["run"].to_list() == ["mine"]


def test_a_factory_is_a_task(tmp_path: Path) -> None:
    run = mixedne.train(make_walk, **TINY, out=tmp_path / "run")
    assert run.config.task == "make_walk-v0"
    assert registry.resolve_task(run.config.task).max_episode_steps == 7
    here = run.evaluate(episodes=2)
    named = mixedne.evaluate(run.policy, make_walk, episodes=2)
    assert here["return"].to_list() == named["return"].to_list()

    def again() -> gym.Env[Any, Any]:
        return TimeLimit(Action(), 3)

    again.__name__ = "make_walk"  # as if a notebook's cell had been changed and run again
    assert mixedne.evaluate(run.policy, again, episodes=1)["task"].to_list() == ["make_walk-v0"]
    assert registry.resolve_task("make_walk-v0").max_episode_steps == 3


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (3, "a task must be a name or a function that makes an environment, not 3"),
        (lambda: 3, "lambda-v0 must make a gymnasium.Env, not int"),
        (lambda: 1 / 0, "lambda-v0 cannot be made: division by zero"),
    ],
)
def test_what_makes_no_environment_is_refused(task: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        mixedne.train(task)


def test_a_factory_does_not_take_a_name_of_gymnasiums() -> None:
    def factory() -> gym.Env[Any, Any]:
        return Action()

    factory.__name__ = "CartPole"  # v0 is outdated, and still registered
    with pytest.raises(InvalidInputError, match="Gymnasium has a CartPole-v0 already"):
        mixedne.train(factory)


def test_a_callback_sees_metrics_and_stops_the_run(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []

    def callback(status: Status) -> bool:
        seen.extend(status.metrics)
        return status.step < 50

    arguments: dict[str, Any] = {**TINY, "out": tmp_path / "run", "resume": True}
    stopped = mixedne.train(PENDULUM, **arguments, callback=callback, progress=True)
    assert [line["step"] for line in seen] == [20, 40]
    assert stopped.evaluate(episodes=1)["steps"].to_list() == [50]
    assert "step 50 of 100" in capsys.readouterr().err
    finished = mixedne.train(PENDULUM, **arguments)
    assert len(read_metrics(finished.path)) == 5
    observation = np.ones(4)
    assert np.array_equal(finished.policy(observation), run.policy(observation))


def test_what_a_callback_raises_is_its_own(tmp_path: Path) -> None:
    def callback(status: Status) -> None:
        raise ConnectionError("the logger is away")

    with pytest.raises(ConnectionError, match=r"^the logger is away$"):
        mixedne.train(PENDULUM, **TINY, callback=callback, out=tmp_path / "run")


def test_an_evaluation_of_a_factory_is_not_resumed(tmp_path: Path) -> None:
    """Another function may have come under its name."""
    options: dict[str, Any] = {"episodes": 3, "worlds_at_once": 1, "out": tmp_path / "a.parquet"}
    save_policy(tmp_path, random_policy(registry.task_id(make_walk)))

    def stop(done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    def make_other() -> gym.Env[Any, Any]:
        return gym.wrappers.TransformReward(make_walk(), lambda reward: 0.0 * float(reward) + 100)

    with pytest.raises(KeyboardInterrupt):
        mixedne.evaluate(tmp_path, make_walk, progress=stop, **options)
    make_other.__name__ = make_walk.__name__
    assert mixedne.evaluate(tmp_path, make_other, **options)["return"].to_list() == [100.0] * 3


def test_a_redefined_factory_has_a_game_of_its_own() -> None:
    def make_wide() -> gym.Env[Any, Any]:
        env = make_walk()
        env.action_space = gym.spaces.Box(-2.0, 2.0, env.action_space.shape)
        return env

    narrow = make_game(resolve_task(registry.task_id(make_walk)), "nr-mdp", delta=0.1)
    make_wide.__name__ = make_walk.__name__
    wide = make_game(resolve_task(registry.task_id(make_wide)), "nr-mdp", delta=0.1)
    assert narrow.executed.high[0] != wide.executed.high[0] == 2.0


def test_evaluations_show_progress(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.evaluate(episodes=2, progress=True)
    assert "Evaluation: 2 of 2 episodes" in capsys.readouterr().err


def test_errors_speak_of_arguments_in_python_and_of_options_elsewhere(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.touch()
    with pytest.raises(InvalidInputError, match=r"choose another file or pass overwrite=True$"):
        mixedne.report(run, out=page)
    assert main(["report", str(run.path), "--out", str(page)]) == 2
    assert capsys.readouterr().err.endswith("choose another file or pass --overwrite\n")
    said = "with out=, or resume=True; pass task= (trust_pickle=True): 'mass[torso]=0.5', x=3"
    expected = "with --out, or --resume; pass --task (--trust-pickle): 'mass[torso]=0.5', x=3"
    assert explain(InvalidInputError(said)) == expected


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_say_what_goes_in_and_what_comes_out(name: str) -> None:
    function = FUNCTIONS[name]
    text = inspect.getdoc(function) or ""
    arguments, _, rest = text.partition("\nArgs:\n")[2].partition("\nReturns:\n")
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^  {parameter}: ", arguments, re.MULTILINE), parameter
    assert "\nExamples:\n  >>> import mixedne" in rest


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_their_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = {"export": "onnxruntime", "parallel_env": "pettingzoo"}
    if name in needed:
        pytest.importorskip(needed[name], reason=f"{needed[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name)
    runner = doctest.DocTestRunner()
    for example in found:
        runner.run(example)
    assert runner.summarize().attempted >= 3
    assert runner.summarize().failed == 0


USER_CODE = """
import mixedne
from mixedne.training.run import Status

def callback(status: Status) -> bool:
    return status.step < 100

run = mixedne.train("Hopper-v5", agent="td3", delta=0.1, steps=100, callback=callback)
reveal_type(run)
reveal_type(run.policy)
reveal_type(mixedne.load_policy(run.path))
reveal_type(run.evaluate(mass=[0.5, 1.0], episodes=2))
reveal_type(mixedne.evaluate(run, at="best"))
reveal_type(mixedne.watch(run, "film.mp4", mass=2))
reveal_type(mixedne.report(run))
reveal_type(mixedne.statistics.seed_means)
mixedne.evaluate(run, episodes="many")
run.evaluate(episodes="many")
"""


@pytest.mark.slow
def test_pyright_sees_the_signatures(tmp_path: Path) -> None:
    pytest.importorskip("basedpyright")
    script = tmp_path / "script.py"
    script.write_text(USER_CODE)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    words = ["--outputjson", "--pythonpath", sys.executable, str(script)]
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    told = json.loads(done.stdout)["generalDiagnostics"]
    shown = [it["message"] for it in told if it["severity"] == "information"]
    kinds = ["Run", "Policy", "Policy", "DataFrame", "DataFrame", "Video", "Page"]
    assert [message.rpartition(" is ")[2] for message in shown[:7]] == [f'"{it}"' for it in kinds]
    assert "Unknown" not in shown[7]
    errors = [it["message"] for it in told if it["severity"] == "error"]
    assert len(errors) == 2, errors
    assert all('parameter "episodes"' in error for error in errors)


@pytest.mark.slow
def test_mypy_sees_the_signatures(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(USER_CODE)
    source = str(Path(mixedne.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": source, "PATH": "", "HOME": str(tmp_path)},
    )
    shown = re.findall(r'Revealed type is "(.*)"', done.stdout)
    tables = "polars.dataframe.frame.DataFrame"
    assert shown[:7] == [
        *("mixedne.training.run.Run", "mixedne.policies.Policy", "mixedne.policies.Policy"),
        *(tables, tables, "mixedne.video.watch.Video", "mixedne.reports.report.Page"),
    ], done.stdout
    assert "Any" not in shown[7]
    errors = [line for line in done.stdout.splitlines() if "script.py" in line and "error" in line]
    assert len(errors) == 2, done.stdout
    assert all('Argument "episodes"' in error for error in errors)
