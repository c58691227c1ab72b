"""The registry: one entry for everything that can be shifted, and what follows from it.

In a table, a shift is a column named as on the command line: ``mass`` (a factor on the whole
model), ``mass[torso]`` (on one body), ``mass[torso]:abs`` (its value). Absent or null is nominal.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from mixedne.errors import InvalidInputError, check_choice
from mixedne.shifts.entries import ENTRIES
from mixedne.shifts.parameter import Bounds, Model, Parameter

if TYPE_CHECKING:
    import polars as pl

_AXIS = re.compile(r"(?P<parameter>[a-z-]+)(\[(?P<target>[^\[\]]+)\])?(?P<absolute>:abs)?")

PARAMETERS: dict[str, Parameter] = {entry.name: entry for entry in ENTRIES}
"""By name, in the order in which tables and figures list them."""

CUSTOM = "custom"
"""The parameter of axes that a user defines; their name is the target: ``custom[leg length]``."""

_ALL = {
    **PARAMETERS,
    CUSTOM: Parameter(
        name=CUSTOM,
        noun="",
        label="",
        nominal=None,
        bounds=Bounds(at_most=None),
        target="axis of your own",
    ),
}


@dataclass(frozen=True)
class Axis:
    """A parameter, and what of the model it is applied to."""

    parameter: str
    target: str | None = None
    """The name or ``#index`` of a body, geom, joint or actuator; None is the whole model."""
    absolute: bool = False
    """Whether its numbers are values; factors otherwise."""
    custom: Callable[[Model, float], None] | str | None = None
    """Of an axis that a user defines: a function that edits the model, or a keyword argument of
    the environment; None if the axis was read from a table."""

    def __post_init__(self) -> None:
        entry = self.entry
        if self.target is not None and entry.target is None:
            raise InvalidInputError(f"{self.parameter} takes no target, so {self} has no meaning")
        if self.absolute and entry.unit is None:
            kind = "factors" if entry.physics else "values as they are"
            raise InvalidInputError(f"{self.parameter} takes {kind}, so {self} has no meaning")
        if self.target is None and entry.target and (self.absolute or self.parameter == CUSTOM):
            raise InvalidInputError(f"{self} must name a {entry.target} in brackets")

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
        name = found["parameter"]
        if name != CUSTOM:
            check_choice("a shift", name, PARAMETERS)
        return cls(name, found["target"], found["absolute"] is not None)

    @property
    def entry(self) -> Parameter:
        """What the registry says about the parameter."""
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
        """The number of the nominal world; None where the model alone knows it."""
        return None if self.absolute else self.entry.nominal

    @property
    def log_axis(self) -> bool:
        """Whether figures draw it on a logarithmic axis."""
        return self.entry.log_axis

    @property
    def acts_on(self) -> str:
        """One of ``model``, ``actions``, ``observations`` and ``task``."""
        return "model" if callable(self.custom) else self.entry.acts_on

    @property
    def keyword(self) -> str | None:
        """The keyword argument of the environment that it sets, if it sets one."""
        if self.entry.keyword is not None:
            return self.entry.keyword[0]
        return self.custom if isinstance(self.custom, str) else None

    @property
    def order(self) -> tuple[int, str]:
        """The place among other axes."""
        return list(_ALL).index(self.parameter), str(self)

    def check(self, value: float) -> float:
        """``value`` as a number that this axis allows."""
        return self.entry.check(str(self), value)

    def in_words(self, value: float) -> str:
        """The number in a sentence: ``mass of torso × 2``, ``action noise 0.1``."""
        if self.parameter == CUSTOM:
            return f"{self.target} {value:g}"
        noun = self.entry.noun + (f" of {self.target}" if self.target else "")
        if self.absolute:
            return f"{noun} {value:g} {self.entry.unit}"
        return f"{noun} × {value:g}" if self.acts_on == "model" else f"{noun} {value:g}"


def as_axis(name: "str | Axis") -> Axis:
    """The axis of that name."""
    if isinstance(name, Axis):
        return name
    return Axis.parse(name)


def shift_axes(columns: Iterable[str]) -> list[Axis]:
    """The axes among a table's columns, in the registry's order."""
    found = []
    for name in columns:
        match = _AXIS.fullmatch(name)
        if match and match["parameter"] in _ALL:
            try:
                found.append(Axis.parse(name))
            except InvalidInputError:
                continue  # a column of somebody else's
    return sorted(found, key=lambda axis: axis.order)


def is_nominal(columns: Iterable[str], *, but: Iterable[str] = ()) -> "pl.Expr":
    """Which rows of a table are of the nominal world, apart from the columns ``but``."""
    import polars as pl

    rules = [pl.lit(True)]
    for axis in shift_axes(set(columns) - set(but)):
        column = pl.col(str(axis))
        same = column.is_null() if axis.nominal is None else column == axis.nominal
        rules.append(column.is_null() | same)
    return pl.all_horizontal(rules)
