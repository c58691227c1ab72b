"""Grids of shifts: axes as numbers, as ranges, or the paper's by name, all crossed."""

import dataclasses
import itertools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.tasks import MASS_MODES, Shift
from mixedne.tasks.shifts import MAX_FACTOR

Values: TypeAlias = str | float | Iterable[float]
"""What a caller may give for an axis."""

NamedFactors: TypeAlias = Mapping[str, float] | Iterable[tuple[str, float]]
"""What a caller may give as factors on named bodies or geoms."""

MAX_COUNT = 10_000
"""More values along one axis are taken for a slip."""

_FACTORS = tuple(round(0.5 + 0.05 * i, 2) for i in range(11)) + tuple(
    round(1.1 + 0.1 * i, 1) for i in range(10)
)
_HEATMAP_FACTORS = tuple(round(0.5 + 0.1 * i, 1) for i in range(6)) + tuple(
    round(1.2 + 0.2 * i, 1) for i in range(5)
)
_PROBABILITIES = tuple(round(0.05 * i, 2) for i in range(11))

NAMED_GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "paper": {
        "mass": _FACTORS,
        "friction": _FACTORS,
        "noise": _PROBABILITIES,
        "rho": tuple(float(x) for x in np.linspace(0.0, 0.4, 20)),
    },
    "paper-heatmap": {
        "mass": _HEATMAP_FACTORS,
        "friction": _HEATMAP_FACTORS,
        "noise": _PROBABILITIES,
    },
}
"""The reference code's grids, by name and axis."""


class _Limits(NamedTuple):
    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None


_LIMITS = {
    "mass": _Limits(above=0, at_most=MAX_FACTOR),
    "friction": _Limits(above=0, at_most=MAX_FACTOR),
    "noise": _Limits(at_least=0, at_most=1),
    "rho": _Limits(at_least=0, at_most=1),
}


def grid_values(axis: str, given: Values) -> tuple[float, ...]:
    """The values of an axis from a number, several, or a text that :func:`parse_grid` reads."""
    if isinstance(given, str):
        return parse_grid(axis, given)
    numbers = given if isinstance(given, Iterable) else [given]
    try:
        return check_grid(axis, tuple(float(number) for number in numbers))
    except InvalidInputError:
        raise
    except (TypeError, ValueError):
        raise InvalidInputError(f"{axis} must be numbers, not {given!r}") from None


def parse_grid(axis: str, text: str) -> tuple[float, ...]:
    """The values of an axis from ``0.5,1,2``, ``0.5:2:16`` or a grid's name.

    ``start:stop:count`` includes both ends.
    """
    if text in NAMED_GRIDS:
        if axis not in NAMED_GRIDS[text]:
            raise InvalidInputError(f"the grid {text} has no axis {axis}")
        return NAMED_GRIDS[text][axis]
    try:
        if ":" in text:
            start, stop, count = text.split(":")
            check_number(f"the count of {axis}", int(count), at_least=1, at_most=MAX_COUNT)
            values = tuple(float(x) for x in np.linspace(float(start), float(stop), int(count)))
        else:
            values = tuple(float(part) for part in text.split(","))
    except InvalidInputError:
        raise
    except ValueError:
        names = " or ".join(NAMED_GRIDS)
        raise InvalidInputError(
            f"{axis} must be numbers as in 0.5,1,2, a range as in 0.5:2:16, or {names}, "
            f"not {text!r}"
        ) from None
    return check_grid(axis, values)


def check_grid(axis: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """The values, if there are some, all allowed and none twice."""
    if not values:
        raise InvalidInputError(f"{axis} needs at least one value")
    for value in values:
        check_number(axis, value, **_LIMITS[axis]._asdict())
    if len(set(values)) < len(values):
        raise InvalidInputError(f"{axis} must not hold a value twice: {values}")
    return values


@dataclass(frozen=True)
class Grid:
    """What to evaluate: all axes crossed, so many episodes at every point."""

    mass: tuple[float, ...] = (1.0,)
    friction: tuple[float, ...] = (1.0,)
    noise: tuple[float, ...] = (0.0,)
    rho: tuple[float, ...] | None = None
    """None is the nominal value."""
    mass_mode: str = "reference"
    body_masses: tuple[tuple[str, float], ...] = ()
    """Factors on named bodies' masses, at every point."""
    geom_frictions: tuple[tuple[str, float], ...] = ()
    """Factors on named geoms' friction, at every point."""
    episodes: int = 10
    seed: int = 0
    stochastic: bool = False
    """Whether stochastic policies sample their actions; otherwise their mean acts."""

    def __post_init__(self) -> None:
        check_choice("mass_mode", self.mass_mode, MASS_MODES)
        for axis in ("mass", "friction", "noise", "rho"):
            if getattr(self, axis) is not None:
                check_grid(axis, getattr(self, axis))
        check_number("episodes", self.episodes, at_least=1)
        check_number("seed", self.seed, at_least=0, at_most=2**63 - 1)

    def shifts(self) -> list[Shift]:
        """The grid's points."""
        crossed = itertools.product(self.mass, self.friction, self.noise, self.rho or (None,))
        return [
            Shift(m, self.mass_mode, f, n, r, self.body_masses, self.geom_frictions)
            for m, f, n, r in crossed
        ]

    def to_json(self) -> dict[str, Any]:
        """The grid as plans and hashes of evaluations hold it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The grid that :meth:`to_json` describes."""
        values: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in document.items()
        }
        return cls(**values)


def make_grid(
    *,
    mass: Values,
    friction: Values,
    noise: Values,
    rho: Values | None,
    mass_mode: str,
    body_masses: NamedFactors,
    geom_frictions: NamedFactors,
    episodes: int,
    seed: int,
    stochastic: bool,
) -> Grid:
    """The grid that a caller describes."""
    return Grid(
        mass=grid_values("mass", mass),
        friction=grid_values("friction", friction),
        noise=grid_values("noise", noise),
        rho=None if rho is None else grid_values("rho", rho),
        mass_mode=mass_mode,
        body_masses=_named_factors(body_masses),
        geom_frictions=_named_factors(geom_frictions),
        episodes=whole_number("episodes", episodes),
        seed=whole_number("seed", seed),
        stochastic=stochastic,
    )


def whole_number(name: str, value: Any) -> int:
    """``value`` as an integer, if it is one."""
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidInputError(f"{name} must be a whole number, not {value!r}") from None


def _named_factors(given: Any) -> tuple[tuple[str, float], ...]:
    """(name, factor) pairs from pairs or from a dictionary."""
    try:
        pairs = given.items() if isinstance(given, Mapping) else given
        return tuple((str(name), float(factor)) for name, factor in pairs)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"named factors must be (name, factor) pairs, not {given!r}"
        ) from None
