"""Uncertainty sets: which parameters of a task are uncertain, and within which bounds.

A set is a TOML file. Those on which published methods are compared are included in the package, in
``named_sets``; users' own are read in the same way. ``docs/sets.md`` describes the file. Every
error is one sentence that begins with the place in the file.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.files import parse_toml, read_bytes
from mixedne.shifts.registry import CUSTOM, Axis, check_distinct

NAMED = resources.files("mixedne.shifts") / "named_sets"
"""The sets that are included in the package."""

ENDS = ("lower", "both")
"""Which ends of an interval are grid points; RRLS omits the upper one."""

MAX_POINTS = 10_000
"""Maximum number of grid points on one axis."""


class Interval(NamedTuple):
    """One parameter and its bounds, which are equal if it is fixed."""

    axis: Axis
    low: float
    high: float

    @staticmethod
    def parse(text: str) -> "Interval":
        """Parse ``mass[torso]=0.5:2``, or ``mass[torso]=2`` for a fixed parameter."""
        name, _, bounds = text.partition("=")
        low, *rest = map(float, bounds.split(":"))
        (high,) = rest or [low]
        axis = Axis.parse(name)
        if axis.check(low) >= axis.check(high) and rest:
            raise InvalidInputError(f"the first bound of {axis} must be below the second: {bounds}")
        return Interval(axis, low, high)

    def __str__(self) -> str:
        """The text that ``parse`` reads."""
        return f"{self.axis}={self.low}" + (f":{self.high}" if self.low < self.high else "")

    def values(self, points: int, ends: str) -> tuple[float, ...]:
        """``points`` values at equal distances."""
        if self.low == self.high:
            return (self.low,)
        if ends == "both":
            values = np.linspace(self.low, self.high, points)
        else:
            # RRLS's arithmetic, which differs from linspace's in the last bits. By rounding, it
            # can reach the upper end: 31 points instead of 30 for Ant's legs.
            step = (self.high - self.low) / points
            values = np.arange(self.low, self.high, step)[:points]
        return tuple(values.tolist())


@dataclass(frozen=True)
class TaskSet:
    """The uncertain parameters of one task."""

    task: str
    """Name of the task: ``Hopper``, for all its versions, or ``Hopper-v5``."""
    intervals: tuple[Interval, ...]
    notes: tuple[str, ...] = ()
    """Faults, and differences from the original, that readers of results must know."""

    @property
    def uncertain(self) -> tuple[Interval, ...]:
        """The intervals that are not single values."""
        return tuple(interval for interval in self.intervals if interval.low < interval.high)


@dataclass(frozen=True)
class UncertaintySet:
    """A set for some tasks, with the settings of its grid."""

    name: str
    tasks: tuple[TaskSet, ...]
    points: int = 10
    """Number of grid points per axis."""
    ends: str = "both"
    """Which ends of intervals are grid points, one of :data:`ENDS`."""
    about: str = ""
    source: str = ""

    def of(self, task: str) -> TaskSet:
        """The set for a task with this name and version; ``Hopper-v5`` precedes ``Hopper``."""
        for name in (task, re.sub(r"-v\d+$", "", task)):
            for part in self.tasks:
                if part.task == name:
                    return part
        names = ", ".join(part.task for part in self.tasks)
        raise InvalidInputError(f"the set {self.name} has no task {task}: it has {names}")

    def grid(
        self, task: str, points: int | None = None, ends: str | None = None
    ) -> list[tuple[Axis, tuple[float, ...]]]:
        """The values on each axis of a task's grid; by default the set's own number and ends."""
        points, ends = self.points if points is None else points, ends or self.ends
        check_grid(points, ends)
        intervals = self.of(task).intervals
        return [(interval.axis, interval.values(points, ends)) for interval in intervals]


def check_grid(points: int, ends: str) -> None:
    """Raise for an invalid number of points or invalid ends."""
    if isinstance(points, bool) or not isinstance(points, int | np.integer):
        raise InvalidInputError(f"points must be a whole number, not {points!r}")
    check_choice("ends", ends, ENDS)
    least = ENDS.index(ends) + 1
    check_number(f"points with ends {ends}", points, at_least=least, at_most=MAX_POINTS)


def named_sets() -> tuple[str, ...]:
    """The names of the included sets."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in NAMED.iterdir()))


def find_set(name: str | Path) -> UncertaintySet:
    """An included set by name, or the set in a ``.toml`` file."""
    file = str(name)
    if not file.endswith(".toml"):
        check_choice("a set without .toml", file, named_sets())
        return parse_set((NAMED / f"{file}.toml").read_bytes(), file, f"{file}.toml")
    return parse_set(read_bytes(file), Path(file).stem, file)


