"""Transitions by the names of their fields."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixedne.training.replay import Layout, Replay


def pack(layout: Layout, fields: Mapping[str, ArrayLike]) -> NDArray[np.float32]:
    """Rows (..., width) from all fields, each of the shape (..., its size)."""
    assert set(fields) == set(layout.sizes)
    return np.concatenate([np.asarray(fields[name], np.float32) for name in layout.sizes], axis=-1)


def unpack(layout: Layout, rows: Any) -> dict[str, Any]:
    """The fields of rows (..., width)."""
    return {name: rows[..., columns] for name, columns in layout.columns.items()}


class InOrder(np.random.Generator):
    """Draws 0, 1, 2, … in place of random places."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def integers(self, *_: Any, size: Any = None, **__: Any) -> Any:
        return np.arange(np.prod(size)).reshape(size)


def window(replay: Replay) -> NDArray[np.float32]:
    """All transitions that can be sampled, the oldest first."""
    if not len(replay):
        return np.zeros((0, replay.width), np.float32)
    return replay.sample(InOrder(), (len(replay),))
