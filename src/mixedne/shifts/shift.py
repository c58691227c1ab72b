"""A shift: how one test world differs from the nominal one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mixedne.errors import InvalidInputError, check_choice
from mixedne.shifts.registry import Axis, as_axis

MASS_MODES = ("reference", "consistent")
"""What a change of mass changes besides: nothing, or inertias and derived constants."""


def check_distinct(axes: Iterable[Axis]) -> None:
    """Refuse an axis that is there twice, and a factor beside an absolute value of one thing."""
    seen: dict[tuple[str, str | None], Axis] = {}
    for axis in axes:
        key = (axis.parameter, axis.target)
        if key in seen:
            both = f"{seen[key]} and {axis} are both" if seen[key] != axis else f"{axis} is twice"
            raise InvalidInputError(f"{both} among the shifts: give one of each")
        seen[key] = axis


@dataclass(frozen=True, init=False)
class Shift:
    """Numbers along axes of the registry; the default is the nominal world itself.

    ``Shift(mass=2.0, noise=0.1)``, ``Shift({"mass[torso]": 2.0})``. A factor on the whole model
    and one on a part of it multiply.
    """

    values: tuple[tuple[Axis, float], ...]
    """In the registry's order; nominal numbers are left out."""
    mass_mode: str
    """``reference`` (masses alone) or ``consistent`` (inertias and derived constants too)."""

    def __init__(
        self,
        values: Mapping[str, float] | Iterable[tuple[str | Axis, float]] = (),
        mass_mode: str = "reference",
        **named: float | None,
    ) -> None:
        """Values by axis or its name; ``named`` by keyword, None where it is nominal."""
        pairs = [*(values.items() if isinstance(values, Mapping) else values)]
        given = [(as_axis(name), value) for name, value in pairs]
        for name, value in named.items():
            if value is not None:
                given.append((as_axis(name.replace("_", "-")), value))
        check_distinct(axis for axis, _ in given)
        checked = [(axis, axis.check(value)) for axis, value in given]
        kept = [(axis, value) for axis, value in checked if value != axis.nominal]
        object.__setattr__(self, "values", tuple(sorted(kept, key=lambda pair: pair[0].order)))
        object.__setattr__(self, "mass_mode", check_choice("mass_mode", mass_mode, MASS_MODES))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes along which this shift departs from the nominal world."""
        return tuple(axis for axis, _ in self.values)

    def number(self, axis: str | Axis) -> float | None:
        """The number along an axis; None if it is nominal and only the model knows it."""
        wanted = as_axis(axis)
        return next((value for found, value in self.values if found == wanted), wanted.nominal)

    def only(self, *acts_on: str) -> "Shift":
        """The part that acts on the model, the task, actions or observations."""
        kept = tuple(pair for pair in self.values if pair[0].acts_on in acts_on)
        has_mass = any(axis.parameter == "mass" for axis, _ in kept)
        return Shift(kept, self.mass_mode if has_mass else "reference")

    def without(self, axis: Axis) -> "Shift":
        """The same shift, nominal along this axis."""
        return Shift([pair for pair in self.values if pair[0] != axis], self.mass_mode)

    @property
    def keywords(self) -> dict[str, float]:
        """The keyword arguments of the environment that it sets."""
        return {axis.keyword: value for axis, value in self.values if axis.keyword is not None}

    def __str__(self) -> str:
        """The shift in words: ``mass × 1.5, action noise 0.1``."""
        words = [axis.in_words(value) for axis, value in self.values]
        if self.mass_mode == "consistent" and any(a.parameter == "mass" for a in self.axes):
            words[0] += " (and inertia)"
        return ", ".join(words) or "nominal world"


NOMINAL = Shift()
"""No shift at all."""
