"""``mixedne.results``: the evaluation tables of many runs as one.

The data of a study are the ``evaluation.parquet`` files of its runs. Each is replaced atomically,
so they can be read while the study runs. A run is identified by its identifier: the same run from
two folders or machines counts once.

A search selects hyperparameters by nominal return only, on seeds that are not reported. Every
configuration of a case (task, agent, solver, formulation, δ, preset) is trained with the search's
seeds and evaluated in the nominal world. The one with the highest mean return over seeds is
selected. It is then trained with the study's other seeds, and only those runs are evaluated under
shifts.
"""

import itertools
import types
import typing
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.config import SETTINGS, Config, presets
from mixedne.config.identity import differing, settings_in_words, with_defaults
from mixedne.errors import InvalidInputError, check_choice, parse_json
from mixedne.evaluation.grids import episode_seed
from mixedne.evaluation.statistics import (
    METHOD,
    TASK,
    nominal_returns,
    over_episodes,
    over_shifts,
    shift_columns,
)
from mixedne.evaluation.table import SCHEMA, concat_tables, evaluation_rows
from mixedne.names import CHOICES
from mixedne.shifts import is_nominal
from mixedne.studies.folder import (
    CONFIG,
    EVALUATION,
    FINISHED,
    UNREADABLE,
    Finished,
    StudyFolder,
    read_config,
    read_evaluations,
    read_finished,
)
from mixedne.studies.plan import PlannedRun
from mixedne.studies.spec import Search, Study
from mixedne.tasks import resolve_task


def results(
    *paths: str | Path, study: str | None = None, settings: Sequence[str] = ()
) -> pl.DataFrame:
    """Read the evaluation tables of all runs in these folders: one row per episode, none twice.

    Args:
      paths: study folders, folders of run folders, or run folders. If two contain the same
        episode, the row of the first is used.
      study: name of a study; include only the runs that the plan in its folder lists.
      settings: fields of the configuration to add as columns, e.g. ``["sigma0", "sigma"]``. Runs
        of an older version have the defaults of fields that did not exist then.

    Returns:
      A table with one row per episode, as returned by :func:`mixedne.evaluate`, with each run's
      ``identifier``.

    Examples:
      >>> import mixedne
      >>> run = mixedne.train("InvertedPendulum-v5", steps=200, hidden=(8,), out="runs/a")
      >>> table = run.evaluate(episodes=2, out="runs/a/evaluation.parquet")
      >>> mixedne.results("runs", settings=["eta"])["eta"].to_list()
      [0.0001, 0.0001]
    """
    if not paths:
        raise InvalidInputError("results need at least one folder")
    for name in settings:
        check_choice("a field of the configuration", name, SETTINGS)
    wanted = None if study is None else _planned(map(Path, paths), study)
    return _read(paths, wanted, settings)


def results_of(runs: Iterable[PlannedRun], folder: StudyFolder) -> pl.DataFrame:
    """The results of these runs, whatever plans other processes have written meanwhile."""
    return _read([folder.path], {run.identifier for run in runs})


def _read(
    paths: Iterable[str | Path], wanted: Set[str] | None, settings: Sequence[str] = ()
) -> pl.DataFrame:
    """The results of the wanted runs in these folders, see :func:`results`; None for all."""
    kinds = typing.get_type_hints(Config)
    added = {name: _column_type(kinds[name]) for name in settings if name not in SCHEMA}
    known = {"identifier": pl.String, **added}
    tables = [pl.DataFrame(schema={**SCHEMA, **known})]
    for folder in (folder for path in paths for folder in run_folders(Path(path))):
        try:
            made, row = read_finished(folder), read_config(folder)
            if not row:
                raise InvalidInputError(f"{folder} has no whole config.json")
            if made and CONFIG in made.damaged:
                raise InvalidInputError(f"{folder / CONFIG} is not what was written")
            if wanted is None or row["identifier"] in wanted:
                about = pl.DataFrame([with_defaults(row)], schema=known, strict=False)
                tables.append(read_evaluations(folder).join(about, how="cross"))
        except InvalidInputError as error:
            warnings.warn(f"{error}; its rows are left out", stacklevel=2)
    table = concat_tables(tables).select("identifier", pl.exclude("identifier", *added), *added)
    episode = ["identifier", *shift_columns(table.columns), "episode", "episode_seed"]
    return table.unique(episode, keep="first", maintain_order=True)


