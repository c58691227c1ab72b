"""From a study to its runs: every combination once, each with an identifier of its own.

The identifier is a hash of the resolved configuration, so the same run has the same identifier in
every study, and is done once. Fields without effect do not enter it, and neither do fields at the
values of ``Config``'s own defaults: a later version may have more fields, and the old runs keep
their identifiers.
"""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixedne.config import Config, configure
from mixedne.config.compatible import LANES, program_key
from mixedne.config.identity import (
    WITHOUT_RESULT,
    as_json,
    default_folder,
    identifier,
    read_config_fields,
    unused_fields,
)
from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.studies.spec import CASE, Block, Study
from mixedne.tasks import check_axes, resolve_task

MAX_RUNS = 100_000
"""More are taken for a slip."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study."""

    identifier: str
    name: str
    """Of its folder."""
    fields: Mapping[str, Any]
    """Its configuration as ``config.json`` has it."""
    evaluations: tuple[Grid, ...] = ()

    @property
    def config(self) -> Config:
        """Its configuration."""
        return read_config_fields(self.fields)

    @property
    def case(self) -> tuple[Any, ...]:
        """What is compared with its like: the choices, without the settings and the seed."""
        return tuple(self.fields[name] for name in CASE)

    @property
    def configuration(self) -> str:
        """The same for runs that differ in their seed alone."""
        return identifier({**self.fields, "seed": 0})


def expand(study: Study) -> list[PlannedRun]:
    """The runs of a study; of a search, those that are compared."""
    if study.search is None:
        runs = _expand(study.runs, study.evaluations)
    else:
        blocks = [dataclasses.replace(block, seeds=study.search.seeds) for block in study.runs]
        runs = _expand(blocks, (study.search.evaluation,))
    for block in study.runs:  # what a search would find out only in the end
        _check_evaluations(block, study.evaluations)
    return runs


def planned(fields: Mapping[str, Any], evaluations: Sequence[Grid] = ()) -> PlannedRun:
    """The run of a configuration, as JSON has it."""
    found = identifier(fields)
    words = default_folder(_Named(fields)).name  # type: ignore[arg-type]
    return PlannedRun(found, f"{words}-{found}", fields, tuple(evaluations))


def run_to_json(run: PlannedRun) -> dict[str, Any]:
    """All that makes a run, to be sent elsewhere."""
    grids = [grid.to_json() for grid in run.evaluations]
    return {"configuration": dict(run.fields), "evaluations": grids}


def run_from_json(document: Mapping[str, Any]) -> PlannedRun:
    """The run that was sent."""
    grids = [Grid.from_json(grid) for grid in document["evaluations"]]
    return planned(document["configuration"], grids)


def jobs(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """What a worker does at a time: one run, or several that are trained together."""
    listed: list[list[PlannedRun]] = []
    open_groups: dict[str, list[PlannedRun]] = {}
    for run in runs:
        if run.fields["agent"] != "vpg":
            listed.append([run])
            continue
        grids = [grid.to_json() for grid in run.evaluations]
        key = json.dumps([program_key(run.fields), grids])
        group = open_groups.get(key)
        if group is None or len(group) == LANES:
            group = open_groups[key] = []
            listed.append(group)
        group.append(run)
    return listed


def settings_in_words(runs: Iterable[PlannedRun]) -> dict[str, str]:
    """By identifier, what tells a run's configuration from others of its case: ``eta=0.001``."""
    cases: dict[tuple[Any, ...], list[PlannedRun]] = {}
    for run in runs:
        cases.setdefault(run.case, []).append(run)
    words = {}
    for alike in cases.values():
        differing = [
            name
            for name, value in alike[0].fields.items()
            if name not in ("seed", *WITHOUT_RESULT)
            and any(run.fields[name] != value for run in alike)
        ]
        for run in alike:
            values = ((name, run.fields[name]) for name in differing)
            words[run.identifier] = ", ".join(f"{name}={_word(value)}" for name, value in values)
    return words


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _expand(blocks: Iterable[Block], evaluations: tuple[Grid, ...]) -> list[PlannedRun]:
    found: dict[str, PlannedRun] = {}
    order: dict[str, int] = {}
    for block in blocks:
        for fields in _configurations(block):
            for place, seed in enumerate(block.seeds):
                run = planned({**fields, "seed": seed}, evaluations)
                found.setdefault(run.identifier, run)
                order.setdefault(run.identifier, place)
            if len(found) > MAX_RUNS:
                raise InvalidInputError(f"{block.place}: more than {MAX_RUNS} runs")
    # Seed by seed, so that a study that is stopped has some of each kind.
    return sorted(found.values(), key=lambda run: order[run.identifier])


def _configurations(block: Block) -> Iterator[dict[str, Any]]:
    """Every configuration of a block once, at its first seed, as JSON has it."""
    _check_overrides(block)
    seen = set()
    choices = itertools.product(
        *(block.tasks, block.agents, block.presets, block.deltas),
        *(block.formulations, block.solvers),
    )
    for task, agent, preset, delta, formulation, solver in choices:
        choice = _sensible(agent, solver, formulation, delta)
        idle = unused_fields(agent, choice["solver"])
        lists = [(name, values) for name, values in block.overrides if name not in idle]
        for values in itertools.product(*(values for _, values in lists)):
            wishes = dict(zip((name for name, _ in lists), values, strict=True))
            key = repr((task, agent, preset, choice, wishes))
            if key in seen:
                continue
            seen.add(key)
            if block.steps is not None:
                wishes.setdefault("steps", block.steps)
            wishes.setdefault("seed", block.seeds[0])
            try:
                config = configure(task, agent=agent, preset=preset, **choice, **wishes)
            except InvalidInputError as error:
                raise InvalidInputError(f"{block.place}: {error}") from None
            yield as_json(config)


def _check_overrides(block: Block) -> None:
    """Refuse an override that has an effect in no run of the block."""
    kinds = [unused_fields(agent, solver) for agent in block.agents for solver in block.solvers]
    for name, _ in block.overrides:
        if all(name in idle for idle in kinds):
            raise InvalidInputError(
                f"{block.place}, overrides: {name} has an effect only with {kinds[0][name]}"
            )


def _sensible(agent: str, solver: str, formulation: str, delta: float) -> dict[str, Any]:
    """The choices without those that mean nothing together: they would repeat a run."""
    if agent == "sac":
        return {"solver": None, "delta": 0.0, "formulation": "nr-mdp"}
    if delta == 0:
        formulation = "nr-mdp"
    return {"solver": solver, "delta": delta, "formulation": formulation}


def _check_evaluations(block: Block, evaluations: Iterable[Grid]) -> None:
    """Refuse shifts that a task of the block does not have."""
    for task in map(resolve_task, block.tasks):
        for grid in evaluations:
            try:
                check_axes(task, [axis for axis, _ in grid.axes])
            except InvalidInputError as error:
                raise InvalidInputError(f"{block.place}, evaluations: {error}") from None


class _Named:
    """Fields by attribute, for what only reads a configuration: checking it again is slow."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)
