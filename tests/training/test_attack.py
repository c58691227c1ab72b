"""Attackers that are trained against policies with a known worst case."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mixedne import InvalidInputError
from mixedne.cli.main import main
from mixedne.evaluation.attacks import find_attacker
from mixedne.evaluation.sweep import evaluate
from mixedne.evaluation.table import read_table
from mixedne.policies import save_policy
from mixedne.training.attack import attack
from mixedne.training.attackers import still_improved
from mixedne.training.attempt import Attempt
from probes.policies import random_policy

TWO_PLAYER, SLIDER = (f"probes.environments:{name}-v1" for name in ("TwoPlayer", "Slider"))


def best(observations: NDArray[np.float64]) -> NDArray[np.float64]:
    """The best policy of both probes without an adversary: a = s."""
    return np.clip(observations, -1, 1)


def run(*words: Any) -> int:
    """The command, in this process."""
    return main(["attack", *map(str, words)])


WORST: dict[str, tuple[str, float, dict[str, Any]]] = {
    # R((1 − δ) − δ) = (1 − δ)²
    "action": (TWO_PLAYER, 0.5625, {"strength": 0.25}),
    # R(1 − ε), with ε = ½
    "observation": (TWO_PLAYER, 0.5625, {"strength": 0.5}),
    # (10 − 2.5) · 0.1
    "force": (SLIDER, 0.75, {"strength": 2.5, "bodies": "block"}),
    # 10 · 0.1 / k, and k grows from 1 by at most ⅔ of 1.5
    "parameters": (SLIDER, 0.5, {"strength": 2 / 3, "parameters": ["mass[block]=0.5:2"]}),
}


@pytest.mark.slow
@pytest.mark.parametrize("on", WORST)
def test_the_known_worst_case_is_found(on: str, tmp_path: Path) -> None:
    task, worst, settings = WORST[on]
    budget: dict[str, Any] = {"steps": 800, "seeds": 1, "learning_rates": [1e-3]}
    found = attack(best, task, on=on, **settings, **budget, out=tmp_path / "attack")
    returns = {who: told["mean"] for who, told in found.summary["returns"].items()}
    assert returns["none"] == pytest.approx(1.0)
    assert returns["attacker"] == pytest.approx(worst, rel=0.05)
    assert returns["attacker"] < returns["random"]
    assert found.summary["strongest"] == "attacker"
    assert "at most this good" in found.sentence
    # Its file does to the policy what was reported, and to another what it can.
    again = evaluate({"best": best}, task, attack=tmp_path / "attack", episodes=20)
    np.testing.assert_array_equal(again["return"], found.table["return"].tail(20))
    other = evaluate(lambda s: best(s) / 2, task, attack=find_attacker(tmp_path / "attack"))
    assert other["return"].mean() < returns["attacker"]


@pytest.mark.parametrize(
    ("returns", "is_told"),
    [
        ([9, 8, 7, 6, 5, 4, 3, 2], True),
        ([9, 8, 2, 2, 2, 2, 2, 2], False),
        ([9, 8, 2, 2, 2, 2.1, 2, 2], False),  # less than 5 % of what was taken
        ([9, 8, 2, 2, 6, 2, 5, 2], False),  # within the standard error
        ([9, 8, 2, 2, 2, 2, 4, 4], False),
        ([9, 8], None),  # too short to tell
        ([], None),
    ],
)
def test_whether_an_attacker_still_improved(returns: list[float], is_told: bool | None) -> None:
    curve = [{"step": 10 * i, "mean_return": it} for i, it in enumerate(returns, 1)]
    assert still_improved(curve, taken=7.0) is is_told


@pytest.mark.slow
def test_an_attack_is_resumed_and_ends_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_policy(tmp_path, random_policy("InvertedPendulum-v5"))
    words = [tmp_path / "policy.json", "--on", "action", "--strength", 0.5, "--steps", 40]
    words += ["--seeds", 2, "--learning-rates", 1e-3, "--episodes", 3, "--json"]
    assert run(*words, "--out", tmp_path / "whole") == 0
    whole = json.loads(capsys.readouterr().out)
    assert [len(tried["curve"]) > 0 for tried in whole["attackers"]] == [True, True]
    # As if it had been stopped when the first of its attackers was done.
    (tmp_path / "part").mkdir()
    shutil.copytree(
        tmp_path / "whole/attackers/lr0.001-seed0", tmp_path / "part/attackers/lr0.001-seed0"
    )
    shutil.copy(tmp_path / "whole/request.json", tmp_path / "part")
    assert run(*words, "--out", tmp_path / "part") == 2
    assert "is not empty" in capsys.readouterr().err
    assert run(*words, "--out", tmp_path / "part", "--resume") == 0
    part = json.loads(capsys.readouterr().out)
    assert {**part, "folder": ""} == {**whole, "folder": ""}
    for name in ("attacker.safetensors", "attacker.json"):
        assert (tmp_path / "part" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_parameters_that_hold_for_an_episode(tmp_path: Path) -> None:
    """The worst point of a grid: the heaviest block."""
    bounds = ["mass[block]=0.5:2.0"]
    grid: dict[str, Any] = {"parameters": bounds, "points": 4, "episodes": 2}
    shown: list[tuple[int, int]] = []
    found = attack(
        best,
        SLIDER,
        on="parameters",
        **grid,
        out=tmp_path / "a",
        progress=lambda *counts: shown.append(counts),
    )
    assert shown == sorted(shown)
    assert shown[-1] == (8, 8)  # four worlds, chosen by some episodes and reported on others
    returns = {who: told["mean"] for who, told in found.summary["returns"].items()}
    assert found.summary["worst"] == {"mass[block]": 2.0}
    # 1 / k for k = 1, for all of ½, 1, 1½ and 2, and for 2
    expected = {"none": 1.0, "random": (2 + 1 + 2 / 3 + 0.5) / 4, "attacker": 0.5}
    assert returns == pytest.approx(expected)
    assert json.loads((tmp_path / "a" / "attack.json").read_text())["points"] == 4
    assert read_table(tmp_path / "a" / "evaluation.parquet").equals(found.table)
    assert found.table.height == 4 * 2  # nominal episodes are among the grid's
    assert "the worst of 4 points" in found.sentence


def test_only_the_same_attack_is_resumed(tmp_path: Path) -> None:
    save_policy(tmp_path, random_policy("InvertedPendulum-v5"))
    policy, out = tmp_path / "policy.json", tmp_path / "a"
    heavy: dict[str, Any] = {"on": "parameters", "parameters": "mass=1:2", "points": 2}
    attack(policy, **heavy, episodes=1, out=out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(InvalidInputError, match=r"has the parameters \['mass=1:2'\], not .*1:4"):
        attack(policy, **heavy | {"parameters": "mass=1:4"}, episodes=1, out=out, resume=True)
    with pytest.raises(InvalidInputError, match="has the episodes 1, not 2"):
        attack(policy, **heavy, episodes=2, out=out, resume=True)
    with pytest.raises(InvalidInputError, match="no attack to resume"):
        attack(policy, **heavy, episodes=1, out=tmp_path, resume=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    attack(policy, **heavy, episodes=1, out=out, resume=True)


def test_a_set_of_ones_own_is_kept_as_its_intervals(tmp_path: Path) -> None:
    """Its file may change, or be lost, before the attack is read again."""
    own = tmp_path / "own.toml"
    own.write_text(f'[tasks."{SLIDER}"]\n"mass[block]" = [0.5, 2.0]\n')
    found = attack(best, SLIDER, on="parameters", parameters=str(own), points=2, out=tmp_path / "a")
    assert [*found.summary["parameters"]] == ["mass[block]=0.5:2.0"]


@pytest.mark.parametrize(
    ("bounds", "strongest"), [("mass[block]=0.5:2", "none"), ("mass[block]=1.5:2", "attacker")]
)
def test_the_tasks_own_world_is_a_candidate(
    bounds: str, strongest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it lies within the bounds and, here by decree, no point of the grid is worse."""
    monkeypatch.setattr(Attempt, "mean", lambda self: -9.0)
    grid: dict[str, Any] = {"parameters": bounds, "points": 2, "episodes": 1}
    found = attack(best, SLIDER, on="parameters", **grid, out=tmp_path / "a")
    assert found.summary["strongest"] == strongest
    told = "mean return 1.0 over 1 episode (1.0 without attack"
    told_worst = "none of 2 points of a grid is worse than the task's own world"
    assert (told in found.sentence, told_worst in found.sentence) == (strongest == "none",) * 2


