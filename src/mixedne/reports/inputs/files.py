"""Find what there is to report at the given paths: runs, tables, studies, case studies, videos.

Files are not trusted: one that cannot be read, or makes no sense, is listed as missing in a
sentence, and the rest is reported.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PanicException

from mixedne.config.identity import with_defaults
from mixedne.errors import InvalidInputError
from mixedne.evaluation.runs import is_run
from mixedne.evaluation.table import SCHEMA, is_current, read_run_table, read_table
from mixedne.files import digest, finished_digest, read_json, readable
from mixedne.reports.inputs import methods
from mixedne.shifts import PARAMETERS, shift_axes

Document = dict[str, Any]

NO_EPISODES = pl.DataFrame(schema=SCHEMA)


@dataclass(frozen=True)
class PlanInput:
    """A study's plan."""

    name: str
    folder: Path
    runs: dict[str, Document]  # configurations by the name of their run folder
    evaluations: dict[str, list[Document]]  # the grids that each run is evaluated on
    command: str | None  # how to start it again, as far as its file says
    choices: list[Document]  # what it chose, if it is a search
    compares: bool  # whether its runs are only compared, in the nominal world: a search


@dataclass
class Inputs:
    """Everything found at the paths."""

    runs: dict[Path, Document] = field(default_factory=dict)  # by folder, its config.json
    tables: list[Path] = field(default_factory=list)  # evaluation tables besides the runs' own
    plans: list[PlanInput] = field(default_factory=list)
    saddles: dict[Path, Document] = field(default_factory=dict)  # case studies, as runs
    videos: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # a sentence for each that cannot be read

    @contextlib.contextmanager
    def noting(self, sentence: str) -> Iterator[None]:
        """Record this sentence if a damaged or malicious file raises anything inside."""
        try:
            yield
        except (Exception, PanicException):  # polars' panics are no Exceptions
            self.problems.append(sentence)

    @property
    def reported(self) -> dict[Path, Document]:
        """The runs without those that a search compares and no study reports."""
        kept = {name for plan in self.plans if not plan.compares for name in plan.runs}
        compared = {name for plan in self.plans if plan.compares for name in plan.runs} - kept
        return {path: it for path, it in self.runs.items() if path.name not in compared}


def find(paths: Iterable[Path]) -> Inputs:
    """Search every path; raises for one without any results."""
    found = Inputs()
    for path in paths:
        try:
            if not path.exists():
                raise InvalidInputError(f"there is no file or folder {path}")
            something = _find_file(path, found) if path.is_file() else _find_folder(path, found)
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
        if not something:
            raise InvalidInputError(
                f"{path} holds nothing to report: no runs, no evaluation table, no study, "
                "no attack, no case study and no video"
            )
    return found


def _find_file(path: Path, found: Inputs) -> bool:
    files = {".parquet": found.tables, ".mp4": found.videos}.get(path.suffix)
    if files is not None and path not in files:
        files.append(path)
    return files is not None


def _find_folder(path: Path, found: Inputs, *, below: bool = True) -> bool:
    """Add a run, a case study, a study, or a folder of these or of attacks."""
    if is_run(path):
        return _find_config(path, found)
    plans = sorted((path / "studies").glob("*.json"))
    if (path / "studies").is_dir() and not plans and any((path / "runs").glob("*")):
        found.problems.append("The study's plan is gone: whether runs are lacking is not known.")
    for file in (it for it in plans if not it.stem.endswith("-chosen")):
        with found.noting(f"The plan {readable(file.name)} cannot be read and is left out."):
            found.plans.append(_plan(path, file, found))
    seen = (path / "studies").is_dir()
    places = [path / "runs", path] if (path / "runs").is_dir() else [path]
    for child in (child for place in places for child in sorted(place.iterdir())):
        if child.is_file():
            seen |= _find_file(child, found)
        elif is_run(child) and ".damaged-" not in child.name:
            seen |= _find_config(child, found)
        elif (child / "attack.json").is_file():
            seen |= _find_file(child / "evaluation.parquet", found)
        elif below and (child / "studies").is_dir():
            seen |= _find_folder(child, found, below=False)
    return seen


