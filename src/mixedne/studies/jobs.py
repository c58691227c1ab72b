"""The work of a worker: train the runs of a job, repair damage, evaluate, mark as finished.

Every executor calls :func:`try_job`, wherever it runs. A job that was killed is simply run again:
training resumes from its checkpoint and evaluation from its finished chunks.
"""

import contextlib
import dataclasses
import fcntl
import functools
import itertools
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from mixedne.config.identity import WITHOUT_RESULT, command
from mixedne.errors import EXPECTED, InvalidInputError
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.sweep import evaluate
from mixedne.evaluation.table import has_evaluation, read_table
from mixedne.files import write_json
from mixedne.policies import NAMES, load_policy, policy_files
from mixedne.studies.folder import (
    CONFIG,
    EVALUATION,
    FINISHED,
    Finished,
    Locks,
    StudyFolder,
    evaluation_hash,
    finish_unpacking,
    mark_finished,
    read_config,
    read_evaluations,
    read_finished,
)
from mixedne.studies.plan import PlannedRun, group_runs
from mixedne.tasks import resolve_task

OnProgress = Callable[[str, int, int], None]
"""A function of the stage (``training`` or ``evaluating``), and the steps or episodes done and in
total."""


def try_job(runs: Sequence[PlannedRun], folders: Sequence[Path], on_progress: OnProgress) -> str:
    """Run a job; returns its error in one sentence, or an empty string."""
    try:
        run_job(runs, folders, on_progress)
    except Exception as error:
        message, log = f"{type(error).__name__}: {error}", traceback.format_exc()
        if isinstance(error, EXPECTED):
            message = str(error) or "out of memory"
            log = f"{runs[0].name}: {message}"
        with contextlib.suppress(OSError):  # a full disk must not hide the job's own error
            print(log, file=sys.stderr)
        return message
    return ""


def run_job(runs: Sequence[PlannedRun], folders: Sequence[Path], on_progress: OnProgress) -> None:
    """Train and evaluate these runs; what is already there is not repeated."""
    places = dict(zip(runs, folders, strict=True))
    made = {run: read_finished(folder) or Finished() for run, folder in places.items()}
    untrained = [run for run in runs if not made[run].trained]
    for run, folder in places.items():
        if run in untrained:
            repair(folder)
        if EVALUATION in made[run].damaged:
            _check_table(folder)
    _train({_as_begun(run, places[run]): places[run] for run in untrained}, on_progress)
    for run, folder in places.items():
        known = frozenset() if run in untrained else made[run].evaluations
        if run in untrained:
            mark_finished(folder, run.identifier)
        needed = {*map(evaluation_hash, run.evaluations)}
        if not needed <= known:
            was_whole = _evaluate(run, folder, on_progress)
            mark_finished(folder, run.identifier, needed | known if was_whole else needed)


def throttled(on_progress: OnProgress, *, seconds: float) -> OnProgress:
    """Limit calls of ``on_progress`` to one in ``seconds`` seconds."""
    last = 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            on_progress(stage, done, total)

    return report


