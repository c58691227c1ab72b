"""What an entry of the registry says about a parameter."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_number

Array: TypeAlias = NDArray[np.floating]
Mask: TypeAlias = NDArray[np.bool_]
Model: TypeAlias = Any
"""A ``mujoco.MjModel``; nothing in this module imports MuJoCo."""


class Bounds(NamedTuple):
    """Which numbers are allowed."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = 1e6

    def check(self, name: str, value: float) -> None:
        """Raise unless ``value`` lies within."""
        check_number(name, value, **self._asdict())


class Spaces(Protocol):
    """What a channel may need to know of a task."""

    @property
    def action_low(self) -> NDArray[np.float64]:
        """The lower corner of the box of actions."""

    @property
    def action_high(self) -> NDArray[np.float64]:
        """The upper corner."""

    @property
    def observation_size(self) -> int:
        """Numbers in an observation."""


class Channel(Protocol):
    """What happens to the actions, or the observations, of a batch of shifted worlds."""

    def __call__(self, rows: Array) -> Array:
        """A row for each world; called once per step, and for observations at the reset too."""

    def drop(self, done: Mask) -> None:
        """Forget these worlds."""


MakeChannel: TypeAlias = Callable[[NDArray[np.float64], Sequence[int], Spaces], Channel]
"""From each world's number, each world's episode seed, and the task."""


def expect(what: str, found: Array, wanted: Array) -> None:
    """Raise unless a model holds these numbers."""
    if not np.allclose(found, wanted, rtol=1e-12, atol=0):
        raise RuntimeError(f"the shift did not reach the physics: {what} is {found}, not {wanted}")


def _set_first(row: Array, value: float) -> None:
    row[..., 0] = value


@dataclass(frozen=True)
class Physics:
    """The numbers of a MuJoCo model that a parameter multiplies, and what else follows."""

    arrays: Callable[[Model], Sequence[Array]]
    """Views of the model, (rows, …) each: written, read back and verified."""
    element: Callable[[Model], NDArray[np.integer]] | None = None
    """Which element each row belongs to; None: row i is element i."""
    set_value: Callable[[Array, float], None] = _set_first
    """Makes an element's rows of the first array hold an absolute value exactly."""
    get_value: Callable[[Array], float] = lambda row: float(row.flat[0])
    """The absolute value that they hold. All of an element's numbers change in proportion."""
    derive: Callable[[Model, Array, str], None] | None = None
    """Called after the writing with the factor on each element and the mass mode."""
    verify: Callable[[Model, Model, Array, str], None] | None = None
    """Raises unless what ``derive`` wrote is there: the model, the nominal one, factors, mode."""
    change: Callable[[Model, Model], float] | None = None
    """How much two models differ in what the parameter acts through, relatively; by default the
    change of the accelerations."""
    refuse: Callable[[Model, int], str | None] | None = None
    """Why an element cannot be shifted; None where it can."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """Something that can be shifted by a number. One of the last four says where it acts."""

    name: str
    """As on the command line, in Python and in tables."""
    noun: str
    """In a sentence."""
    label: str
    """Its axis in words, with units."""
    nominal: float | None
    """The number of the nominal world."""
    bounds: Bounds
    """Of factors, and of absolute values."""
    log_axis: bool = False
    """Whether figures draw it on a logarithmic axis."""
    whole: bool = False
    """Whether only whole numbers make sense."""
    grids: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Its values in the named grids."""
    target: str | None = None
    """What of a model it may be applied to: a body, geom, joint or actuator."""
    unit: str | None = None
    """Of absolute values, in which a parameter of the model can be given too; None: it cannot."""
    physics: Physics | None = None
    actions: MakeChannel | None = None
    observations: MakeChannel | None = None
    keyword: tuple[str, tuple[str, ...]] | None = None
    """A keyword argument of an environment, and the tasks that know it."""

    @property
    def acts_on(self) -> str:
        """One of ``model``, ``actions``, ``observations`` and ``task``."""
        if self.physics is not None:
            return "model"
        if self.actions is not None:
            return "actions"
        return "task" if self.observations is None else "observations"

    def check(self, name: str, value: float) -> float:
        """``value`` as a number that is allowed; ``name`` is the axis."""
        self.bounds.check(name, value)
        if self.whole and value != round(value):
            raise InvalidInputError(f"{name} must be a whole number, not {value}")
        return float(value)