def _column_type(kind: Any) -> Any:
    """The type of the column for a field of the configuration with this annotation."""
    parts = [part for part in typing.get_args(kind) if part not in (types.NoneType, ...)]
    if typing.get_origin(kind) is tuple:
        return pl.List(_column_type(parts[0]))
    if parts:
        return _column_type(parts[0])
    return {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}[kind]


def run_folders(path: Path) -> Iterator[Path]:
    """The evaluated run folders at a path, including those whose table has been lost."""
    if not path.is_dir():
        raise InvalidInputError(f"there is no folder {path}")
    if any((path / name).exists() for name in (CONFIG, FINISHED, EVALUATION)):
        yield path  # even if incomplete: it was given explicitly
        return
    runs = path / "runs" if (path / "runs").is_dir() else path
    for folder in sorted(runs.iterdir()):
        if ".damaged-" in folder.name:
            continue
        made = read_finished(folder) or Finished()
        if (folder / EVALUATION).is_file() or EVALUATION in made.damaged:
            yield folder


def summarise(table: pl.DataFrame, runs: Sequence[PlannedRun]) -> pl.DataFrame:
    """One row per task and method: return in the nominal world, mean over shifts, worst shift.

    Episodes are averaged within a run and shift first, then shifts within a run, then runs. Only
    the ``runs``' own evaluations count, of runs that have all of them: their tables may hold other
    shifts, and methods are compared on the same. If the runs of one method differ in a setting,
    there is one row per value.
    """
    key = [*TASK, *METHOD, "settings", "acting"]
    words = pl.col("identifier").replace_strict(_settings(runs), default="", return_dtype=pl.String)
    table = _planned_rows(table, runs).with_columns(settings=words)
    shifts = [name for name in shift_columns(table.columns) if name not in key]
    scores = over_shifts(
        over_episodes(table, [*key, "identifier", *shifts]), [*key, "identifier"]
    ).select(*key, "identifier", mean="mean_return", worst="worst_return")
    run = ["identifier", "acting"]
    nominal = over_episodes(table.filter(is_nominal(table.columns)), run)
    whole = scores.join(
        nominal.select(*run, nominal="mean_return"), on=run, how="left", nulls_equal=True
    )
    values = pl.col("nominal", "mean", "worst").mean()
    return whole.group_by(key).agg(pl.len().alias("runs"), values).sort(key)


def _planned_rows(table: pl.DataFrame, runs: Iterable[PlannedRun]) -> pl.DataFrame:
    """The rows of these runs' own evaluations, of the runs that have all of them."""
    alike: dict[Any, list[str]] = defaultdict(list)
    for run in runs:
        alike[run.fields["task"], run.evaluations].append(run.identifier)
    key, parts = ["identifier", "acting"], [table.clear()]
    for (task, grids), identifiers in alike.items():
        own = table.filter(pl.col("identifier").is_in(identifiers))
        found = [evaluation_rows(own, grid, resolve_task(task).axes) for grid in grids]
        for grid, rows in zip(grids, found, strict=True):
            made = rows.group_by(key).len().filter(len=grid.size * grid.episodes)
            own = own.join(made, on=key, how="semi", nulls_equal=True)
        parts += [rows.join(own, on=key, how="semi", nulls_equal=True) for rows in found]
    return pl.concat(parts).unique(maintain_order=True)


def _settings(runs: Iterable[PlannedRun]) -> dict[str, str]:
    """The settings in which a run differs from others of its case, in words, by identifier."""
    cases: dict[tuple[Any, ...], list[PlannedRun]] = {}
    for run in runs:
        cases.setdefault(run.case, []).append(run)
    return {
        run.identifier: settings_in_words(run.fields, names)
        for group in cases.values()
        for names in [differing(run.fields for run in group)]
        for run in group
    }


