"""The last transformation of this package's optimisers: multiplication by −η.

Optax's ``scale_by_learning_rate`` counts the optimiser's own steps. The paper's step sizes
η_t depend on the outer step t, while a chain takes K_t inner steps, so here a caller may
also pass the learning rate to each ``update``.
"""

from typing import Any

import jax
import jax.numpy as jnp
import optax

from mixedne.errors import check_number
from mixedne.types import PyTree


def value_at(
    count: jax.Array,
    default: optax.ScalarOrSchedule,
    given: jax.typing.ArrayLike | None,
) -> Any:
    """The value passed to this update, or else the default, which may be a schedule."""
    if given is not None:
        return given
    return default(count) if callable(default) else default


def descend(learning_rate: optax.ScalarOrSchedule) -> optax.GradientTransformationExtraArgs:
    """Multiply updates by −η; ``update`` accepts a ``learning_rate`` that overrides the default."""
    check_number("learning_rate", learning_rate, above=0)
    default = learning_rate

    def init(params: PyTree) -> optax.ScaleByScheduleState:
        del params
        return optax.ScaleByScheduleState(jnp.zeros([], jnp.int32))

    def update(
        updates: PyTree,
        state: optax.ScaleByScheduleState,
        params: PyTree | None = None,
        *,
        learning_rate: jax.typing.ArrayLike | None = None,
        **unused: Any,
    ) -> tuple[PyTree, optax.ScaleByScheduleState]:
        del params, unused
        eta = value_at(state.count, default, learning_rate)
        steps = jax.tree.map(lambda u: (-eta * u).astype(u.dtype), updates)
        return steps, optax.ScaleByScheduleState(state.count + 1)

    return optax.GradientTransformationExtraArgs(init, update)
