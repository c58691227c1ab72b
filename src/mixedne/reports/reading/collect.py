"""From paths to a report: everything read once, everything computed, nothing drawn."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.reports.frames import AXES, Film, Made, Report
from mixedne.reports.reading import methods, numbers
from mixedne.reports.reading.found import Found, PlanFound, find, read_json
from mixedne.reports.reading.learning import learning
from mixedne.reports.reading.published import published
from mixedne.reports.reading.runs import labels, read_runs
from mixedne.reports.reading.searches import searches
from mixedne.saddle.objectives import OBJECTIVES
from mixedne.saddle.tables import CASE, PATHS, mark_settings
from mixedne.video.captions import read_caption

LISTED = 5
"""So many names are spelled out in a sentence; of more, the number is given."""


def collect(paths: Sequence[Path], title: str | None = None) -> Report:
    """All that the results at these paths allow to show."""
    found = find(paths)
    runs = read_runs(found)
    named = labels(found, runs)
    saddle = _saddle(found)
    return Report(
        title=title or f"Robustness report: {_names(path.resolve().name for path in paths)}",
        sweeps=numbers.sweeps(runs),
        maps=numbers.maps(runs),
        summary=numbers.summary(runs),
        learning=learning(found, named),
        searches=searches(found),
        published=published(runs["task"].unique(maintain_order=True)),
        saddle=saddle,
        runs=runs.drop("identity", "versions") if runs.height else None,
        films=tuple(map(_film, dict.fromkeys(found.films))),
        made=_made(found, runs, paths),
        missing=tuple(_missing(found, runs)),
        counts={
            "runs": len(named),
            "tasks": runs["task"].n_unique(),
            "episodes": int(runs["episodes"].sum()),
        },
    )


def _film(path: Path) -> Film:
    """A film with what it says of itself; one from elsewhere has its name alone."""
    caption = read_caption(path)
    if caption is None:
        return Film(path, path.stem)
    reached = "" if caption["return"] is None else f", return {caption['return']:.1f}"
    return Film(path, f"{caption['task']}, {caption['run']}: {caption['shift']}{reached}")


def _saddle(found: Found) -> pl.DataFrame | None:
    """The paths of all case studies; of the same case, the first one's."""
    tables = []
    for folder in found.saddles:
        try:
            table = pl.read_parquet(folder / "paths.parquet", glob=False).select(PATHS)
            known = table.filter(pl.col("objective").is_in(list(OBJECTIVES)))
            authors = read_json(folder / "config.json").get("settings") == "authors"
            tables.append(mark_settings(known, "authors" if authors else "paper"))
        except (OSError, pl.exceptions.PolarsError):
            found.problems.append(f"The case study in {folder.name} has no whole paths.parquet.")
    if not tables:
        return None
    together = pl.concat(tables, how="vertical_relaxed")
    return together.unique([*CASE, "seed"], keep="first", maintain_order=True)


def _missing(found: Found, runs: pl.DataFrame) -> Iterator[str]:
    """One sentence for everything that is not there, or not whole."""
    yield from dict.fromkeys(found.problems)
    for plan in found.plans:
        yield from _unfinished(plan)
    planned = {name for plan in found.plans for name in plan.runs}
    bare = [
        run.name
        for run in found.reported
        if run.name not in planned
        and not (run.path / "evaluation.parquet").is_file()
        and run.name not in set(runs["run"])
    ]
    if bare:
        yield f"Not evaluated yet: {_names(bare)}."
    yield from _doubts(runs)


