"""How a run starts: its folder, what is refused and warned of, and what a failed start leaves."""

import contextlib
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv

import mixedne
from mixedne import InvalidInputError
from mixedne.cli.main import main
from mixedne.config import configure
from mixedne.metrics import read_metrics
from mixedne.training.folder import RunFolder
from mixedne.training.training_run import TrainingRun
from probes.faulty import MISBEHAVIOUR

TINY: dict[str, Any] = {
    **{"solver": "gad", "delta": 0, "hidden": (4,), "batch_size": 4, "collect_steps": 10},
    **{"updates": 1, "update_after": 10, "evaluate_every": 0, "steps": 20},
}


def test_without_out_every_run_has_a_fresh_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "InvertedPendulum-v5-ddpg-gad-delta0-seed0"
    paths = [mixedne.train("InvertedPendulum", **TINY).path for _ in range(2)]
    assert paths == [Path("runs") / name, Path("runs") / f"{name}-2"]
    before = [(path / "policy.safetensors").stat().st_mtime_ns for path in paths]
    assert mixedne.train("InvertedPendulum", **TINY, resume=True).path == paths[1]
    assert before == [(path / "policy.safetensors").stat().st_mtime_ns for path in paths]


def test_folders_are_numbered_and_the_newest_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbours with similar names do not count."""
    monkeypatch.chdir(tmp_path)
    config = configure("InvertedPendulum", solver="gad", delta=0)
    name = "InvertedPendulum-v5-ddpg-gad-delta0-seed0"
    for other in (f"{name}-old", f"{name}-1", f"{name}-02", f"{name}0", f"x{name}-7"):
        (tmp_path / "runs" / other).mkdir(parents=True)

    def default(*, resume: bool = False) -> str:
        return RunFolder.default(config, resume=resume).path.name

    assert default(resume=True) == name
    assert [default(), default()] == [name, f"{name}-2"]
    assert default(resume=True) == f"{name}-2"
    (tmp_path / "runs" / f"{name}-9").mkdir()
    assert [default(resume=True), default()] == [f"{name}-9", f"{name}-10"]
    with monkeypatch.context() as patch:  # another process has made a folder meanwhile
        patch.setattr(Path, "glob", lambda *_: iter(()))
        assert default() == f"{name}-3"


@pytest.mark.parametrize(
    ("task", "message"),
    [("RaisesInReset-v0", "no reset today"), ("RaisesInStep-v0", "no step today")],
)
@pytest.mark.parametrize("out", [None, "run"])
def test_a_failed_start_is_not_in_the_way_of_the_next(
    task: str, message: str, out: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with pytest.raises((InvalidInputError, RuntimeError), match=message):
            mixedne.train(f"probes.faulty:{task}", **TINY, out=out)
        assert [path for path in tmp_path.rglob("*") if path.name != "runs"] == []


def test_a_failed_start_removes_nothing_else(tmp_path: Path) -> None:
    """Neither an empty folder that the user has made, nor a run that was to be resumed."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match="no reset today"):
        mixedne.train("probes.faulty:RaisesInReset-v0", **TINY, out=tmp_path / "empty")
    assert list((tmp_path / "empty").iterdir()) == []
    run = mixedne.train("InvertedPendulum", **TINY, out=tmp_path / "run")
    before = sorted(run.path.rglob("*"))
    with pytest.raises(InvalidInputError, match="holds a run already"):
        mixedne.train("InvertedPendulum", **TINY, out=run.path)
    assert sorted(run.path.rglob("*")) == before


