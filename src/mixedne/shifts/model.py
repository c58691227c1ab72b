"""Shifts of the physics: writing them into a MuJoCo model, verifying them, and their effects."""

import contextlib
import copy
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_choice, first_line
from mixedne.shifts.entries import Parameter, Physics, expect
from mixedne.shifts.registry import PARAMETERS, Axis, Shift

try:
    import mujoco
except Exception as error:
    chosen = os.environ.get("MUJOCO_GL")
    if not chosen:
        raise
    words = f"MuJoCo cannot be loaded with MUJOCO_GL={chosen}"
    raise InvalidInputError(f"{words}: {first_line(error)}") from None

Array = NDArray[np.float64]
Ids = NDArray[np.intp]

_COUNTS = {"body": "nbody", "geom": "ngeom", "joint": "njnt", "actuator": "nu"}
# The fields that count a model's elements, by kind.

PHYSICAL = [(entry, entry.physics) for entry in PARAMETERS.values() if entry.physics is not None]
"""The parameters of the model."""

STATES, SPEED = 4, 3.0
"""Number of states that are compared, and standard deviation of their speeds (rad/s or m/s)."""


def shifted_model(nominal: mujoco.MjModel, shift: Shift) -> mujoco.MjModel:
    """A copy of ``nominal`` with the shift applied and verified."""
    model = copy.copy(nominal)
    apply_shift(model, shift)
    return model


def apply_shift(model: mujoco.MjModel, shift: Shift) -> None:
    """Write the shift into a nominal model, and verify it."""
    for axis, value in shift.values:
        if callable(axis.custom):
            axis.custom(model, value)
    nominal = copy.copy(model)  # what the factors are relative to
    for entry, physics in PHYSICAL:
        if any(axis.parameter == entry.name for axis in shift.axes):
            factors, wanted = _wanted(entry, physics, nominal, shift)
            for array, numbers in zip(physics.arrays(model), wanted, strict=True):
                array[...] = numbers
            if physics.derive is not None:
                physics.derive(model, factors, shift.mass_mode)
    verify_shift(model, nominal, shift)


def verify_shift(model: mujoco.MjModel, nominal: mujoco.MjModel, shift: Shift) -> None:
    """Raise unless the shift reached the physics, and no other parameter has changed."""
    shifted = {axis.parameter for axis in shift.axes}
    parts_of = {axis.entry.part_of for axis in shift.axes}
    for entry, physics in PHYSICAL:
        if entry.part_of in shifted or entry.name in parts_of:
            continue  # verified as a part of the other parameter
        factors, wanted = _wanted(entry, physics, nominal, shift)
        for array, numbers in zip(physics.arrays(model), wanted, strict=True):
            expect(entry.name, array, numbers)
        if physics.verify is not None:
            physics.verify(model, nominal, factors, shift.mass_mode)


@contextlib.contextmanager
def physics_kept(env: Any, axes: Iterable[Axis]) -> Iterator[None]:
    """Raise if the environment itself sets what these axes shift, as in a reset of its own."""
    shifted = {axis.parameter: str(axis) for axis in axes}

    def read() -> list[Any]:
        physics = [physics for entry, physics in PHYSICAL if entry.name in shifted]
        return [array.copy() for each in physics for array in each.arrays(env.unwrapped.model)]

    model, before = env.unwrapped.model, read()
    yield
    if env.unwrapped.model is not model or not all(map(np.array_equal, before, read())):
        names = " and ".join(shifted.values())
        raise InvalidInputError(
            f"{names} cannot be shifted: the environment sets the physics itself in its reset"
        )


def _wanted(
    entry: Parameter, physics: Physics, nominal: mujoco.MjModel, shift: Shift
) -> tuple[Array, list[Array]]:
    """The factor on each element, and the numbers that the parameter's arrays must contain."""
    numbers = dict(shift.values)
    own = [axis for axis in numbers if axis.parameter == entry.name]
    return _resolve(entry, physics, nominal, own)([numbers[axis] for axis in own])


