"""From a study to its runs: every combination once.

A run is known by its identifier (:mod:`mixedne.config.identity`), a hash of what determines its
result: the same run has the same identifier in every study, and is trained once.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from mixedne.config import Config, configure, unused_fields
from mixedne.config.identity import LANES, compile_key, from_json, identifier, run_name, to_json
from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.names import CHOICES
from mixedne.studies.spec import Block, Study, located
from mixedne.tasks import check_axes, resolve_task

MAX_RUNS = 100_000
"""A study with more is taken for a mistake."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study."""

    fields: Mapping[str, Any]
    """Its configuration as ``config.json`` holds it."""
    evaluations: tuple[Grid, ...] = ()

    def __hash__(self) -> int:
        return hash(self.identifier)

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
        return tuple(self.fields[name] for name in CHOICES)

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
    search = study.search
    found: dict[str, tuple[int, PlannedRun]] = {}
    grids: dict[str, tuple[Grid, ...]] = {}
    for block in study.runs:
        for fields in _configurations(block):
            task = fields["task"]
            grids[task] = grids.get(task) or _grids(study, block, task)
            evaluations = grids[task] if search is None else (search.evaluation,)
            for place, seed in enumerate(block.seeds if search is None else search.seeds):
                run = PlannedRun({**fields, "seed": seed}, evaluations)
                found.setdefault(run.identifier, (place, run))
            if len(found) > MAX_RUNS:
                raise InvalidInputError(f"{block.place}: more than {MAX_RUNS} runs")
    # Seed by seed: a study that is stopped early has some runs of every kind.
    return [run for _, run in sorted(found.values(), key=lambda pair: pair[0])]


def _grids(study: Study, block: Block, task: str) -> tuple[Grid, ...]:
    """A study's evaluations in a task; a search would otherwise find a bad one only at its end."""
    with located(f"{block.place}, evaluations"):
        grids = study.grids(task)
        for grid in grids:
            check_axes(resolve_task(task), [axis for axis, _ in grid.axes])
    return grids


def _configurations(block: Block) -> Iterator[dict[str, Any]]:
    """Every configuration of a block once, at seed 0, as ``config.json`` holds it.

    Choices that mean nothing together are left out, because they would repeat a run, and so is an
    override that an agent and solver do not use; one that no run uses is refused.
    """
    choices = itertools.product(block.agents, block.solvers, block.formulations)
    unused = [unused_fields(*each) for each in choices]
    for name, _ in block.overrides:
        if name not in block.shared and all(name in names for names in unused):
            raise InvalidInputError(
                f"{block.place}, overrides: {name} has an effect only with {unused[0][name]}"
            )
    seen = set()
    lists = (block.agents, block.presets, block.deltas, block.formulations, block.solvers)
    for task, *chosen in itertools.product(block.tasks, *lists):
        agent, preset, delta, formulation, solver = chosen
        if agent == "sac":
            solver, delta = None, 0.0
        formulation = formulation if delta else "nr-mdp"
        useless = unused_fields(agent, solver, formulation)
        choice: dict[str, Any] = {"agent": agent, "solver": solver, "formulation": formulation}
        choice |= {"preset": preset, "delta": None if "delta" in useless else delta}
        used = {name: values for name, values in block.overrides if name not in useless}
        for values in itertools.product(*used.values()):
            overrides = dict(zip(used, values, strict=True))
            key = repr((task, choice, overrides))
            if key in seen:
                continue
            seen.add(key)
            if block.steps is not None:
                overrides["steps"] = block.steps
            with located(block.place):
                yield to_json(configure(task, **choice, **overrides))


def group_runs(runs: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    """The jobs of a plan: single runs, and VPG runs that one compiled program trains together."""
    groups: list[list[PlannedRun]] = []
    open_groups: dict[str, list[PlannedRun]] = {}
    for run in runs:
        key = run.identifier
        if run.fields["agent"] == "vpg":
            key = json.dumps([compile_key(run.fields), run.to_json()["evaluations"]])
        group = open_groups.get(key)
        if group is None or len(group) == LANES:
            group = open_groups[key] = []
            groups.append(group)
        group.append(run)
    return groups