def _planned(paths: Iterable[Path], study: str) -> set[str]:
    """The identifiers of a study's runs, from the plans in these folders."""
    plans = [StudyFolder(path).studies / f"{study}.json" for path in paths]
    found = set()
    for plan in (plan for plan in plans if plan.is_file()):
        try:
            found |= {run["identifier"] for run in parse_json(plan.read_bytes())["runs"]}
        except UNREADABLE:
            raise InvalidInputError(
                f"the plan {plan} cannot be read: start the study again, which writes it anew"
            ) from None
    if not any(plan.is_file() for plan in plans):
        raise InvalidInputError(f"there is no study {study} in {plans[0].parent}")
    return found


@dataclass(frozen=True)
class Choice:
    """The configuration that a search selected for one case."""

    case: Mapping[str, Any]
    """Task, agent, solver, formulation, δ and preset."""
    candidates: int
    """Number of configurations that could be selected: those with a return for every seed."""
    chosen: Mapping[str, Any]
    """The selected values of the fields that were searched."""
    mean_return: float
    """The selected configuration's mean return in the nominal world, over the search's seeds."""
    paper: Mapping[str, Any] | None
    """The paper's values for the case, if its tables have them."""
    fields: Mapping[str, Any]
    """The complete selected configuration."""


def choose(search: Search, runs: Sequence[PlannedRun], table: pl.DataFrame) -> list[Choice]:
    """The best configuration of each case, among those whose runs are all in the table.

    A configuration is not eligible if one of its runs is missing or has a return that is not
    finite; a case without an eligible one is left out. Of equal ones, the first is selected.
    """
    grid = search.evaluation
    seeds = [episode_seed(grid.seed, number) for number in range(grid.episodes)]
    found = nominal_returns(table, ["identifier"], seeds).filter(episodes=grid.episodes)
    returns = dict(found.select("identifier", "mean_return").iter_rows())
    cases: dict[tuple[Any, ...], dict[str, list[PlannedRun]]] = defaultdict(dict)
    for run in runs:
        cases[run.case].setdefault(run.configuration, []).append(run)
    choices = []
    for candidates in cases.values():
        scores = {
            name: sum(returns[run.identifier] for run in group) / len(group)
            for name, group in candidates.items()
            if all(isfinite(returns.get(run.identifier, nan)) for run in group)
        }
        if not scores:
            continue
        best = max(scores, key=lambda name: scores[name])
        fields = candidates[best][0].fields
        others = [group[0].fields for group in candidates.values()]
        searched = [name for name in fields if any(fields[name] != x[name] for x in others)]
        task = resolve_task(fields["task"]).name
        paper = presets.table_values(fields["agent"], task, fields["delta"], fields["solver"])
        choices.append(
            Choice(
                case={name: fields[name] for name in CHOICES},
                candidates=len(scores),
                chosen={name: fields[name] for name in searched if name != "seed"},
                mean_return=scores[best],
                paper=paper,
                fields=fields,
            )
        )
    return choices


def reported_runs(study: Study, chosen: Iterable[Mapping[str, Any]]) -> list[PlannedRun]:
    """The runs on which the selected configurations are reported."""
    return [
        PlannedRun({**fields, "seed": seed}, study.grids(fields["task"]))
        for seed, fields in itertools.product(study.runs[0].seeds, chosen)
    ]


def expected_runs(
    study: Study, runs: Sequence[PlannedRun], folder: StudyFolder | None = None
) -> list[PlannedRun]:
    """The runs that will be reported.

    If the search in ``folder`` is complete, they are those selected; before, as many as there will
    be, for estimates.
    """
    if study.search is None:
        return []
    if folder is not None and not folder.unfinished(runs):
        choices = choose(study.search, runs, results_of(runs, folder))
        return reported_runs(study, (choice.fields for choice in choices))
    first = {run.case: run.fields for run in reversed(runs)}
    return reported_runs(study, first.values())
