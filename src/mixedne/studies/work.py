"""One job of a study: train what is not trained, repair what is damaged, evaluate, mark.

This is what every executor does, wherever it runs. A job that was killed is simply done again:
training goes on from its checkpoint and evaluation from its finished chunks.
"""

import contextlib
import dataclasses
import fcntl
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from mixedne.config import Config
from mixedne.config.compatible import program_key
from mixedne.config.identity import WITHOUT_RESULT
from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.sources import Source, find_source
from mixedne.evaluation.sweep import evaluate
from mixedne.evaluation.table import episode_seed, read_table
from mixedne.policies import load_policy, policy_files
from mixedne.studies.plan import PlannedRun
from mixedne.studies.store import EVALUATION, evaluation_hash, mark_finished, read_finished
from mixedne.tasks import resolve_task

if TYPE_CHECKING:
    from mixedne.training.loop import Status

Tell = Callable[[str, int, int], None]
"""Told what is being done, and how many of how many steps or episodes of it are."""


def do_job(runs: Sequence[PlannedRun], folders: Sequence[Path], tell: Tell) -> None:
    """Train and evaluate these runs; what is there already is not done again."""
    untrained = [
        (run, folder)
        for run, folder in zip(runs, folders, strict=True)
        if not read_finished(folder).trained
    ]
    for _, folder in untrained:
        repair(folder)
    if untrained:
        _train(untrained, tell)
    for run, folder in untrained:
        mark_finished(folder, run.identifier)
    for run, folder in zip(runs, folders, strict=True):
        made = read_finished(folder).evaluations
        if not made.issuperset(map(evaluation_hash, run.evaluations)):
            is_whole = _evaluate(run, folder, tell)
            mark_finished(folder, run.identifier, run.evaluations, made if is_whole else ())


def is_being_trained(folder: Path) -> bool:
    """Whether a process is at a run, of this study or not."""
    try:
        with (folder / "checkpoint" / "lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def repair(folder: Path) -> None:
    """Remove damaged results, so that they are made again; set aside what is no run."""
    if not folder.is_dir():
        return
    if _has_content(folder) and not _is_json(folder / "config.json"):
        aside = next(
            path
            for path in (folder.with_name(f"{folder.name}.damaged-{n}") for n in range(1, 10_000))
            if not path.exists()
        )
        folder.replace(aside)
        warnings.warn(
            f"the configuration in {folder} is damaged or gone: the run begins anew, and what "
            f"there was is in {aside}",
            stacklevel=2,
        )
        return
    for name in ("policy", "adversary"):
        files = policy_files(folder, name)
        if any(file.exists() for file in files):
            try:
                load_policy(folder, name)
            except InvalidInputError as error:
                warnings.warn(f"{error}: it is made again", stacklevel=2)
                for file in files:
                    file.unlink(missing_ok=True)


def _has_content(folder: Path) -> bool:
    """Whether there is more than a start leaves that was killed at once."""
    return any(
        path.name not in ("checkpoint", "lock") and not path.name.startswith(".")
        for path in folder.rglob("*")
    )


def _train(work: Sequence[tuple[PlannedRun, Path]], tell: Tell) -> None:
    from mixedne.training import run as training

    def watch(status: "Status") -> None:
        tell("training", status.step, status.steps)

    for group in _alike([(_as_begun(run, folder), folder) for run, folder in work]):
        configs, folders = zip(*group, strict=True)
        training.train_group(configs, folders, resume=True, watch=watch)


def _alike(work: Sequence[tuple[Config, Path]]) -> list[list[tuple[Config, Path]]]:
    """Runs that can be trained together: those of VPG that have begun alike."""
    groups: dict[str, list[tuple[Config, Path]]] = {}
    for config, folder in work:
        alone = None if config.agent == "vpg" else str(folder)
        key = repr((program_key(dataclasses.asdict(config)), alone))
        groups.setdefault(key, []).append((config, folder))
    return list(groups.values())


def _as_begun(run: PlannedRun, folder: Path) -> Config:
    """The run's configuration, with what changes no result as the folder has it."""
    config = run.config
    with contextlib.suppress(OSError, ValueError, TypeError):
        begun = json.loads((folder / "config.json").read_text())
        config = dataclasses.replace(
            config, **{name: begun[name] for name in WITHOUT_RESULT if name in begun}
        )
    return config


def _evaluate(run: PlannedRun, folder: Path, tell: Tell) -> bool:
    """Make those of the run's evaluations that are not there; whether the others were whole."""
    out = folder / EVALUATION
    source = find_source(folder)
    table = _read_or_remove(out)
    was_whole = table is not None
    for grid in run.evaluations:
        if table is not None and has_evaluation(table, source, run.fields["task"], grid):
            continue
        asked = {
            name: value for name, value in dataclasses.asdict(grid).items() if value is not None
        }
        evaluate(
            source,
            run.fields["task"],
            **asked,
            out=out,
            join=True,
            threads=1,
            progress=lambda done, total: tell("evaluating", done, total),
        )
        table = read_table(out)
    return was_whole


def has_evaluation(table: pl.DataFrame, source: Source, task: str, grid: Grid) -> bool:
    """Whether a table has every episode of an evaluation of this policy."""
    nominal = resolve_task(task).nominal_rho
    wanted = pl.DataFrame(
        [
            {
                "policy": source.label,
                "mass_mode": shift.mass_mode,
                "mass": shift.mass,
                "friction": shift.friction,
                "noise": shift.noise,
                "rho": nominal if shift.rho is None else shift.rho,
                "acting": source.acting(stochastic=grid.stochastic),
                "episode_seed": episode_seed(grid.seed, episode),
            }
            for shift in grid.shifts()
            for episode in range(grid.episodes)
        ],
        schema_overrides={"rho": pl.Float64},
    )
    plain = table.filter(pl.col("body_masses").is_null() & pl.col("geom_frictions").is_null())
    return wanted.join(plain, on=wanted.columns, how="anti", nulls_equal=True).is_empty()


def _read_or_remove(path: Path) -> pl.DataFrame | None:
    """The table in a file; a damaged file goes, for its episodes can be run again."""
    if not path.exists():
        return None
    try:
        return read_table(path)
    except InvalidInputError:
        warnings.warn(f"{path} is damaged: its episodes are run again", stacklevel=2)
        path.unlink()
        return None


def _is_json(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_text()), dict)
    except (FileNotFoundError, ValueError):
        return False
