"""The registry of everything that can be shifted: parameters, axes and shifts.

An axis is a parameter and the element that it is applied to; a shift is a test world, given by
values of axes. In a table, each axis is a column named as on the command line: ``mass`` (a factor
on the whole model), ``mass[torso]`` (on one body), ``mass[torso]:abs`` (its absolute value).
Missing or null is nominal.
"""

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.shifts.channels import ALL, Array, Rows, Spaces
from mixedne.shifts.entries import ENTRIES, Bounds, Parameter

if TYPE_CHECKING:
    import polars as pl

_AXIS = re.compile(r"(?P<parameter>[a-z-]+)(\[(?P<target>[^\[\]]+)\])?(?P<absolute>:abs)?")

PARAMETERS: dict[str, Parameter] = {entry.name: entry for entry in ENTRIES}
"""All parameters by name, in the order in which tables and figures list them."""

CUSTOM = "custom"
"""The parameter of user-defined axes; their name is the target: ``custom[leg length]``."""

ATTACK = "attack"
"""The parameter of attacks on a policy: values are strengths, the target is the attack's name."""

_ALL = {
    **PARAMETERS,
    ATTACK: Parameter(
        name=ATTACK, label="strength of the attack", nominal=0.0, target="kind of attack"
    ),
    CUSTOM: Parameter(
        name=CUSTOM, nominal=None, bounds=Bounds(at_most=None), target="axis of your own"
    ),
}

MASS_MODES = ("reference", "consistent")
"""What else a change of mass changes: nothing, or inertias and derived constants."""


@dataclass(frozen=True)
class Axis:
    """A parameter, and the element of the model that it is applied to."""

    parameter: str
    target: str | None = None
    """The name or ``#index`` of a body, geom, joint or actuator; None is the whole model."""
    absolute: bool = False
    """Whether values are absolute; otherwise they are factors."""
    custom: Any = None
    """For a user-defined axis, a function that edits the model, or a keyword argument of the
    environment; for an attack, the attacker. None if the axis was read from a table."""

    def __post_init__(self) -> None:
        entry = self.entry
        if self.target is not None and entry.target is None:
            raise InvalidInputError(f"{self.parameter} takes no target, so {self} has no meaning")
        if self.absolute and entry.unit is None:
            kind = "factors" if entry.physics else "values as they are"
            raise InvalidInputError(f"{self.parameter} takes {kind}, so {self} has no meaning")
        named = (self.absolute and not entry.uniform) or self.parameter in (ATTACK, CUSTOM)
        if self.target is None and entry.target and named:
            raise InvalidInputError(f"{self} must name a {entry.target} in brackets")

    def __str__(self) -> str:
        target = "" if self.target is None else f"[{self.target}]"
        return f"{self.parameter}{target}{':abs' if self.absolute else ''}"

    @staticmethod
    def parse(text: "str | Axis") -> "Axis":
        """Parse a name such as ``mass``, ``mass[torso]`` or ``mass[#3]:abs``."""
        if isinstance(text, Axis):
            return text
        found = _AXIS.fullmatch(text)
        if found is None:
            raise InvalidInputError(
                f"a shift must be named as mass, mass[torso] or mass[torso]:abs, not {text!r}"
            )
        name = found["parameter"]
        if name not in (ATTACK, CUSTOM):
            check_choice("a shift", name, PARAMETERS)
        return Axis(name, found["target"], found["absolute"] is not None)

    @property
    def entry(self) -> Parameter:
        """The registry's entry for the parameter."""
        return _ALL[self.parameter]

    @property
    def label(self) -> str:
        """The axis in words."""
        if self.parameter == CUSTOM:
            return str(self.target)
        words = f"{self.entry.noun} in {self.entry.unit}" if self.absolute else self.entry.label
        return words if self.target is None else f"{words} ({self.target})"

    @property
    def nominal(self) -> float | None:
        """The nominal value; None if only the model knows it."""
        return None if self.absolute else self.entry.nominal

    @property
    def acts_on(self) -> str:
        """One of ``model``, ``actions``, ``observations``, ``task`` and ``attack``."""
        if self.parameter == ATTACK:
            return ATTACK
        return "model" if callable(self.custom) else self.entry.acts_on

    @property
    def keyword(self) -> str | None:
        """The keyword argument of the environment that the axis sets, if any."""
        if self.entry.keyword is not None:
            return self.entry.keyword[0]
        return self.custom if isinstance(self.custom, str) else None

    @property
    def order(self) -> tuple[int, str, str]:
        """Sort key among other axes."""
        return list(_ALL).index(self.parameter), self.target or "", str(self)

    def check(self, value: float) -> float:
        """Return ``value`` as a number; raises if the axis does not allow it."""
        check_number(str(self), value, **self.entry.bounds._asdict())
        if self.entry.whole and value != round(value):
            raise InvalidInputError(f"{self} must be a whole number, not {value}")
        return float(value)

    def in_words(self, value: float) -> str:
        """The shift to a value in words: ``mass of torso × 2``, ``action noise 0.1``."""
        if self.parameter == CUSTOM:
            return f"{self.target} {value:g}"
        if self.parameter == ATTACK:
            return f"attack on {self.target}, {value:g}"
        noun = self.entry.noun + (f" of {self.target}" if self.target else "")
        if self.absolute:
            return f"{noun} {value:g} {self.entry.unit}"
        return f"{noun} × {value:g}" if self.acts_on == "model" else f"{noun} {value:g}"


