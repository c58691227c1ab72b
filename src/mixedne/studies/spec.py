"""A study file: what to train, how to evaluate it, what to search.

The file is TOML; ``docs/studies.md`` describes it. Reading checks the form: names, types, empty
lists. Values that make no run are found when the study is expanded (``plan``). Every error is one
sentence that begins with the place in the file.
"""

import contextlib
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from mixedne.config import MAX_SEED, Config
from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.evaluation.grids import Grid
from mixedne.shifts import PARAMETERS

CASE = ("task", "agent", "solver", "formulation", "delta", "preset")
"""The choices of a run; lists of their own in a study file."""

OWN_NAMES = ("-reported", "-chosen")
"""What a search adds to its name for plans of its own."""

MAX_SEEDS = 100_000
"""More are taken for a slip."""

OVERRIDES = {
    field.name: isinstance(field.default, tuple)
    for field in fields(Config)
    if field.name not in (*CASE, "seed", "steps")
}
"""Fields that a study can override, and whether their values are lists."""

NAMED = resources.files("mixedne.studies") / "named"
"""The studies that ship."""


@dataclass(frozen=True)
class Block:
    """One ``[[runs]]`` table: every list in it is crossed with every other."""

    place: str
    """Where it stands, for messages."""
    tasks: tuple[str, ...]
    agents: tuple[str, ...] = ("ddpg",)
    solvers: tuple[str, ...] = ("mixedne-ld",)
    formulations: tuple[str, ...] = ("nr-mdp",)
    deltas: tuple[float, ...] = (0.1,)
    presets: tuple[str, ...] = ("paper",)
    seeds: tuple[int, ...] = (0,)
    steps: int | None = None
    """None is the preset's."""
    overrides: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Fields of the configuration with the values that they take in turn."""


@dataclass(frozen=True)
class Search:
    """How to choose among configurations: by nominal return, on seeds of its own."""

    seeds: tuple[int, ...]
    """Of the runs that are compared; the chosen ones are reported on the blocks' seeds."""
    episodes: int = 20
    """Nominal episodes of each run compared."""
    seed: int = 1
    """Of these episodes."""

    @property
    def evaluation(self) -> Grid:
        """The nominal world alone: no shift can have a say."""
        return Grid(episodes=self.episodes, seed=self.seed)


@dataclass(frozen=True)
class Study:
    """A whole experiment."""

    name: str
    about: str
    runs: tuple[Block, ...]
    evaluations: tuple[Grid, ...] = ()
    search: Search | None = None

    def select(
        self,
        *,
        tasks: tuple[str, ...] = (),
        agents: tuple[str, ...] = (),
        solvers: tuple[str, ...] = (),
        seeds: int | None = None,
        steps: int | None = None,
    ) -> "Study":
        """The study with other tasks, fewer agents and solvers, other numbers of seeds or steps.

        Seeds count up from the first; those of a search stay.
        """
        known_agents = list(dict.fromkeys(name for block in self.runs for name in block.agents))
        known_solvers = list(dict.fromkeys(name for block in self.runs for name in block.solvers))
        for name in agents:
            check_choice(f"an agent of the study {self.name}", name, known_agents)
        for name in solvers:
            check_choice(f"a solver of the study {self.name}", name, known_solvers)
        check_number("seeds", 1 if seeds is None else seeds, at_least=1, at_most=MAX_SEEDS)
        blocks = [
            replace(
                block,
                tasks=tasks or block.tasks,
                agents=tuple(name for name in block.agents if not agents or name in agents),
                solvers=tuple(name for name in block.solvers if not solvers or name in solvers),
                seeds=_count_from(block.seeds, seeds),
                steps=block.steps if steps is None else steps,
            )
            for block in self.runs
        ]
        left = tuple(block for block in blocks if block.agents and block.solvers)
        if not left:
            raise InvalidInputError(f"no run of the study {self.name} has these agents and solvers")
        changed = replace(self, runs=left)
        check_seeds(changed)
        return changed


