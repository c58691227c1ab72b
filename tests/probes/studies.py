"""Tiny studies, run as a user runs them, to be killed, starved and resumed."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.config import Config, configure
from mixedne.config.identity import to_json
from mixedne.evaluation.grids import Grid
from mixedne.policies import save_policy
from mixedne.studies.folder import FINISHED, StudyFolder, mark_finished
from mixedne.studies.jobs import try_job
from mixedne.studies.plan import PlannedRun
from mixedne.studies.scheduler import Event, Job
from mixedne.training.folder import RunFolder
from probes.commands import COMMAND
from probes.policies import random_policy
from probes.runs import Laboratory

TINY = """
[[runs]]
tasks = ["InvertedPendulum-v5"]
solvers = [{solvers}]
seeds = {seeds}
steps = {steps}

[runs.overrides]
hidden = [8]
batch_size = 8
collect_steps = 10
updates = 4
update_after = 20
checkpoint_every = 50
metrics_every = 500
evaluate_every = 0
"""

EVALUATIONS = """
[[evaluations]]
mass = [0.5, 1.0]
episodes = 2
"""


def write_study(
    path: Path,
    *,
    solvers: str = '"gad"',
    seeds: Any = 2,
    steps: int = 300,
    more: str = EVALUATIONS,
) -> Path:
    path.write_text(TINY.format(solvers=solvers, seeds=seeds, steps=steps) + more)
    return path


def arguments(study: Path | str, out: Path, *more: str) -> list[str]:
    return ["study", str(study), "--out", str(out), "--workers", "1", *more]


def run_study(
    laboratory: Laboratory,
    study: Path | str,
    out: Path,
    *more: str,
    command: Sequence[str] = COMMAND,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments(study, out, *more)],
        capture_output=True,
        text=True,
        check=False,
        env=laboratory.environment,
    )


def start_study(
    laboratory: Laboratory, study: Path | str, out: Path, *more: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments(study, out, *more)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=laboratory.environment,
    )


def wait_until(holds: Callable[[], Any], process: subprocess.Popen[str] | None = None) -> Any:
    """Wait until something is there; a process that ends before it fails the test."""
    deadline = time.monotonic() + 120
    while not (found := holds()):
        assert process is None or process.poll() is None, "the study has ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def workers(process: subprocess.Popen[str]) -> list[int]:
    """Process ids of a study's workers."""
    text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(word) for word in text.split()]


def newest(out: Path, *, seed: int) -> int:
    """The step of a run's newest checkpoint; 0 before there is one."""
    files = out.glob(f"runs/*-seed{seed}-*/checkpoint/step-*.safetensors")
    return max((int(file.stem.removeprefix("step-")) for file in files), default=0)


def has_checkpoint(out: Path, *, seed: int) -> bool:
    """Whether a run has saved something."""
    return newest(out, seed=seed) > 0


def is_gone(process: int) -> bool:
    """Whether a process, of which nobody may be the parent any more, has ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return stat.rsplit(")", 1)[1].split()[0] == "Z"


def policies(out: Path) -> dict[str, bytes]:
    """Every run's policy files, by place."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.glob("runs/*/*"))
        if path.suffix in (".safetensors", ".json")
        and path.stem in ("policy", "adversary")
        and ".damaged" not in str(path)
    }


def pretend_training(config: Config, path: Path) -> None:
    """A run folder as training leaves it, with random weights."""
    held = RunFolder(path)
    held.open(config, resume=False)
    held.close()
    save_policy(path, random_policy(config.task, config.seed), "policy")


def pretend_run(folder: StudyFolder, seed: int, *grids: Grid, **overrides: Any) -> PlannedRun:
    """A run with random weights that is not yet evaluated."""
    config = configure("InvertedPendulum", seed=seed, **overrides)
    run = PlannedRun(to_json(config), grids)
    pretend_training(config, folder.run_folder(run))
    mark_finished(folder.run_folder(run), run.identifier)
    return run


def drop_digests(path: Path) -> None:
    """Leave ``finished.json`` as older versions wrote it."""
    mark = json.loads((path / FINISHED).read_text())
    mark = {name: value for name, value in mark.items() if name not in ("digests", "config")}
    for name in ("config.json", "metrics.jsonl"):
        mark["files"].pop(name, None)
    (path / FINISHED).write_text(json.dumps(mark))


class InProcess:
    """An executor that runs each job at once, in this process."""

    def __init__(self, folder: StudyFolder, *_: Any) -> None:
        self.folder = folder
        self.events: list[Event] = []

    def free(self) -> int:
        return 1 - len(self.events)

    def start(self, job: Job) -> None:
        folders = [self.folder.run_folder(run) for run in job.runs]
        error = try_job(job.runs, folders, lambda *_: None)
        self.events.append(Event(job, "failed" if error else "finished", error=error))

    def poll(self, seconds: float) -> list[Event]:
        events, self.events = self.events, []
        return events

    def stop(self) -> None:
        pass


def table_of(runs: Sequence[PlannedRun], returns: Sequence[float], **columns: Any) -> pl.DataFrame:
    """Rows of an evaluation table for one nominal episode of each run."""
    rows = [
        {
            "identifier": run.identifier,
            "task": run.fields["task"],
            "mass": 1.0,
            "friction": 1.0,
            "noise": 0.0,
            "rho": None,
            "acting": "mean",
            "return": value,
            **columns,
        }
        for run, value in zip(runs, returns, strict=True)
    ]
    return pl.DataFrame(rows, schema_overrides={"rho": pl.Float64})
