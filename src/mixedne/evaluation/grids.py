"""Grids of shifts: axes as numbers, as ranges, or the paper's by name, all crossed."""

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.shifts import MASS_MODES, PARAMETERS, Axis, Shift
from mixedne.shifts.parameter import Model
from mixedne.shifts.registry import CUSTOM, as_axis
from mixedne.shifts.shift import check_distinct

Values: TypeAlias = str | float | Iterable[float]
"""What a caller may give for an axis."""

MAX_COUNT = 10_000
"""More values along one axis are taken for a slip."""

NAMED_GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    name: {entry.name: entry.grids[name] for entry in PARAMETERS.values() if name in entry.grids}
    for name in ("paper", "paper-heatmap")
}
"""The reference code's grids, by name and parameter."""

BASIC = ("mass", "friction", "noise", "rho")
"""The parameters that every table and every stored grid names, used or not."""


@dataclass(frozen=True)
class ModelShift:
    """An axis of one's own: a function that edits the task's MuJoCo model.

    ``shifts={"leg length": ModelShift(lengthen, [0.8, 1.0, 1.2])}``, where
    ``lengthen(model, value)`` changes a nominal ``mujoco.MjModel`` in place. Shifts of the
    registry come on top of what it does.
    """

    edit: Callable[[Model, float], None]
    values: Values


@dataclass(frozen=True)
class KeywordShift:
    """An axis of one's own: a keyword argument of the task's Gymnasium environment.

    ``shifts={"wind": KeywordShift("wind_power", [0.0, 5.0])}``.
    """

    keyword: str
    values: Values


NamedFactors: TypeAlias = Mapping[str, float] | Iterable[tuple[str, float]]
"""Factors on bodies or geoms, by name."""

Shifts: TypeAlias = Mapping[str, Any] | Iterable[tuple[str | Axis, Any]]
"""By the name of an axis: values, or for an axis of one's own a ModelShift or KeywordShift."""


def episode_seed(seed: int, episode: int) -> int:
    """The seed of an episode: with it, ``env.reset(seed=…)`` of Gymnasium starts the same."""
    return int(np.random.SeedSequence([seed, episode]).generate_state(1)[0])


def grid_values(axis: str | Axis, given: Values) -> tuple[float, ...]:
    """The values of an axis from a number, several, or a text that :func:`parse_grid` reads."""
    if isinstance(given, str):
        return parse_grid(axis, given)
    numbers = given if isinstance(given, Iterable) else [given]
    try:
        return _checked(axis, tuple(float(number) for number in numbers))
    except InvalidInputError:
        raise
    except (TypeError, ValueError):
        raise InvalidInputError(f"{axis} must be numbers, not {given!r}") from None


def parse_grid(axis: str | Axis, text: str) -> tuple[float, ...]:
    """The values of an axis from ``0.5,1,2``, ``0.5:2:16`` or a grid's name.

    ``start:stop:count`` includes both ends.
    """
    if text in NAMED_GRIDS:
        found = as_axis(axis)
        if found.absolute or found.parameter not in NAMED_GRIDS[text]:
            raise InvalidInputError(f"the grid {text} has no axis {axis}")
        return NAMED_GRIDS[text][found.parameter]
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
    return _checked(axis, values)


def _checked(axis: str | Axis, values: tuple[float, ...]) -> tuple[float, ...]:
    """The values, if there are some, all allowed and none twice."""
    if not values:
        raise InvalidInputError(f"{axis} needs at least one value")
    for value in values:
        as_axis(axis).check(value)
    if len(set(values)) < len(values):
        raise InvalidInputError(f"{axis} must not hold a value twice: {values}")
    return values


