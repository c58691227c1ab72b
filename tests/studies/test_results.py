"""The results of many runs as one table: no episode twice."""

import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import mixedne
from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.table import read_table, write_table
from mixedne.metrics import format_line
from mixedne.reports.inputs.collect import collect
from mixedne.studies.folder import EVALUATION, StudyFolder, mark_finished
from mixedne.studies.jobs import run_job
from mixedne.studies.plan import PlannedRun
from mixedne.studies.results import results, results_of, summarise
from probes.studies import pretend_run

MASSES = Grid(mass=(0.5, 1.0), episodes=2)
NOISE = Grid(noise=(0.0, 0.5), episodes=3, seed=7)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyFolder, list[PlannedRun]]:
    """Three evaluated runs of random policies."""
    folder = StudyFolder(tmp_path_factory.mktemp("studies") / "out")
    folder.create()
    runs = [
        pretend_run(folder, 0, MASSES, NOISE),
        pretend_run(folder, 1, MASSES),
        pretend_run(folder, 1, MASSES, solver="gad", eta=1e-3),
    ]
    for run in runs:
        run_job([run], [folder.run_folder(run)], lambda *_: None)
    folder.save_plan("mine", runs[:2])
    return folder, runs


def test_one_row_an_episode(made: tuple[StudyFolder, list[PlannedRun]]) -> None:
    folder, runs = made
    table = mixedne.results(folder.path)
    assert table.height == 4 + 6 + 4 + 4
    assert set(table["identifier"]) == {run.identifier for run in runs}
    assert results(folder.run_folder(runs[0])).height == 10
    assert set(results(folder.path, study="mine")["identifier"]) == {
        run.identifier for run in runs[:2]
    }
    same = pl.read_parquet(f"{folder.runs}/*/evaluation.parquet")
    assert same.height == table.height


def test_results_of_runs_do_not_depend_on_the_plan_in_the_folder(
    made: tuple[StudyFolder, list[PlannedRun]],
) -> None:
    """Another process may have written the study's plan anew, with other options."""
    folder, runs = made
    assert set(results_of(runs[1:], folder)["identifier"]) == {run.identifier for run in runs[1:]}


def test_settings_become_columns(made: tuple[StudyFolder, list[PlannedRun]]) -> None:
    table = results(made[0].path, settings=["eta", "sigma0", "solver", "steps"])
    assert set(table.filter(solver="gad")["eta"]) == {1e-3}
    assert set(table.filter(solver="mixedne-ld")["eta"]) == {1e-4}
    assert set(table["steps"]) == {500_000}
    with pytest.raises(InvalidInputError, match="did you mean 'eta'"):
        results(made[0].path, settings=["etta"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("clip_gradient", 0.5), ("critic_hidden", [128, 64]), ("randomise", ["rrls-2d"])],
)
def test_a_setting_may_differ_late(
    made: tuple[StudyFolder, list[PlannedRun]], tmp_path: Path, name: str, value: object
) -> None:
    folder, runs = made
    for number in range(102):
        copy = tmp_path / f"run-{number:03}"
        shutil.copytree(folder.run_folder(runs[1]), copy)
        changed = {"seed": number, name: value if number > 100 else None}
        (copy / "config.json").write_text(json.dumps({**runs[1].fields, **changed}))
        (copy / "finished.json").unlink()
    table = results(tmp_path, settings=[name])
    assert table[name].unique(maintain_order=True).to_list() == [None, value]


def test_a_run_from_before_a_field_existed_has_its_default(
    made: tuple[StudyFolder, list[PlannedRun]], tmp_path: Path
) -> None:
    folder, runs = made
    fields = dict(runs[1].fields)
    removed = ["alone_episodes", "critic_hidden", "clip_gradient"]
    for name, agent in (("ours", fields["agent"]), ("theirs", "ppo")):
        copy = Path(shutil.copytree(folder.run_folder(runs[1]), tmp_path / name))
        old = {name: value for name, value in fields.items() if name not in removed}
        (copy / "config.json").write_text(json.dumps({**old, "agent": agent}))
        (copy / "finished.json").unlink()
    table = results(tmp_path, settings=removed).unique("identifier")
    table = table.sort("alone_episodes", nulls_last=True)
    assert table["alone_episodes"].to_list() == [0.0, None]
    assert table["critic_hidden"].to_list() == [fields["critic_hidden"], None]
    assert table["clip_gradient"].to_list() == [None, None]


