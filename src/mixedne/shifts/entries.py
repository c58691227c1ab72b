"""Everything that can be shifted, with one entry each.

To add a shift, add an entry to :data:`ENTRIES`; command line, Python, grids, tables, labels,
warnings and both kinds of environments are derived from it. Functions that need MuJoCo import it
themselves: reports use this module, and need no simulator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mixedne.shifts.channels import ActionDelay, ActionNoise, Array, MakeChannel, ObservationNoise

Model: TypeAlias = Any
"""A ``mujoco.MjModel``; nothing in this module imports MuJoCo."""


class Bounds(NamedTuple):
    """Bounds of the allowed values."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = 1e6


_NOT_NEGATIVE = Bounds(at_least=0)


def _set_first(row: Array, value: float) -> None:
    row[..., 0] = value


@dataclass(frozen=True)
class Physics:
    """The numbers of a MuJoCo model that a parameter multiplies, and what is derived from them."""

    arrays: Callable[[Model], Sequence[Array]]
    """Views of the model's arrays, each (rows, …), which are written, read back and verified."""
    element: Callable[[Model], NDArray[np.integer]] | None = None
    """The element that each row belongs to; None if row i is element i."""
    set_value: Callable[[Array, float], None] = _set_first
    """Sets an element's rows of the first array to exactly this absolute value."""
    get_value: Callable[[Array], float] = lambda row: float(row.flat[0])
    """The absolute value of these rows. All of an element's numbers change in proportion."""
    derive: Callable[[Model, Array, str], None] | None = None
    """Called after writing, with the factor on each element and the mass mode."""
    verify: Callable[[Model, Model, Array, str], None] | None = None
    """Raises unless ``derive`` took effect; takes the model, the nominal one, factors and mode."""
    change: Callable[[Model, Model], float] | None = None
    """The relative difference between two models in what the parameter affects; by default in the
    accelerations."""
    refuse: Callable[[Model, int], str | None] | None = None
    """Why an element cannot be shifted; None if it can."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """Something that can be shifted by a number. One of the last four fields says where it acts."""

    name: str
    """Name on the command line, in Python and in tables."""
    noun: str = ""
    """Noun for use in sentences; by default the name."""
    label: str = ""
    """Label of the axis, with units; by default that of a factor."""
    nominal: float | None = 1.0
    """The nominal value."""
    bounds: Bounds = _NOT_NEGATIVE
    """Bounds of factors and of absolute values."""
    log_axis: bool = False
    """Whether figures use a logarithmic axis."""
    whole: bool = False
    """Whether only whole numbers are allowed."""
    grids: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Values in the named grids."""
    target: str | None = None
    """The kind of element that it can be applied to: body, geom, joint or actuator."""
    unit: str | None = None
    """Unit of absolute values; None if the parameter has no absolute values."""
    uniform: bool = False
    """Whether an absolute value without a target applies to every element of the model."""
    part_of: str | None = None
    """The parameter that this one is a part of; the two cannot be shifted together."""
    physics: Physics | None = None
    actions: MakeChannel | None = None
    observations: MakeChannel | None = None
    keyword: tuple[str, tuple[str, ...]] | None = None
    """A keyword argument of an environment, and the tasks that accept it."""

    def __post_init__(self) -> None:
        noun = self.noun or self.name.replace("-", " ")
        object.__setattr__(self, "noun", noun)
        object.__setattr__(self, "label", self.label or f"{noun}, as a multiple of the task's own")

    @property
    def acts_on(self) -> str:
        """One of ``model``, ``actions``, ``observations`` and ``task``."""
        places = {"model": self.physics, "actions": self.actions, "observations": self.observations}
        return next((place for place, means in places.items() if means is not None), "task")


def expect(what: str, found: Array, wanted: Array) -> None:
    """Raise unless the numbers in a model are the wanted ones."""
    if not np.allclose(found, wanted, rtol=1e-12, atol=0):
        raise RuntimeError(f"the shift did not reach the physics: {what} is {found}, not {wanted}")


# Mass has two modes. ``reference`` multiplies only the bodies' masses, as in every published
# figure. ``consistent`` also multiplies their inertias and lets MuJoCo recompute the constants
# derived from both. (The mean inertia, by which the solver scales its tolerance, is not among
# them: MuJoCo keeps its compiled value.)


def _moves_inertia(factors: Array, mass_mode: str) -> bool:
    return mass_mode == "consistent" and bool((factors != 1).any())


def _derive_from_mass(model: Model, factors: Array, mass_mode: str) -> None:
    import mujoco

    if _moves_inertia(factors, mass_mode):
        model.body_inertia *= factors[:, None]
        mujoco.mj_setConst(model, mujoco.MjData(model))  # overwrites the state it is given


def _verify_mass(model: Model, nominal: Model, factors: Array, mass_mode: str) -> None:
    inertia, total = nominal.body_inertia, nominal.body_subtreemass[0]
    if _moves_inertia(factors, mass_mode):
        inertia, total = inertia * factors[:, None], model.body_mass.sum()
    expect("inertia", model.body_inertia, inertia)
    expect("the total mass that MuJoCo derived", model.body_subtreemass[0], total)


