"""Grids of shifts, the product of axes given as numbers, as ranges, or by a grid's name."""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.shifts import MASS_MODES, PARAMETERS, Axis, Shift
from mixedne.shifts.entries import Model
from mixedne.shifts.registry import ATTACK, CUSTOM, check_distinct

Values: TypeAlias = str | float | Iterable[float]
"""Values of an axis as a caller may give them."""

NamedFactors: TypeAlias = Mapping[str, float] | Iterable[tuple[str, float]]
"""Factors on bodies or geoms, by name."""

Shifts: TypeAlias = Mapping[str, Any] | Iterable[tuple[str | Axis, Any]]
"""Values by the name of an axis; for a custom axis, a ModelShift or KeywordShift."""

NAMED_GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    name: {entry.name: entry.grids[name] for entry in PARAMETERS.values() if name in entry.grids}
    for name in ("paper", "paper-heatmap")
}
"""The reference code's grids, by name and parameter."""

BASIC = ("mass", "friction", "noise", "rho")
"""The parameters that every table and every stored grid contains, used or not."""


@dataclass(frozen=True)
class ModelShift:
    """A custom axis: a function that edits the task's MuJoCo model.

    ``shifts={"leg length": ModelShift(lengthen, [0.8, 1.0, 1.2])}``, where
    ``lengthen(model, value)`` changes a nominal ``mujoco.MjModel`` in place. Built-in shifts
    are applied after it.
    """

    edit: Callable[[Model, float], None]
    values: Values


@dataclass(frozen=True)
class KeywordShift:
    """A custom axis: a keyword argument of the task's Gymnasium environment.

    ``shifts={"wind": KeywordShift("wind_power", [0.0, 5.0])}``.
    """

    keyword: str
    values: Values


def episode_seed(seed: int, episode: int) -> int:
    """The seed of an episode; Gymnasium's ``env.reset(seed=…)`` with it starts the same."""
    return int(np.random.SeedSequence([seed, episode]).generate_state(1)[0])


def grid_values(name: str | Axis, given: Values) -> tuple[float, ...]:
    """The values of an axis from a number, several numbers, or a string.

    A string is ``0.5,1,2``, ``0.5:2:16`` (start:stop:count, both ends included), or a grid's name.
    """
    axis = Axis.parse(name)
    numbers: Iterable[Any]
    try:
        if not isinstance(given, str):
            numbers = given if isinstance(given, Iterable) else [given]
        elif given in NAMED_GRIDS:
            if axis.absolute or axis.parameter not in NAMED_GRIDS[given]:
                raise InvalidInputError(f"the grid {given} has no axis {axis}")
            numbers = NAMED_GRIDS[given][axis.parameter]
        elif ":" in given:
            start, stop, count = given.split(":")
            check_number(f"the count of {axis}", int(count), at_least=1, at_most=10_000)
            between = np.linspace(float(start), float(stop), int(count))
            numbers = [f"{number:.12g}" for number in between]  # 1, not 0.9999999999999999
        else:
            numbers = given.split(",")
        values = tuple(float(number) for number in numbers)
    except InvalidInputError:
        raise
    except (TypeError, ValueError):
        names = " or ".join(NAMED_GRIDS)
        forms = f" as in 0.5,1,2, a range as in 0.5:2:16, or {names}"
        words = f"{axis} must be numbers{forms if isinstance(given, str) else ''}"
        raise InvalidInputError(f"{words}, not {given!r}") from None
    if not values:
        raise InvalidInputError(f"{axis} needs at least one value")
    for value in values:
        axis.check(value)
    if len(set(values)) < len(values):
        raise InvalidInputError(f"{axis} must not hold a value twice: {values}")
    return values