def read_intervals(name: str, words: Iterable[str], task: str) -> list[Interval]:
    """Intervals of a task from words, each an interval, a set's name, or a set's file."""
    found: list[Interval] = []
    for word in words:
        if word.endswith(".toml") or word in named_sets():
            found += find_set(word).of(task).intervals
            continue
        try:
            found.append(Interval.parse(word))
        except InvalidInputError:
            raise
        except ValueError:
            raise InvalidInputError(
                f"{name} must be given as 'mass[torso]=0.5:2' or as a set, rrls-2d or mine.toml, "
                f"not {word!r}"
            ) from None
    check_distinct(interval.axis for interval in found)
    return found


def without_files(words: Iterable[str], task: str) -> tuple[str, ...]:
    """The words with files replaced by their intervals, since files may change or be lost."""
    return tuple(
        str(part)
        for word in words
        for part in (find_set(word).of(task).intervals if word.endswith(".toml") else [word])
    )


def parse_set(content: bytes, name: str, file: str) -> UncertaintySet:
    """Parse a set from a file's content; ``file`` is its name in messages."""
    document, place = parse_toml(content, file), _Place(file, content.decode())
    fields: dict[str, Any] = {"tasks": {}, "points": 10, "ends": "both", "about": "", "source": ""}
    for key, value in document.items():
        with place.of(key):
            check_choice("a field", key, fields)
            if type(value) is not type(fields[key]):
                words = {dict: "tables, [tasks.Hopper]", int: "a whole number", str: "a text"}
                raise InvalidInputError(f"{key} must be {words[type(fields[key])]}, not {value!r}")
    top = fields | document
    with place.of("points" if top["ends"] in ENDS else "ends"):
        check_grid(top["points"], top["ends"])
    if not top["tasks"]:
        raise InvalidInputError(f"{file}: there must be at least one task, [tasks.Hopper]")
    grid = top["points"], top["ends"]
    tasks = tuple(_read_task(task, given, grid, place) for task, given in top.pop("tasks").items())
    return UncertaintySet(name, tasks, **top)


def _read_task(task: str, given: Any, grid: tuple[int, str], place: "_Place") -> TaskSet:
    with place.of(task):
        if not isinstance(given, dict):
            raise InvalidInputError(f"a task must be a table, [tasks.{task}], not {given!r}")
    given = dict(given)
    notes = given.pop("notes", [])
    with place.of("notes", task):
        if not (isinstance(notes, list) and all(isinstance(note, str) for note in notes)):
            raise InvalidInputError(f"notes must be a list of texts, not {notes!r}")
    intervals = []
    for name, bounds in given.items():
        with place.of(name, task):
            intervals.append(_read_interval(name, bounds))
            check_distinct(interval.axis for interval in intervals)
            for value in intervals[-1].values(*grid):
                intervals[-1].axis.check(value)  # some axes only take whole numbers
    found = TaskSet(task, tuple(intervals), tuple(notes))
    with place.of(task):
        if not found.uncertain:
            raise InvalidInputError('a task needs an interval, as in "mass[torso]:abs" = [1, 5]')
    return found


def _read_interval(name: str, bounds: Any) -> Interval:
    axis = Axis.parse(name)
    if axis.parameter == CUSTOM:
        raise InvalidInputError(f"{name}: a file cannot hold an axis of one's own")
    numbers = bounds if isinstance(bounds, list) else [bounds, bounds]
    if len(numbers) != 2 or not all(type(number) in (int, float) for number in numbers):
        raise InvalidInputError(f"{name} must be [low, high] or one number, not {bounds!r}")
    low, high = map(axis.check, numbers)
    if isinstance(bounds, list) and low >= high:
        raise InvalidInputError(f"{name} must have its low end below its high one, not {bounds!r}")
    return Interval(axis, low, high)


class _Place(NamedTuple):
    """A place in a file, for messages."""

    file: str
    text: str

    @contextlib.contextmanager
    def of(self, key: str, task: str | None = None) -> Iterator[None]:
        """Prefix error messages with the file, the line if it is found, and the task."""
        try:
            yield
        except InvalidInputError as error:
            line = self._line(key, task)
            words = [f"line {line}"] if line else []
            words += [f"[tasks.{task}]"] if task else []
            raise InvalidInputError(f"{', '.join([self.file, *words])}: {error}") from None

    def _line(self, key: str, task: str | None) -> int | None:
        """The line that begins with the key, after the task's header if there is a task."""
        quoted = rf"[\"']?{re.escape(key)}[\"']?\s*"
        forms = [rf"\s*{quoted}=", rf"\s*\[\s*tasks\s*\.\s*{quoted}\]", rf"\s*\[\s*{quoted}"]
        start = (self._line(task, None) or 0) if task else 0
        lines = self.text.splitlines()[start:]
        found = (n for n, line in enumerate(lines, start + 1) for f in forms if re.match(f, line))
        return next(found, None)