def named_studies() -> list[str]:
    """The names of the studies that ship."""
    return sorted(Path(str(file)).stem for file in NAMED.iterdir() if file.name.endswith(".toml"))


def find_study(name: str) -> Study:
    """The study that ships under a name, or that a ``.toml`` file holds."""
    if name.endswith(".toml"):
        try:
            content = Path(name).read_bytes()
        except OSError as error:
            raise InvalidInputError(f"{name} cannot be read: {error.strerror}") from None
        return parse_study(content, Path(name).stem, name)
    check_choice("a study without .toml", name, named_studies())
    return parse_study((NAMED / f"{name}.toml").read_bytes(), name, f"{name}.toml")


def parse_study(content: bytes, name: str, file: str) -> Study:
    """The study in a file's content; ``file`` is what messages call it."""
    if name.endswith(OWN_NAMES):
        raise InvalidInputError(
            f"{file}: a study's name must not end in {' or '.join(OWN_NAMES)}: searches use these"
        )
    try:
        document = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} is no TOML: {_first_lower(str(error))}") from None
    top = _Table(file, document, ("about", "runs", "evaluations", "search"))
    blocks = [_read_block(table) for table in top.tables("runs", [f.name for f in fields(Block)])]
    if not blocks:
        raise InvalidInputError(f"{file}: there must be at least one [[runs]] table")
    names = [*PARAMETERS, "shifts", *(f.name for f in fields(Grid) if f.name != "axes")]
    evaluations = [_read_grid(table) for table in top.tables("evaluations", names)]
    searches = top.tables("search", [f.name for f in fields(Search)])
    if len(searches) > 1:
        raise InvalidInputError(f"{file}: there can be only one [search] table")
    study = Study(
        name=name,
        about=top.text("about", ""),
        runs=tuple(blocks),
        evaluations=tuple(dict.fromkeys(evaluations)),
        search=_read_search(searches[0]) if searches else None,
    )
    with _at(file):
        check_seeds(study)
    return study


def check_seeds(study: Study) -> None:
    """Refuse a search that would report on the seeds that it chose by."""
    if study.search is None:
        return
    if len({block.seeds for block in study.runs}) > 1:
        raise InvalidInputError("all [[runs]] of a study with a [search] must have the same seeds")
    both = sorted(set(study.search.seeds) & set(study.runs[0].seeds))
    if both:
        raise InvalidInputError(
            f"[search] seeds must differ from those of [[runs]], but both have {both[0]}"
        )


def _read_block(table: "_Table") -> Block:
    lists: dict[str, Any] = {
        name: table.several(name, kind)
        for name, kind in (
            *((name, str) for name in ("agents", "solvers", "formulations", "presets")),
            ("deltas", float),
        )
        if name in table.content
    }
    if "tasks" not in table.content:
        raise InvalidInputError(f"{table.place}: tasks are missing, e.g. tasks = ['Hopper-v5']")
    if "seeds" in table.content:
        lists["seeds"] = table.seeds("seeds")
    return Block(
        place=table.place,
        tasks=table.several("tasks", str),
        steps=table.whole("steps", None),
        overrides=table.overrides("overrides"),
        **lists,
    )


def _read_grid(table: "_Table") -> Grid:
    values: dict[str, Any] = dict(table.content)
    with _at(table.place):
        axes = list(values.pop("shifts", {}).items())
        axes += [(name, values.pop(name)) for name in PARAMETERS if name in values]
        for name, given in axes:
            _refuse_booleans(name, given)
        for name, kind in (("mass_mode", str), ("stochastic", bool)):
            if name in values:
                _check_kind(name, values[name], kind)
        for name in ("episodes", "seed"):
            if name in values:
                values[name] = table.whole(name, None)
        return Grid(axes, **values)


def _read_search(table: "_Table") -> Search:
    if "seeds" not in table.content:
        raise InvalidInputError(f"{table.place}: seeds are missing, e.g. seeds = [1000, 1001]")
    values = {name: table.whole(name, None) for name in table.content if name != "seeds"}
    search = Search(seeds=table.seeds("seeds"), **values)  # type: ignore[arg-type]
    with _at(table.place):
        _ = search.evaluation
    return search


