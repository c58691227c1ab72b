"""Everything that can be shifted, one entry each.

To add a shift, add an entry to :data:`ENTRIES`; command line, Python, grids, tables, labels,
warnings and both kinds of environments follow from it. Functions that need MuJoCo import it
themselves: reports read this module, and need no simulator.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mixedne.shifts.parameter import Array, Bounds, Mask, Model, Parameter, Physics, Spaces, expect
from mixedne.shifts.streams import (
    ACTION_NOISE,
    OBSERVATION_NOISE,
    DrawStream,
    episode_generator,
    normal,
)

_TENTHS = tuple(round(0.5 + 0.1 * i, 1) for i in range(6))
_FACTORS = {
    "paper": tuple(round(0.5 + 0.05 * i, 2) for i in range(11))
    + tuple(round(1.1 + 0.1 * i, 1) for i in range(10)),
    "paper-heatmap": _TENTHS + tuple(round(1.2 + 0.2 * i, 1) for i in range(5)),
}
_PROBABILITIES = tuple(round(0.05 * i, 2) for i in range(11))

_POSITIVE, _NOT_NEGATIVE = Bounds(above=0), Bounds(at_least=0)
_PROBABILITY = Bounds(at_least=0, at_most=1)


def _multiple(noun: str) -> str:
    return f"{noun}, as a multiple of the task's own"


# Mass has two modes. ``reference`` multiplies the bodies' masses and nothing else, as every
# published figure did it. ``consistent`` multiplies their inertias too and lets MuJoCo recompute
# the constants that it derives from both. (The mean inertia, by which the solver scales its
# tolerance, is not among them: MuJoCo keeps it as compiled.)


def _derive_from_mass(model: Model, factors: Array, mass_mode: str) -> None:
    import mujoco

    if mass_mode == "consistent":
        model.body_inertia *= factors[:, None]
        mujoco.mj_setConst(model, mujoco.MjData(model))  # overwrites the state it is given


def _verify_mass(model: Model, nominal: Model, factors: Array, mass_mode: str) -> None:
    consistent = mass_mode == "consistent"
    inertia = nominal.body_inertia * (factors[:, None] if consistent else 1.0)
    expect("inertia", model.body_inertia, inertia)
    total = (model.body_mass if consistent else nominal.body_mass).sum()
    expect("the total mass that MuJoCo derived", model.body_subtreemass[0], total)


def _change_of_friction(model: Model, other: Model) -> float:
    """Zero where no two geoms can touch with friction, or MuJoCo takes the other geom's.

    Whether geoms that may touch ever come near each other is not decided.
    """
    from mixedne.shifts.contacts import contact_frictions

    first, second = contact_frictions(model), contact_frictions(other)
    return float(np.abs(first - second).max(initial=0) / max(np.abs(second).max(initial=0), 1e-9))


def _set_strength_of_gravity(rows: Array, value: float) -> None:
    size = np.linalg.norm(rows)
    rows[:] = rows / size * value if size else (0.0, 0.0, -value)


def _has_no_simple_strength(model: Model, actuator: int) -> str | None:
    import mujoco

    gain = mujoco.mjtGain(model.actuator_gaintype[actuator])
    bias = mujoco.mjtBias(model.actuator_biastype[actuator])
    simple = gain in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE)
    simple &= bias in (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE)
    return None if simple else "its force is no linear function of its control, as a muscle's"


class ActionNoise:
    """With probability p, a uniform action over the task's box replaces the policy's."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One probability and one episode seed per world."""
        self._noise = np.asarray(values)
        self._low, self._high = spaces.action_low, spaces.action_high
        generators = [episode_generator(seed, ACTION_NOISE) for seed in seeds]
        self._stream = DrawStream(generators, 1 + len(self._low))

    def __call__(self, rows: Array) -> Array:
        """Uniform actions where the first of a world's draws lies below p; the type stays."""
        draws = self._stream.draw()
        uniform = (self._low + (self._high - self._low) * draws[:, 1:]).astype(rows.dtype)
        return np.where(draws[:, :1] < self._noise[:, None], uniform, rows)

    def drop(self, done: Mask) -> None:
        """Forget these worlds."""
        self._stream.drop(done)
        self._noise = self._noise[~done]