def test_a_task_without_a_time_limit_is_found_before_anything_starts(tmp_path: Path) -> None:
    task = "probes.faulty:NoTimeLimit-v0"
    with pytest.raises(InvalidInputError, match="NoTimeLimit-v0 has no time limit"):
        mixedne.train(task, **{**TINY, "evaluate_every": 10}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert mixedne.train(task, **TINY, out=tmp_path / "run").policy(np.zeros(4)).shape == (1,)


class OwnMasses(InvertedPendulumEnv):
    """Draws its own masses in every reset, as a task of randomised domains does."""

    def reset_model(self) -> Any:
        self.model.body_mass[1] = self.np_random.uniform(5, 7)
        plain: Any = super()
        return plain.reset_model()


gym.register("OwnMasses-v0", entry_point=OwnMasses, max_episode_steps=20)


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        ("OwnMasses-v0", {}, "mass cannot be shifted"),
        ("InvertedPendulum", {"evaluate_masses": (1.0, 1.0)}, "a value twice"),
        ("InvertedPendulum", {"evaluate_masses": (1e300,)}, "at most"),
        ("InvertedPendulum", {"evaluate_episodes": 10**7}, "number of episodes"),
    ],
)
def test_evaluations_that_will_be_refused_are_found_before_anything_starts(
    task: str, settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """They would be found when 10 000 steps are done, and no other settings could go on."""
    own = {**TINY, "evaluate_every": 10, "out": tmp_path / "run"}
    with pytest.raises(InvalidInputError, match=f"could not be evaluated.*{message}"):
        mixedne.train(task, **own, **settings)
    assert not (tmp_path / "run").exists()
    if task == "OwnMasses-v0":  # without shifts it can
        mixedne.train(task, **own, evaluate_masses=(1.0,), evaluate_episodes=1)


@pytest.mark.parametrize(
    ("settings", "message", "updates"),
    [
        ({"update_after": 20}, "learns nothing: it has 20 steps, and updates begin after 20", 0),
        ({"random_steps": 11}, "most of the run acts at random: 11 of its 20 steps", 1),
        ({"random_steps": 10}, None, 1),
    ],
)
def test_a_run_that_is_too_short_to_learn_warns_before_it_starts(
    settings: dict[str, int], message: str | None, updates: int, tmp_path: Path
) -> None:
    expected = pytest.warns(UserWarning, match=message) if message else contextlib.nullcontext()
    with expected:
        run = mixedne.train("InvertedPendulum", **{**TINY, **settings}, out=tmp_path / "run")
    assert read_metrics(run.path)[-1]["updates"] == updates


def test_physics_that_diverges_is_not_learned_from(tmp_path: Path) -> None:
    """MuJoCo restarts it in the middle of an episode, with a reward of hundreds for the jump."""
    wild = {"delta": 0.0, "randomise": "actuator-strength=29:30", "steps": 300}
    message = r"the physics of HalfCheetah-v5 diverged in step \d+ of episode 0"
    with pytest.raises(InvalidInputError, match=message):
        mixedne.train("HalfCheetah", **{**TINY, **wild, "sigma": 1.0}, out=tmp_path / "run")


@pytest.mark.parametrize(
    "name", ["ResetShape", "StepRaises", "StepFourValues", "StepNaN", "RewardText"]
)
def test_an_environment_that_misbehaves_is_named_in_one_sentence(name: str, tmp_path: Path) -> None:
    """Evaluations and training share the check; its own tests have the other cases."""
    where, _, message = MISBEHAVIOUR[name]
    place = "reset" if where == "reset" else r"step 3 after reset\(seed=\d+\)"
    expected = rf"the environment probes.faulty:{name}-v0 misbehaves: {place}.*{message}"
    with pytest.raises(InvalidInputError, match=expected) as caught:
        mixedne.train(f"probes.faulty:{name}-v0", **TINY, out=tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


NONSENSE = "the run has ended, but its numbers make no sense: "


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eta": 1e3}, r"the players' parameters reach \d\.\d+e\+0\d"),
        ({"critic_learning_rate": 1e6}, r"the critic's values reach \d\.\d+e\+\d+, and rewards 1"),
    ],
)
def test_a_run_that_ends_in_nonsense_says_so(
    settings: dict[str, float], message: str, tmp_path: Path
) -> None:
    with pytest.warns(UserWarning, match=NONSENSE + message):
        run = mixedne.train(
            "InvertedPendulum", **{**TINY, "steps": 40, **settings}, out=tmp_path / "run"
        )
    *_, line = read_metrics(run.path)
    assert (line["kind"], line["step"]) == ("warning", 40)
    assert line["message"].startswith(NONSENSE)
    assert (run.path / "policy.safetensors").exists()


def test_an_evaluation_without_numbers_is_nonsense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluate(run: TrainingRun) -> None:
        run.evaluated = float("nan")

    monkeypatch.setattr(TrainingRun, "evaluate", evaluate)
    with pytest.warns(UserWarning, match="the return of the last evaluation is not finite"):
        mixedne.train("InvertedPendulum", **{**TINY, "evaluate_every": 20}, out=tmp_path / "run")


def test_the_command_line_says_it_as_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--hidden", "4", "--batch-size", "4", "--collect-steps", "10", "--updates", "1"]
    task = ["InvertedPendulum-v5", "--agent", "td3", "--solver", "gad", "--steps", "20"]
    assert main(["train", *task, *small, "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().err
    assert "mixedne: the run learns nothing: it has 20 steps" in said
    assert "Warning" not in said
