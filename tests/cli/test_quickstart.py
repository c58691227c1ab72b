"""The quickstart: a study and its report. All tests but one have random weights for training."""

import base64
import contextlib
import io
import json
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import mixedne
from mixedne.cli.main import main
from mixedne.cli.parse import parse
from mixedne.cli.quickstart import Quickstart
from mixedne.config import Config, configure
from mixedne.errors import InvalidInputError, TrainingError
from mixedne.reports.inputs.collect import collect
from mixedne.studies import local
from mixedne.studies.plan import expand
from mixedne.studies.spec import find_study
from mixedne.training import run as training
from mixedne.video.captions import read_caption
from probes.commands import mixedne as command_line
from probes.studies import InProcess, pretend_training

TINY = ("--steps", "300", "--seeds", "2")
WAYS = [("mixedne-ld", None), ("gad", 0.0)]
SETTINGS: dict[str, Any] = {
    "preset": "robust",
    "eta": 3e-4,
    "critic_learning_rate": 3e-4,
    "critic_hidden": (64, 64),
    "random_steps": 1000,
    "update_after": 1000,
    "evaluate_every": 0,
}
GAME: dict[str, Any] = {"formulation": "parameters", "parameters": ["mass=0.5:16"]}


@dataclass
class Training:
    """In the place of training."""

    trained: list[Config] = field(default_factory=list)
    error: BaseException | None = None

    def train_runs(self, configs: Sequence[Config], folders: Sequence[Path], **_: Any) -> None:
        if self.error is not None:
            raise self.error
        for config, folder in zip(configs, folders, strict=True):
            pretend_training(config, folder)
            self.trained.append(config)


@contextlib.contextmanager
def pretended() -> Iterator[Training]:
    made = Training()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "LocalExecutor", InProcess)
        patch.setattr(training, "train_runs", made.train_runs)
        yield made


@dataclass(frozen=True)
class Done:
    out: Path
    stdout: str
    stderr: str
    trained: list[Config]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    out = tmp_path_factory.mktemp("quickstart") / "out"
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        pretended() as made,
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        assert main(["quickstart", *TINY, "--out", str(out)]) == 0
    return Done(out, stdout.getvalue(), stderr.getvalue(), made.trained)


def test_every_way_is_trained_seed_by_seed_as_the_study_says(done: Done) -> None:
    assert done.trained == [
        configure(
            "InvertedPendulum-v5",
            agent="td3",
            solver=solver,
            delta=delta,
            steps=300,
            seed=seed,
            **SETTINGS,
            **(GAME if solver == "mixedne-ld" else {}),
        )
        for seed in (40, 41)
        for solver, delta in WAYS
    ]
    usual = expand(find_study("quickstart"))
    assert [run.config.steps for run in usual] == [40_000] * 6
    steps = {run.config.updates * run.config.inner_max for run in usual if run.config.delta is None}
    assert steps == {run.config.updates for run in usual if run.config.delta == 0}  # as many


def test_it_says_how_many_runs_are_done(done: Done) -> None:
    for number in range(1, 5):
        assert f"{number} of 4 runs" in done.stderr
    assert f"The report is {done.out / 'report.html'}" in done.stderr


def test_the_mass_is_swept_and_summed_up(done: Done) -> None:
    table = mixedne.results(done.out)
    assert table.height == 4 * 11 * 10
    masses = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0]
    assert table["mass"].unique().sort().to_list() == masses
    words = ("an adversary sets the mass", "plain TD3")
    lines = [line.strip() for line in done.stdout.splitlines()]
    for start, (solver, _) in zip(words, WAYS, strict=True):
        [line] = [line for line in lines if line.startswith(start)]
        runs = table.filter(pl.col("mass") == 12, solver=solver)
        means = runs.group_by("train_seed").agg(pl.mean("return"))["return"].to_numpy()
        assert line.split()[-2:] == [f"{means.mean():.0f}", f"({means.min():.0f})"]
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_report_has_every_way(done: Done) -> None:
    assert "<html" in (done.out / "report.html").read_text()
    report = collect([done.out])
    assert report.counts == {"runs": 4, "tasks": 1, "episodes": 4 * 11 * 10}
    for frame in (report.sweeps, report.summary):
        assert set(frame.select("solver", "delta").iter_rows()) == set(WAYS)
        assert set(frame["seeds"]) == {2}


