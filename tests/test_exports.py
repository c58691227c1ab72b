"""Policies as ONNX files: what onnxruntime does with them, against the policies themselves."""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mixedne
from mixedne import InvalidInputError
from mixedne.cli.main import main
from mixedne.evaluation.handles import PolicyHandle, find_policy
from mixedne.evaluation.sweep import NoEffectWarning, evaluate
from mixedne.exports import export
from mixedne.files import digest, write_json
from mixedne.policies import HEADS, Policy, save_policy
from mixedne.zoo import zoo, zoo_entry
from probes.policies import random_policy

onnx = pytest.importorskip("onnx", reason="ONNX is not installed: make extras")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: make extras")

PENDULUM = "InvertedPendulum-v5"
TRAINING = {"agent": "td3", "solver": "gad", "formulation": "nr-mdp", "delta": 0.1}
TRAINING |= {"preset": "paper", "seed": 7, "steps": 2000}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder, as far as it tells of a policy."""
    folder = tmp_path / "run"
    save_policy(folder, random_policy(PENDULUM, normaliser=True, layer_norm=True))
    write_json(folder / "config.json", TRAINING)
    return folder


def balancing_policy() -> Policy:
    """A linear controller of the pendulum, which holds it up for whole episodes."""
    policy = random_policy(PENDULUM, hidden=(4,), scale=0)
    gains = np.array([[0.4], [9.0], [0.6], [1.6]]) * 10 / 3
    weights = {"layers.0.weight": np.eye(4) / 10, "layers.1.weight": gains}
    return Policy(policy.spec, {**policy.tensors, **weights})


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("normaliser", [False, True])
def test_every_network_acts_as_before(
    head: str, activation: str, layer_norm: bool, normaliser: bool, tmp_path: Path
) -> None:
    policy = random_policy(
        "HalfCheetah-v5",
        hidden=(32, 16),
        head=head,
        activation=activation,
        layer_norm=layer_norm,
        normaliser=normaliser,
    )
    box = {"action_low": (-1.0, -3, 0, 2, -2, -1), "action_high": (1.0, 5, 1, 7, 2, 0)}
    policy = Policy(dataclasses.replace(policy.spec, **box), policy.tensors)  # type: ignore[arg-type]
    made = export(policy, tmp_path / "policy.onnx")
    assert made.largest_difference < 1e-5
    session = runtime.InferenceSession(made.path, providers=["CPUExecutionProvider"])
    for count in (1, 64):  # batches of any size
        x = np.random.default_rng(1).standard_normal((count, 17)).astype(np.float32)
        (actions,) = session.run(["action"], {"observation": x})
        np.testing.assert_allclose(actions, policy(x), atol=1e-5)
    assert np.ptp(policy(x), axis=0).min() > 0.01  # so that there is something to compare


@pytest.mark.slow
@pytest.mark.parametrize("task", [PENDULUM, "Reacher-v5"])
def test_returns_are_the_same_over_the_mass_sweep(task: str, tmp_path: Path) -> None:
    policy = balancing_policy() if task == PENDULUM else random_policy(task, normaliser=True)
    out = export(policy, tmp_path / "policy.onnx").path
    grid: dict[str, Any] = {"mass": "paper", "episodes": 2}
    warned = pytest.warns(NoEffectWarning) if task != PENDULUM else contextlib.nullcontext()
    with warned:
        before, after = (evaluate(one, **grid) for one in (policy, out))
    assert before.height == 42
    assert before["length"].min() == (1000 if task == PENDULUM else 50)
    assert before["length"].equals(after["length"])
    np.testing.assert_allclose(after["return"], before["return"], rtol=1e-4)


def test_actions_are_the_same_along_recorded_episodes(tmp_path: Path) -> None:
    policy = random_policy("HalfCheetah-v5", hidden=(64, 64), scale=0.5)
    exported = find_policy(export(policy, tmp_path / "policy.onnx").path)
    seen: list[NDArray[np.float64]] = []

    def recorded(observations: NDArray[np.float64]) -> NDArray[np.float32]:
        seen.append(observations.copy())
        return policy(observations)

    evaluate(PolicyHandle("recorded", recorded), "HalfCheetah-v5", episodes=2)
    observations = np.concatenate(seen)
    assert observations.shape == (2000, 17)
    np.testing.assert_allclose(exported.act(observations), policy(observations), atol=1e-5)


def test_a_row_does_not_depend_on_its_batch(run: Path, tmp_path: Path) -> None:
    policy = find_policy(export(run, tmp_path / "policy.onnx").path)
    x = np.random.default_rng(0).standard_normal((50, 4))
    assert (policy.act(x)[7:8] == policy.act(x[7:8])).all()


def test_the_file_says_where_it_came_from(run: Path, tmp_path: Path) -> None:
    made = mixedne.export(run, tmp_path / "policy.onnx")
    said = {entry.key: entry.value for entry in onnx.load(made.path).metadata_props}
    training = {name: value for name, value in TRAINING.items() if name != "seed"}
    assert json.loads(said.pop("mixedne.training")) == {
        **training,
        "strength": 0.1,
        "train_seed": 7,
    }
    assert said == {
        "mixedne.format_version": "1",
        "mixedne.task": PENDULUM,
        "mixedne.version": mixedne.__version__,
        "mixedne.policy_sha256": digest(run / "policy.safetensors"),
    }
    assert (made.task, made.policy_sha256) == (PENDULUM, said["mixedne.policy_sha256"])

    # An evaluation knows it, too, and needs no task.
    row = mixedne.evaluate(made.path, episodes=1).row(0, named=True)
    assert (row["run"], row["task"], row["acting"]) == ("policy", PENDULUM, "mean")
    assert (row["agent"], row["solver"], row["delta"], row["train_seed"]) == ("td3", "gad", 0.1, 7)
    assert row["policy"] == digest(made.path)[:16]


def test_a_policy_of_the_zoo_has_a_digest_too(tmp_path: Path) -> None:
    made = mixedne.export("zoo:hopper-ddpg-gad", tmp_path / "policy.onnx")
    assert made.policy_sha256 == digest(
        zoo_entry("zoo:hopper-ddpg-gad")[0].with_suffix(".safetensors")
    )


@pytest.mark.slow
def test_every_policy_of_the_zoo_can_be_exported(tmp_path: Path) -> None:
    for name in zoo():
        export(f"zoo:{name}", tmp_path / f"{name}.onnx")


def test_the_same_policy_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    one, other = (export(run, tmp_path / f"{name}.onnx").path for name in "ab")
    assert one.read_bytes() == other.read_bytes()


def test_a_policy_that_rounding_changes_is_refused(tmp_path: Path) -> None:
    policy = random_policy("HalfCheetah-v5", hidden=(64,), activation="relu", scale=80)
    with pytest.raises(InvalidInputError, match=r"differ by .* of their range, more than 0.0001"):
        export(policy, tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())


def test_only_own_policies_are_exported(run: Path, tmp_path: Path) -> None:
    out = export(run, tmp_path / "policy.onnx").path
    for policy in (out, lambda x: x):
        with pytest.raises(InvalidInputError, match="only this package's policies can be exported"):
            export(policy, tmp_path / "again.onnx")
    with pytest.raises(InvalidInputError, match="format must be one of onnx, not 'pickle'"):
        export(run, tmp_path / "again.onnx", format="pickle")


def test_the_command(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "policy.onnx"
    command = ["export", str(run), "--format", "onnx", "--out", str(out)]
    assert main(command) == 0
    done = capsys.readouterr()
    assert done.out.startswith("largest difference from the policy on 10000 observations: ")
    assert done.err == f"The ONNX file is {out}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "policy.onnx"}

    # Nothing is overwritten unless asked.
    before = out.stat().st_mtime_ns
    assert main(command) == 2
    assert "exists: choose another file or pass --overwrite" in capsys.readouterr().err
    assert out.stat().st_mtime_ns == before
    assert main([*command, "--overwrite", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["file"] == str(out)
    assert (said["observations"], said["task"]) == (10_000, PENDULUM)
    assert 0 <= said["largest_difference"] < said["tolerance"] == 1e-4
    assert said["policy_sha256"] == digest(run / "policy.safetensors")

    # The exported file is measured like the run.
    assert main(["evaluate", str(out), "--mass", "0.5,1", "--episodes", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["task"], row["mass"]) for row in rows] == [(PENDULUM, 0.5), (PENDULUM, 1.0)]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("policy.pt", "the ONNX file must end in .onnx, not policy.pt"),
        ("nowhere/policy.onnx", "there is no folder"),
    ],
)
def test_where_nothing_can_be_written(out: str, message: str, run: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        export(run, tmp_path / out)
