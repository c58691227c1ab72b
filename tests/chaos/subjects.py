"""What is damaged and starved: a finished run, an interrupted one and a study."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl

from chaos.suite import Answer, command
from mixedne.evaluation.table import read_table
from mixedne.metrics import parse_metrics
from mixedne.studies.results import results as study_results
from mixedne.training.run import Status, train_config
from probes.runs import LANGEVIN, config_of, results
from probes.studies import policies, write_study

GRID = ("--mass", "0.5,1", "--episodes", "1", "--threads", "1", "--json")


class StoppedError(Exception):
    """In place of SIGKILL, where the process lives on."""


def train(out: Path) -> Answer:
    """Begin or continue the run."""
    return command("train", *LANGEVIN, "--out", out, "--resume")


def study(file: Path, out: Path, *more: str) -> Answer:
    """Begin or continue the study, two runs that differ in their seed."""
    return command("study", file, "--out", out, "--workers", "1", "--retries", "0", *more)


def make_finished(out: Path) -> None:
    """A run that has come to its end and was evaluated."""
    for answer in (train(out), command("evaluate", out, *GRID)):
        assert answer.code == 0, answer.stderr


def make_interrupted(out: Path) -> None:
    """A run that was left after its ring has wrapped round: two checkpoints and a replay."""

    def leave(status: Status) -> None:
        if status.step == 330:
            raise StoppedError

    with contextlib.suppress(StoppedError):
        train_config(config_of(LANGEVIN), out=out, watch=leave)


def make_study(file: Path, out: Path) -> None:
    """A finished study."""
    write_study(file, steps=200)
    answer = study(file, out)
    assert answer.code == 0, answer.stderr


def outcome(run: Path) -> dict[str, Any]:
    """What a run gave, whatever else lies in its folder.

    Resumption does not look at ``best/`` and ``policies/``: whoever reads them notices damage.
    """
    found = {
        name: value
        for name, value in results(run).items()
        if name != "files" and not name.startswith(("best/", "policies/"))
    }
    return {
        name: json.loads(value) if name.endswith(".json") else value
        for name, value in found.items()
    }


def table_of(path: Path) -> pl.DataFrame:
    """An evaluation table in a fixed order, but for the versions of packages."""
    table = read_table(path).drop("versions")
    return table.sort([name for name in table.columns if name != "return"])


def study_outcome(out: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """A study's policies, and its episodes."""
    table = study_results(out).drop("versions").sort("identifier", "mass", "episode")
    return policies(out), table.to_dict(as_series=False)


def report(path: Path, page: Path) -> tuple[Answer, dict[str, Any], str]:
    """Make a report: the answer, the JSON document, and the page."""
    page.unlink(missing_ok=True)
    answer = command("report", path, "--out", page, "--json")
    document = json.loads(answer.stdout) if answer.code == 0 else {}
    return answer, document, page.read_text() if page.exists() else ""


def lost_its_end(content: bytes, whole: bytes) -> bool:
    """Whether metrics are those of a run that is not as far."""
    found, before = parse_metrics(content), parse_metrics(whole)
    count = len(found.lines)
    return (
        found.damage is None and count < len(before.lines) and found.lines == before.lines[:count]
    )


def fresh_copy(source: Path, target: Path) -> Path:
    """A copy to be mistreated."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))
