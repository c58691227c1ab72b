"""Convert trees of arrays, such as a solver's state, to named arrays for checkpoints, and back."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import TrainingError
from mixedne.types import PyTree


def tree_tensors(tree: PyTree, prefix: str) -> dict[str, NDArray[Any]]:
    """The arrays of a tree, by unique names; random keys are stored as their data."""
    found, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {prefix + jax.tree_util.keystr(path): _to_host(leaf) for path, leaf in found}


def restore_tree(template: PyTree, tensors: dict[str, NDArray[Any]], prefix: str) -> PyTree:
    """A tree with the structure of the template, and the arrays with its names."""

    def restore(path: Any, leaf: Any) -> Any:
        name = prefix + jax.tree_util.keystr(path)
        stored, now = tensors.get(name), _to_host(leaf)
        if stored is None or stored.shape != now.shape or stored.dtype != now.dtype:
            raise TrainingError(
                f"the checkpoint does not fit this run: {name} is missing or differs"
            )
        if _is_key(leaf):
            return jax.random.wrap_key_data(jnp.asarray(stored))
        return jnp.array(stored)  # a copy: the program donates its buffers

    return jax.tree_util.tree_map_with_path(restore, template)


def is_finite(tensors: dict[str, NDArray[Any]]) -> bool:
    """Whether all numbers are finite."""
    return all(np.isfinite(array).all() for array in tensors.values() if array.dtype.kind == "f")


def tree_distance(a: PyTree, b: PyTree) -> float | None:
    """The Euclidean distance between two trees; None if their shapes differ."""
    if jax.tree.map(np.shape, a) != jax.tree.map(np.shape, b):
        return None
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    with np.errstate(over="ignore"):  # of parameters that make no sense, which the run says itself
        return float(np.sqrt(sum(np.square(np.asarray(x) - np.asarray(y)).sum() for x, y in pairs)))


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _to_host(leaf: Any) -> NDArray[Any]:
    return np.array(jax.random.key_data(leaf) if _is_key(leaf) else leaf)