def is_being_trained(folder: Path) -> bool:
    """Whether any process is training the run in a folder."""
    try:
        with (folder / "checkpoint" / "lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is no checkpoint, or the file system has no locks
        return False
    return False


def repair_finished(
    study: StudyFolder, runs: Iterable[PlannedRun], *, retrain: bool = False
) -> dict[str, str]:
    """Repair finished runs whose files are damaged, as far as possible without training.

    Configurations are restored. Damaged policies are removed, and a job restores them from the last
    checkpoint. A run that cannot be restored is refused or, with ``retrain``, renamed, so that it
    is trained again. Leftovers of killed processes are removed. Runs that another process works on
    are skipped. Returns the refused runs, with the reason.
    """
    refused: dict[str, str] = {}
    older = 0
    with contextlib.closing(Locks(study.locks)) as locks:
        for run in runs:
            folder = study.run_folder(run)
            made, strays = read_finished(folder), study.strays(run)
            older += made is not None and not made.has_digests
            is_damaged = made is not None and made.damaged
            if not (strays or is_damaged) or not locks.acquire([run]) or is_being_trained(folder):
                continue
            for path in strays:
                finish_unpacking(path, folder) if path.is_dir() else path.unlink(missing_ok=True)
            try:
                _restore(run, folder, made or Finished(damaged=frozenset()))
            except InvalidInputError as error:
                if retrain:
                    set_aside(folder, f"{folder} is damaged: the run begins anew")
                else:
                    refused[run.name] = str(error)
            locks.release([run])
    if older:
        warnings.warn(
            f"{older} finished runs in {study.runs} are of an older version that kept no digests: "
            "damage that leaves a file's size as it was is not noticed",
            stacklevel=2,
        )
    return refused


def _restore(run: PlannedRun, folder: Path, made: Finished) -> None:
    """Restore a finished run's configuration; remove other damaged files, to be made again."""
    lost = made.damaged - {CONFIG, EVALUATION}
    if lost and ("metrics.jsonl" in lost or not _has_last_checkpoint(run, folder)):
        raise InvalidInputError(
            f"{folder} is damaged ({', '.join(sorted(lost))}) and cannot be made again from its "
            "checkpoint: pass --retrain-damaged to train the run again"
        )
    for name in sorted(lost):
        remove(folder / name)
    is_other = read_config(folder).get("identifier") != run.identifier
    if CONFIG in made.damaged or (FINISHED in lost and is_other):
        remove(folder / CONFIG)
        unknown = {"command": command(run.config), "machine": "unknown", "versions": {}}
        document = made.config or {"format_version": 1, **run.fields, **unknown}
        write_json(folder / CONFIG, document)
        warnings.warn(f"{folder / CONFIG} was damaged or gone: it is restored", stacklevel=3)


def _has_last_checkpoint(run: PlannedRun, folder: Path) -> bool:
    """Whether a trained run's last checkpoint exists and is intact."""
    from mixedne.training.checkpoints import load_checkpoints

    found = load_checkpoints(folder / "checkpoint")
    return any(checkpoint.step == run.fields["steps"] for checkpoint in found)


def repair(folder: Path) -> None:
    """Remove damaged results, so that they are made again; rename a folder that is not a run."""
    # A start that was killed at once leaves only these, and hidden files.
    left = [path for path in folder.rglob("[!.]*") if path.name not in ("checkpoint", "lock")]
    if left and not read_config(folder):
        set_aside(folder, f"the configuration in {folder} is damaged or gone: the run begins anew")
        return
    for name in NAMES:
        files = policy_files(folder, name)
        if any(file.exists() for file in files):
            try:
                load_policy(folder, name)
            except InvalidInputError as error:
                warnings.warn(f"{error}: it is made again", stacklevel=2)
                for file in files:
                    remove(file)


def set_aside(path: Path, reason: str) -> None:
    """Rename a file or folder that is damaged and cannot be repaired."""
    names = (f"{path.name}.damaged-{number}" for number in itertools.count(1))
    aside = next(other for other in map(path.with_name, names) if not other.exists())
    path.replace(aside)
    warnings.warn(f"{reason}, and what there was is in {aside}", stacklevel=3)


def remove(path: Path) -> None:
    """Remove a file that can be made again; a folder of that name is renamed."""
    if path.is_dir():
        set_aside(path, f"{path} should be a file: it is made again")
    path.unlink(missing_ok=True)


def _train(places: Mapping[PlannedRun, Path], on_progress: OnProgress) -> None:
    from mixedne.training import run as training

    for group in group_runs(places):
        training.train_runs(
            [run.config for run in group],
            [places[run] for run in group],
            resume=True,
            watch=lambda status: on_progress("training", status.step, status.steps),
        )


def _as_begun(run: PlannedRun, folder: Path) -> PlannedRun:
    """The run with its folder's values of the fields that do not affect results."""
    begun = read_config(folder)
    changed = {name: begun[name] for name in WITHOUT_RESULT if name in begun}
    return dataclasses.replace(run, fields={**run.fields, **changed})


def _check_table(folder: Path) -> pl.DataFrame | None:
    """A run's evaluation table; a damaged one is removed, since its episodes can be run again."""
    path = folder / EVALUATION
    try:
        return read_evaluations(folder) if path.exists() else None
    except InvalidInputError:
        warnings.warn(f"{path} is damaged: its episodes are run again", stacklevel=2)
        remove(path)
        return None


def _evaluate(run: PlannedRun, folder: Path, on_progress: OnProgress) -> bool:
    """Run missing evaluations; returns whether there was an intact table before."""
    out, progress = folder / EVALUATION, functools.partial(on_progress, "evaluating")
    handle, task = find_policy(folder), run.fields["task"]
    table = _check_table(folder)
    was_whole = table is not None
    for grid in run.evaluations:
        if table is None or not has_evaluation(table, handle, grid, resolve_task(task).axes):
            evaluate(
                handle, task, **grid.keywords, out=out, join=True, threads=1, progress=progress
            )
            table = read_table(out)
    return was_whole
