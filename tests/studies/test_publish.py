"""Published runs: small copies that count as finished."""

import json
import runpy
from pathlib import Path

import pytest

from mixedne.evaluation.grids import Grid
from mixedne.metrics import FILE, format_line, read_metrics
from mixedne.studies.folder import StudyFolder, mark_finished, read_finished
from mixedne.studies.jobs import run_job
from mixedne.studies.results import results
from probes.studies import pretend_run

publish = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "publish.py"))["publish"]

MASSES = Grid(mass=(0.5, 1.0), episodes=1)


def write_metrics(folder: Path) -> None:
    checksum, text = 0, ""
    for step in range(10, 101, 10):
        for kind in ("training", *(["evaluation"] if step == 50 else [])):
            line, checksum = format_line({"kind": kind, "step": step}, checksum)
            text += line
    (folder / FILE).write_text(text)


@pytest.fixture
def source(tmp_path: Path) -> StudyFolder:
    """A finished run and one that has only begun."""
    folder = StudyFolder(tmp_path / "source")
    folder.create()
    runs = [pretend_run(folder, seed, MASSES) for seed in (0, 1)]
    write_metrics(folder.run_folder(runs[0]))
    run_job([runs[0]], [folder.run_folder(runs[0])], lambda *_: None)
    folder.save_plan("mine", runs, "mixedne study mine --out /home/somebody")
    return folder


def test_published_runs_count_as_finished(source: StudyFolder, tmp_path: Path) -> None:
    out = StudyFolder(tmp_path / "out")
    assert publish(source.path, out.path, every=40) == 1
    assert publish(source.path, out.path, every=40) == 0
    assert "somebody" not in (out.studies / "mine.json").read_text()
    [run] = out.runs.iterdir()
    made = read_finished(run)
    assert made is not None
    assert made.trained
    assert made.evaluations == read_finished(source.runs / run.name).evaluations  # type: ignore[union-attr]
    assert not (run / "checkpoint").exists()
    steps = [(line["kind"], line["step"]) for line in read_metrics(run)]
    assert steps == [("training", 40), ("evaluation", 50), ("training", 80)]
    assert results(out.path, study="mine").equals(results(source.path, study="mine"))


def test_a_published_run_that_is_damaged_is_published_again(
    source: StudyFolder, tmp_path: Path
) -> None:
    publish(source.path, tmp_path / "out", every=40)
    [policy] = (tmp_path / "out").glob("runs/*/policy.safetensors")
    whole = policy.read_bytes()
    policy.write_bytes(whole[:-1])
    assert publish(source.path, tmp_path / "out", every=40) == 1
    assert policy.read_bytes() == whole


def test_published_evaluations_are_not_lost(source: StudyFolder, tmp_path: Path) -> None:
    publish(source.path, tmp_path / "out", every=40)
    [run] = source.runs.glob("*-seed0-*")
    [made] = (tmp_path / "out").glob("runs/*")
    mark_finished(made, run.name.rpartition("-")[2], ["another"])
    with pytest.raises(ValueError, match="has evaluations that"):
        publish(source.path, tmp_path / "out", every=40)


def test_a_plan_that_options_made_shorter_keeps_what_was_published(
    source: StudyFolder, tmp_path: Path
) -> None:
    def planned(folder: Path) -> list[str]:
        return [
            run["run"] for run in json.loads((folder / "studies/mine.json").read_text())["runs"]
        ]

    publish(source.path, tmp_path / "out", every=40)
    before, other = planned(source.path), pretend_run(source, 2, MASSES)
    source.save_plan("mine", [other], "mixedne study mine --seeds 2")
    publish(source.path, tmp_path / "out", every=40)
    assert planned(tmp_path / "out") == [*before, other.name]


def test_a_damaged_run_is_not_published(source: StudyFolder, tmp_path: Path) -> None:
    for file in source.runs.glob("*/policy.safetensors"):
        file.write_bytes(file.read_bytes()[:-1] + b"\0")
    assert publish(source.path, tmp_path / "out", every=40) == 0


def test_what_a_search_chose_is_published_as_it_is(source: StudyFolder, tmp_path: Path) -> None:
    source.write("mine-chosen.json", '{"choices": []}\n')
    publish(source.path, tmp_path / "out", every=40)
    assert (tmp_path / "out/studies/mine-chosen.json").read_text() == '{"choices": []}\n'