@pytest.mark.slow
def test_cma_es_finds_the_worst_world(tmp_path: Path) -> None:
    """The heaviest block with the weakest motor; the same world with the same seed."""
    pytest.importorskip("cma")
    bounds = ["mass[block]=0.5:2", "actuator-strength=0.5:2"]
    search: dict[str, Any] = {"parameters": bounds, "worlds": 62, "episodes": 1}
    state = np.random.get_state(legacy=False)["state"]["key"].tolist()
    found = attack(best, SLIDER, on="parameters", **search, out=tmp_path / "a")
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == state
    assert found.summary["worst"] == {
        "mass[block]": pytest.approx(2, rel=0.02),
        "actuator-strength": pytest.approx(0.5, rel=0.02),
    }
    returns = {who: told["mean"] for who, told in found.summary["returns"].items()}
    assert returns["none"] == pytest.approx(1)
    assert returns["attacker"] == pytest.approx(0.25, rel=0.05)  # s / k
    assert returns["attacker"] < returns["random"]
    assert found.summary["points"] == 62  # generations of six: the last is cut short
    assert "the worst of 62 worlds that CMA-ES tried" in found.sentence
    again = attack(best, SLIDER, on="parameters", **search, out=tmp_path / "b")
    assert again.summary == found.summary


def test_no_attacker_is_called_stronger_than_no_attack(tmp_path: Path) -> None:
    """Of a policy that is as bad as can be: what an attacker leaves is then more, and no bound."""
    budget: dict[str, Any] = {"steps": 30, "seeds": 1, "learning_rates": 1e-3, "episodes": 2}
    found = attack(
        lambda s: -best(s), TWO_PLAYER, on="action", strength=0.2, **budget, out=tmp_path / "a"
    )
    returns = {who: told["mean"] for who, told in found.summary["returns"].items()}
    assert returns["none"] < min(returns["random"], returns["attacker"])
    assert found.summary["strongest"] == "none"
    assert f"mean return {returns['none']:.1f}" in found.sentence
    assert "no attacker was stronger than no attack" in found.sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--on", "fate"], "fate"),
        (["--on", "force", "--bodies", "wing"], "wing"),
        (["--on", "force", "--axes", "y"], "along y"),
        (["--on", "force", "--strength", -1], "at least 0"),
        (["--on", "force", "--parameters", "mass=1:2"], "only in attacks on parameters"),
        (["--on", "action", "--strength", 1.5], "at most 1"),
        (["--on", "action", "--strength", 0], "strength must be above 0"),
        (["--on", "action", "--bodies", "torso"], "only in attacks on force"),
        (["--on", "action", "--points", 3], "points are those"),
        (["--on", "action", "--worlds", 3], "worlds are those"),
        (["--on", "parameters", "--parameters", "mass=1:2", "--worlds", 9], "two parameters"),
        (["--on", "action", "--steps", 0], "steps must be"),
        (["--on", "action", "--learning-rates", 0], "above 0"),
        (["--on", "action", "--learning-rates", 0.1, 0.1], "different numbers"),
        (["--on", "parameters"], "an attack on parameters needs --parameters and their bounds"),
        (["--on", "force", "--bodies", ""], "body must be one of"),
        (["--on", "parameters", "--parameters", "mass=2:1"], "must be below the second"),
        (["--on", "parameters", "--parameters", "mass=a"], "must be given as"),
        (["--on", "parameters", "--parameters", "noise=0:1"], "of the MuJoCo model"),
        (["--on", "parameters", "--parameters", "mass=1:2", "--points", 1], "points must be"),
        (["--on", "parameters", "--parameters", "mass=1:2", "--strength", 2], "at most 1"),
        (["--on", "observation", "--strength", "nan"], "finite"),
    ],
)
def test_bad_input_is_one_sentence(
    words: list[Any], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_policy(tmp_path, random_policy("Hopper-v5"))
    assert run(tmp_path / "policy.json", *words, "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_tasks_without_bodies_of_their_own_need_them(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="need bodies and strength in Reacher-v5"):
        attack(random_policy("Reacher-v5"), on="force", out=tmp_path / "out")