def parameter_writer(
    nominal: mujoco.MjModel, axes: Sequence[Axis]
) -> Callable[[mujoco.MjModel, Array], None]:
    """A fast function that writes values of these axes into a copy of a model, repeatedly.

    Nothing is verified, and only masses change, as in mode ``reference``.
    """
    parts = []
    for entry, physics in PHYSICAL:
        own = [i for i, axis in enumerate(axes) if axis.parameter == entry.name]
        if own := sorted(own, key=lambda i: axes[i].order):  # the order of a shift
            parts.append((physics, own, _resolve(entry, physics, nominal, [axes[i] for i in own])))

    def write(model: mujoco.MjModel, values: Array) -> None:
        for physics, own, wanted_at in parts:
            _, wanted = wanted_at(values[own])
            for array, numbers in zip(physics.arrays(model), wanted, strict=True):
                array[...] = numbers

    return write


def _resolve(
    entry: Parameter, physics: Physics, nominal: mujoco.MjModel, axes: Sequence[Axis]
) -> Callable[[Iterable[float]], tuple[Array, list[Array]]]:
    """For axes of one parameter, a function from their values to the result of :func:`_wanted`."""
    arrays = [np.array(array) for array in physics.arrays(nominal)]
    rows = np.arange(len(arrays[0])) if physics.element is None else physics.element(nominal)
    count = _count(nominal, entry.target) if entry.target else 1
    elements = [range(count) if a.target is None else [find_element(nominal, a)] for a in axes]
    given = {i for own, a in zip(elements, axes, strict=True) if a.absolute for i in own}
    before = {i: physics.get_value(arrays[0][rows == i]) for i in given}

    def wanted_at(values: Iterable[float]) -> tuple[Array, list[Array]]:
        factors, exact = np.ones(count), {}
        for axis, own, value in zip(axes, elements, values, strict=True):
            if axis.absolute:
                for element in own:
                    factors[element] = value / before[element] if before[element] else 1.0
                    exact[element] = value
            else:
                factors[own] *= value
        wanted = [array * factors[rows].reshape(-1, *[1] * (array.ndim - 1)) for array in arrays]
        for element, value in exact.items():
            part = wanted[0][rows == element]
            physics.set_value(part, value)
            wanted[0][rows == element] = part
        return factors, wanted

    return wanted_at


def find_element(model: mujoco.MjModel, axis: Axis) -> int:
    """The index of the body, geom, joint or actuator that an axis is applied to."""
    return find_part(model, str(axis.entry.target), str(axis.target))


def find_part(model: mujoco.MjModel, kind: str, target: str) -> int:
    """The index of the body, geom, joint or actuator with this name or ``#index``."""
    count = _count(model, kind)
    if target.startswith("#"):
        if not (target[1:].isdecimal() and int(target[1:]) < count):
            raise InvalidInputError(f"{kind} must be a name or #0 to #{count - 1}, not {target}")
        return int(target[1:])
    names = {getattr(model, kind)(i).name: i for i in range(count)}
    return names[check_choice(kind, target, [name for name in names if name])]


def _count(model: mujoco.MjModel, kind: str) -> int:
    return int(getattr(model, _COUNTS[kind]))


def check_targets(model: mujoco.MjModel, axes: Iterable[Axis]) -> None:
    """Raise for targets that do not exist in the model, are the same, or cannot be shifted."""
    seen: dict[tuple[str, int], Axis] = {}
    for axis in axes:
        kind, physics = axis.entry.target, axis.entry.physics
        if physics is None or kind is None:
            continue
        elements = list(range(_count(model, kind)))
        if axis.target is not None:
            elements = [find_element(model, axis)]
            other = seen.setdefault((axis.parameter, elements[0]), axis)
            if other != axis:
                raise InvalidInputError(f"{other} and {axis} are the same {kind}")
        refuse = physics.refuse or (lambda model, element: None)
        for element in elements:
            if reason := refuse(model, element):
                raise InvalidInputError(f"{axis} cannot shift {kind} #{element}: {reason}")


def axis_effects(nominal: mujoco.MjModel, shift: Shift) -> dict[Axis, float]:
    """The effect of each axis of a shift of the physics, compared to the same shift without it.

    Zero means exactly no effect. By default it is the relative change of the accelerations in
    random states under random controls, and of the inertia if contacts are possible; friction is
    compared at possible contacts. A user's function has an infinite effect if it changes any number
    of the model.
    """
    model, effects = shifted_model(nominal, shift), {}
    for axis in shift.axes:
        if axis.acts_on == "model":
            others = [pair for pair in shift.values if pair[0] != axis]
            other = shifted_model(nominal, Shift(others, shift.mass_mode))
            if callable(axis.custom):
                effects[axis] = 0.0 if _bytes(model) == _bytes(other) else np.inf
            else:
                change = axis.entry.physics and axis.entry.physics.change
                effects[axis] = (change or _change_of_motion)(model, other)
    return effects


