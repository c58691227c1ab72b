"""The registry: one entry for everything that can be shifted, and what follows from it.

In a table, a shift is a column named as on the command line: ``mass`` (a factor on the whole
model), ``mass[torso]`` (on one body), ``mass[torso]:abs`` (its value). Absent or null is nominal.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from mixedne.errors import InvalidInputError, check_choice

if TYPE_CHECKING:
    import polars as pl

_AXIS = re.compile(r"(?P<parameter>[a-z-]+)(\[(?P<target>[^\[\]]+)\])?(?P<absolute>:abs)?")


@dataclass(frozen=True)
class Parameter:
    """Something that can be shifted by a number."""

    name: str
    label: str
    """Its axis in words, with units."""
    nominal: float
    """The number of the nominal world."""
    log_axis: bool = False
    """Whether figures draw it on a logarithmic axis."""


PARAMETERS: dict[str, Parameter] = {
    entry.name: entry
    for entry in (
        Parameter("mass", "mass, as a multiple of the task's own", 1.0, log_axis=True),
        Parameter("friction", "friction, as a multiple of the task's own", 1.0, log_axis=True),
        Parameter("noise", "probability of a random action", 0.0),
        Parameter("rho", "ρ: how often a random action replaces the agent's", 0.2),
    )
}
"""By name, in the order in which tables and figures list them."""


@dataclass(frozen=True)
class Axis:
    """A parameter, and what of the model it is applied to."""

    parameter: str
    target: str | None = None
    """The name or ``#index`` of a body, geom, joint or actuator; None is the whole model."""
    absolute: bool = False
    """Whether its numbers are values; factors otherwise."""

    def __str__(self) -> str:
        target = "" if self.target is None else f"[{self.target}]"
        return f"{self.parameter}{target}{':abs' if self.absolute else ''}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The axis of a name such as ``mass``, ``mass[torso]`` or ``mass[#3]:abs``."""
        found = _AXIS.fullmatch(text)
        if found is None:
            raise InvalidInputError(
                f"a shift must be named as mass, mass[torso] or mass[torso]:abs, not {text!r}"
            )
        name = check_choice("a shift", found["parameter"], PARAMETERS)
        return cls(name, found["target"], found["absolute"] is not None)

    @property
    def label(self) -> str:
        """The axis in words."""
        words = PARAMETERS[self.parameter].label
        return words if self.target is None else f"{words} ({self.target})"

    @property
    def nominal(self) -> float | None:
        """The number of the nominal world; None where the model alone knows it."""
        return None if self.absolute else PARAMETERS[self.parameter].nominal

    @property
    def log_axis(self) -> bool:
        """Whether figures draw it on a logarithmic axis."""
        return PARAMETERS[self.parameter].log_axis


def shift_axes(columns: Iterable[str]) -> list[Axis]:
    """The axes among a table's columns, in the registry's order."""
    found = []
    for name in columns:
        match = _AXIS.fullmatch(name)
        if match and match["parameter"] in PARAMETERS:
            found.append(Axis.parse(name))
    order = list(PARAMETERS)
    return sorted(found, key=lambda axis: order.index(axis.parameter))


def is_nominal(columns: Iterable[str], *, but: Iterable[str] = ()) -> "pl.Expr":
    """Which rows of a table are of the nominal world, apart from the columns ``but``."""
    import polars as pl

    rules = [pl.lit(True)]
    for axis in shift_axes(set(columns) - set(but)):
        column = pl.col(str(axis))
        same = column.is_null() if axis.nominal is None else column == axis.nominal
        rules.append(column.is_null() | same)
    return pl.all_horizontal(rules)