def _unfinished(plan: PlanFound) -> Iterator[str]:
    """How many runs of each method a study lacks: what is there is over those that finished."""
    planned: dict[tuple[str, str], list[bool]] = {}
    for name, config in plan.runs.items():
        agent, solver, delta = (config.get(field) for field in ("agent", "solver", "delta"))
        label = methods.SOLVERS.get(str(solver), str(solver or methods.agent_in_words(agent)))
        words = methods.method_in_words(agent, label, delta)
        there = (plan.folder / "runs" / name / "evaluation.parquet").is_file()
        planned.setdefault((words, config["task"]), []).append(there)
    lacking = [
        f"{len(runs) - sum(runs)} of {len(runs)} of {words} on {task}"
        for (words, task), runs in planned.items()
        if not all(runs)
    ]
    if lacking:
        yield (
            f"Runs of the study {plan.name} that have no results, because they failed or are still "
            f"to be done: {_names(lacking)}. What is shown is of the others."
        )


def _doubts(runs: pl.DataFrame) -> Iterator[str]:
    """What a reader has to know of the rows that are there."""
    broken = runs.filter(pl.col("invalid") > 0)
    if broken.height:
        where = _names(broken["run"].unique(maintain_order=True))
        yield (
            f"{broken['invalid'].sum()} episodes have a return that is no number ({where}): every "
            "number that they enter is marked as invalid."
        )
    alone = (
        runs.group_by("task", "agent", "label", "delta", maintain_order=True)
        .agg(pl.col("identity").n_unique())
        .filter(pl.col("identity") == 1)
    )
    if alone.height:
        named = (
            f"{methods.method_in_words(row['agent'], row['label'], row['delta'])} on {row['task']}"
            for row in alone.iter_rows(named=True)
        )
        yield f"A single training seed, so no interval: {_names(named)}."
    for task, axis, left_out in numbers.not_summed_up(runs):
        shift = AXES[axis].split(",")[0].split(":")[0]
        yield (
            f"The summary of {task} against {shift} is without {_names(left_out)}, which lack "
            "shifts that most runs have."
        )


def _made(found: Found, runs: pl.DataFrame, paths: Iterable[Path]) -> Made:
    """How the results came about, as far as the files say."""
    configs = [run.config for run in found.reported]
    planned = {name for plan in found.plans for name in plan.runs}
    alone = [run.config for run in found.runs.values() if run.name not in planned]
    commands = [plan.command for plan in found.plans if plan.command is not None]
    commands += _train_commands(alone)
    versions = [config.get("versions") for config in configs]
    tested = [_parsed(text) for text in runs["versions"].unique(maintain_order=True)]
    machines = (config.get("machine") for config in configs)
    seeds = runs.group_by("agent", "label", "delta", maintain_order=True).agg(
        pl.col("train_seed").drop_nulls().unique()
    )
    return Made(
        commands=tuple(dict.fromkeys(commands)),
        versions=tuple(dict.fromkeys(map(_versions, filter(None, [*versions, *tested])))),
        machines=tuple(dict.fromkeys(str(machine) for machine in machines if machine)),
        seeds=tuple(
            (methods.method_in_words(agent, label, delta), methods.numbers_in_words(numbers))
            for agent, label, delta, numbers in seeds.iter_rows()
        ),
        sources=tuple(dict.fromkeys(str(path) for path in paths)),
    )


def _train_commands(configs: Iterable[dict[str, Any]]) -> list[str]:
    """One command for runs that differ in their seed alone, with the first of their seeds."""
    seeds: dict[str, list[int]] = {}
    for config in configs:
        command, seed = config.get("command"), config.get("seed")
        if isinstance(command, str) and isinstance(seed, int):
            seeds.setdefault(command.replace(f" --seed {seed}", ""), []).append(seed)
    return [
        f"{command} --seed {min(found)}"
        + (f"  # and with seeds {methods.numbers_in_words(found)}" if len(set(found)) > 1 else "")
        for command, found in seeds.items()
    ]


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


def _versions(said: Any) -> str:
    if not isinstance(said, dict):
        return str(said)
    return ", ".join(f"{name} {version}" for name, version in said.items())


def _names(names: Iterable[str]) -> str:
    listed = list(dict.fromkeys(names))
    more = len(listed) - LISTED
    return ", ".join(listed[:LISTED]) + (f" and {more} more" if more > 0 else "")
