"""Expand a study into its runs: every combination once.

A run is identified by a hash of everything that affects its result
(:mod:`mixedne.config.identity`): it is the same in every study, and the run is trained once.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from mixedne.config import Config, configure, unused_fields
from mixedne.config.config import OF_ADVERSARIES
from mixedne.config.identity import LANES, compile_key, from_json, identifier, run_name, to_json
from mixedne.errors import InvalidInputError, check_number
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.sweep import MAX_EPISODES
from mixedne.names import CHOICES, STRENGTHS
from mixedne.studies.spec import Block, Study, located
from mixedne.tasks import check_axes, resolve_task

MAX_RUNS = 100_000
"""Maximum number of runs of a study; more are treated as a mistake."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study."""

    fields: Mapping[str, Any]
    """The configuration, as in ``config.json``."""
    evaluations: tuple[Grid, ...] = ()

    def __hash__(self) -> int:
        return hash(self.identifier)

    @cached_property
    def identifier(self) -> str:
        """The hash of everything that affects the result."""
        return identifier(self.fields)

    @cached_property
    def name(self) -> str:
        """The name of the run's folder."""
        return f"{run_name(self.fields)}-{self.identifier}"

    @property
    def config(self) -> Config:
        """The configuration, checked."""
        return from_json(self.fields)

    @property
    def case(self) -> tuple[Any, ...]:
        """The choices, without other settings and the seed; searches select within a case."""
        return tuple(self.fields[name] for name in CHOICES)

    @cached_property
    def configuration(self) -> str:
        """A hash that is equal for runs that differ only in their seed."""
        return identifier({**self.fields, "seed": 0})

    def to_json(self) -> dict[str, Any]:
        """Everything that a worker needs, as JSON."""
        grids = [grid.to_json() for grid in self.evaluations]
        return {"configuration": dict(self.fields), "evaluations": grids}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The run from the output of :meth:`to_json`."""
        return cls(document["configuration"], tuple(map(Grid.from_json, document["evaluations"])))


def expand(study: Study) -> list[PlannedRun]:
    """The runs of a study; for a search, those that are compared."""
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
    # Seed by seed, so that a study that is stopped early has some runs of every kind.
    return [run for _, run in sorted(found.values(), key=lambda pair: pair[0])]


def _grids(study: Study, block: Block, task: str) -> tuple[Grid, ...]:
    """A study's evaluations in a task, checked early; a search uses them only at its end."""
    with located(f"{block.place}, evaluations"):
        grids = study.grids(task)
        for grid in grids:
            check_axes(resolve_task(task), [axis for axis, _ in grid.axes])
            total = grid.size * grid.episodes
            check_number("the number of a run's episodes", total, at_most=MAX_EPISODES)
    return grids


def _configurations(block: Block) -> Iterator[dict[str, Any]]:
    """Every configuration of a block once, with seed 0, as in ``config.json``.

    Combinations of choices without a meaning are left out, because they would repeat a run, and so
    are overrides that an agent and solver do not use.
    """
    needing = [name for name in block.formulations if STRENGTHS.get(name) != "delta"]
    if needing and not any(block.deltas) and set(block.agents) != {"sac"}:
        raise InvalidInputError(
            f"{block.place}: {needing[0]} has an adversary, and with deltas = 0 there is none"
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
        if not delta and any(block.deltas):  # beside runs with an adversary, which use them
            left_out = {*OF_ADVERSARIES, *(() if "inner_max" in used else ("inner_growth",))}
            used = {name: values for name, values in used.items() if name not in left_out}
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
    """The jobs of a plan: single runs, and groups of VPG runs that share a compiled program."""
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
