"""Shifts of the physics: written into a MuJoCo model, read back, and what they change."""

import copy
from collections.abc import Iterable

import mujoco
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_choice
from mixedne.shifts.contacts import frictional_pairs
from mixedne.shifts.parameter import Parameter, Physics, expect
from mixedne.shifts.registry import PARAMETERS, Axis
from mixedne.shifts.shift import Shift

Array = NDArray[np.float64]

_ELEMENTS = {
    "body": (mujoco.mjtObj.mjOBJ_BODY, "body_parentid"),
    "geom": (mujoco.mjtObj.mjOBJ_GEOM, "geom_type"),
    "joint": (mujoco.mjtObj.mjOBJ_JOINT, "jnt_type"),
    "actuator": (mujoco.mjtObj.mjOBJ_ACTUATOR, "actuator_trntype"),
}
# By kind, with an array that has a row for each.

PHYSICAL = [(entry, entry.physics) for entry in PARAMETERS.values() if entry.physics is not None]
"""The parameters of the model."""

STATES, SPEED = 4, 3.0
"""How many states are compared, and the standard deviation of their speeds, in rad/s or m/s."""


def shifted_model(nominal: mujoco.MjModel, shift: Shift) -> mujoco.MjModel:
    """A copy of ``nominal`` with the shift applied and verified."""
    model = copy.copy(nominal)
    apply_shift(model, shift)
    return model


def apply_shift(model: mujoco.MjModel, shift: Shift) -> None:
    """Write the shift into a nominal model, and verify that it is there."""
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
    for entry, physics in PHYSICAL:
        factors, wanted = _wanted(entry, physics, nominal, shift)
        for array, numbers in zip(physics.arrays(model), wanted, strict=True):
            expect(entry.name, array, numbers)
        if physics.verify is not None:
            physics.verify(model, nominal, factors, shift.mass_mode)


def find_element(model: mujoco.MjModel, axis: Axis) -> int:
    """Which body, geom, joint or actuator of the model an axis is applied to."""
    kind, target = str(axis.entry.target), str(axis.target)
    code, count = _ELEMENTS[kind][0], _count(model, kind)
    if target.startswith("#"):
        if not (target[1:].isdecimal() and int(target[1:]) < count):
            raise InvalidInputError(f"{axis}: there are only the {kind} #0 to #{count - 1}")
        return int(target[1:])
    names = {mujoco.mj_id2name(model, code, i): i for i in range(count)}
    return names[check_choice(kind, target, [name for name in names if name])]


def check_targets(model: mujoco.MjModel, axes: Iterable[Axis]) -> None:
    """Refuse targets that the model does not have, that are the same, or that cannot be shifted."""
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


def _count(model: mujoco.MjModel, kind: str) -> int:
    return len(getattr(model, _ELEMENTS[kind][1]))


def axis_effects(nominal: mujoco.MjModel, shift: Shift) -> dict[Axis, float]:
    """How much each axis of a shift of the physics changes, beside the same shift without it.

    Zero is exactly nothing. By default it is the relative change of the accelerations in random
    states under random controls, and of the inertia where something can be touched; friction is
    compared at the contacts that can be. A function of the user's is infinite if it changes any
    number of the model.
    """
    model, effects = shifted_model(nominal, shift), {}
    for axis in shift.axes:
        if axis.acts_on == "model":
            other = shifted_model(nominal, shift.without(axis))
            effects[axis] = _effect(axis, model, other)
    return effects


def _effect(axis: Axis, model: mujoco.MjModel, other: mujoco.MjModel) -> float:
    if callable(axis.custom):
        return 0.0 if _bytes(model) == _bytes(other) else np.inf
    physics = axis.entry.physics
    change = _change_of_motion if physics is None or physics.change is None else physics.change
    return change(model, other)


def _change_of_motion(model: mujoco.MjModel, other: mujoco.MjModel) -> float:
    """The largest relative change of a degree of freedom's acceleration, or of the inertia.

    Zero for bodies that are fixed to the world or that no force moves, and in mode ``reference``
    for bodies whose inertia MuJoCo precomputes.
    """
    can_touch = len(frictional_pairs(model, least_dimension=1)) > 0
    rng = np.random.default_rng(0)
    states = [(rng.normal(size=model.nv), rng.uniform(-1, 1, model.nu)) for _ in range(STATES)]
    largest = 0.0
    for field in ("qacc_smooth", "M") if can_touch else ("qacc_smooth",):
        first, second = (
            np.array([_at_state(each, field, *state) for state in states])
            for each in (model, other)
        )
        size = np.abs(second).max(axis=0)
        difference = np.abs(first - second).max(axis=0)
        size[(size == 0) & (difference > 0)] = np.finfo(float).tiny
        changed = np.divide(difference, size, out=np.zeros_like(size), where=size > 0)
        largest = max(largest, float(changed.max(initial=0)))
    return largest


def _at_state(model: mujoco.MjModel, field: str, velocity: Array, control: Array) -> Array:
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, velocity, 0.3)
    data.qvel[:], data.ctrl[:] = SPEED * velocity, control
    mujoco.mj_forward(model, data)
    return np.array(getattr(data, field))


def _bytes(model: mujoco.MjModel) -> bytes:
    size = mujoco.mj_sizeModel(model)
    buffer = np.empty(size, np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def _wanted(
    entry: Parameter, physics: Physics, nominal: mujoco.MjModel, shift: Shift
) -> tuple[Array, list[Array]]:
    """The factor on each element, and the numbers that the parameter's arrays must hold."""
    arrays = physics.arrays(nominal)
    rows = np.arange(len(arrays[0])) if physics.element is None else physics.element(nominal)
    factors = np.ones(_count(nominal, entry.target) if entry.target else 1)
    values = {}
    for axis, value in shift.values:
        if axis.parameter != entry.name:
            continue
        element = 0 if axis.target is None else find_element(nominal, axis)
        if axis.absolute:
            before = physics.get_value(arrays[0][rows == element])
            factors[element] = value / before if before else 1.0
            values[element] = value
        else:
            factors[slice(None) if axis.target is None else element] *= value
    wanted = [array * factors[rows].reshape(-1, *[1] * (array.ndim - 1)) for array in arrays]
    for element, value in values.items():
        exact = wanted[0][rows == element]
        physics.set_value(exact, value)
        wanted[0][rows == element] = exact
    return factors, wanted
