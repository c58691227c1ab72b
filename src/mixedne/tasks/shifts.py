"""Shifts: how a test world differs from the nominal one.

A shift is applied to a MuJoCo model from a nominal copy, read back from the model, and undone
by applying the nominal shift. Mass has two modes. ``reference`` multiplies the bodies' masses
and nothing else, as every published figure did it. ``consistent`` multiplies their inertias
too and lets MuJoCo recompute the constants that it derives from both.

Action noise is part of a shift but not of the physics: see ``actions``. ρ belongs to the toy
MDP: see ``toy``.
"""

import copy
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.tasks.contacts import contact_frictions, frictional_pairs

AXES = ("mass", "friction", "noise", "rho")
"""What can be shifted by a single number."""

MASS_MODES = ("reference", "consistent")
"""What a change of mass changes besides."""

MAX_FACTOR = 1e6
"""Larger factors overflow in the physics."""

_DERIVED_FIELDS = (
    "actuator_acc0",
    "body_invweight0",
    "body_subtreemass",
    "cam_poscom0",
    "dof_M0",
    "dof_invweight0",
    "dof_length",
    "efm0_L",
    "flexedge_invweight0",
    "light_poscom0",
    "tendon_invweight0",
)
# What mj_setConst derives from masses and inertias. The mean inertia, by which the solver
# scales its tolerance, is not among them: MuJoCo keeps it as compiled.

_SHIFTED_FIELDS = ("body_mass", "body_inertia", "geom_friction", *_DERIVED_FIELDS)


@dataclass(frozen=True)
class Shift:
    """Factors on the nominal world; the default is the nominal world itself."""

    mass: float = 1.0
    """Factor on every body's mass."""
    mass_mode: str = "reference"
    """``reference`` (masses alone) or ``consistent`` (inertias and derived constants too)."""
    friction: float = 1.0
    """Factor on every geom's three friction coefficients."""
    noise: float = 0.0
    """Probability with which a uniform action replaces the policy's."""
    rho: float | None = None
    """ρ of the toy MDP; None is the nominal value."""
    body_masses: tuple[tuple[str, float], ...] = ()
    """(body, factor) pairs, on top of ``mass`` and in its mode."""
    geom_frictions: tuple[tuple[str, float], ...] = ()
    """(geom, factor) pairs, on top of ``friction``."""

    def __post_init__(self) -> None:
        check_choice("mass mode", self.mass_mode, MASS_MODES)
        check_number("mass", self.mass, above=0, at_most=MAX_FACTOR)
        check_number("friction", self.friction, above=0, at_most=MAX_FACTOR)
        check_number("noise", self.noise, at_least=0, at_most=1)
        if self.rho is not None:
            check_number("rho", self.rho, at_least=0, at_most=1)
        for body, factor in self.body_masses:
            check_number(f"mass of {body}", factor, above=0, at_most=MAX_FACTOR)
        for geom, factor in self.geom_frictions:
            check_number(f"friction of {geom}", factor, above=0, at_most=MAX_FACTOR)

    @property
    def physics(self) -> "Shift":
        """The part that a MuJoCo model holds; worlds that agree in it can share a model."""
        return dataclasses.replace(self, noise=0.0, rho=None)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes along which this shift departs from the nominal world."""
        departs = {
            "mass": self.mass != 1 or bool(self.body_masses),
            "friction": self.friction != 1 or bool(self.geom_frictions),
            "noise": self.noise != 0,
            "rho": self.rho is not None,
        }
        return tuple(axis for axis in AXES if departs[axis])


NOMINAL = Shift()
"""No shift at all."""


def check_axes(name: str, supported: tuple[str, ...], shift: Shift) -> None:
    """Raise if the shift departs along an axis that the task does not have."""
    for axis in shift.axes:
        if axis not in supported:
            raise InvalidInputError(
                f"{name} has no axis {axis}: it can be shifted in {', '.join(supported)}"
            )


def apply_shift(model: mujoco.MjModel, nominal: mujoco.MjModel, shift: Shift) -> None:
    """Write the shifted physics into ``model``, whatever shift it held before."""
    _restore(model, nominal)
    masses = _factors(model, mujoco.mjtObj.mjOBJ_BODY, shift.mass, shift.body_masses)
    model.body_mass *= masses
    frictions = _factors(model, mujoco.mjtObj.mjOBJ_GEOM, shift.friction, shift.geom_frictions)
    model.geom_friction *= frictions[:, None]
    if shift.mass_mode == "consistent" and "mass" in shift.axes:
        model.body_inertia *= masses[:, None]
        mujoco.mj_setConst(model, mujoco.MjData(model))  # overwrites the state it is given


def undo_shift(model: mujoco.MjModel, nominal: mujoco.MjModel) -> None:
    """Give ``model`` the nominal physics back, bit for bit."""
    _restore(model, nominal)


def shifted_model(nominal: mujoco.MjModel, shift: Shift) -> mujoco.MjModel:
    """A copy of ``nominal`` with the shift applied and verified."""
    model = copy.copy(nominal)
    apply_shift(model, nominal, shift)
    verify_shift(model, nominal, shift)
    return model


@dataclass(frozen=True)
class Readback:
    """The factors that a model's physics holds, relative to the nominal model."""

    mass: NDArray[np.float64]
    """Per body; 1 where the nominal mass is 0."""
    inertia: NDArray[np.float64]
    """Per body and principal axis; 1 where the nominal inertia is 0."""
    friction: NDArray[np.float64]
    """Per geom and component; 1 where the nominal coefficient is 0."""
    derived_mass: float
    """On the whole model's mass as MuJoCo derived it (``body_subtreemass`` of the world)."""


