"""A study file: what to train, how to evaluate it, what to search.

The file is TOML; ``docs/studies.md`` describes it. Reading checks the form: names, types, empty
lists. Values that are invalid for a run are found when the study is expanded (``plan``). Every
error is one sentence that begins with the place in the file.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, get_type_hints

from mixedne.config import MAX_SEED, Config, unused_fields
from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.evaluation.grids import Grid, grid_values
from mixedne.evaluation.sets import cross_set
from mixedne.files import parse_toml, read_bytes
from mixedne.names import CHOICES
from mixedne.shifts import PARAMETERS, Axis
from mixedne.tasks import full_task_name

OWN_NAMES = ("-reported", "-chosen")
"""Suffixes that a search appends to its name for further files."""

MAX_SEEDS = 100_000
"""Maximum number of seeds; more are treated as a mistake."""

OVERRIDES = {
    name: "tuple" in str(kind)
    for name, kind in get_type_hints(Config).items()
    if name not in (*CHOICES, "seed", "steps")
}
"""Fields that a study can override, and whether their values are lists."""

NAMED = resources.files("mixedne.studies") / "named"
"""The studies that are included in the package."""


@dataclass(frozen=True)
class Block:
    """One ``[[runs]]`` table: the product of all lists in it."""

    place: str
    """The table's place in the file, for messages."""
    tasks: tuple[str, ...]
    agents: tuple[str, ...] = ("ddpg",)
    solvers: tuple[str, ...] = ("mixedne-ld",)
    formulations: tuple[str, ...] = ("nr-mdp",)
    deltas: tuple[float, ...] = (0.1,)
    presets: tuple[str, ...] = ("paper",)
    seeds: tuple[int, ...] = (0,)
    steps: int | None = None
    """Number of steps; None for the preset's."""
    overrides: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Fields of the configuration, each with its list of values."""


@dataclass(frozen=True)
class SetGrid:
    """An evaluation on an uncertainty set, whose grid depends on the task."""

    set: str
    """The set's name, or its file."""
    points: int | None = None
    ends: str | None = None
    others: Grid = field(default_factory=Grid)
    """The axes that the set is crossed with, the number of episodes, and so on."""

    def of(self, task: str) -> Grid:
        """The grid in a task."""
        return cross_set(self.others, self.set, task, self.points, self.ends)


@dataclass(frozen=True)
class Search:
    """How to select among configurations: by nominal return, on separate seeds."""

    seeds: tuple[int, ...]
    """Seeds of the runs that are compared; selected ones are reported on the blocks' seeds."""
    evaluation: Grid
    """The evaluation in the nominal world: shifts do not influence the selection."""


@dataclass(frozen=True)
class Study:
    """A whole experiment."""

    name: str
    about: str
    runs: tuple[Block, ...]
    evaluations: tuple[Grid | SetGrid, ...] = ()
    search: Search | None = None

    def __post_init__(self) -> None:
        """Raise if a search would report on the seeds that it selects on."""
        if self.search is None:
            return
        if len({block.seeds for block in self.runs}) > 1:
            raise InvalidInputError(
                "all [[runs]] of a study with a [search] must have the same seeds"
            )
        if both := set(self.search.seeds) & set(self.runs[0].seeds):
            raise InvalidInputError(
                f"[search] seeds must differ from those of [[runs]], but both have {min(both)}"
            )

    def grids(self, task: str) -> tuple[Grid, ...]:
        """The study's evaluations in a task."""
        return tuple(it.of(task) if isinstance(it, SetGrid) else it for it in self.evaluations)

    def select(
        self,
        *,
        tasks: tuple[str, ...] | None = None,
        agents: tuple[str, ...] | None = None,
        solvers: tuple[str, ...] | None = None,
        seeds: int | None = None,
        steps: int | None = None,
    ) -> "Study":
        """The study with fewer tasks, agents and solvers, other numbers of seeds or steps.

        Tasks that the study does not have replace its own in all runs. Seeds are counted from the
        study's smallest; those of a search are kept.
        """
        for many, names in (("tasks", tasks), ("agents", agents), ("solvers", solvers)):
            if names == ():
                raise InvalidInputError(f"{many} must not be empty")
        for one, many, names in (("an agent", "agents", agents), ("a solver", "solvers", solvers)):
            known = dict.fromkeys(name for block in self.runs for name in getattr(block, many))
            for name in names or ():
                check_choice(f"{one} of the study {self.name}", name, known)
        check_number("seeds", 1 if seeds is None else seeds, at_least=1, at_most=MAX_SEEDS)
        first = min(seed for block in self.runs for seed in block.seeds)
        wanted = {full_task_name(name) for name in tasks or ()}
        fewer = wanted <= {full_task_name(name) for block in self.runs for name in block.tasks}
        blocks = []
        for block in self.runs:
            own = tuple(name for name in block.tasks if full_task_name(name) in wanted)
            changed = replace(
                block,
                tasks=(own if fewer else tasks) if tasks else block.tasks,
                agents=tuple(name for name in block.agents if not agents or name in agents),
                solvers=tuple(name for name in block.solvers if not solvers or name in solvers),
                seeds=block.seeds if seeds is None else tuple(range(first, first + seeds)),
                steps=block.steps if steps is None else steps,
            )
            if changed.tasks and changed.agents and changed.solvers:
                blocks.append(changed)
        if not blocks:
            given = {"tasks": tasks, "agents": agents, "solvers": solvers}
            words = " and ".join(many for many, names in given.items() if names)
            raise InvalidInputError(f"no run of the study {self.name} has these {words}")
        return replace(self, runs=tuple(blocks))