def _find_config(path: Path, found: Inputs) -> bool:
    """Add a folder with a ``config.json``: a run or a case study."""
    name = readable(path.resolve().name)
    with found.noting(f"{name} has no whole config.json and is left out."):
        config = read_json(path / "config.json", warn=False)
        if config.get("kind") == "saddle":
            found.saddles[path] = config
        elif finished_digest(path, "config.json") not in (None, digest(path / "config.json")):
            found.problems.append(f"{name} has the config.json of another run and is left out.")
        elif "agent" in config and methods.is_sensible(config):
            found.runs.setdefault(path.resolve(), with_defaults(config))
            found.videos += sorted(path.glob("*.mp4"))
        else:
            found.problems.append(f"{name} has a config.json of another kind and is left out.")
    return True


def _plan(path: Path, file: Path, found: Inputs) -> PlanInput:
    document = read_json(file, warn=False)
    runs = {run["run"]: with_defaults(run["configuration"]) for run in document["runs"]}
    evaluations = {run["run"]: [*map(dict, run["evaluations"])] for run in document["runs"]}
    names = (it == Path(it).name != ".." and 0 < len(it) < 256 and it.isprintable() for it in runs)
    if not (all(names) and all(map(methods.is_sensible, runs.values()))):
        raise ValueError("it says what makes no sense")
    chosen = file.with_name(f"{file.stem}-chosen.json")
    choices: list[Document] = []
    if chosen.exists():
        with found.noting(
            f"The choices in {readable(chosen.name)} cannot be read and are left out."
        ):
            said = read_json(chosen, warn=False)["choices"]
            choices = [it for it in said if isinstance(it, dict)]
    grids = [grid for own in evaluations.values() for grid in own]
    nominal = bool(grids) and all(map(_is_nominal, grids))
    command = methods.study_command(document, path)
    compares = chosen.exists() or (nominal and any(map(_varies, methods.by_case(runs).values())))
    return PlanInput(readable(file.stem), path, runs, evaluations, command, choices, compares)


def _varies(alike: dict[str, methods.Config]) -> bool:
    """Whether configurations of one case differ in a number, so that a map can show them."""
    differ = methods.differing_settings(alike)
    values = (config.get(name) for config in alike.values() for name in differ)
    return any(type(value) in (int, float) for value in values)


def _is_nominal(grid: Document) -> bool:
    """Whether a plan's grid is only the nominal world."""
    others = any(grid.get(name) for name in ("shifts", "body_masses", "geom_frictions"))
    nominal = (grid.get(name) in (None, [], [it.nominal]) for name, it in PARAMETERS.items())
    return all(nominal) and not others


def read_evaluation(path: Path, inputs: Inputs) -> pl.DataFrame:
    """The rows of an evaluation table that identify their run and world."""
    is_run = path.name == "evaluation.parquet" and (path.parent / "finished.json").exists()
    sound = NO_EPISODES
    place = readable(f"{path.resolve().parent.name}/{path.name}")
    if path.exists():
        with inputs.noting(f"{place} is damaged or no evaluation table and is left out."):
            table = read_run_table(path.parent) if is_run else read_table(path)
            if path.parent.resolve() in inputs.runs and not is_current(table, path.parent):
                inputs.problems.append(
                    f"{place} is of an earlier policy than the run's last: evaluate it again."
                )
            axes = [pl.col(str(axis)) for axis in shift_axes(table.columns)]
            shifted = (column.is_null() | column.is_finite() for column in axes)
            sound = table.drop_nulls(["run", "task"]).filter(*shifted)
            if left_out := table.height - sound.height:
                inputs.problems.append(f"{left_out} rows of {place} name no run, task or shift.")
    return sound
