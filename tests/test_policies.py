"""Policy files: the forward pass by hand, row independence, and hostile files."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixedne import InvalidInputError
from mixedne.files import read_json, write_json
from mixedne.policies import (
    HEADS,
    Policy,
    PolicySpec,
    finish_saving,
    load_policy,
    save_policy,
)


def make(seed: int = 0, **changes: Any) -> Policy:
    spec = PolicySpec(
        **{
            "observation_size": 17,
            "action_low": (-1.0, -2.0),
            "action_high": (1.0, 4.0),
            "hidden": (64, 48),
            **changes,
        }
    )
    rng = np.random.default_rng(seed)
    tensors = {name: rng.standard_normal(shape) for name, shape in spec.shapes().items()}
    if spec.normaliser:
        tensors["normaliser.scale"] = np.abs(tensors["normaliser.scale"]) + 0.1
    return Policy(spec, tensors)


def test_the_forward_pass_by_hand() -> None:
    # One hidden unit, relu, a box [0, 10]: x = (3 − 1)/2 = 1; h = relu(2·1 − 1) = 1;
    # a = tanh(0.5·1 + 0.1); action = 5 + 5a.
    spec = PolicySpec(1, (0.0,), (10.0,), hidden=(1,), activation="relu", normaliser=True)
    numbers = {
        "normaliser.mean": [1.0],
        "normaliser.scale": [2.0],
        "layers.0.weight": [[2.0]],
        "layers.0.bias": [-1.0],
        "layers.1.weight": [[0.5]],
        "layers.1.bias": [0.1],
    }
    policy = Policy(spec, {name: np.array(value) for name, value in numbers.items()})
    np.testing.assert_allclose(policy([3.0]), [5 + 5 * np.tanh(0.6)], rtol=1e-6)
    np.testing.assert_allclose(policy([[3.0], [-100.0]])[1], [5 + 5 * np.tanh(0.1)], rtol=1e-6)


def test_layer_norm_by_hand() -> None:
    # Two hidden units (1, 3): mean 2, deviation 1 → (−1, 1); scale 2, offset 1 → (−1, 3);
    # relu → (0, 3); head 0.1·3.
    spec = PolicySpec(1, (-1.0,), (1.0,), hidden=(2,), activation="relu", layer_norm=True)
    numbers = {
        "layers.0.weight": [[1.0, 3.0]],
        "layers.0.bias": [0.0, 0.0],
        "layers.0.norm_scale": [2.0, 2.0],
        "layers.0.norm_offset": [1.0, 1.0],
        "layers.1.weight": [[0.1], [0.1]],
        "layers.1.bias": [0.0],
    }
    policy = Policy(spec, {name: np.array(value) for name, value in numbers.items()})
    np.testing.assert_allclose(policy([1.0]), [np.tanh(0.3)], rtol=1e-5)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        # Outputs μ = 0.2 and s = 0.5, noise ξ = 0.6.
        ("tanh-gaussian", np.tanh(0.2 + np.exp(0.5) * 0.6)),
        ("clipped-gaussian", 0.2 + np.sqrt(np.log1p(np.exp(0.5))) * 0.6),
    ],
)
def test_stochastic_heads_by_hand(head: str, expected: float) -> None:
    spec = PolicySpec(1, (-1.0,), (1.0,), hidden=(), head=head)
    policy = Policy(
        spec, {"layers.0.weight": np.zeros((1, 2)), "layers.0.bias": np.array([0.2, 0.5])}
    )
    mean = np.tanh(0.2) if head == "tanh-gaussian" else 0.2
    np.testing.assert_allclose(policy([0.0]), [mean], rtol=1e-6)
    np.testing.assert_allclose(policy([0.0], noise=[0.6]), [expected], rtol=1e-6)
    np.testing.assert_allclose(policy([0.0], noise=[100.0]), [1.0])
    assert policy.is_stochastic


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.integers(1, 200),
    st.sampled_from(["tanh", "relu"]),
    st.sampled_from(sorted(HEADS)),
    st.booleans(),
)
def test_an_action_does_not_depend_on_the_batch(
    seed: int, count: int, activation: str, head: str, layer_norm: bool
) -> None:
    policy = make(seed, activation=activation, head=head, layer_norm=layer_norm)
    rng = np.random.default_rng(seed)
    observations = rng.standard_normal((count, 17))
    noise = rng.standard_normal((count, 2))
    together = policy(observations, noise)
    chosen = rng.permutation(count)[: rng.integers(1, count + 1)]
    np.testing.assert_array_equal(policy(observations[chosen], noise[chosen]), together[chosen])
    np.testing.assert_array_equal(policy(observations[0], noise[0]), together[0])


@pytest.mark.parametrize("normaliser", [False, True])
def test_a_saved_policy_acts_the_same(normaliser: bool, tmp_path: Path) -> None:
    policy = make(normaliser=normaliser, layer_norm=True, task="Hopper-v5")
    save_policy(tmp_path, policy)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.json", "policy.safetensors"]
    observations = np.random.default_rng(1).standard_normal((5, 17))
    for path in (tmp_path, tmp_path / "policy.json", tmp_path / "policy.safetensors"):
        loaded = load_policy(path)
        assert loaded.spec == policy.spec
        np.testing.assert_array_equal(loaded(observations), policy(observations))


def test_saving_is_reproducible(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_policy(tmp_path / name, make())
    for file in ("policy.json", "policy.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_acting_needs_no_jax(tmp_path: Path) -> None:
    save_policy(tmp_path, make())
    code = (
        "import sys, mixedne, numpy as np\n"
        f"print(mixedne.load_policy({str(tmp_path)!r})(np.zeros(17)).shape, 'jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2,) False"


def rewrite(folder: Path, **changes: Any) -> None:
    write_json(folder / "policy.json", {**read_json(folder / "policy.json"), **changes})


def cut_off(folder: Path) -> None:
    """Tensors whose end is lost, beside a description of an older version, without their digest."""
    rewrite(folder, safetensors_sha256=None)
    os.truncate(folder / "policy.safetensors", 100)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "policy.json").unlink(), "policy.json is missing"),
        (lambda f: (f / "policy.safetensors").unlink(), "policy.safetensors is missing"),
        (lambda f: (f / "policy.json").write_text("{"), "is damaged or no JSON file"),
        (lambda f: (f / "policy.json").write_text("[1]"), "must hold a JSON object"),
        (lambda f: (f / "policy.json").write_bytes(b"\xff\xfe"), "is damaged or no JSON file"),
        (lambda f: rewrite(f, format_version=2), "format_version must be 1, not 2"),
        (lambda f: rewrite(f, activation="__import__"), "activation must be one of"),
        (lambda f: rewrite(f, head="sin"), "head must be one of"),
        (lambda f: rewrite(f, hidden=[64, 64]), "layers.1.bias must have the shape (64,)"),
        (lambda f: rewrite(f, hidden="many"), "sizes of layers must be whole numbers"),
        (lambda f: rewrite(f, hidden=[64.0, 48]), "sizes of layers must be whole numbers"),
        (lambda f: rewrite(f, hidden=[1] * 1001), "at most 1000 layers"),
        (lambda f: rewrite(f, hidden=[10**9]), "sizes of layers must be whole numbers"),
        (lambda f: rewrite(f, observation_size=True), "sizes of layers must be whole numbers"),
        (lambda f: rewrite(f, layer_norm="yes"), "must be true or false"),
        (lambda f: rewrite(f, format_version=True), "format_version must be 1, not True"),
        (lambda f: rewrite(f, task={}), "the policy's task must be a name"),
        (lambda f: rewrite(f, action_low=["a", "b"]), "is no policy description"),
        (lambda f: rewrite(f, action_low=[[-1], [-2]]), "action_low must be below action_high"),
        (lambda f: rewrite(f, action_high=[1, 1e10]), "the action box must lie within"),
        (
            lambda f: (f / "policy.json").write_text("[" * 100_000 + "]" * 100_000),
            "is damaged or no JSON file",
        ),
        (lambda f: (f / "policy.json").write_text("1" * 5000), "is damaged or no JSON file"),
        (lambda f: rewrite(f, action_low=[5, 5]), "action_low must be below action_high"),
        (lambda f: rewrite(f, surprise=1), "a field of policy.json must be one of"),
        (
            lambda f: (f / "policy.safetensors").write_bytes(b"\x80\x04junk"),
            "is damaged: its digest",
        ),
        (
            cut_off,
            "is damaged or no safetensors file",
        ),
    ],
)
def test_a_damaged_or_foreign_file_is_refused(damage: Any, message: str, tmp_path: Path) -> None:
    save_policy(tmp_path, make())
    damage(tmp_path)
    with pytest.raises(InvalidInputError) as refusal:
        load_policy(tmp_path)
    assert message in str(refusal.value)


@pytest.mark.filterwarnings("ignore:.*carries no digest")  # the key "sha256" itself was altered
@pytest.mark.parametrize("name", ["policy.json", "policy.safetensors"])
def test_no_altered_byte_is_loaded_in_silence(name: str, tmp_path: Path) -> None:
    policy = make(normaliser=True)
    save_policy(tmp_path, policy)
    file = tmp_path / name
    content = file.read_bytes()
    generator = np.random.default_rng(0)
    places = generator.choice(len(content), 400, replace=len(content) < 400)
    loaded = 0
    for place, bit in zip(places, generator.integers(8, size=400), strict=True):
        altered = bytearray(content)
        altered[place] ^= 1 << bit
        file.write_bytes(altered)
        try:
            found = load_policy(tmp_path)
        except InvalidInputError:
            continue
        loaded += 1  # white space became other white space
        assert content[place : place + 1].isspace()
        assert found.spec == policy.spec
    assert loaded < 100


def test_a_policy_of_an_older_version_is_loaded_with_a_warning(tmp_path: Path) -> None:
    save_policy(tmp_path, make())
    file = tmp_path / "policy.json"
    document = json.loads(file.read_text())
    del document["sha256"], document["safetensors_sha256"]
    file.write_text(json.dumps(document))
    with pytest.warns(UserWarning, match=r"policy.json .* carries no digest"):
        load_policy(tmp_path)


def test_numbers_that_are_not_finite_are_refused() -> None:
    tensors = {**make().tensors}
    tensors["layers.0.bias"] = np.full(64, np.nan)
    with pytest.raises(InvalidInputError, match="not finite"):
        Policy(make().spec, tensors)


def test_tensors_that_are_not_floats_are_refused() -> None:
    for dtype in (complex, int):
        tensors: dict[str, Any] = {**make().tensors, "layers.0.bias": np.zeros(64, dtype)}
        with pytest.raises(InvalidInputError, match=r"layers.0.bias must hold floats"):
            Policy(make().spec, tensors)
    normalised = make(normaliser=True)
    scaled: dict[str, Any] = {**normalised.tensors, "normaliser.scale": np.zeros(17)}
    with pytest.raises(InvalidInputError, match=r"normaliser.scale must be above 0"):
        Policy(normalised.spec, scaled)


def test_a_file_is_no_other_policy_than_its_own(tmp_path: Path) -> None:
    save_policy(tmp_path, make(0))
    for one in (tmp_path / "policy.json", "zoo:hopper-td3-gad"):
        with pytest.raises(InvalidInputError, match="is a single policy and has no adversary"):
            load_policy(one, "adversary")


def test_names_with_dots_are_told_apart(tmp_path: Path) -> None:
    for name, seed in (("best", 1), ("best.1000", 2)):
        save_policy(tmp_path, make(seed), name=name)
    observation = np.ones(17)
    for name, seed in (("best", 1), ("best.1000", 2)):
        for suffix in ("json", "safetensors"):
            loaded = load_policy(tmp_path / f"{name}.{suffix}")
            np.testing.assert_array_equal(loaded(observation), make(seed)(observation))
    save_policy(tmp_path / "run.json", make(3))  # a folder that looks like a file
    np.testing.assert_array_equal(
        load_policy(tmp_path / "run.json")(observation), make(3)(observation)
    )


def test_observations_of_another_size_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="takes observations of size 17"):
        make()(np.zeros((3, 16)))


@pytest.mark.parametrize("had_one", [True, False])
def test_a_writer_killed_between_the_two_files_leaves_a_policy(
    had_one: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its place an exception at the second renaming, after which nothing is tidied up."""
    if had_one:
        save_policy(tmp_path, make(1))
    replace = Path.replace

    def killed(path: Path, target: Path) -> Path:
        if target.suffix == ".json":
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        patch.setattr(Path, "unlink", lambda path, missing_ok=False: None)
        with pytest.raises(KeyboardInterrupt):
            save_policy(tmp_path, make(2))
    observation = np.ones(make().spec.observation_size)
    for _ in range(2):
        assert np.array_equal(load_policy(tmp_path)(observation), make(2)(observation))
        finish_saving(tmp_path, "policy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.json", "policy.safetensors"]
