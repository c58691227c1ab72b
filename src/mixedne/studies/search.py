"""Choosing hyperparameters: by nominal return alone, on seeds that are not reported.

Every configuration of a case (task, agent, solver, formulation, δ, preset) is trained with the
search's seeds and evaluated in the nominal world. The one with the highest mean return over
seeds is chosen. It is then trained with the study's other seeds, and only those runs meet the
shifts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from mixedne.config import presets
from mixedne.evaluation.table import episode_seed
from mixedne.studies.plan import PlannedRun, planned
from mixedne.studies.results import nominal_rows
from mixedne.studies.spec import CASE, Search, Study
from mixedne.tasks import resolve_task


@dataclass(frozen=True)
class Choice:
    """What a search chose for one case."""

    case: Mapping[str, Any]
    """Task, agent, solver, formulation, δ and preset."""
    candidates: int
    """Configurations that could be chosen: those with a return for every seed."""
    chosen: Mapping[str, Any]
    """The values searched, as chosen."""
    mean_return: float
    """Of the chosen one, in the nominal world, over the search's seeds."""
    paper: Mapping[str, Any] | None
    """What the paper's tables have for the case, if they have it."""
    fields: Mapping[str, Any]
    """The whole configuration chosen."""


def choose(search: Search, runs: Sequence[PlannedRun], table: pl.DataFrame) -> list[Choice]:
    """The best configuration of each case whose runs are all in the table.

    A configuration of which a run is missing, or has returns that are no numbers, is not chosen;
    a case that has no other is left out. Of equal ones, the first is chosen.
    """
    returns = nominal_returns(search, table)
    cases: dict[tuple[Any, ...], dict[str, list[PlannedRun]]] = defaultdict(dict)
    for run in runs:
        cases[run.case].setdefault(run.configuration, []).append(run)
    return [
        choice
        for candidates in cases.values()
        if (choice := _choose(list(candidates.values()), returns)) is not None
    ]


def nominal_returns(search: Search, table: pl.DataFrame) -> dict[str, float]:
    """Mean return of each run's nominal episodes, by identifier; no other row has a say."""
    seeds = [episode_seed(search.seed, number) for number in range(search.episodes)]
    rows = nominal_rows(table).filter(
        pl.col("acting") == "mean", pl.col("episode_seed").is_in(seeds)
    )
    rows = rows.unique(["identifier", "episode_seed"], maintain_order=True)
    means = rows.group_by("identifier").agg(pl.len(), pl.col("return").mean())
    whole = means.filter(pl.col("len") == search.episodes, pl.col("return").is_finite())
    return dict(whole.select("identifier", "return").iter_rows())


def reported(study: Study, choices: Sequence[Choice]) -> list[PlannedRun]:
    """The runs that the chosen configurations are reported on."""
    return [
        planned({**choice.fields, "seed": seed}, study.evaluations)
        for seed in study.runs[0].seeds
        for choice in choices
    ]


def expected(study: Study, runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """As many runs as will be reported, before it is known which: for estimates."""
    if study.search is None:
        return []
    first = {run.case: run for run in reversed(runs)}
    return [
        planned({**run.fields, "seed": seed}, study.evaluations)
        for run in first.values()
        for seed in study.runs[0].seeds
    ]


def _choose(
    candidates: Sequence[Sequence[PlannedRun]], returns: Mapping[str, float]
) -> Choice | None:
    scores = [
        sum(returns[run.identifier] for run in runs) / len(runs)
        if all(run.identifier in returns for run in runs)
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
        case={name: fields[name] for name in CASE},
        candidates=sum(score is not None for score in scores),
        chosen={name: fields[name] for name in searched},
        mean_return=best,
        paper=presets.table_values(fields["agent"], task, fields["delta"], fields["solver"]),
        fields=fields,
    )