class _Table:
    """A table of the file, read with messages that say where it stands."""

    def __init__(self, place: str, content: Any, known: Iterable[str]) -> None:
        """Refuses fields that are not known."""
        self.place, self.content = place, content
        with _at(place):
            for name in content:
                check_choice("a field", name, [name for name in known if name != "place"])

    def tables(self, name: str, known: Iterable[str]) -> list["_Table"]:
        """The tables called so: ``[[name]]``, or one ``[name]``."""
        found = self.content.get(name, [])
        if isinstance(found, dict):
            return [_Table(f"{self.place}, [{name}]", found, known)]
        if not isinstance(found, list) or not all(isinstance(part, dict) for part in found):
            raise InvalidInputError(f"{self.place}: {name} must be tables, [[{name}]]")
        return [
            _Table(f"{self.place}, [[{name}]] {number}", part, known)
            for number, part in enumerate(found, 1)
        ]

    def text(self, name: str, default: str) -> str:
        with _at(self.place):
            return str(_check_kind(name, self.content.get(name, default), str))

    def whole(self, name: str, default: int | None) -> int | None:
        if name not in self.content:
            return default
        with _at(self.place):
            return int(_check_kind(name, self.content[name], int))

    def several(self, name: str, kind: type) -> tuple[Any, ...]:
        """A list of one kind, with something in it."""
        with _at(self.place):
            parts = _check_list(name, self.content[name])
            return tuple(kind(_check_kind(f"every one of {name}", part, kind)) for part in parts)

    def seeds(self, name: str) -> tuple[int, ...]:
        """Seeds from a list of them, or from their number."""
        given = self.content[name]
        with _at(self.place):
            if isinstance(given, int) and not isinstance(given, bool):
                check_number(name, given, at_least=1, at_most=MAX_SEEDS)
                return tuple(range(given))
            seeds = self.several(name, int)
            check_number(name, seeds, at_least=0, at_most=MAX_SEED)
            return seeds

    def overrides(self, name: str) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """Fields with the values that they take in turn: a list is several."""
        given = self.content.get(name, {})
        if not isinstance(given, dict):
            raise InvalidInputError(f"{self.place}: {name} must be a table, not {given!r}")
        found = []
        with _at(f"{self.place}, {name}"):
            for key, value in given.items():
                check_choice("a field", key, OVERRIDES)
                values = _check_list(key, value) if isinstance(value, list) else [value]
                if OVERRIDES[key] and isinstance(value, list) and not isinstance(value[0], list):
                    values = [values]  # one list, not several values
                found.append((key, tuple(values)))
        return tuple(found)


@contextlib.contextmanager
def _at(place: str) -> Iterator[None]:
    """Begin the message of a user's error with its place in the file."""
    try:
        yield
    except InvalidInputError as error:
        if str(error).startswith(place):
            raise
        raise InvalidInputError(f"{place}: {error}") from None


def _check_kind(name: str, value: Any, kind: type) -> Any:
    fits: Callable[[Any], bool] = {
        str: lambda x: isinstance(x, str),
        bool: lambda x: isinstance(x, bool),
        int: lambda x: isinstance(x, int) and not isinstance(x, bool),
        float: lambda x: isinstance(x, int | float) and not isinstance(x, bool),
    }[kind]
    if fits(value):
        return value
    words = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
    raise InvalidInputError(f"{name} must be {words[kind]}, not {value!r}")


def _refuse_booleans(name: str, value: Any) -> None:
    """Python would take them for 0 and 1."""
    if any(isinstance(part, bool) for part in (value if isinstance(value, list) else [value])):
        raise InvalidInputError(f"{name} must be numbers, not {value!r}")


def _check_list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} must be a list, not {value!r}")
    if not value:
        raise InvalidInputError(f"{name} must not be empty")
    return value


def _count_from(seeds: tuple[int, ...], count: int | None) -> tuple[int, ...]:
    return seeds if count is None else tuple(range(seeds[0], seeds[0] + count))


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]