def test_copies_count_once_and_new_rows_do(
    made: tuple[StudyFolder, list[PlannedRun]], tmp_path: Path
) -> None:
    folder, runs = made
    other = Path(shutil.copytree(folder.path, tmp_path / "other"))
    new = folder.run_folder(runs[0]).name
    (other / "runs" / new).rename(other / "runs" / "renamed")
    (other / "runs" / "renamed" / "finished.json").unlink()
    # Another machine's policy differs in its last bits: it is the same run all the same.
    changed = other / "runs" / "renamed" / "evaluation.parquet"
    named = {"policy": pl.lit("other"), "run": pl.lit("renamed")}
    rows = read_table(changed).with_columns(**named).filter(noise=0.5)
    write_table(rows, changed)
    first = folder.run_folder(runs[0]) / "evaluation.parquet"
    table = results(folder.path, other)
    assert table.height == results(folder.path).height
    assert "renamed" not in set(table["run"])
    assert results(other, folder.path).height == table.height
    more = Path(shutil.copytree(folder.run_folder(runs[1]), tmp_path / "more"))
    rows = read_table(first).filter(noise=0.5).with_columns(episode_seed=99)
    (more / "finished.json").unlink()
    write_table(rows, more / "evaluation.parquet")
    assert results(folder.path, more).height == table.height + 3


@pytest.mark.filterwarnings("ignore:evaluation tables of an older version")
def test_damage_is_left_out_with_a_warning(
    made: tuple[StudyFolder, list[PlannedRun]], tmp_path: Path
) -> None:
    folder, runs = made
    other = Path(shutil.copytree(folder.path, tmp_path / "other"))
    paths = [other / "runs" / run.name for run in runs]
    os.truncate(paths[0] / "evaluation.parquet", 100)
    (paths[1] / "config.json").write_text("{")
    with pytest.warns(UserWarning, match="left out") as told:
        table = results(other)
    assert len(told) == 2
    assert set(table["identifier"]) == {runs[2].identifier}
    # Files that are well-formed, but not what was written: a return, and a configuration.
    changed = pl.col("return") + 1
    pl.read_parquet(paths[2] / "evaluation.parquet").with_columns(changed).write_parquet(
        paths[2] / "evaluation.parquet", metadata={"format_version": "1"}
    )
    fields = {**runs[1].fields, "seed": 9}
    (paths[1] / "config.json").write_text(json.dumps(fields))
    with pytest.warns(UserWarning, match="left out") as told:
        assert results(other).is_empty()
    said = {str(warning.message).partition(" is not what was written;")[0] for warning in told}
    assert {str(paths[1] / "config.json"), str(paths[2] / "evaluation.parquet")} < said
    with pytest.warns(UserWarning, match="left out"):
        assert results(other, folder.path).height == results(folder.path).height


def test_nothing_yet_is_an_empty_table(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "out")
    folder.create()
    table = results(folder.path)
    assert table.height == 0
    assert "return" in table.columns
    asked = ["eta", "hidden", "clip_gradient", "task", "steps"]
    types = results(folder.path, settings=asked).schema
    kinds = [pl.Float64(), pl.Int64(), pl.Float64(), pl.List(pl.Int64())]
    assert [types[name] for name in ("eta", "steps", "clip_gradient", "hidden")] == kinds
    assert summarise(table, []).height == 0
    for wrong, message in ((tmp_path / "absent", "there is no folder"), (None, "at least one")):
        with pytest.raises(InvalidInputError, match=message):
            results(*([] if wrong is None else [wrong]))
    with pytest.raises(InvalidInputError, match="there is no study mine"):
        results(folder.path, study="mine")
    for content in (b"\xff\xfe", b"{", b"[]", b'{"runs": [{}]}'):
        (folder.studies / "mine.json").write_bytes(content)
        with pytest.raises(InvalidInputError, match=r"the plan .*mine.json cannot be read"):
            results(folder.path, study="mine")


def test_a_summary_averages_episodes_then_shifts_then_runs(
    made: tuple[StudyFolder, list[PlannedRun]],
) -> None:
    table = results(made[0].path).filter(pl.col("solver") == "gad")
    [row] = summarise(table, made[1]).to_dicts()
    means = [table.filter(mass=mass)["return"].mean() for mass in (0.5, 1.0)]
    assert row["runs"] == 1
    assert row["nominal"] == means[1]
    assert row["worst"] == min(float(str(mean)) for mean in means)
    assert row["settings"] == ""
    assert json.dumps(row)