def test_the_report_ends_with_a_film_of_the_median_runs(done: Done) -> None:
    """Robust beside plain, in two worlds: the lower one of two runs each."""
    caption = read_caption(done.out / "robust-beside-plain.mp4")
    assert caption is not None
    table = mixedne.results(done.out)
    runs = []
    for solver, _ in WAYS:
        means = table.filter(solver=solver).group_by("run").agg(pl.mean("return"))
        runs.append(means.sort("return")["run"][0])
    assert caption["run"] == ", ".join(runs)
    assert [video.path.name for video in collect([done.out]).videos] == ["robust-beside-plain.mp4"]
    content = base64.b64encode((done.out / "robust-beside-plain.mp4").read_bytes()).decode()
    assert content in (done.out / "report.html").read_text()


def test_without_opengl_there_is_a_report_without_a_film(
    done: Done, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*words: Any, **options: Any) -> None:
        raise InvalidInputError("this machine has no OpenGL")

    monkeypatch.setattr("mixedne.video.watch.watch", cannot)
    out = Path(shutil.copytree(done.out, tmp_path / "out"))
    (out / "report.html").unlink()
    with pretended():
        assert main(["quickstart", *TINY, "--json", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "There is no film: this machine has no OpenGL" in said.err
    assert json.loads(said.out)["film"] is None
    assert (out / "report.html").is_file()


def test_one_document_has_the_returns_at_every_mass(
    done: Done, capsys: pytest.CaptureFixture[str]
) -> None:
    with pretended():
        assert main(["quickstart", *TINY, "--json", "--out", str(done.out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert all(Path(document[name]).exists() for name in ("report", "film", "runs"))
    table, found = mixedne.results(done.out), document["results"]
    assert [row["solver"] for row in found] == ["mixedne-ld"] * 11 + ["gad"] * 11
    for row in found:
        runs = table.filter(mass=row["mass"], solver=row["solver"]).group_by("train_seed")
        means = runs.agg(pl.mean("return"))["return"]
        assert row["mean_return"] == pytest.approx(means.mean())
        assert (row["min_return"], row["runs"]) == (pytest.approx(means.min()), 2)


def test_it_resumes_its_own_folder_and_leaves_others_alone(
    done: Done, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pretended() as made:
        assert main(["quickstart", *TINY, "--out", str(done.out)]) == 0
        assert made.trained == []
        (tmp_path / "mine.txt").write_text("mine")
        assert main(["quickstart", *TINY, "--out", str(tmp_path)]) == 2
    assert "holds other things than studies: choose another" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_after_an_interruption_it_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()
    with pretended() as made:
        made.error = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            Quickstart(seeds=1, steps=300, workers=1).run()
    said = capsys.readouterr().err
    command = said.partition("stopped; go on with: ")[2].strip()
    own, _, workers = command.partition(" --workers ")
    assert (own, workers) == ("mixedne quickstart --seeds 1 --steps 300 --out quickstart-2", "1")
    again = parse(shlex.split(command)[1:])
    assert again == Quickstart(out=Path("quickstart-2"), seeds=1, steps=300, workers=1)
    plan = json.loads((tmp_path / "quickstart-2" / "studies" / "quickstart.json").read_text())
    assert plan["command"] == own.replace("quickstart", "study quickstart", 1)


def test_a_run_that_fails_is_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pretended() as made:
        made.error = TrainingError("it diverged")
        assert main(["quickstart", *TINY, "--out", str(tmp_path / "out")]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("mixedne: 4 of 4 runs failed, the first of them InvertedPendulum-v5")
    assert "it diverged; the same command tries them again" in last


@pytest.mark.slow
def test_it_trains(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = command_line("quickstart", "--steps", "300", "--seeds", "1", "--out", str(out))
    assert ended.returncode == 0, ended.stderr
    assert "plain TD3" in ended.stdout
    assert len(list(out.glob("runs/*/policy.safetensors"))) == 2
    assert len(list(out.glob("runs/*/adversary.safetensors"))) == 1
    assert (out / "report.html").is_file()