def read_shift(model: mujoco.MjModel, nominal: mujoco.MjModel) -> Readback:
    """What the physics of ``model`` says, not what was asked for."""
    return Readback(
        mass=_ratio(model.body_mass, nominal.body_mass),
        inertia=_ratio(model.body_inertia, nominal.body_inertia),
        friction=_ratio(model.geom_friction, nominal.geom_friction),
        derived_mass=float(_ratio(model.body_subtreemass, nominal.body_subtreemass)[0]),
    )


def verify_shift(model: mujoco.MjModel, nominal: mujoco.MjModel, shift: Shift) -> None:
    """Raise unless the shift reached the physics, and nothing but the shift did."""
    found = read_shift(model, nominal)
    masses = _factors(model, mujoco.mjtObj.mjOBJ_BODY, shift.mass, shift.body_masses)
    frictions = _factors(model, mujoco.mjtObj.mjOBJ_GEOM, shift.friction, shift.geom_frictions)
    consistent = shift.mass_mode == "consistent"
    total = float(nominal.body_mass @ masses / nominal.body_mass.sum()) if consistent else 1.0
    expected = Readback(
        mass=np.where(nominal.body_mass == 0, 1, masses),
        inertia=np.where(nominal.body_inertia == 0, 1, masses[:, None] if consistent else 1.0),
        friction=np.where(nominal.geom_friction == 0, 1, frictions[:, None]),
        derived_mass=total,
    )
    for field in dataclasses.fields(Readback):
        is_there, should_be = getattr(found, field.name), getattr(expected, field.name)
        if not np.allclose(is_there, should_be, rtol=1e-12, atol=0):
            raise RuntimeError(
                f"the shift did not reach the physics: {field.name} is {is_there} times "
                f"the nominal instead of {should_be}"
            )


def ineffective_parts(nominal: mujoco.MjModel, shift: Shift) -> tuple[str, ...]:
    """The parts of ``shift`` that change nothing in this model's motion.

    They are called ``mass``, ``friction``, ``mass of BODY`` and ``friction of GEOM``; each is
    compared with the same shift without it.

    Friction: no two geoms can touch with friction, or the coefficients of all that can are
    what they were, because MuJoCo takes the larger of two geoms' coefficients. Whether geoms
    that may touch ever come near each other is not decided.

    Mass: at sampled states the accelerations are exactly what they were, and so is the inertia
    unless nothing can touch. So it is for bodies that are fixed to the world or that no force
    moves, and in mode ``reference`` for bodies whose inertia MuJoCo precomputes.
    """
    model = shifted_model(nominal, shift)
    parts = []
    for name, without in _parts(shift):
        other = shifted_model(nominal, without)
        if name.startswith("friction"):
            same = np.array_equal(contact_frictions(model), contact_frictions(other))
        else:
            same = _same_smooth_motion(model, other)
        if same:
            parts.append(name)
    return tuple(parts)


def _parts(shift: Shift) -> Iterator[tuple[str, Shift]]:
    """Each part of a shift of the physics, by name, with the shift that lacks it."""
    if shift.mass != 1:
        yield "mass", dataclasses.replace(shift, mass=1.0)
    for part in shift.body_masses:
        others = tuple(other for other in shift.body_masses if other is not part)
        yield f"mass of {part[0]}", dataclasses.replace(shift, body_masses=others)
    if shift.friction != 1:
        yield "friction", dataclasses.replace(shift, friction=1.0)
    for part in shift.geom_frictions:
        others = tuple(other for other in shift.geom_frictions if other is not part)
        yield f"friction of {part[0]}", dataclasses.replace(shift, geom_frictions=others)


def _same_smooth_motion(model: mujoco.MjModel, other: mujoco.MjModel) -> bool:
    """Whether two models accelerate alike in random states under random controls."""
    can_touch = len(frictional_pairs(model, least_dimension=1)) > 0
    rng = np.random.default_rng(0)
    for _ in range(4):
        velocity, control = rng.normal(size=model.nv), rng.uniform(-1, 1, model.nu)
        first, second = (_probe(each, velocity, control) for each in (model, other))
        if not np.array_equal(first.qacc_smooth, second.qacc_smooth):
            return False
        if can_touch and not np.array_equal(first.M, second.M):
            return False
    return True


def _probe(
    model: mujoco.MjModel, velocity: NDArray[np.float64], control: NDArray[np.float64]
) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, velocity, 0.3)
    data.qvel[:], data.ctrl[:] = velocity, control
    mujoco.mj_forward(model, data)
    return data


def _restore(model: mujoco.MjModel, nominal: mujoco.MjModel) -> None:
    for field in _SHIFTED_FIELDS:
        getattr(model, field)[:] = getattr(nominal, field)


def _factors(
    model: mujoco.MjModel,
    kind: mujoco.mjtObj,
    overall: float,
    named: tuple[tuple[str, float], ...],
) -> NDArray[np.float64]:
    """One factor per body or geom."""
    is_body = kind == mujoco.mjtObj.mjOBJ_BODY
    count = model.nbody if is_body else model.ngeom
    names = {mujoco.mj_id2name(model, kind, i): i for i in range(count)}
    factors = np.full(count, float(overall))
    for name, factor in named:
        choices = [known for known in names if known]
        factors[names[check_choice("body" if is_body else "geom", name, choices)]] *= factor
    return factors


def _ratio(value: NDArray[np.float64], nominal: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio = np.ones_like(nominal)
    return np.divide(value, nominal, out=ratio, where=nominal != 0)