def named_studies() -> list[str]:
    """The names of the included studies."""
    return sorted(Path(str(file)).stem for file in NAMED.iterdir() if file.name.endswith(".toml"))


def find_study(name: str, *, allow_import: bool = False) -> Study:
    """An included study by name, or the study in a ``.toml`` file.

    A task ``module:Id`` runs the code of a module: in a file it is refused unless the user
    allows it.
    """
    if not name.endswith(".toml"):
        check_choice("a study without .toml", name, named_studies())
        return parse_study((NAMED / f"{name}.toml").read_bytes(), name, f"{name}.toml")
    study = parse_study(read_bytes(name), Path(name).stem, name)
    for block in study.runs:
        for task in block.tasks:
            if ":" in task and not allow_import:
                raise InvalidInputError(
                    f"{block.place}: the task {task!r} runs the code of a module: pass "
                    "--allow-import if you trust the file"
                )
    return study


def parse_study(content: bytes, name: str, file: str) -> Study:
    """Parse a study from a file's content; ``file`` is its name in messages."""
    if name.endswith(OWN_NAMES):
        raise InvalidInputError(
            f"{file}: a study's name must not end in {' or '.join(OWN_NAMES)}: searches use these"
        )
    document = parse_toml(content, file)
    with located(file):
        top = _read(document, _STUDY)
        if not top.get("runs"):
            raise InvalidInputError("there must be at least one [[runs]] table")
        for single in ("defaults", "search"):
            if len(top.get(single, ())) > 1:
                raise InvalidInputError(f"there can be only one [{single}] table")
        [(_, defaults)] = top.get("defaults") or [("", {})]
        return Study(
            name=name,
            about=top.get("about", ""),
            runs=tuple(_block(file, place, own, defaults) for place, own in top["runs"]),
            evaluations=tuple(dict.fromkeys(top.get("evaluations", ()))),
            search=next(iter(top.get("search", ())), None),
        )


def _block(file: str, place: str, own: dict[str, Any], defaults: dict[str, Any]) -> Block:
    """A ``[[runs]]`` table, completed by the ``[defaults]``; raises if no run uses an override.

    Overrides among the defaults may be without effect in some tables.
    """
    values = {**defaults, **own}
    own_overrides = dict(own.get("overrides", ()))
    overrides = dict(defaults.get("overrides", ())) | own_overrides
    if "tasks" not in values:
        raise InvalidInputError(f"{place}: tasks are missing, e.g. tasks = ['Hopper-v5']")
    block = Block(f"{file}{place}", **{**values, "overrides": tuple(overrides.items())})
    choices = itertools.product(block.agents, block.solvers, block.formulations)
    unused = [unused_fields(*each) for each in choices]
    for name in own_overrides:
        if all(name in names for names in unused):
            needed = unused[0][name]
            raise InvalidInputError(f"{place}, overrides: {name} has an effect only with {needed}")
    return block


@contextlib.contextmanager
def located(place: str) -> Iterator[None]:
    """Prefix error messages with the place in the file."""
    try:
        yield
    except InvalidInputError as error:
        separator = "" if str(error).startswith(",") else ": "
        raise InvalidInputError(f"{place}{separator}{error}") from None


# A table of the file is a set of fields, each with a reader of (name, value).

_Reader = Callable[[str, Any], Any]


def _read(content: Mapping[str, Any], readers: Mapping[str, _Reader]) -> dict[str, Any]:
    """The values of a table; raises for unknown fields."""
    for name in content:
        check_choice("a field", name, readers)
    return {name: readers[name](name, value) for name, value in content.items()}


def _one(words: str, *types: type) -> _Reader:
    """A reader of a single value, converted to the last of these types."""

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InvalidInputError(f"{name} must be {words}, not {value!r}")
        return types[-1](value)

    return read


