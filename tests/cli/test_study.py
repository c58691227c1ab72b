"""``mixedne study`` as a user meets it: plans, refusals, and one small search to its end."""

import io
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
from rich.console import Console

from mixedne.cli.main import main
from mixedne.cli.study import signals_as_interrupt, stdout_for_results
from mixedne.cli.study_tables import print_rows, progress_in_words, render
from mixedne.config import configure
from mixedne.config.identity import to_json
from mixedne.progress import duration
from mixedne.studies.plan import PlannedRun, expand
from mixedne.studies.results import results
from mixedne.studies.scheduler import Event, Job, Progress
from mixedne.studies.spec import find_study
from probes.runs import Laboratory
from probes.studies import EVALUATIONS, run_study, write_study

SEARCH = "\nsigma = [0.1, 0.3]\n[search]\nseeds = [7]\nepisodes = 2\n"
PLAN = ("--dry-run", "--reference-costs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["smok", "--out", "o"], "did you mean 'smoke'?"),
        (["smoke"], "study needs a folder: pass --out DIR"),
        (["absent.toml", "--out", "o"], "absent.toml cannot be read: No such file"),
        (["bad.toml", "--out", "o"], "bad.toml, [[runs]] 1: delta must be below 1, not 3.0"),
        (["smoke", "--out", "taken"], "the output folder taken is a file"),
        (["smoke", "--out", "."], "the output folder . holds other things than studies"),
        (["smoke", "--out", "o", "--seeds", "0"], "seeds must be at least 1, not 0"),
        (["smoke", "--out", "o", "--workers", "0"], "workers must be at least 1, not 0"),
        (["smoke", "--out", "o", "--retries", "-1"], "retries must be at least 0, not -1"),
        (["smoke", "--out", "o", "--solvers", "gda"], "did you mean 'gad'?"),
        (["smoke", "--out", "o", "--agents", "vpg"], "an agent of the study smoke must be one"),
        (["smoke", "--out", "o", "--tasks", "Hoper-v5"], "there is no task 'Hoper-v5'"),
        (["smoke", "--out", "o", "--executor", "slurm"], "invalid choice 'slurm'"),
        (["smoke", "--out", "o", "--address", "auto"], "--address has an effect only with"),
    ],
)
def test_bad_input_gets_one_sentence_and_writes_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "bad.toml").write_text("[[runs]]\ntasks = ['Hopper']\ndeltas = [3]")
    assert main(["study", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("mixedne: ")
    assert message in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.toml", "taken"]


def test_where_there_is_no_cluster_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", Mock())
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    arguments = ["--executor", "ray", "--address", address, "--out", str(tmp_path / "o")]
    assert main(["study", "smoke", *arguments]) == 2
    assert f"there is no Ray cluster at {address}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_dry_run_prints_the_plan_and_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    choice = ["--tasks", "Hopper-v5", "--solvers", "gad", "mixedne-ld", "--seeds", "2"]
    assert main(["study", "paper-search-td3", *choice, *PLAN, "--workers", "4"]) == 0
    printed = capsys.readouterr().out
    # Three δ; 12 configurations of MixedNE-LD and 3 of GAD on three seeds, two reports of each.
    assert "147 runs, 0 of them finished" in printed
    sampled = next(line.split() for line in printed.splitlines() if "mixedne-ld" in line)
    assert sampled[-2:] == ["12", "36"]  # configurations, runs
    assert "by nominal return on seeds 1000 to 1002, is then run with seeds 0 to 1" in printed
    assert "core-hours" in printed
    assert "with 4 workers" in printed
    assert main(["study", "smoke", *PLAN, "--json", "--out", "nowhere"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["runs"]) == document["left"]["runs"] == 7
    assert document["finished"] == document["reported"] == 0
    assert document["total"]["steps"] == 7 * 2000
    assert {"run", "identifier", "configuration", "evaluations"} == set(document["runs"][0])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_estimate_is_measured_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "smoke", "--dry-run", "--json"]) == 0
    said = capsys.readouterr()
    assert "measuring this machine" in said.err
    assert 1 < json.loads(said.out)["total"]["seconds"] < 3600


@pytest.mark.slow
def test_a_search_chooses_reports_and_is_not_done_twice(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    study = write_study(tmp_path / "mine.toml", seeds=[1], more=SEARCH + EVALUATIONS)
    out = tmp_path / "out"
    done = run_study(laboratory, study, out)
    assert done.returncode == 0, done.stderr
    assert "Chosen by nominal return, beside the paper's tables" in done.stdout
    assert "2 of 2 runs compared" in done.stderr
    assert "1 of 1 runs reported" in done.stderr
    assert "3 of 3 runs are in" in done.stderr
    chosen = json.loads((out / "studies" / "mine-chosen.json").read_text())["choices"][0]
    compared = results(out, study="mine", settings=["sigma"])
    means = compared.group_by("sigma").agg(pl.mean("return"))
    returns = dict(means.iter_rows())
    assert returns[chosen["chosen"]["sigma"]] == chosen["mean_return"] == max(returns.values())
    assert chosen["paper"] == {"sigma": 0.1}
    # Runs that were compared have met no shift, and what is reported has other seeds.
    assert set(results(out, study="mine")["mass"]) == {1.0}
    reported = results(out, study="mine-reported", settings=["sigma"])
    assert set(reported["train_seed"]) == {1}
    assert set(reported["sigma"]) == {chosen["chosen"]["sigma"]}
    plan = run_study(laboratory, study, out, "--dry-run", "--reference-costs", "--json")
    planned = json.loads(plan.stdout)
    assert (planned["finished"], planned["left"]["runs"]) == (3, 0)
    again = run_study(laboratory, study, out, "--json")
    assert again.returncode == 0
    document = json.loads(again.stdout)
    assert (document["runs"], document["failed"]) == (3, [])
    assert document["results"][0]["runs"] == 1
    assert "finished" not in again.stderr


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns, without colours."""
    for name, value in {"TTY_COMPATIBLE": "1", "NO_COLOR": "1", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "dumb")


@pytest.mark.parametrize("name", ["paper-td3", "paper-search-ddpg", "smoke", "quickstart"])
def test_a_plan_is_readable_in_80_columns(
    name: str, narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", name, *PLAN, "--workers", "2"]) == 0
    head, _, body = capsys.readouterr().out.partition(" configurations   runs")
    table = body.partition(" runs, 0 of them finished")[0].splitlines()[2:-1]
    runs = expand(find_study(name))
    kinds = dict.fromkeys((run.case, run.fields["steps"]) for run in runs)
    rows = [line for line in table if line.strip() and "best" not in line and "seeds" not in line]
    assert len(rows) == len(kinds)  # a line each
    for line, ((task, agent, solver, *_), steps) in zip(rows, kinds, strict=True):
        for word in (task, agent, solver or "–", f"{steps:,}"):
            assert word in line or word in head


def test_what_all_rows_share_is_said_in_the_title(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"task": "A", "agent": "sac", "solver": "–", "runs": "2"}] * 2
    print_rows("Title", rows, ["task", "agent", "solver"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[:2] == ["Title (task A, agent sac)", "runs"]
    print_rows("Title", [*rows, {**rows[0], "task": "B"}], ["task", "agent", "solver"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == "Title (agent sac)"
    assert lines[1].split() == ["task", "runs"]


def test_the_time_left_is_never_cut() -> None:
    run = PlannedRun(to_json(configure("InvertedPendulum", preset="authors")))
    event = Event(Job([run] * 8), "progress", "evaluating", 1, 3)
    progress = Progress(total=3696, done=1234, running={event.job.name: event}, seconds_left=9e4)
    console = Console(width=80, file=io.StringIO(), legacy_windows=False)
    console.print(render(progress, "runs compared"))
    shown = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert shown[0] == "1234 of 3696 runs compared, 1 running, 25.0 h left"
    [row] = [line for line in shown if "InvertedPendulum" in line]
    assert row.split()[-2:] == ["evaluating", "33%"]
    assert len(row.rstrip()) <= 80


def test_a_progress_in_words() -> None:
    progress = Progress(total=5, done=2, failed={"a": "broke"}, seconds_left=600.0)
    assert progress_in_words(progress, "runs") == "2 of 5 runs, 0 running, 1 failed, 10 min left"
    times = {5: "5 s", 600: "10 min", 7200: "2.0 h", 864000: "10.0 days"}
    assert {seconds: duration(seconds) for seconds in times} == times


def test_a_file_may_hold_what_looks_like_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "mine.toml"
    study.write_text("about = '[/foo] [red]x :smile: \\\\'\n[[runs]]\ntasks = ['Hopper']")
    assert main(["study", str(study), *PLAN]) == 0
    assert "mine: [/foo] [red]x :smile: \\\\ " in capsys.readouterr().out


def test_what_ends_a_session_ends_a_study_like_ctrl_c() -> None:
    def ignore(*_: Any) -> None:
        pass

    before = [signal.signal(number, ignore) for number in (signal.SIGTERM, signal.SIGHUP)]
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            with pytest.raises(KeyboardInterrupt), signals_as_interrupt():
                os.kill(os.getpid(), number)
        assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGHUP) is ignore
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        with signals_as_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGHUP, before[1])


def test_what_libraries_print_is_no_result(capfd: pytest.CaptureFixture[str]) -> None:
    with stdout_for_results():
        os.write(1, b"from C\n")
        print("from Python")
    print("{}")
    said = capfd.readouterr()
    assert said.out == "{}\n"
    assert "from C" in said.err
    assert "from Python" in said.err
