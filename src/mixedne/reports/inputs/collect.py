"""Make a report from paths: everything is read once and computed; nothing is drawn."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mixedne.errors import InvalidInputError, parse_json
from mixedne.evaluation.table import parse_parquet
from mixedne.files import readable
from mixedne.reports import style
from mixedne.reports.inputs import numbers
from mixedne.reports.inputs.attacks import attack_returns
from mixedne.reports.inputs.files import Document, Inputs, PlanInput, find
from mixedne.reports.inputs.methods import train_commands
from mixedne.reports.inputs.published import published
from mixedne.reports.inputs.sets import set_scores
from mixedne.reports.inputs.training import learning, searches
from mixedne.reports.style import list_words, method_words, short_axis
from mixedne.reports.tables import Provenance, Report, Video
from mixedne.saddle.objectives import OBJECTIVES
from mixedne.saddle.tables import CASE, PATHS, mark_settings
from mixedne.video.captions import read_caption


def collect(paths: Sequence[Path], title: str | None = None) -> Report:
    """A report with everything that the results at these paths allow."""
    inputs = find(paths)
    runs = numbers.read_runs(inputs)
    named = numbers.labels(inputs, runs)
    swept, swept_runs = numbers.sweeps(runs)
    learned, learned_runs = learning(inputs, named)
    saddle = _saddle(inputs)
    places = (readable(path.resolve().name) for path in paths)
    found = inputs.runs or inputs.plans or inputs.videos or saddle is not None or runs.height
    if inputs.problems and not found:
        raise InvalidInputError(f"nothing is left to report: {inputs.problems[0].rstrip('.')}")
    return Report(
        title=title or f"Robustness report: {list_words(places)}",
        sweeps=swept,
        sweep_runs=swept_runs,
        maps=numbers.maps(runs),
        summary=numbers.summary(runs),
        learning=learned,
        learning_runs=learned_runs,
        searches=searches(inputs),
        published=published(runs["task"].unique(maintain_order=True)),
        sets=set_scores(runs),
        attacks=attack_returns(runs),
        saddle=saddle,
        runs=runs.drop("identity", "versions", "nominal") if runs.height else None,
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
    """A video with its metadata; one from another program has only its name."""
    caption = read_caption(path)
    if caption is None:
        return Video(path, path.stem)
    reached = "" if caption["return"] is None else f", return {caption['return']:.1f}"
    return Video(path, f"{caption['task']}, {caption['run']}: {caption['shift']}{reached}")


def _saddle(inputs: Inputs) -> pl.DataFrame | None:
    """The paths of all case studies; if several have the same case, those of the first.

    Seeds of several add up only where the settings are the same.
    """
    together = None
    settings: dict[tuple[str, ...], Document] = {}  # of every case so far
    for folder, config in inputs.saddles.items():
        place = f"{readable(folder.resolve().name)}/paths.parquet"
        with inputs.noting(f"{place} is damaged or does not fit the others and is left out."):
            table = parse_parquet((folder / "paths.parquet").read_bytes()).select(PATHS)
            known = table.filter(pl.col("objective").is_in(list(OBJECTIVES)))
            named = "authors" if config.get("settings") == "authors" else "paper"
            cases = {(named, *case): own for case, own in _case_settings(config)}
            others = [case[1:] for case, own in cases.items() if settings.get(case, own) != own]
            settings = cases | settings
            if others:
                said = "has cases of an earlier case study with other settings: they are left out."
                inputs.problems.append(f"{place} {said}")
                left_out = pl.DataFrame(others, CASE[:3], orient="row")
                known = known.join(left_out, on=CASE[:3], how="anti", maintain_order="left")
            own = mark_settings(known, named)
            both = own if together is None else pl.concat([together, own], how="vertical_relaxed")
            both = both.unique([*CASE, "seed"], keep="first", maintain_order=True)
            for (*_, solver, inner), case in (*own.group_by(CASE), *both.group_by(CASE)):
                steps = np.stack([*case["theta"].to_list(), *case["omega"].to_list()])
                gaps = case.drop("inner").null_count().sum_horizontal().item() or not steps.size
                if (solver, inner) not in style.CASE_STUDY or steps.dtype.kind != "f" or gaps:
                    raise ValueError("it is of no known solver, or has gaps")
            together = both
    return together


def _case_settings(config: Document) -> Iterator[tuple[tuple[str, ...], Document]]:
    """Objective, start and solver of a case study's cases, and what is set for them."""
    for case in config.get("cases", ()):
        settings = {**case["settings"], "inner": None}  # the tables tell chains apart
        for objective in case["objectives"]:
            yield (objective, case["start"], case["solver"]), settings