def check_distinct(axes: Iterable[Axis]) -> None:
    """Raise if an axis is repeated, or if two axes set the same numbers of a model."""
    seen: dict[tuple[str, str | None], Axis] = {}
    for axis in axes:
        key = (axis.parameter, axis.target)
        if key in seen:
            both = f"{seen[key]} and {axis} are both" if seen[key] != axis else f"{axis} is twice"
            raise InvalidInputError(f"{both} among the shifts: give one of each")
        seen[key] = axis
    for axis, other in itertools.permutations(seen.values(), 2):
        everywhere = axis.absolute and axis.target is None and axis.parameter == other.parameter
        if everywhere or axis.entry.part_of == other.parameter:
            raise InvalidInputError(f"{axis} and {other} set the same numbers: give one of them")


@functools.cache
def _axis_of(column: str) -> Axis | None:
    try:
        return Axis.parse(column)
    except InvalidInputError:
        return None  # not one of our columns


def shift_axes(columns: Iterable[str]) -> list[Axis]:
    """The axes among a table's columns, in the registry's order."""
    found = [axis for name in columns if (axis := _axis_of(name)) is not None]
    return sorted(found, key=lambda axis: axis.order)


def is_nominal(columns: Iterable[str], *, but: Iterable[str] = ()) -> "pl.Expr":
    """An expression for rows of the nominal world, ignoring the columns ``but``."""
    import polars as pl

    axes = [(pl.col(str(axis)), axis.nominal) for axis in shift_axes(set(columns) - set(but))]
    rules = [column.is_null() | column.eq_missing(nominal) for column, nominal in axes]
    return pl.all_horizontal(pl.lit(True), *rules)


@dataclass(frozen=True, init=False)
class Shift:
    """Values of axes of the registry; by default the nominal world.

    ``Shift(mass=2.0, noise=0.1)``, ``Shift({"mass[torso]": 2.0})``. A factor on the whole model
    and a factor on a part of it are multiplied.
    """

    values: tuple[tuple[Axis, float], ...]
    """Axes and values in the registry's order; nominal values are left out."""
    mass_mode: str
    """``reference`` (only masses) or ``consistent`` (also inertias and derived constants)."""

    def __init__(
        self,
        values: Mapping[str, float] | Iterable[tuple[str | Axis, float]] = (),
        mass_mode: str = "reference",
        **named: float | None,
    ) -> None:
        """Values by axis or its name; ``named`` are values by keyword, None for nominal."""
        pairs = [*(values.items() if isinstance(values, Mapping) else values)]
        pairs += [(name.replace("_", "-"), x) for name, x in named.items() if x is not None]
        given = [(Axis.parse(name), value) for name, value in pairs]
        check_distinct(axis for axis, _ in given)
        checked = [(axis, axis.check(value)) for axis, value in given]
        kept = [(axis, value) for axis, value in checked if value != axis.nominal]
        object.__setattr__(self, "values", tuple(sorted(kept, key=lambda pair: pair[0].order)))
        object.__setattr__(self, "mass_mode", check_choice("mass_mode", mass_mode, MASS_MODES))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes along which this shift differs from the nominal world."""
        return tuple(axis for axis, _ in self.values)

    def number(self, axis: str | Axis) -> float | None:
        """The value of an axis; None if it is nominal and only the model knows it."""
        wanted = Axis.parse(axis)
        return next((value for found, value in self.values if found == wanted), wanted.nominal)

    def only(self, *acts_on: str) -> "Shift":
        """The part that acts on the model, the task, actions or observations."""
        kept = tuple(pair for pair in self.values if pair[0].acts_on in acts_on)
        has_mass = any(axis.parameter == "mass" for axis, _ in kept)
        return Shift(kept, self.mass_mode if has_mass else "reference")

    @property
    def keywords(self) -> dict[str, float]:
        """The keyword arguments of the environment that the shift sets.

        Those of user-defined axes are whole numbers where they can be: some arguments must.
        """
        return {
            axis.keyword: int(value) if axis.custom and value.is_integer() else value
            for axis, value in self.values
            if axis.keyword is not None
        }

    def __str__(self) -> str:
        """The shift in words: ``mass × 1.5, action noise 0.1``."""
        words = [axis.in_words(value) for axis, value in self.values]
        if self.mass_mode == "consistent" and any(a.parameter == "mass" for a in self.axes):
            words[0] += " (and inertia)"
        return ", ".join(words) or "nominal world"


NOMINAL = Shift()
"""The nominal world, without any shift."""


class Channels:
    """All channels for the actions, or the observations, of a batch of worlds, in order."""

    def __init__(
        self,
        where: Literal["actions", "observations"],
        shifts: Sequence[Shift],
        seeds: Sequence[int],
        spaces: Spaces,
    ) -> None:
        """One shift and one episode seed per world; worlds without shifts have no overhead."""
        self._parts = []
        for entry in ENTRIES:
            make = getattr(entry, where)
            values = np.array([shift.number(entry.name) for shift in shifts if make], float)
            shifted = np.flatnonzero(values != entry.nominal)
            if len(shifted):
                channel = make(
                    values[shifted], [seeds[world] for world in shifted.tolist()], spaces
                )
                place = np.full(len(shifts), -1)
                place[shifted] = np.arange(len(shifted))
                self._parts.append((place, channel))

    def __call__(self, rows: Array, worlds: Rows = ALL) -> Array:
        """Transform one row per remaining world; must be called once per step."""
        for place, channel in self._parts:
            mine = place[worlds]
            shifted = mine >= 0
            if shifted.any():
                rows = rows.copy()
                rows[shifted] = channel(rows[shifted], mine[shifted])
        return rows
