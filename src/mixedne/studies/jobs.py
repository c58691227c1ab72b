"""What a worker does: train the runs of a job, repair what is damaged, evaluate, mark as finished.

Every executor calls :func:`try_job`, wherever it runs. A job that was killed is simply run again:
training goes on from its checkpoint and evaluation from its finished chunks.
"""

import contextlib
import dataclasses
import fcntl
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from mixedne.config import Config
from mixedne.config.identity import WITHOUT_RESULT, compile_key
from mixedne.errors import InvalidInputError, TrainingError, parse_json
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.sweep import evaluate
from mixedne.evaluation.table import has_evaluation, read_table
from mixedne.policies import load_policy, policy_files
from mixedne.studies.folder import EVALUATION, evaluation_hash, mark_finished, read_finished
from mixedne.studies.plan import PlannedRun
from mixedne.tasks import resolve_task

if TYPE_CHECKING:
    from mixedne.training.run import Status

OnProgress = Callable[[str, int, int], None]
"""Takes the stage (``training`` or ``evaluating``), and its steps or episodes: done and total."""


def try_job(runs: Sequence[PlannedRun], folders: Sequence[Path], on_progress: OnProgress) -> str:
    """Run a job; returns its error in one sentence, empty if there is none."""
    try:
        run_job(runs, folders, on_progress)
    except (InvalidInputError, TrainingError, OSError, MemoryError) as error:
        message = str(error) or "out of memory"
        _log(f"{runs[0].name}: {message}")
        return message
    except Exception as error:
        _log(traceback.format_exc())
        return f"{type(error).__name__}: {error}"
    return ""


def run_job(runs: Sequence[PlannedRun], folders: Sequence[Path], on_progress: OnProgress) -> None:
    """Train and evaluate these runs; what is there already is not done again."""
    untrained = [
        (run, folder)
        for run, folder in zip(runs, folders, strict=True)
        if not read_finished(folder).trained
    ]
    for _, folder in untrained:
        repair(folder)
    if untrained:
        _train(untrained, on_progress)
    for run, folder in untrained:
        mark_finished(folder, run.identifier)
    for run, folder in zip(runs, folders, strict=True):
        made = read_finished(folder).evaluations
        if not made.issuperset(map(evaluation_hash, run.evaluations)):
            was_whole = _evaluate(run, folder, on_progress)
            mark_finished(folder, run.identifier, run.evaluations, made if was_whole else ())


def throttled(on_progress: OnProgress, seconds: float) -> OnProgress:
    """Passes a report on if the last one is so many seconds old."""
    last = 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            on_progress(stage, done, total)

    return report


def _log(text: str) -> None:
    with contextlib.suppress(OSError):  # a full disk must not hide the job's own error
        print(text, file=sys.stderr)


def is_being_trained(folder: Path) -> bool:
    """Whether a process trains a run, for this study or another."""
    try:
        with (folder / "checkpoint" / "lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def repair(folder: Path) -> None:
    """Remove damaged results, so that they are made again; set a folder that is no run aside."""
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
    """Whether there is more than what a start that was killed at once leaves."""
    return any(
        path.name not in ("checkpoint", "lock") and not path.name.startswith(".")
        for path in folder.rglob("*")
    )


def _train(work: Sequence[tuple[PlannedRun, Path]], on_progress: OnProgress) -> None:
    from mixedne.training import run as training

    def watch(status: "Status") -> None:
        on_progress("training", status.step, status.steps)

    groups: dict[str, list[tuple[Config, Path]]] = {}
    for run, folder in work:
        config = _as_begun(run, folder)
        alone = None if config.agent == "vpg" else str(folder)
        key = repr((compile_key(vars(config)), alone))
        groups.setdefault(key, []).append((config, folder))
    for group in groups.values():
        configs, folders = zip(*group, strict=True)
        training.train_runs(configs, folders, resume=True, watch=watch)


def _as_begun(run: PlannedRun, folder: Path) -> Config:
    """The run's configuration; fields that change no result are as the folder has them."""
    config = run.config
    with contextlib.suppress(OSError, ValueError, TypeError):
        begun = parse_json((folder / "config.json").read_text())
        config = dataclasses.replace(
            config, **{name: begun[name] for name in WITHOUT_RESULT if name in begun}
        )
    return config


def _evaluate(run: PlannedRun, folder: Path, on_progress: OnProgress) -> bool:
    """Do the evaluations that are missing; returns whether the table was whole before."""
    out = folder / EVALUATION
    handle, task = find_policy(folder), run.fields["task"]
    table = _read_or_remove(out)
    was_whole = table is not None
    for grid in run.evaluations:
        if table is not None and has_evaluation(table, handle, grid, resolve_task(task).axes):
            continue
        evaluate(
            handle,
            task,
            **grid.keywords,
            out=out,
            join=True,
            threads=1,
            progress=lambda done, total: on_progress("evaluating", done, total),
        )
        table = read_table(out)
    return was_whole


def _read_or_remove(path: Path) -> pl.DataFrame | None:
    """The table in a file; a damaged file is removed, because its episodes can be run again."""
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
        return isinstance(parse_json(path.read_text()), dict)
    except (FileNotFoundError, ValueError):
        return False