def _change_of_friction(model: Model, other: Model) -> float:
    """Zero if no two geoms can touch with friction, or MuJoCo uses the other geom's friction.

    It is not checked whether geoms that can touch ever get close to each other.
    """
    from mixedne.shifts.model import contact_frictions

    first, second = contact_frictions(model), contact_frictions(other)
    return float(np.abs(first - second).max(initial=0) / max(np.abs(second).max(initial=0), 1e-9))


def _verify_sliding_alone(model: Model, nominal: Model, factors: Array, mass_mode: str) -> None:
    rest, wanted = model.geom_friction[:, 1:], nominal.geom_friction[:, 1:]
    expect("torsional and rolling friction", rest, wanted)


def _set_strength_of_gravity(rows: Array, value: float) -> None:
    size = np.linalg.norm(rows)
    rows[:] = rows / size * value if size else (0.0, 0.0, -value)


def _has_no_simple_strength(model: Model, actuator: int) -> str | None:
    from mujoco import mjtBias, mjtGain

    gain, bias = model.actuator_gaintype[actuator], model.actuator_biastype[actuator]
    simple = mjtGain(gain) in (mjtGain.mjGAIN_FIXED, mjtGain.mjGAIN_AFFINE)
    simple &= mjtBias(bias) in (mjtBias.mjBIAS_NONE, mjtBias.mjBIAS_AFFINE)
    return None if simple else "its force is no linear function of its control, as a muscle's"


_FACTORS = {
    "paper": tuple(round(0.5 + 0.05 * i, 2) for i in range(11))
    + tuple(round(1.1 + 0.1 * i, 1) for i in range(10)),
    "paper-heatmap": tuple(round(0.5 + 0.1 * i, 1) for i in range(6))
    + tuple(round(1.2 + 0.2 * i, 1) for i in range(5)),
}

ENTRIES = (
    Parameter(
        name="mass",
        bounds=Bounds(above=0),
        log_axis=True,
        grids=_FACTORS,
        target="body",
        unit="kg",
        physics=Physics(
            lambda model: [model.body_mass], derive=_derive_from_mass, verify=_verify_mass
        ),
    ),
    Parameter(
        name="friction",  # sliding, torsional and rolling; the absolute value is the sliding one
        bounds=Bounds(above=0),
        log_axis=True,
        grids=_FACTORS,
        target="geom",
        unit="(sliding)",
        physics=Physics(lambda model: [model.geom_friction], change=_change_of_friction),
    ),
    Parameter(
        name="sliding-friction",  # the first of the three coefficients alone
        bounds=Bounds(above=0),
        log_axis=True,
        target="geom",
        unit="(coefficient)",
        uniform=True,
        part_of="friction",
        physics=Physics(
            lambda model: [model.geom_friction[:, :1]],
            change=_change_of_friction,
            verify=_verify_sliding_alone,
        ),
    ),
    Parameter(
        name="noise",
        noun="action noise",
        label="probability of a random action",
        nominal=0.0,
        bounds=Bounds(at_least=0, at_most=1),
        grids=dict.fromkeys(_FACTORS, tuple(round(0.05 * i, 2) for i in range(11))),
        actions=ActionNoise,
    ),
    Parameter(
        name="rho",
        noun="ρ",
        label="ρ: how often a random action replaces the agent's",
        nominal=0.2,
        bounds=Bounds(at_least=0, at_most=1),
        grids={"paper": tuple(float(x) for x in np.linspace(0.0, 0.4, 20))},
        keyword=("rho", ("toy",)),
    ),
    Parameter(
        name="gravity",
        unit="m/s²",
        physics=Physics(
            lambda model: [model.opt.gravity[None]],
            set_value=_set_strength_of_gravity,
            get_value=lambda rows: float(np.linalg.norm(rows)),
        ),
    ),
    Parameter(
        name="damping",
        noun="joint damping",
        target="joint",
        unit="N·m·s/rad or N·s/m",
        physics=Physics(
            lambda model: [model.dof_damping, model.dof_dampingpoly],
            element=lambda model: model.dof_jntid,
            set_value=lambda rows, value: rows.fill(value),
        ),
    ),
    Parameter(
        name="actuator-strength",  # the force for a control: gain, bias and the limits of force
        target="actuator",
        physics=Physics(
            lambda m: [m.actuator_gainprm, m.actuator_biasprm, m.actuator_forcerange],
            refuse=_has_no_simple_strength,
        ),
    ),
    Parameter(
        name="observation-noise",
        label="observation noise, standard deviation in the observations' units",
        nominal=0.0,
        observations=ObservationNoise,
    ),
    Parameter(
        name="action-delay",
        noun="action delay in steps",
        label="action delay in steps",
        nominal=0.0,
        bounds=Bounds(at_least=0, at_most=1000),
        whole=True,
        actions=ActionDelay,
    ),
    Parameter(
        name="opponent",
        label="opponent: how much of its own adversary's moves the agent meets",
        nominal=0.0,
        bounds=Bounds(at_least=0, at_most=1),
        keyword=("opponent", ("pettingzoo",)),
    ),
)
"""All parameters, in the order in which tables and figures list them and channels apply them."""
