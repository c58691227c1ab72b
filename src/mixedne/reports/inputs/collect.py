"""From paths to a report: everything read once, everything computed, nothing drawn."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.errors import parse_json
from mixedne.reports.inputs import numbers
from mixedne.reports.inputs.commands import train_commands
from mixedne.reports.inputs.files import Inputs, PlanInput, find, read_json
from mixedne.reports.inputs.learning import learning
from mixedne.reports.inputs.published import published
from mixedne.reports.inputs.runs import labels, read_runs
from mixedne.reports.inputs.searches import searches
from mixedne.reports.names import (
    list_words,
    method_words,
    number_words,
    short_axis,
    solver_words,
)
from mixedne.reports.tables import Provenance, Report, Video
from mixedne.saddle.objectives import OBJECTIVES
from mixedne.saddle.tables import CASE, PATHS, mark_settings
from mixedne.video.captions import read_caption


def collect(paths: Sequence[Path], title: str | None = None) -> Report:
    """All that the results at these paths allow to show."""
    inputs = find(paths)
    runs = read_runs(inputs)
    named = labels(inputs, runs)
    swept, swept_runs = numbers.sweeps(runs)
    learned, learned_runs = learning(inputs, named)
    return Report(
        title=title or f"Robustness report: {list_words(path.resolve().name for path in paths)}",
        sweeps=swept,
        sweep_runs=swept_runs,
        maps=numbers.maps(runs),
        summary=numbers.summary(runs),
        learning=learned,
        learning_runs=learned_runs,
        searches=searches(inputs),
        published=published(runs["task"].unique(maintain_order=True)),
        saddle=_saddle(inputs),
        runs=runs.drop("identity", "versions") if runs.height else None,
        videos=tuple(map(_video, dict.fromkeys(inputs.videos))),
        provenance=_provenance(inputs, runs, paths),
        missing=tuple(_missing(inputs, runs)),
        counts={
            "runs": len(named),
            "tasks": runs["task"].n_unique(),
            "episodes": int(runs["episodes"].sum()),
        },
    )


def _video(path: Path) -> Video:
    """A video with what it says of itself; one from elsewhere has its name alone."""
    caption = read_caption(path)
    if caption is None:
        return Video(path, path.stem)
    reached = "" if caption["return"] is None else f", return {caption['return']:.1f}"
    return Video(path, f"{caption['task']}, {caption['run']}: {caption['shift']}{reached}")


def _saddle(inputs: Inputs) -> pl.DataFrame | None:
    """The paths of all case studies; of the same case, the first one's."""
    tables = []
    for folder in inputs.saddles:
        try:
            table = pl.read_parquet(folder / "paths.parquet", glob=False).select(PATHS)
            known = table.filter(pl.col("objective").is_in(list(OBJECTIVES)))
            authors = read_json(folder / "config.json").get("settings") == "authors"
            tables.append(mark_settings(known, "authors" if authors else "paper"))
        except (OSError, pl.exceptions.PolarsError):
            inputs.problems.append(f"The case study in {folder.name} has no whole paths.parquet.")
    if not tables:
        return None
    together = pl.concat(tables, how="vertical_relaxed")
    return together.unique([*CASE, "seed"], keep="first", maintain_order=True)


def _missing(inputs: Inputs, runs: pl.DataFrame) -> Iterator[str]:
    """One sentence for everything that is not there, or not whole."""
    yield from dict.fromkeys(inputs.problems)
    for plan in inputs.plans:
        yield from _unfinished(plan)
    planned = {name for plan in inputs.plans for name in plan.runs}
    bare = [
        run.name
        for run in inputs.reported
        if run.name not in planned
        and not (run.path / "evaluation.parquet").is_file()
        and run.name not in set(runs["run"])
    ]
    if bare:
        yield f"Not evaluated yet: {list_words(bare)}."
    yield from _doubts(runs)


def _unfinished(plan: PlanInput) -> Iterator[str]:
    """How many runs of each method a study lacks: what is there is over those that finished."""
    planned: dict[tuple[str, str], list[bool]] = {}
    for name, config in plan.runs.items():
        agent, solver, delta = (config.get(field) for field in ("agent", "solver", "delta"))
        words = method_words(agent, solver_words(solver, agent), delta)
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
            f"to be done: {list_words(lacking)}. What is shown is of the others."
        )


def _doubts(runs: pl.DataFrame) -> Iterator[str]:
    """What a reader has to know of the rows that are there."""
    broken = runs.filter(pl.col("invalid") > 0)
    if broken.height:
        where = list_words(broken["run"].unique(maintain_order=True))
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
            f"{method_words(row['agent'], row['label'], row['delta'])} on {row['task']}"
            for row in alone.iter_rows(named=True)
        )
        yield f"A single training seed, so no interval: {list_words(named)}."
    for task, axis, left_out in numbers.not_summed_up(runs):
        yield (
            f"The summary of {task} against {short_axis(axis)} is without {list_words(left_out)}, "
            "which lack shifts that most runs have."
        )


def _provenance(inputs: Inputs, runs: pl.DataFrame, paths: Iterable[Path]) -> Provenance:
    """How the results came about, as far as the files say."""
    configs = [run.config for run in inputs.reported]
    planned = {name for plan in inputs.plans for name in plan.runs}
    alone = [run.config for run in inputs.runs.values() if run.name not in planned]
    commands = [plan.command for plan in inputs.plans if plan.command is not None]
    commands += train_commands(alone)
    versions = [config.get("versions") for config in configs]
    tested = [_parsed(text) for text in runs["versions"].unique(maintain_order=True)]
    machines = (config.get("machine") for config in configs)
    seeds = runs.group_by("agent", "label", "delta", maintain_order=True).agg(
        pl.col("train_seed").drop_nulls().unique()
    )
    return Provenance(
        commands=tuple(dict.fromkeys(commands)),
        versions=tuple(dict.fromkeys(map(_versions, filter(None, [*versions, *tested])))),
        machines=tuple(dict.fromkeys(str(machine) for machine in machines if machine)),
        seeds=tuple(
            (method_words(agent, label, delta), number_words(own))
            for agent, label, delta, own in seeds.iter_rows()
        ),
        sources=tuple(dict.fromkeys(str(path) for path in paths)),
    )


def _parsed(text: str | None) -> Any:
    try:
        return parse_json(text or "null")
    except ValueError:
        return None


def _versions(said: Any) -> str:
    if not isinstance(said, dict):
        return str(said)
    return ", ".join(f"{name} {version}" for name, version in said.items())