_text, _boolean = _one("a text", str), _one("true or false", bool)
_integer, _number = _one("a whole number", int), _one("a number", int, float)


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} must be a list, not {value!r}")
    if not value:
        raise InvalidInputError(f"{name} must not be empty")
    return value


def _many(read: _Reader) -> _Reader:
    """A reader of a list that is not empty."""
    return lambda name, value: tuple(
        read(f"every one of {name}", part) for part in _list(name, value)
    )


def _seeds(name: str, value: Any) -> tuple[int, ...]:
    """Seeds from a list, or from their number."""
    if type(value) is int:
        check_number(name, value, at_least=1, at_most=MAX_SEEDS)
        return tuple(range(value))
    seeds: tuple[int, ...] = _many(_integer)(name, value)
    check_number(name, seeds, at_least=0, at_most=MAX_SEED)
    return tuple(dict.fromkeys(seeds))


def _overrides(name: str, value: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Fields, each with its list of values; a single value is a list of one."""
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} must be a table, not {value!r}")
    found = []
    with located(f", {name}"):
        for key, given in value.items():
            check_choice("a field", key, OVERRIDES)
            values = _list(key, given) if isinstance(given, list) else [given]
            if OVERRIDES[key] and isinstance(given, list) and not isinstance(given[0], list):
                values = [values]  # the list is one value
            found.append((key, tuple(values)))
    return tuple(found)


def _axis(name: str, value: Any) -> tuple[float, ...]:
    """The values of a shift; true and false, which are 1 and 0 in Python, are refused."""
    if any(isinstance(part, bool) for part in (value if isinstance(value, list) else [value])):
        raise InvalidInputError(f"{name} must be numbers, not {value!r}")
    return grid_values(name, value)


def _shifts(name: str, value: Any) -> dict[str, tuple[float, ...]]:
    """Values by any axis, e.g. ``{"mass[torso]" = "0.5:2:4"}``."""
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} must be a table as {{ mass = [1, 2] }}, not {value!r}")
    with located(f", {name}"):
        return {str(Axis.parse(axis)): _axis(axis, numbers) for axis, numbers in value.items()}


def _evaluation(
    _: str,
    *,
    set: str | None = None,
    points: int | None = None,
    ends: str | None = None,
    shifts: Any = (),
    **values: Any,
) -> Grid | SetGrid:
    grid = Grid(shifts, **values)
    if set is not None:
        return SetGrid(set, points, ends, grid)
    if points is not None or ends is not None:
        raise InvalidInputError(
            "points and ends are of a set: set is missing, e.g. set = 'rrls-2d'"
        )
    return grid


def _tables(make: Callable[..., Any], readers: Mapping[str, _Reader], **required: str) -> _Reader:
    """A reader of tables ``[[name]]``, or one table ``[name]``, into the objects they describe.

    ``make`` takes a table's place and fields; ``required`` are required fields with an example.
    """

    def read(name: str, value: Any) -> list[Any]:
        if isinstance(value, dict):
            tables = {f", [{name}]": value}
        elif isinstance(value, list) and all(isinstance(part, dict) for part in value):
            tables = {f", [[{name}]] {number}": part for number, part in enumerate(value, 1)}
        else:
            raise InvalidInputError(f"{name} must be tables, [[{name}]]")
        made = []
        for place, content in tables.items():
            with located(place):
                values = _read(content, readers)
                for missing in required.keys() - values:
                    example = f"{missing} = {required[missing]}"
                    raise InvalidInputError(f"{missing} are missing, e.g. {example}")
                made.append(make(place, **values))
        return made

    return read


_RUNS: dict[str, _Reader] = {
    **dict.fromkeys(("tasks", "agents", "solvers", "formulations"), _many(_text)),
    "deltas": _many(_number),
    "presets": _many(_text),
    "seeds": _seeds,
    "steps": _integer,
    "overrides": _overrides,
}

_STUDY: dict[str, _Reader] = {
    "about": _text,
    **dict.fromkeys(("defaults", "runs"), _tables(lambda place, **own: (place, own), _RUNS)),
    "evaluations": _tables(
        _evaluation,
        {
            **dict.fromkeys(PARAMETERS, _axis),
            "shifts": _shifts,
            **dict.fromkeys(("mass_mode", "set", "ends"), _text),
            **dict.fromkeys(("episodes", "seed", "points"), _integer),
            "stochastic": _boolean,
        },
    ),
    "search": _tables(
        lambda _, seeds, **values: Search(seeds, Grid(**{"episodes": 20, "seed": 1, **values})),
        {"seeds": _seeds, "episodes": _integer, "seed": _integer},
        seeds="[1000, 1001]",
    ),
}
"""The fields of a study file."""