def _missing(inputs: Inputs, runs: pl.DataFrame) -> Iterator[str]:
    """One sentence for each result that is missing or incomplete."""
    yield from dict.fromkeys(inputs.problems)
    for plan in inputs.plans:
        yield from _unfinished(plan)
    there = {name for plan in inputs.plans for name in plan.runs} | {*runs["run"]}
    bare = [
        readable(folder.name)
        for folder in inputs.reported
        if folder.name not in there and not (folder / "evaluation.parquet").is_file()
    ]
    if bare:
        yield f"Not evaluated yet: {list_words(bare)}."
    yield from _doubts(runs)


def _unfinished(plan: PlanInput) -> Iterator[str]:
    """How many runs of each method a study lacks; results cover only finished runs."""
    planned: dict[str, list[bool]] = {}
    for name, config in plan.runs.items():
        agent, solver, delta = (config.get(field) for field in ("agent", "solver", "delta"))
        words = method_words(agent, style.solver_words(solver, agent), delta)
        there = (plan.folder / "runs" / name / "evaluation.parquet").is_file()
        there = there or not plan.evaluations[name]
        planned.setdefault(f"{words} on {config['task']}", []).append(there)
    lacking = [
        f"{runs.count(False)} of {len(runs)} of {words}"
        for words, runs in planned.items()
        if not all(runs)
    ]
    if lacking:
        yield (
            f"Runs of the study {plan.name} that have no results, because they failed or are still "
            f"to be done: {list_words(lacking)}. What is shown is of the others."
        )


def _doubts(runs: pl.DataFrame) -> Iterator[str]:
    """Caveats about the results that there are."""
    broken = runs.filter(pl.col("invalid") > 0)
    if broken.height:
        yield (
            f"{broken['invalid'].sum()} episodes have a return that is no number "
            f"({list_words(broken['run'])}): every number that they enter is marked as invalid."
        )
    method = ["task", "agent", "label", "delta"]
    seeds = runs.group_by(method, maintain_order=True).agg(pl.col("identity").n_unique())
    alone = [
        f"{method_words(agent, label, delta)} on {task}"
        for task, agent, label, delta, count in seeds.iter_rows()
        if count == 1
    ]
    if alone:
        yield f"A single training seed, so no interval: {list_words(alone)}."
    for task, axis, left_out in numbers.not_summed_up(runs):
        yield (
            f"The summary of {task} against {short_axis(axis)} is without {list_words(left_out)}, "
            "which lack shifts that most runs have."
        )


def _provenance(inputs: Inputs, runs: pl.DataFrame, paths: Iterable[Path]) -> Provenance:
    """How the results were made, as far as the files show."""
    configs = inputs.reported.values()
    planned = {name for plan in inputs.plans for name in plan.runs}
    alone = [config for folder, config in inputs.runs.items() if folder.name not in planned]
    commands = [plan.command for plan in inputs.plans if plan.command is not None]
    versions = [
        *(it.get("versions") for it in configs),
        *runs["versions"].unique(maintain_order=True),
    ]
    machines = (str(config["machine"]) for config in configs if config.get("machine"))
    seeds = runs.group_by("agent", "label", "delta", maintain_order=True).agg(
        pl.col("train_seed").drop_nulls().unique()
    )
    return Provenance(
        commands=tuple(dict.fromkeys([*commands, *train_commands(alone)])),
        versions=tuple(dict.fromkeys(filter(None, map(_versions, versions)))),
        machines=tuple(dict.fromkeys(machines)),
        seeds=tuple(
            (method_words(agent, label, delta), style.number_words(own))
            for agent, label, delta, own in seeds.iter_rows()
        ),
        sources=tuple(dict.fromkeys(map(str, paths))),
    )


def _versions(said: Any) -> str | None:
    """Versions in words, from the JSON document in a table."""
    try:
        said = parse_json(said) if isinstance(said, str) else said
    except ValueError:
        return None
    if isinstance(said, dict):
        return ", ".join(f"{name} {version}" for name, version in said.items())
    return None if said is None else str(said)
