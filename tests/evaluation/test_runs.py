"""Which policy of a run is evaluated: the last, the best, or one that was kept."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import mixedne
from mixedne import InvalidInputError
from mixedne.cli.main import main
from mixedne.evaluation.handles import find_policy
from mixedne.files import write_json
from mixedne.policies import Policy, load_policy, save_policy
from mixedne.reports.inputs.collect import collect
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"
STEPS = {"": 400, "best": 200, "policies/step-000000000300": 300}
"""By folder, when its policy was the run's."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder as training leaves one that was killed at 400 of 1000 steps."""
    folder = tmp_path / "run"
    for seed, place in enumerate(STEPS):
        save_policy(folder / place, random_policy(PENDULUM, seed))
    config = {"agent": "ddpg", "solver": "gad", "formulation": "nr-mdp", "delta": 0.1, "seed": 7}
    write_json(
        folder / "config.json", {**config, "preset": "paper", "steps": 1000, "task": PENDULUM}
    )
    write_json(folder / "best" / "best.json", {"step": 200, "mean_return": 1.0})
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "step-000000000400.safetensors").touch()
    return folder


def test_the_best_of_a_kill_is_not_given_another_step(run: Path) -> None:
    """The policy is written before what is said of it."""
    document = {"step": 200, "mean_return": 1.0, "safetensors_sha256": "of the one before"}
    write_json(run / "best" / "best.json", document)
    assert find_policy(run, at="best").provenance["steps"] is None
    (run / "best" / "best.json").write_text("{")
    with pytest.raises(InvalidInputError, match=r"best.json"):
        find_policy(run, at="best")
    (run / "best" / "best.json").unlink()
    with pytest.raises(InvalidInputError, match="has no best policy"):
        find_policy(run, at="best")


def test_a_policy_says_its_own_step(run: Path) -> None:
    """Whatever became of checkpoints and of what is said beside it."""
    for place, step in STEPS.items():
        save_policy(run / place, random_policy(PENDULUM), step=step)
    (run / "checkpoint" / "step-000000000400.safetensors").unlink()
    write_json(run / "best" / "best.json", {"mean_return": 1.0})
    for place, step in STEPS.items():
        assert find_policy(run / place).provenance["steps"] == step


def test_a_policy_that_is_replaced_while_it_is_read_is_read_again(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run in training writes the next one: weights and fingerprint are of one and the same."""
    later = random_policy(PENDULUM, 9)

    def load_late(path: Path, name: str = "policy") -> Policy:
        found = load_policy(path, name)
        if not (found.tensors["layers.0.weight"] == later.tensors["layers.0.weight"]).all():
            save_policy(run, later)
        return found

    monkeypatch.setattr("mixedne.evaluation.handles.load_policy", load_late)
    handle = find_policy(run)
    assert isinstance(handle.act, Policy)
    np.testing.assert_array_equal(
        handle.act.tensors["layers.0.weight"], later.tensors["layers.0.weight"]
    )
    assert handle.fingerprint == find_policy(run).fingerprint


def test_a_line_break_makes_no_other_policy(run: Path) -> None:
    fingerprint = find_policy(run).fingerprint
    with (run / "policy.json").open("a") as file:
        file.write("\n")
    assert find_policy(run).fingerprint == fingerprint


@pytest.mark.parametrize(
    ("at", "place", "name"),
    [
        ("last", "", "run"),
        ("400", "", "run"),
        ("best", "best", "run@best"),
        ("300", "policies/step-000000000300", "run@300"),
        (300, "policies/step-000000000300", "run@300"),
    ],
)
def test_a_policy_is_known_by_its_step(at: str | int, place: str, name: str, run: Path) -> None:
    chosen, by_path = find_policy(run, at=at), find_policy(run / place)
    assert (chosen.name, chosen.path, chosen.provenance["steps"]) == (
        name,
        run / place,
        STEPS[place],
    )
    assert (by_path.name, by_path.provenance) == (chosen.name, chosen.provenance)
    assert chosen.provenance["train_seed"] == 7
    table = mixedne.evaluate(run, at=at, episodes=1)
    expected = mixedne.evaluate(random_policy(PENDULUM, [*STEPS].index(place)), episodes=1)
    assert table["return"].to_list() == expected["return"].to_list()


def test_each_has_a_table_of_its_own(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for at in ("last", "best", "300"):
        assert main(["evaluate", str(run), "--at", at, "--episodes", "1", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["run"] for (row,) in rows] == ["run", "run@best", "run@300"]
    for place, steps in STEPS.items():
        table = pl.read_parquet(run / place / "evaluation.parquet")
        assert table["steps"].to_list() == [steps]


def test_a_report_says_that_a_run_has_gone_on_since(run: Path) -> None:
    mixedne.evaluate(run, mass=[1, 2], episodes=1, out=run / "evaluation.parquet")
    sentence = "run/evaluation.parquet is of an earlier policy than the run's last"
    assert not any(sentence in line for line in collect([run]).missing)
    save_policy(run, random_policy(PENDULUM, 9))
    found = collect([run])
    assert any(sentence in line for line in found.missing)
    assert found.counts["episodes"] == 2  # they are shown all the same


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("first", "at must be best, last or a step, not 'first'"),
        ("-1", "at must be best, last or a step, not '-1'"),
        ("100", r"has no policy of step 100: there are those of 300 \(keep_policies\)"),
    ],
)
def test_what_is_not_there_is_said(at: str, message: str, run: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find_policy(run, at=at)


def test_runs_without_policies_say_why(tmp_path: Path) -> None:
    write_json(tmp_path / "config.json", {"agent": "ddpg"})
    for at, message in {
        "last": f"there is no policy at {tmp_path} yet: the first comes with the run's first",
        "best": f"{tmp_path} has no best policy: the run's own evaluations (evaluate_every)",
        "10": f"{tmp_path} has no policy of step 10: none are kept (keep_policies)",
    }.items():
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            find_policy(tmp_path, at=at)
    for other in (random_policy(PENDULUM), tmp_path / "elsewhere"):
        with pytest.raises(InvalidInputError, match=r"at.* run folder"):
            find_policy(other, at="best")