@dataclass(frozen=True, init=False)
class Grid:
    """What to evaluate: all axes crossed, so many episodes at every point."""

    axes: tuple[tuple[Axis, tuple[float, ...]], ...]
    """In the registry's order."""
    mass_mode: str
    episodes: int
    seed: int
    stochastic: bool
    """Whether stochastic policies sample their actions; otherwise their mean acts."""

    def __init__(
        self,
        axes: Shifts = (),
        *,
        mass_mode: str = "reference",
        episodes: int = 10,
        seed: int = 0,
        stochastic: bool = False,
        body_masses: NamedFactors = (),
        geom_frictions: NamedFactors = (),
        **named: Values | None,
    ) -> None:
        """Values by axis, or by keyword for parameters of the whole model: ``Grid(mass=2)``.

        ``body_masses`` and ``geom_frictions`` are factors on single parts, by name.
        """
        pairs = _pairs(axes)
        pairs += [(f"mass[{body}]", factor) for body, factor in _pairs(body_masses)]
        pairs += [(f"friction[{geom}]", factor) for geom, factor in _pairs(geom_frictions)]
        pairs += [
            (name.replace("_", "-"), value) for name, value in named.items() if value is not None
        ]
        given = [_read_axis(name, values) for name, values in pairs]
        check_distinct(axis for axis, _ in given)
        given = [(axis, values) for axis, values in given if not _is_default(axis, values)]
        check_choice("mass_mode", mass_mode, MASS_MODES)
        fields = {
            "axes": tuple(sorted(given, key=lambda pair: pair[0].order)),
            "mass_mode": mass_mode,
            "episodes": whole_number("episodes", episodes),
            "seed": whole_number("seed", seed),
            "stochastic": stochastic,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        check_number("episodes", self.episodes, at_least=1)
        check_number("seed", self.seed, at_least=0, at_most=2**63 - 1)

    @functools.cached_property
    def _points(self) -> list[Shift]:
        axes = [axis for axis, _ in self.axes]
        return [
            Shift(zip(axes, point, strict=True), self.mass_mode)
            for point in itertools.product(*(values for _, values in self.axes))
        ]

    def shifts(self) -> list[Shift]:
        """The grid's points."""
        return self._points

    @property
    def columns(self) -> list[Axis]:
        """The axes that a table of this grid has columns for."""
        used = {axis for axis, _ in self.axes}
        return sorted({*used, *map(Axis, BASIC)}, key=lambda axis: axis.order)

    def to_json(self) -> dict[str, Any]:
        """The grid as plain data; the key ``shifts`` is there only if it holds something."""
        values = {str(axis): values for axis, values in self.axes}
        document: dict[str, Any] = {
            name: values.pop(name, None if name == "rho" else (PARAMETERS[name].nominal,))
            for name in ("mass", "friction", "noise", "rho")
        }
        document |= {"mass_mode": self.mass_mode, "body_masses": (), "geom_frictions": ()}
        document |= {"episodes": self.episodes, "seed": self.seed, "stochastic": self.stochastic}
        return {**document, "shifts": values} if values else document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The grid that :meth:`to_json` described, now or in an older version."""
        named = {name: value for name, value in document.items() if name != "shifts"}
        return cls(document.get("shifts", {}), **named)


def _pairs(given: Any) -> list[tuple[Any, Any]]:
    """(name, values) pairs from pairs or from a dictionary."""
    try:
        return [(name, x) for name, x in (given.items() if isinstance(given, Mapping) else given)]
    except (TypeError, ValueError):
        raise InvalidInputError(f"shifts must be (name, values) pairs, not {given!r}") from None


def _read_axis(name: str | Axis, given: Any) -> tuple[Axis, tuple[float, ...]]:
    if isinstance(given, ModelShift | KeywordShift):
        means = given.edit if isinstance(given, ModelShift) else given.keyword
        parsed = Axis.parse(f"{CUSTOM}[{name}]")
        axis = Axis(CUSTOM, parsed.target, custom=means)
        return axis, grid_values(axis, given.values)
    axis = as_axis(name)
    if axis.parameter == CUSTOM and axis.custom is None:
        raise InvalidInputError(f"{name} needs a ModelShift or a KeywordShift, in Python")
    return axis, grid_values(axis, given)


def _is_default(axis: Axis, values: tuple[float, ...]) -> bool:
    """Whether an axis holds the nominal number alone, of a parameter that is no single task's."""
    return values == (axis.nominal,) and axis.entry.keyword is None


def whole_number(name: str, value: Any) -> int:
    """``value`` as an integer, if it is one."""
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidInputError(f"{name} must be a whole number, not {value!r}") from None