def _change_of_motion(model: mujoco.MjModel, other: mujoco.MjModel) -> float:
    """The largest relative change of a degree of freedom's acceleration, or of the inertia.

    It is zero for bodies that are fixed to the world or that no force can move, and in mode
    ``reference`` for bodies whose inertia MuJoCo precomputes.
    """
    can_touch = len(frictional_pairs(model, least_dimension=1)) > 0
    largest = 0.0
    for field in ("qacc_smooth", "M") if can_touch else ("qacc_smooth",):
        first, second = (
            np.array([np.array(getattr(data, field)) for data in random_states(each)])
            for each in (model, other)
        )
        size = np.abs(second).max(axis=0)
        difference = np.abs(first - second).max(axis=0)
        size[(size == 0) & (difference > 0)] = np.finfo(float).tiny
        changed = np.divide(difference, size, out=np.zeros_like(size), where=size > 0)
        largest = max(largest, float(changed.max(initial=0)))
    return largest


def random_states(model: mujoco.MjModel) -> Iterator[mujoco.MjData]:
    """A few states with random positions, speeds and controls, the same for similar models."""
    rng = np.random.default_rng(0)
    for _ in range(STATES):
        data, velocity = mujoco.MjData(model), rng.normal(size=model.nv)
        mujoco.mj_integratePos(model, data.qpos, velocity, 0.3)
        data.qvel[:], data.ctrl[:] = SPEED * velocity, rng.uniform(-1, 1, model.nu)
        mujoco.mj_forward(model, data)
        yield data


def _bytes(model: mujoco.MjModel) -> bytes:
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


# MuJoCo filters pairs of geoms before it checks their positions, and combines the friction of two
# in contact: that of the geom with higher priority, or the element-wise maximum. So scaling only
# one geom's friction may have no effect.


def frictional_pairs(model: mujoco.MjModel, least_dimension: int = 3) -> Ids:
    """(n, 2) pairs of geoms that can touch, with at least this contact dimension.

    Dimension 1 is contact without friction. Contacts defined as explicit pairs are left out, since
    they have their own friction.
    """
    first, second = np.triu_indices(model.ngeom, k=1)
    flags = model.opt.disableflags
    if flags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return np.empty((0, 2), np.intp)
    kind, partner = model.geom_contype, model.geom_conaffinity
    touch = ((kind[first] & partner[second]) | (kind[second] & partner[first])) != 0
    body = model.geom_bodyid
    weld = model.body_weldid[body]
    weld_parent = model.body_weldid[model.body_parentid[weld]]
    touch &= weld[first] != weld[second]
    if not flags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        related = (weld[first] == weld_parent[second]) | (weld[second] == weld_parent[first])
        touch &= ~(related & (weld[first] != 0) & (weld[second] != 0))
    low, high = np.minimum(body[first], body[second]), np.maximum(body[first], body[second])
    touch &= ~np.isin((low << 16) + high, model.exclude_signature)
    explicit = np.stack([model.pair_geom1, model.pair_geom2], axis=1)
    explicit.sort(axis=1)
    touch &= ~np.isin(first * model.ngeom + second, explicit @ [model.ngeom, 1])
    touch &= _combine(model, model.geom_condim, first, second) >= least_dimension
    return np.stack([first[touch], second[touch]], axis=1)


def contact_frictions(model: mujoco.MjModel) -> Array:
    """(n, 3) sliding, torsional and rolling friction of every pair that can touch with friction.

    Coefficients that a contact's dimension leaves unused are zero.
    """
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        return np.empty((0, 3))  # the options override the friction of every contact
    first, second = frictional_pairs(model).T
    friction = _combine(model, model.geom_friction, first, second)
    dimension = _combine(model, model.geom_condim, first, second)
    needed = np.array([3, 4, 6])  # contact dimension from which each coefficient counts
    return np.asarray(np.where(dimension[:, None] >= needed, friction, 0.0))


def _combine(model: mujoco.MjModel, field: NDArray[Any], first: Ids, second: Ids) -> NDArray[Any]:
    """A contact parameter of two geoms: that with higher priority, else the larger."""
    priority = model.geom_priority
    difference = (priority[first] - priority[second]).reshape(-1, *[1] * (field.ndim - 1))
    larger = np.maximum(field[first], field[second])
    return np.where(difference > 0, field[first], np.where(difference < 0, field[second], larger))
