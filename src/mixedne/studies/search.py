"""Choosing hyperparameters: by nominal return alone, on seeds that are not reported.

Every configuration of a case (task, agent, solver, formulation, δ, preset) is trained with the
search's seeds and evaluated in the nominal world. The one with the highest mean return over
seeds is chosen. It is then trained with the study's other seeds, and only those runs meet the
shifts.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import polars as pl

from mixedne.config import presets
from mixedne.evaluation.grids import episode_seed
from mixedne.evaluation.statistics import nominal_returns
from mixedne.names import CHOICES
from mixedne.studies.plan import PlannedRun
from mixedne.studies.spec import Search, Study
from mixedne.tasks import resolve_task


@dataclass(frozen=True)
class Choice:
    """What a search chose for one case."""

    case: Mapping[str, Any]
    """Task, agent, solver, formulation, δ and preset."""
    candidates: int
    """Configurations that could be chosen: those with a return for every seed."""
    chosen: Mapping[str, Any]
    """The chosen values of the fields that were searched."""
    mean_return: float
    """The chosen configuration's mean return in the nominal world, over the search's seeds."""
    paper: Mapping[str, Any] | None
    """What the paper's tables have for the case, if they have it."""
    fields: Mapping[str, Any]
    """The whole chosen configuration."""


def choose(search: Search, runs: Sequence[PlannedRun], table: pl.DataFrame) -> list[Choice]:
    """The best configuration of each case whose runs are all in the table.

    A configuration is not chosen if one of its runs is missing or has a return that is not finite;
    a case without any other is left out. Of equal ones, the first is chosen.
    """
    grid = search.evaluation
    seeds = [episode_seed(grid.seed, number) for number in range(grid.episodes)]
    found = nominal_returns(table, ["identifier"], seeds).filter(episodes=grid.episodes)
    returns = dict(found.select("identifier", "mean_return").iter_rows())
    cases: dict[tuple[Any, ...], dict[str, list[PlannedRun]]] = defaultdict(dict)
    for run in runs:
        cases[run.case].setdefault(run.configuration, []).append(run)
    choices = (_choose(list(candidates.values()), returns) for candidates in cases.values())
    return [choice for choice in choices if choice is not None]


def reported_runs(study: Study, chosen: Iterable[Mapping[str, Any]]) -> list[PlannedRun]:
    """The runs on which the chosen configurations are reported."""
    return [
        PlannedRun({**fields, "seed": seed}, study.evaluations)
        for seed, fields in itertools.product(study.runs[0].seeds, chosen)
    ]


def expected_runs(study: Study, runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """As many runs as will be reported, before the choice is known: for estimates."""
    first = {run.case: run.fields for run in reversed(runs)}
    return [] if study.search is None else reported_runs(study, first.values())


def _choose(
    candidates: Sequence[Sequence[PlannedRun]], returns: Mapping[str, float]
) -> Choice | None:
    scores = [
        sum(returns[run.identifier] for run in runs) / len(runs)
        if all(isfinite(returns.get(run.identifier, nan)) for run in runs)
        else None
        for runs in candidates
    ]
    best = max((score for score in scores if score is not None), default=None)
    if best is None:
        return None
    fields = candidates[scores.index(best)][0].fields
    searched = [
        name
        for name in fields
        if name != "seed" and any(runs[0].fields[name] != fields[name] for runs in candidates)
    ]
    task = resolve_task(fields["task"]).name
    return Choice(
        case={name: fields[name] for name in CHOICES},
        candidates=sum(score is not None for score in scores),
        chosen={name: fields[name] for name in searched},
        mean_return=best,
        paper=presets.table_values(fields["agent"], task, fields["delta"], fields["solver"]),
        fields=fields,
    )
