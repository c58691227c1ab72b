"""From a study to its runs: every combination once.

A run is known by its identifier (:mod:`mixedne.config.identity`), a hash of what determines its
result: the same run has the same identifier in every study, and is trained once.
"""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from mixedne.config import Config, configure, unused_fields
from mixedne.config.identity import (
    LANES,
    compile_key,
    from_json,
    identifier,
    run_name,
    to_json,
)
from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.studies.spec import CASE, Block, Study
from mixedne.tasks import check_axes, resolve_task

MAX_RUNS = 100_000
"""A study with more is taken for a mistake."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study."""

    fields: Mapping[str, Any]
    """Its configuration as ``config.json`` holds it."""
    evaluations: tuple[Grid, ...] = ()

    @cached_property
    def identifier(self) -> str:
        """The hash of what determines its result."""
        return identifier(self.fields)

    @cached_property
    def name(self) -> str:
        """The name of its folder."""
        return f"{run_name(self.fields)}-{self.identifier}"

    @property
    def config(self) -> Config:
        """Its configuration, checked."""
        return from_json(self.fields)

    @property
    def case(self) -> tuple[Any, ...]:
        """The choices, without the other settings and the seed: searches choose within a case."""
        return tuple(self.fields[name] for name in CASE)

    @cached_property
    def configuration(self) -> str:
        """A hash that is equal for runs that differ in their seed alone."""
        return identifier({**self.fields, "seed": 0})

    def to_json(self) -> dict[str, Any]:
        """All that a worker needs to know."""
        grids = [grid.to_json() for grid in self.evaluations]
        return {"configuration": dict(self.fields), "evaluations": grids}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The run that :meth:`to_json` describes."""
        return cls(document["configuration"], tuple(map(Grid.from_json, document["evaluations"])))


def expand(study: Study) -> list[PlannedRun]:
    """The runs of a study; of a search, those that are compared."""
    if study.search is None:
        runs = _expand(study.runs, study.evaluations)
    else:
        blocks = [dataclasses.replace(block, seeds=study.search.seeds) for block in study.runs]
        runs = _expand(blocks, (study.search.evaluation,))
    for block in study.runs:  # a search would otherwise find a bad shift only at its end
        _check_evaluations(block, study.evaluations)
    return runs


def group_runs(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """The jobs of a plan: single runs, and VPG runs that one compiled program trains together."""
    groups: list[list[PlannedRun]] = []
    open_groups: dict[str, list[PlannedRun]] = {}
    for run in runs:
        if run.fields["agent"] != "vpg":
            groups.append([run])
            continue
        grids = [grid.to_json() for grid in run.evaluations]
        key = json.dumps([compile_key(run.fields), grids])
        group = open_groups.get(key)
        if group is None or len(group) == LANES:
            group = open_groups[key] = []
            groups.append(group)
        group.append(run)
    return groups


def _expand(blocks: Iterable[Block], evaluations: tuple[Grid, ...]) -> list[PlannedRun]:
    found: dict[str, PlannedRun] = {}
    order: dict[str, int] = {}
    for block in blocks:
        for fields in _configurations(block):
            for place, seed in enumerate(block.seeds):
                run = PlannedRun({**fields, "seed": seed}, evaluations)
                found.setdefault(run.identifier, run)
                order.setdefault(run.identifier, place)
            if len(found) > MAX_RUNS:
                raise InvalidInputError(f"{block.place}: more than {MAX_RUNS} runs")
    # Seed by seed: a study that is stopped early has some runs of every kind.
    return sorted(found.values(), key=lambda run: order[run.identifier])


def _configurations(block: Block) -> Iterator[dict[str, Any]]:
    """Every configuration of a block once, at its first seed, as ``config.json`` holds it."""
    _check_overrides(block)
    seen = set()
    choices = itertools.product(
        *(block.tasks, block.agents, block.presets, block.deltas),
        *(block.formulations, block.solvers),
    )
    for task, agent, preset, delta, formulation, solver in choices:
        choice = _sensible(agent, solver, formulation, delta)
        unused = unused_fields(agent, choice["solver"])
        lists = [(name, values) for name, values in block.overrides if name not in unused]
        for values in itertools.product(*(values for _, values in lists)):
            overrides = dict(zip((name for name, _ in lists), values, strict=True))
            key = repr((task, agent, preset, choice, overrides))
            if key in seen:
                continue
            seen.add(key)
            overrides["seed"] = block.seeds[0]
            if block.steps is not None:
                overrides["steps"] = block.steps
            try:
                config = configure(task, agent=agent, preset=preset, **choice, **overrides)
            except InvalidInputError as error:
                raise InvalidInputError(f"{block.place}: {error}") from None
            yield to_json(config)


def _check_overrides(block: Block) -> None:
    """Refuse an override that no run of the block uses."""
    unused = [unused_fields(agent, solver) for agent in block.agents for solver in block.solvers]
    for name, _ in block.overrides:
        if all(name in names for names in unused):
            raise InvalidInputError(
                f"{block.place}, overrides: {name} has an effect only with {unused[0][name]}"
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