class ActionDelay:
    """The world receives the action of so many steps ago, and the box's centre before that."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One number of steps per world."""
        self._delays = np.asarray(values).astype(int)
        self._centre = (spaces.action_low + spaces.action_high) / 2
        self._history: list[Array] = []  # the newest first

    def __call__(self, rows: Array) -> Array:
        """The actions that are due."""
        self._history = [rows.copy(), *self._history[: self._delays.max(initial=0)]]
        due = np.tile(self._centre.astype(rows.dtype), (len(rows), 1))
        for delay in np.unique(self._delays[self._delays < len(self._history)]):
            worlds = self._delays == delay
            due[worlds] = self._history[delay][worlds]
        return due

    def drop(self, done: Mask) -> None:
        """Forget these worlds."""
        self._delays = self._delays[~done]
        self._history = [rows[~done] for rows in self._history]


class ObservationNoise:
    """The policy sees the observation plus normal noise; the world and its rewards do not."""

    def __init__(self, values: NDArray[np.float64], seeds: Sequence[int], spaces: Spaces) -> None:
        """One standard deviation, in the observations' own units, per world."""
        self._scale = np.asarray(values)
        generators = [episode_generator(seed, OBSERVATION_NOISE) for seed in seeds]
        self._stream = DrawStream(generators, spaces.observation_size, normal)

    def __call__(self, rows: Array) -> Array:
        """What the policies see."""
        return rows + self._scale[:, None] * self._stream.draw()

    def drop(self, done: Mask) -> None:
        """Forget these worlds."""
        self._stream.drop(done)
        self._scale = self._scale[~done]


ENTRIES = (
    Parameter(
        name="mass",
        noun="mass",
        label=_multiple("mass"),
        nominal=1.0,
        bounds=_POSITIVE,
        log_axis=True,
        grids=_FACTORS,
        target="body",
        unit="kg",
        physics=Physics(
            arrays=lambda model: [model.body_mass],
            derive=_derive_from_mass,
            verify=_verify_mass,
        ),
    ),
    Parameter(
        name="friction",  # sliding, torsional and rolling; the absolute value is the sliding one
        noun="friction",
        label=_multiple("friction"),
        nominal=1.0,
        bounds=_POSITIVE,
        log_axis=True,
        grids=_FACTORS,
        target="geom",
        unit="(sliding)",
        physics=Physics(arrays=lambda model: [model.geom_friction], change=_change_of_friction),
    ),
    Parameter(
        name="noise",
        noun="action noise",
        label="probability of a random action",
        nominal=0.0,
        bounds=_PROBABILITY,
        grids=dict.fromkeys(_FACTORS, _PROBABILITIES),
        actions=ActionNoise,
    ),
    Parameter(
        name="rho",
        noun="ρ",
        label="ρ: how often a random action replaces the agent's",
        nominal=0.2,
        bounds=_PROBABILITY,
        grids={"paper": tuple(float(x) for x in np.linspace(0.0, 0.4, 20))},
        keyword=("rho", ("toy",)),
    ),
    Parameter(
        name="gravity",
        noun="gravity",
        label=_multiple("gravity"),
        nominal=1.0,
        bounds=_NOT_NEGATIVE,
        unit="m/s²",
        physics=Physics(
            arrays=lambda model: [model.opt.gravity[None]],
            set_value=_set_strength_of_gravity,
            get_value=lambda rows: float(np.linalg.norm(rows)),
        ),
    ),
    Parameter(
        name="damping",
        noun="joint damping",
        label=_multiple("joint damping"),
        nominal=1.0,
        bounds=_NOT_NEGATIVE,
        target="joint",
        unit="N·m·s/rad or N·s/m",
        physics=Physics(
            arrays=lambda model: [model.dof_damping, model.dof_dampingpoly],
            element=lambda model: model.dof_jntid,
            set_value=lambda rows, value: rows.fill(value),
        ),
    ),
    Parameter(
        name="actuator-strength",  # the force for a control: gain, bias and the limits of force
        noun="actuator strength",
        label=_multiple("actuator strength"),
        nominal=1.0,
        bounds=_NOT_NEGATIVE,
        target="actuator",
        physics=Physics(
            arrays=lambda model: [
                model.actuator_gainprm,
                model.actuator_biasprm,
                model.actuator_forcerange,
            ],
            refuse=_has_no_simple_strength,
        ),
    ),
    Parameter(
        name="observation-noise",
        noun="observation noise",
        label="observation noise, standard deviation in the observations' units",
        nominal=0.0,
        bounds=_NOT_NEGATIVE,
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
)
"""In the order in which tables and figures list them and channels apply."""