@dataclass(frozen=True, init=False)
class Grid:
    """What to evaluate: the product of all axes, and the number of episodes per point."""

    axes: tuple[tuple[Axis, tuple[float, ...]], ...]
    """Axes with their values, in the order of the registry."""
    mass_mode: str
    episodes: int
    seed: int
    stochastic: bool
    """Whether stochastic policies sample their actions instead of taking the mean."""

    def __init__(
        self,
        shifts: Shifts = (),
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

        ``body_masses`` and ``geom_frictions`` are factors on single bodies and geoms, by name.
        """
        pairs = _pairs(shifts)
        pairs += [(f"mass[{body}]", factor) for body, factor in _pairs(body_masses)]
        pairs += [(f"friction[{geom}]", factor) for geom, factor in _pairs(geom_frictions)]
        pairs += [(name.replace("_", "-"), x) for name, x in named.items() if x is not None]
        given = [_read_axis(name, values) for name, values in pairs]
        check_distinct(axis for axis, _ in given)
        # An axis with only the nominal value is dropped, unless it belongs to a single task.
        kept = [(a, x) for a, x in given if x != (a.nominal,) or a.entry.keyword is not None]
        fields = {
            "axes": tuple(sorted(kept, key=lambda pair: pair[0].order)),
            "mass_mode": check_choice("mass_mode", mass_mode, MASS_MODES),
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
        points = itertools.product(*(values for _, values in self.axes))
        return [Shift(zip(axes, point, strict=True), self.mass_mode) for point in points]

    @property
    def size(self) -> int:
        """The number of points, computed without creating them."""
        return math.prod(len(values) for _, values in self.axes)

    def shifts(self) -> list[Shift]:
        """The grid's points."""
        return self._points

    @property
    def columns(self) -> list[Axis]:
        """The axes that have columns in a table of this grid."""
        used = {axis for axis, _ in self.axes}
        return sorted({*used, *map(Axis, BASIC)}, key=lambda axis: axis.order)

    @property
    def keywords(self) -> dict[str, Any]:
        """The grid as keyword arguments of ``evaluate``."""
        names = ("mass_mode", "episodes", "seed", "stochastic")
        return {"shifts": self.axes, **{name: getattr(self, name) for name in names}}

    def to_json(self) -> dict[str, Any]:
        """The grid as plain data; the key ``shifts`` is omitted if it is empty."""
        values = {str(axis): values for axis, values in self.axes}
        document: dict[str, Any] = {
            name: values.pop(name, None if name == "rho" else (PARAMETERS[name].nominal,))
            for name in BASIC
        }
        document |= {"mass_mode": self.mass_mode, "body_masses": (), "geom_frictions": ()}
        document |= {"episodes": self.episodes, "seed": self.seed, "stochastic": self.stochastic}
        return {**document, "shifts": values} if values else document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The grid from the output of :meth:`to_json`, of this or an older version."""
        given = dict(document)
        if [*(given.get("friction") or ())] == [PARAMETERS["friction"].nominal]:
            del given["friction"]  # it would conflict with sliding friction
        return cls(**given)


def _pairs(given: Any) -> list[tuple[Any, Any]]:
    """(name, values) pairs from pairs or from a dictionary."""
    try:
        return [(name, x) for name, x in (given.items() if isinstance(given, Mapping) else given)]
    except (TypeError, ValueError):
        raise InvalidInputError(f"shifts must be (name, values) pairs, not {given!r}") from None


def _read_axis(name: str | Axis, given: Any) -> tuple[Axis, tuple[float, ...]]:
    if isinstance(given, ModelShift | KeywordShift):
        means = given.edit if isinstance(given, ModelShift) else given.keyword
        axis = Axis(CUSTOM, Axis.parse(f"{CUSTOM}[{name}]").target, custom=means)
        return axis, grid_values(axis, given.values)
    axis = Axis.parse(name)
    if axis.parameter == CUSTOM and axis.custom is None:
        raise InvalidInputError(f"{name} needs a ModelShift or a KeywordShift, in Python")
    if axis.parameter == ATTACK and axis.custom is None:
        raise InvalidInputError(f"{name} needs an attacker: pass its file as attack=")
    return axis, grid_values(axis, given)


def whole_number(name: str, value: Any) -> int:
    """``value`` as an integer, if it is one."""
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidInputError(f"{name} must be a whole number, not {value!r}") from None
