"""What there is to report at the paths given: runs, tables, studies, case studies, videos.

Nothing here trusts what it finds: a file that cannot be read, or says what makes no sense, becomes
a sentence of what is missing, and the rest is reported.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixedne.errors import InvalidInputError, parse_json
from mixedne.reports.inputs import methods
from mixedne.reports.inputs.commands import study_command
from mixedne.shifts import PARAMETERS


@dataclass(frozen=True)
class RunInput:
    """A run folder."""

    path: Path
    config: dict[str, Any]
    """What its ``config.json`` says."""

    @property
    def name(self) -> str:
        """Of the folder, also if the path is ``.``."""
        return self.path.resolve().name


@dataclass(frozen=True)
class PlanInput:
    """A study's plan."""

    name: str
    folder: Path
    runs: dict[str, dict[str, Any]]
    """Configurations by the name of their run folder."""
    evaluations: dict[str, list[dict[str, Any]]]
    """The grids that each run is evaluated on."""
    command: str | None
    """How to start it again, as far as its file says."""
    choices: list[dict[str, Any]] | None
    """What it chose, if it is a search."""
    compares: bool
    """Whether its runs are only compared with each other, in the nominal world: a search."""


@dataclass
class Inputs:
    """Everything that lies at the paths."""

    runs: dict[Path, RunInput] = field(default_factory=dict)
    tables: list[Path] = field(default_factory=list)
    """Evaluation tables beside the runs' own."""
    plans: list[PlanInput] = field(default_factory=list)
    saddles: list[Path] = field(default_factory=list)
    """Folders of the case study."""
    videos: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One sentence for each thing that could not be read."""

    @property
    def reported(self) -> list[RunInput]:
        """The runs without those that a search compares and no study reports."""
        kept = {name for plan in self.plans if not plan.compares for name in plan.runs}
        compared = {name for plan in self.plans if plan.compares for name in plan.runs} - kept
        return [run for run in self.runs.values() if run.name not in compared]


def find(paths: Iterable[Path]) -> Inputs:
    """Look at every path; one that holds nothing of the kind is refused."""
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
                "no case study and no video"
            )
    return found


def _find_file(path: Path, found: Inputs) -> bool:
    kinds = {".parquet": found.tables, ".mp4": found.videos}
    if path.suffix not in kinds:
        return False
    if path not in kinds[path.suffix]:
        kinds[path.suffix].append(path)
    return True


def _find_folder(path: Path, found: Inputs, *, below: bool = True) -> bool:
    """A run, a case study, a study, or a folder that holds some of these."""
    if (path / "config.json").is_file():
        return _find_config(path, found)
    is_study = (path / "studies").is_dir()
    if is_study:
        found.plans += _plans(path, found.problems)
    seen = False
    places = [path / "runs", path] if (path / "runs").is_dir() else [path]
    for child in (child for place in places for child in sorted(place.iterdir())):
        if child.is_file():
            seen |= _find_file(child, found)
        elif (child / "config.json").is_file() and ".damaged-" not in child.name:
            seen |= _find_config(child, found)
        elif below and (child / "studies").is_dir():
            seen |= _find_folder(child, found, below=False)
    return seen or is_study


def _find_config(path: Path, found: Inputs) -> bool:
    """A folder with a ``config.json``: a run or a case study."""
    name, config = path.resolve().name, read_json(path / "config.json")
    if not isinstance(config, dict):
        found.problems.append(f"{name} has no whole config.json and is left out.")
    elif config.get("kind") == "saddle":
        found.saddles.append(path)
    elif methods.is_sensible(config):
        found.runs.setdefault(path.resolve(), RunInput(path, config))
        found.videos += sorted(path.glob("*.mp4"))
    else:
        found.problems.append(f"{name} has a config.json of another kind and is left out.")
    return True


def _plans(path: Path, problems: list[str]) -> Iterator[PlanInput]:
    for file in sorted((path / "studies").glob("*.json")):
        if file.stem.endswith("-chosen"):
            continue
        plan = _plan(path, file)
        if plan is None:
            problems.append(f"The plan {file.name} cannot be read and is left out.")
        else:
            yield plan


def _plan(path: Path, file: Path) -> PlanInput | None:
    try:
        document = read_json(file)
        runs = {run["run"]: dict(run["configuration"]) for run in document["runs"]}
        evaluations = {run["run"]: [*map(dict, run["evaluations"])] for run in document["runs"]}
        nominal = all(_is_nominal(grid) for grids in evaluations.values() for grid in grids)
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    names_are_names = all(isinstance(name, str) and len(name) < 256 for name in runs)
    if not (names_are_names and all(map(methods.is_sensible, runs.values()))):
        return None
    chosen = read_json(file.with_name(f"{file.stem}-chosen.json"))
    choices = chosen.get("choices") if isinstance(chosen, dict) else None
    if isinstance(choices, list):
        choices = [choice for choice in choices if isinstance(choice, dict)]
    else:
        choices = None
    tried_several = any(map(methods.differing_settings, methods.by_case(runs.values()).values()))
    return PlanInput(
        name=file.stem,
        folder=path,
        runs=runs,
        evaluations=evaluations,
        command=study_command(document, path),
        choices=choices,
        compares=choices is not None or (nominal and tried_several),
    )


def _is_nominal(grid: dict[str, Any]) -> bool:
    """Whether a grid, as a plan has it, is the world of training alone."""
    nominal = (
        grid.get(name) in (None, [], [parameter.nominal]) for name, parameter in PARAMETERS.items()
    )
    return all(nominal) and not any(
        grid.get(name) for name in ("shifts", "body_masses", "geom_frictions")
    )


def read_json(path: Path) -> Any:
    """A JSON document; None if there is none, or none that is whole."""
    try:
        return parse_json(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError):
        return None