def test_a_summary_has_the_study_s_own_evaluations_of_runs_that_have_all_of_them(
    made: tuple[StudyFolder, list[PlannedRun]], tmp_path: Path
) -> None:
    """Tables may hold other shifts, by hand or of another study, and may lack some."""
    folder = StudyFolder(Path(shutil.copytree(made[0].path, tmp_path / "out")))
    runs = [PlannedRun(run.fields, (MASSES,)) for run in made[1]]
    before = summarise(results_of(runs, folder), runs)
    assert before["runs"].to_list() == [1, 2]
    path = folder.run_folder(runs[1])
    mixedne.evaluate(path, mass=[0.1, 9.0], episodes=2, out=path / EVALUATION, join=True)
    assert_frame_equal(summarise(results_of(runs, folder), runs), before)
    lacking = results_of(runs, folder).filter(
        pl.col("mass").eq(1.0) | pl.col("identifier").ne(runs[2].identifier)
    )
    assert summarise(lacking, runs)["solver"].to_list() == ["mixedne-ld"]


def test_other_settings_have_a_row_of_their_own(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "out")
    folder.create()
    wishes = [(0, 1e-3), (1, 1e-3), (0, 1e-4)]
    runs = [pretend_run(folder, seed, Grid(episodes=1), eta=eta) for seed, eta in wishes]
    runs.append(pretend_run(folder, 0, Grid(episodes=1), solver="gad"))
    for run in runs:
        run_job([run], [folder.run_folder(run)], lambda *_: None)
    table = summarise(results(folder.path), runs)
    rows = {(row["solver"], row["settings"]): row["runs"] for row in table.to_dicts()}
    assert rows == {("gad", ""): 1, ("mixedne-ld", "eta=0.0001"): 1, ("mixedne-ld", "eta=0.001"): 2}
    alike = summarise(results(folder.path), runs[:2])
    assert set(alike["settings"]) == {""}


def test_tables_that_were_exchanged_or_lost_are_left_out_with_a_word(
    made: tuple[StudyFolder, list[PlannedRun]], tmp_path: Path
) -> None:
    out = Path(shutil.copytree(made[0].path, tmp_path / "out"))
    one, other, third = (out / "runs" / run.name / "evaluation.parquet" for run in made[1])
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    third.unlink()
    with pytest.warns(UserWarning, match="left out") as caught:
        assert results(out).is_empty()
    said = [str(warning.message) for warning in caught]
    assert sum("has episodes of another policy than the one beside it" in it for it in said) == 2
    assert f"there is no evaluation table {third}; its rows are left out" in said
    with pytest.warns(UserWarning, match="there is no evaluation table"):
        assert results(third.parent).is_empty()
    (third.parent / "config.json").unlink()
    with pytest.warns(UserWarning, match="has no whole config.json; its rows are left out"):
        assert results(third.parent).is_empty()
    (third.parent / "finished.json").unlink()
    shutil.copy(third.parent / "policy.json", third.parent / "config.json")  # whole, but no run's
    with pytest.warns(UserWarning, match="has no whole config.json; its rows are left out"):
        assert results(third.parent).is_empty()


def test_a_report_says_which_files_are_not_those_of_a_finished_run(
    made: tuple[StudyFolder, list[PlannedRun]], tmp_path: Path
) -> None:
    out = Path(shutil.copytree(made[0].path, tmp_path / "out"))
    one, other, third = (out / "runs" / run.name for run in made[1])
    line, _ = format_line({"kind": "training", "step": 1, "return_mean": 1.0}, 0)
    for run in (one, other, third):
        (run / "metrics.jsonl").write_text(line)
        mark_finished(run, run.name.rpartition("-")[2])
    said = collect([out]).missing
    assert not any("config.json" in sentence or "metrics" in sentence for sentence in said)
    contents = [(run / "config.json").read_bytes() for run in (one, other)]
    (one / "config.json").write_bytes(contents[1])
    (other / "config.json").write_bytes(contents[0])
    (third / "metrics.jsonl").unlink()
    said = collect([out]).missing
    for run in (one, other):
        assert f"{run.name} has the config.json of another run and is left out." in said
    curve = "metrics.jsonl is damaged or lost: its learning curve is left out."
    assert f"{third.name}/{curve}" in said
