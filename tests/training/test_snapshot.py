"""A state as named arrays, and back."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixedne.config import configure
from mixedne.errors import TrainingError
from mixedne.training.checkpoints import Checkpoint, load_checkpoints, save_checkpoint
from mixedne.training.snapshot import is_finite, restore_tree, tree_distance, tree_tensors


class State(NamedTuple):
    weights: Any
    key: Any
    nothing: Any = None


@pytest.fixture
def state() -> State:
    weights = {"a": jnp.arange(6.0).reshape(2, 3), "b": [jnp.int32(4), jnp.zeros((0, 2))]}
    return State(weights, jax.random.key(5))


def test_every_array_has_a_name(state: State) -> None:
    tensors = tree_tensors(state, "state")
    assert set(tensors) == {
        *("state.weights['a']", "state.weights['b'][0]", "state.weights['b'][1]", "state.key")
    }
    assert all(type(tensor) is np.ndarray for tensor in tensors.values())
    assert tensors["state.key"].dtype == np.uint32


def test_the_same_tree_comes_back(state: State, tmp_path: Any) -> None:
    save_checkpoint(tmp_path, Checkpoint(1, tree_tensors(state, "x"), {}))
    loaded = next(load_checkpoints(tmp_path))
    template = State(jax.tree.map(jnp.zeros_like, state.weights), jax.random.key(0))
    back = restore_tree(template, loaded.tensors, "x")
    assert str(jax.tree.structure(back)) == str(jax.tree.structure(state))
    for now, then in zip(
        jax.tree.leaves(back.weights), jax.tree.leaves(state.weights), strict=True
    ):
        assert (now.dtype, now.shape) == (then.dtype, then.shape)
        np.testing.assert_array_equal(now, then)
    assert back.key.dtype == state.key.dtype
    drawn, expected = (jax.random.normal(key, (3,)) for key in (back.key, state.key))
    np.testing.assert_array_equal(drawn, expected)


def test_what_comes_back_is_a_copy(state: State) -> None:
    tensors = tree_tensors(state, "x")
    back = restore_tree(state, tensors, "x")
    tensors["x.weights['a']"][:] = -1
    np.testing.assert_array_equal(back.weights["a"], state.weights["a"])


@pytest.mark.parametrize("change", ["missing", "shape", "dtype", "prefix"])
def test_what_does_not_fit_is_refused(change: str, state: State) -> None:
    tensors = tree_tensors(state, "x")
    name = "x.weights['a']"
    if change == "missing":
        del tensors[name]
    elif change == "shape":
        tensors[name] = tensors[name].T
    elif change == "dtype":
        tensors[name] = tensors[name].astype(np.float64)
    else:
        tensors = {"y" + key[1:]: tensor for key, tensor in tensors.items()}
    with pytest.raises(TrainingError, match=r"does not fit this run: x\.weights\['a'\] is missing"):
        restore_tree(state, tensors, "x")


def test_distances_overflow_without_a_warning() -> None:
    assert (
        tree_distance({"a": np.array([3, 0], np.float32)}, {"a": np.array([0, 4], np.float32)}) == 5
    )
    assert tree_distance(np.array([1e30], np.float32), np.zeros(1, np.float32)) == np.inf
    assert tree_distance(np.zeros(1), np.zeros(2)) is None


def test_numbers_that_are_none_are_found(state: State) -> None:
    tensors = tree_tensors(state, "x")
    assert is_finite(tensors)
    for bad in (np.nan, np.inf, -np.inf):
        assert not is_finite({**tensors, "y": np.array([0.0, bad], np.float32)})


@pytest.mark.parametrize("agent", ["td3", "sac"])
def test_every_agents_state_makes_the_round_trip(agent: str) -> None:
    from mixedne.training.updates import OffPolicyUpdater

    config = configure("InvertedPendulum-v5", agent=agent, hidden=(4,), batch_size=2)
    state = OffPolicyUpdater(config).init(config.seed)
    tensors = tree_tensors(state, "state")
    assert is_finite(tensors)
    zero = jax.tree.map(
        lambda x: x if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else jnp.zeros_like(x), state
    )
    back = tree_tensors(restore_tree(zero, tensors, "state"), "state")
    assert list(back) == list(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(back[name], tensor)
    # Its buffers are used up by the program: no two leaves may share one.
    pointers = [x.unsafe_buffer_pointer() for x in jax.tree.leaves(state) if x.size]
    assert len(set(pointers)) == len(pointers)
