"""Which geoms of a MuJoCo model can touch, and with what friction.

MuJoCo filters pairs of geoms before it looks at their positions, and combines the friction
of the two that touch: the geom of higher priority decides, or the element-wise maximum.
Scaling one geom's friction alone can therefore do nothing.
"""

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray


def frictional_pairs(model: mujoco.MjModel, least_dimension: int = 3) -> NDArray[np.intp]:
    """(n, 2) geoms that MuJoCo's filters let touch, with at least this contact dimension.

    Dimension 1 is contact without friction. Contacts defined as explicit pairs are left out:
    their friction is their own and no geom's.
    """
    first, second = np.triu_indices(model.ngeom, k=1)
    flags = model.opt.disableflags
    if flags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return np.empty((0, 2), np.intp)
    body = model.geom_bodyid
    weld = model.body_weldid[body]
    weld_parent = model.body_weldid[model.body_parentid[weld]]
    touch = _share_a_bit(model, first, second) & (weld[first] != weld[second])
    if not flags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        parent_and_child = (weld[first] == weld_parent[second]) | (
            weld[second] == weld_parent[first]
        )
        touch &= ~(parent_and_child & (weld[first] != 0) & (weld[second] != 0))
    low, high = np.minimum(body[first], body[second]), np.maximum(body[first], body[second])
    touch &= ~np.isin((low << 16) + high, model.exclude_signature)
    explicit = np.stack([model.pair_geom1, model.pair_geom2], axis=1)
    explicit.sort(axis=1)
    touch &= ~np.isin(first * model.ngeom + second, explicit @ [model.ngeom, 1])
    touch &= _combine(model, model.geom_condim, first, second) >= least_dimension
    return np.stack([first[touch], second[touch]], axis=1)


def contact_frictions(model: mujoco.MjModel) -> NDArray[np.float64]:
    """(n, 3) sliding, torsional and rolling friction of every pair that can touch with some.

    Coefficients that a contact's dimension leaves unused are zero.
    """
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        return np.empty((0, 3))  # every contact has the friction that the options state
    first, second = frictional_pairs(model).T
    friction = _combine(model, model.geom_friction, first, second)
    dimension = _combine(model, model.geom_condim, first, second)
    needed = np.array([3, 4, 6])  # contact dimension from which each coefficient counts
    return np.asarray(np.where(dimension[:, None] >= needed, friction, 0.0))


def _share_a_bit(
    model: mujoco.MjModel, first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.bool_]:
    kind, partner = model.geom_contype, model.geom_conaffinity
    shared = (kind[first] & partner[second]) | (kind[second] & partner[first])
    return np.asarray(shared != 0)


def _combine(
    model: mujoco.MjModel,
    field: NDArray[Any],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> NDArray[Any]:
    """A contact parameter of two geoms: that of higher priority, else the larger."""
    priority = model.geom_priority
    difference = (priority[first] - priority[second]).reshape(-1, *[1] * (field.ndim - 1))
    larger = np.maximum(field[first], field[second])
    return np.where(difference > 0, field[first], np.where(difference < 0, field[second], larger))
