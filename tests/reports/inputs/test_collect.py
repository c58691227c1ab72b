"""A report's numbers: equal to the tables', and honest about what is not there."""

import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from mixedne.errors import InvalidInputError
from mixedne.evaluation.estimators import Bootstrap, Student, cvar
from mixedne.evaluation.grids import episode_seed
from mixedne.evaluation.statistics import grid_summary, shift_summary
from mixedne.evaluation.table import write_table
from mixedne.reports import tables
from mixedne.reports.inputs.collect import collect
from mixedne.reports.page import write_page
from mixedne.training.metrics import MetricsWriter
from probes.tables import config_of, pretend_evaluated, pretend_table, shifts, write_config

MASSES = (0.5, 1.0, 1.5, 2.0)
SWEEP = shifts(mass=MASSES)
MAP = shifts(mass=(0.5, 1.0, 2.0), noise=(0.0, 0.1))
SOLVERS = ("mixedne-ld", "gad")
SEEDS = range(3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """Two solvers with three seeds each, swept in mass and crossed with noise; all episodes."""
    folder = tmp_path_factory.mktemp("made")
    places = [*SWEEP, *(place for place in MAP if place["noise"] or place["mass"] not in MASSES)]
    tables = [
        pretend_evaluated(folder / f"{solver}-{seed}", places, solver=solver, seed=seed)
        for solver in SOLVERS
        for seed in SEEDS
    ]
    return folder, pl.concat(tables)


def test_sweeps_equal_the_tables(made: tuple[Path, pl.DataFrame]) -> None:
    folder, table = made
    report = collect([folder])
    expected = shift_summary(table.filter(noise=0.0)).rename({"mean_return": "value"})
    assert report.sweeps.schema == tables.SWEEPS
    found = report.sweeps.filter(statistic="mean", axis="mass")
    both = found.join(expected, left_on=["solver", "x"], right_on=["solver", "mass"])
    assert both.height == found.height == expected.height == len(SOLVERS) * len(MASSES)
    for ours, theirs in (
        ("value", "value_right"),
        ("low", "mean_return_low"),
        ("high", "mean_return_high"),
    ):
        np.testing.assert_allclose(both[ours], both[theirs], rtol=1e-12)
    assert both["seeds"].equals(both["seeds_right"].cast(pl.Int64), check_names=False)
    assert set(both["episodes"]) == {15}


@pytest.mark.parametrize("statistic", ["worst", "cvar"])
def test_worst_and_cvar_are_of_a_runs_episodes(
    made: tuple[Path, pl.DataFrame], statistic: str
) -> None:
    folder, table = made
    report = collect([folder])
    one = report.sweeps.filter(statistic=statistic, axis="mass", solver="gad", x=2.0).to_dicts()
    rows = table.filter(solver="gad", mass=2.0, noise=0.0)
    measure = np.min if statistic == "worst" else lambda values: cvar(values, 0.1)
    runs = [measure(rows.filter(train_seed=seed)["return"].to_numpy()) for seed in SEEDS]
    assert one[0]["value"] == pytest.approx(np.mean(runs), rel=1e-12)
    assert one[0]["low"] == pytest.approx(Student().mean(np.array(runs)).low, rel=1e-12)


def test_maps_equal_the_tables(made: tuple[Path, pl.DataFrame]) -> None:
    folder, table = made
    maps = collect([folder]).maps
    assert maps.schema == tables.MAPS
    found = maps.filter(statistic="mean")
    assert set(zip(found["axis_x"], found["axis_y"], strict=True)) == {("noise", "mass")}
    assert set(found["y"]) == {0.5, 1.0, 2.0}  # not 1.5, which was tried without noise alone
    expected = shift_summary(table).rename({"mean_return": "value"})
    both = found.join(expected, left_on=["solver", "x", "y"], right_on=["solver", "noise", "mass"])
    assert both.height == found.height == 2 * 6
    np.testing.assert_allclose(both["value"], both["value_right"], rtol=1e-12)
    np.testing.assert_allclose(both["high"], both["mean_return_high"], rtol=1e-12)


def test_the_summary_is_that_of_the_statistics(made: tuple[Path, pl.DataFrame]) -> None:
    folder, table = made
    summary = collect([folder]).summary
    assert summary.schema == tables.SUMMARY
    expected = grid_summary(table.filter(noise=0.0))
    for statistic in tables.STATISTICS:
        for row in summary.filter(axis="mass", statistic=statistic).iter_rows(named=True):
            theirs = expected.filter(solver=row["solver"]).to_dicts()[0]
            for ours, name in (("value", ""), ("low", "_low"), ("high", "_high")):
                assert row[ours] == pytest.approx(theirs[f"{statistic}_return{name}"], rel=1e-12)
            assert row["shifts"] == len(MASSES)


def test_the_comparison_is_with_gad(made: tuple[Path, pl.DataFrame]) -> None:
    folder, table = made
    rows = collect([folder]).summary.filter(axis="mass", statistic="mean")
    by_run = table.filter(noise=0.0).group_by("solver", "train_seed", "mass").agg(pl.mean("return"))
    means = by_run.group_by("solver", "train_seed").agg(pl.mean("return")).sort("train_seed")
    x, y = (means.filter(solver=solver)["return"].to_numpy() for solver in SOLVERS)
    estimate = Bootstrap().improvement([(x, y)])
    ours = rows.filter(solver="mixedne-ld").to_dicts()[0]
    assert (ours["improvement"], ours["improvement_low"]) == (estimate.value, estimate.low)
    assert ours["baseline"] == "GAD"
    middle = Bootstrap().interquartile_mean([x])
    assert ours["iqm"] == pytest.approx(middle.value)
    assert ours["iqm_high"] == pytest.approx(middle.high)
    theirs = rows.filter(solver="gad").to_dicts()[0]
    assert theirs["baseline"] is None
    apart = ours["low"] > theirs["high"] or theirs["low"] > ours["high"]
    assert ours["overlap"] == (not apart)


def test_over_all_tasks_the_probability_is_averaged(tmp_path: Path) -> None:
    tables = [
        pretend_evaluated(tmp_path / f"{task}-{solver}-{seed}", SWEEP, task=task, solver=solver,
                          seed=seed)
        for task in ("Hopper", "Swimmer") for solver in SOLVERS for seed in SEEDS
    ]  # fmt: skip
    means = (
        pl.concat(tables)
        .group_by("task", "solver", "train_seed", "mass").agg(pl.mean("return"))
        .group_by("task", "solver", "train_seed").agg(pl.mean("return")).sort("train_seed")
    )  # fmt: skip
    pairs = [
        tuple(means.filter(task=task, solver=solver)["return"].to_numpy() for solver in SOLVERS)
        for task in ("Hopper-v5", "Swimmer-v5")
    ]
    expected = Bootstrap().improvement([(x, y) for x, y in pairs])
    rows = collect([tmp_path]).summary.filter(pl.col("task").is_null(), statistic="mean").to_dicts()
    assert [(row["solver"], row["axis"], row["seeds"]) for row in rows] == [
        ("mixedne-ld", "mass", 3)
    ]
    assert rows[0]["improvement"] == expected.value
    assert 0 <= rows[0]["improvement_low"] <= expected.value <= rows[0]["improvement_high"] <= 1
    assert rows[0]["value"] is None


def test_learning_curves_are_means_of_the_metrics(made: tuple[Path, pl.DataFrame]) -> None:
    learning = collect([made[0]]).learning
    assert learning.schema == tables.LEARNING
    tested = learning.filter(source="evaluation", solver="gad")
    assert tested["step"].to_list() == [500, 1000]
    assert tested["value"].to_list() == [501.0, 1001.0]  # mass 1 alone, mean of seeds 0, 1, 2
    assert tested["updates"].to_list() == [1000.0, 2000.0]  # two inner steps an update
    assert tested["seconds"].to_list() == [5.0, 10.0]
    assert tested["seeds"].to_list() == [3, 3]
    trained = learning.filter(source="training", solver="gad").sort("step")
    assert trained["value"].to_list() == [110.0 + step for step in range(0, 901, 100)]


def test_a_run_counts_once_wherever_it_lies(
    made: tuple[Path, pl.DataFrame], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(made[0], tmp_path / "copy"))
    once, twice = collect([made[0]]), collect([made[0], copy])
    assert once.counts == twice.counts == {"runs": 6, "tasks": 1, "episodes": 6 * 7 * 5}
    assert_frame_equal(once.sweeps, twice.sweeps)
    assert_frame_equal(once.learning, twice.learning)
    assert collect([made[0] / "gad-0", made[0]]).counts == once.counts


def test_configurations_that_differ_are_different_methods(tmp_path: Path) -> None:
    for name, wishes in (("a", {}), ("b", {"eta": 1e-3}), ("c", {"preset": "authors"})):
        pretend_evaluated(tmp_path / name, SWEEP, solver="gad", **wishes)
    labels = set(collect([tmp_path]).sweeps["label"])
    assert labels == {
        "GAD, preset paper",  # its η is 1e-4
        "GAD, preset paper, eta=0.001",
        "GAD, preset authors",
    }


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    whole = pretend_evaluated(tmp_path / "whole", SWEEP, solver="gad", seed=0)
    pretend_evaluated(tmp_path / "partial", SWEEP[:3], solver="gad", seed=1)
    pretend_evaluated(tmp_path / "bare", SWEEP, solver="gad", seed=2)
    (tmp_path / "bare" / "evaluation.parquet").unlink()
    pretend_evaluated(tmp_path / "broken", SWEEP, solver="gad", seed=3)
    (tmp_path / "broken" / "evaluation.parquet").write_bytes(b"PAR1")
    pretend_evaluated(tmp_path / "damaged", SWEEP, solver="gad", seed=4)
    (tmp_path / "damaged" / "config.json").write_text("{")
    pretend_evaluated(tmp_path / "alone", SWEEP, solver="extra-adam")
    report = collect([tmp_path])
    said = " ".join(report.missing)
    assert "Not evaluated yet: bare, broken" in said or "Not evaluated yet: bare" in said
    assert "broken/evaluation.parquet is damaged" in said
    assert "damaged has no whole config.json" in said
    assert "A single training seed, so no interval: DDPG, Extra-Adam, δ = 0.1" in said
    assert "The summary of HalfCheetah-v5 against mass is without partial" in said
    summary = report.summary.filter(statistic="mean")
    assert summary.select("solver", "shifts", "seeds").rows() == [
        ("extra-adam", 4, 1),
        ("gad", 4, 1),
    ]
    last = report.sweeps.filter(solver="gad", x=2.0, statistic="mean").to_dicts()[0]
    assert last["seeds"] == 1
    assert last["low"] is None
    assert last["value"] == pytest.approx(whole.filter(mass=2.0)["return"].mean())


def test_an_invalid_episode_spoils_what_it_enters(tmp_path: Path) -> None:
    for seed in SEEDS:
        table = pretend_evaluated(tmp_path / f"{seed}", SWEEP, solver="gad", seed=seed)
        if seed == 1:
            spoilt = pl.when((pl.col("mass") == 2.0) & (pl.col("episode") == 0)).then(float("nan"))
            table = table.with_columns(spoilt.otherwise("return").alias("return"))
            write_table(table, tmp_path / "1" / "evaluation.parquet")
    report = collect([tmp_path])
    assert any("1 episodes have a return that is no number (1)" in said for said in report.missing)
    for row in report.sweeps.iter_rows(named=True):
        assert np.isnan(row["value"]) == (row["x"] == 2.0)
        assert row["invalid"] == (row["x"] == 2.0)
    assert report.summary["value"].is_nan().all()


def test_tables_of_policies_from_elsewhere(tmp_path: Path) -> None:
    table = pl.concat(pretend_table(name, {}, SWEEP) for name in ("ours", "<script>"))
    write_table(table, tmp_path / "table.parquet")
    report = collect([tmp_path / "table.parquet"])
    assert set(report.sweeps["label"]) == {"ours", "<script>"}
    assert report.sweeps["agent"].is_null().all()


def test_models_of_one_algorithm_are_no_seeds_of_a_method(tmp_path: Path) -> None:
    for place, name in (("a", "policy"), ("b", "policy"), ("b", "other")):
        table = pretend_table(name, {"agent": "sb3-ppo"}, SWEEP)
        table = table.with_columns(policy=pl.lit(f"{place}{name}"))
        write_table(table, tmp_path / f"{place}-{name}.parquet")
    sweeps = collect([tmp_path]).sweeps
    assert set(sweeps["label"]) == {"policy (apolicy)", "policy (bpolicy)", "other"}
    assert set(sweeps["seeds"]) == {1}


def test_callables_of_two_files_are_not_one_policy(tmp_path: Path) -> None:
    for number, name in enumerate(("first", "second")):
        table = pretend_table("<lambda>", {}, SWEEP, noise_seed=number)
        unknown = [pl.lit(None, pl.String).alias(column) for column in ("policy", "acting")]
        write_table(table.with_columns(unknown), tmp_path / f"{name}.parquet")
    report = collect([tmp_path])
    assert set(report.sweeps["label"]) == {"<lambda> (first)", "<lambda> (second)"}
    assert report.counts["runs"] == 2


def test_an_attack_is_compared_with_episodes_of_its_own_table(tmp_path: Path) -> None:
    """They start alike; and of two attacks of one kind the stronger counts."""
    none: dict[str, float] = {"attack[action]": 0.0, "attack[action at random]": 0.0}
    for number, (name, mean) in enumerate((("a-weak", 300.0), ("b-strong", 200.0))):
        table = pretend_table("run", {"agent": "ddpg"}, [{}], noise_seed=number)
        attacked = table.with_columns(pl.lit(mean).alias("return"))
        worlds = {axis: {**none, axis: 0.1} for axis in none}
        rows = [table.with_columns(**none)]
        rows += [attacked.with_columns(**world) for world in worlds.values()]
        write_table(pl.concat(rows), tmp_path / f"{name}.parquet")
    [row] = collect([tmp_path]).attacks.to_dicts()
    assert row["attacker"] == 200.0
    assert row["none"] == pytest.approx(table["return"].mean())


def test_only_runs_with_a_sweep_are_said_to_lack_shifts(tmp_path: Path) -> None:
    pretend_evaluated(tmp_path / "swept", SWEEP, seed=0)
    pretend_evaluated(tmp_path / "nominal", shifts(mass=(1.0,)), seed=1)
    report = collect([tmp_path])
    assert not any("lack shifts" in said for said in report.missing)


def test_two_runs_that_claim_one_seed_of_a_method(tmp_path: Path) -> None:
    provenance = {"agent": "ddpg", "solver": "gad", "delta": 0.1, "train_seed": 0}
    for name in ("one", "other"):
        write_table(pretend_table(name, provenance, SWEEP), tmp_path / f"{name}.parquet")
    report = collect([tmp_path])
    assert set(report.sweeps["seeds"]) == {1}
    assert any("left out, as others have the same: other" in said for said in report.missing)


def test_controls_beside_the_methods_that_they_vary(tmp_path: Path) -> None:
    """The preset has another σ on each task, and controls are evaluated on sweeps alone."""
    for task, solver, seed in itertools.product(("HalfCheetah", "Hopper"), SOLVERS, range(2)):
        own: dict[str, Any] = {"task": task, "solver": solver, "seed": seed}
        control = {"updates": 200, "sigma": 0.0} if solver == "gad" else {"inner": "coupled"}
        name = f"{task}-{solver}-{seed}"
        pretend_evaluated(tmp_path / name, [*SWEEP, *MAP[1::2]], **own)
        pretend_evaluated(tmp_path / f"a-{name}", SWEEP, **own, **control)
    report = collect([tmp_path])
    summary = report.summary.filter(statistic="mean", axis="mass")
    controls = "GAD, sigma=0, updates=200", "MixedNE-LD, inner=coupled"
    compared = {"MixedNE-LD": "GAD", controls[1]: "GAD"}
    for where in ("HalfCheetah-v5", "Hopper-v5", None):
        own_rows = summary.filter(pl.col("task").eq_missing(where), solver="mixedne-ld")
        assert dict(own_rows.select("label", "baseline").iter_rows()) == compared
    assert set(report.sweeps["label"]) == {"GAD", "MixedNE-LD", *controls}
    assert set(report.maps["label"]) == {"GAD", "MixedNE-LD"}


def test_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no file or folder"):
        collect([tmp_path / "nowhere"])
    with pytest.raises(InvalidInputError, match="nothing to report"):
        collect([tmp_path])
    (tmp_path / "studies").mkdir()
    report = collect([tmp_path])  # a study that has just begun
    assert report.counts == {"runs": 0, "tasks": 0, "episodes": 0}
    for name in ("sweeps", "maps", "summary", "learning", "searches"):
        frame = getattr(report, name)
        assert frame.is_empty()
        assert frame.schema == getattr(tables, name.upper())


def test_a_baseline_has_the_same_preset(tmp_path: Path) -> None:
    for seed in range(2):
        for preset in ("authors", "paper"):
            name = f"gad-{preset}-{seed}"
            pretend_evaluated(tmp_path / name, SWEEP, solver="gad", preset=preset, seed=seed)
        for sigma0 in (0.5, 0.25):
            name = f"ld-{sigma0}-{seed}"
            pretend_evaluated(tmp_path / name, SWEEP, sigma0=sigma0, preset="paper", seed=seed)
        pretend_evaluated(tmp_path / f"pr-{seed}", SWEEP, formulation="pr-mdp", seed=seed)
    summary = collect([tmp_path]).summary.filter(statistic="mean")
    assert dict(summary.filter(solver="mixedne-ld").select("label", "baseline").iter_rows()) == {
        "MixedNE-LD, preset paper, sigma0=0.5": "GAD, preset paper",
        "MixedNE-LD, preset paper, sigma0=0.25": "GAD, preset paper",
        "MixedNE-LD, PR-MDP, preset paper": None,
    }


def test_a_seed_counts_once_however_often_it_was_trained(tmp_path: Path) -> None:
    for name, seed in (("old", 0), ("new", 0), ("other", 1)):
        pretend_evaluated(tmp_path / name, SWEEP, solver="gad", seed=seed)
    config = config_of(tmp_path / "old")
    del config["clip_gradient"], config["tau"]  # as an older version wrote it
    write_config(tmp_path / "old", config)
    report = collect([tmp_path])
    assert set(report.sweeps["seeds"]) == {2}
    assert set(report.learning["seeds"]) == {2}


def test_rows_of_a_run_in_its_folder_and_in_a_table_count_once(tmp_path: Path) -> None:
    tables = [
        pretend_evaluated(tmp_path / place / "a", SWEEP, solver="gad", seed=seed)
        for seed, place in enumerate(("x", "y"))
    ]
    # As `mixedne evaluate x/a y/a --out both.parquet` names them.
    named = [
        table.with_columns(run=pl.lit(f"{place}/a"), policy=pl.lit(f"{place}-policy"))
        for table, place in zip(tables, ("x", "y"), strict=True)
    ]
    write_table(pl.concat(named), tmp_path / "both.parquet")
    folders = [tmp_path / "x" / "a", tmp_path / "y" / "a"]
    report = collect([*folders, tmp_path / "both.parquet"])
    assert set(report.sweeps["seeds"]) == {2}
    assert set(report.sweeps["episodes"]) == {10}


def test_attacks_in_a_folder_are_found(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_table(pretend_table(name, {}, SWEEP), tmp_path / name / "evaluation.parquet")
        (tmp_path / name / "attack.json").write_text("{}")
    (tmp_path / "under way").mkdir()
    assert set(collect([tmp_path]).sweeps["label"]) == {"one", "other"}


def test_a_name_alone_does_not_make_a_run(tmp_path: Path) -> None:
    pretend_evaluated(tmp_path / "a", SWEEP, solver="mixedne-ld")
    provenance = {"agent": "ddpg", "solver": "gad", "delta": 0.1, "train_seed": 0}
    other = pretend_table("a", provenance, SWEEP).with_columns(policy=pl.lit("another"))
    write_table(other, tmp_path / "table.parquet")
    found = collect([tmp_path / "a", tmp_path / "table.parquet"]).sweeps
    assert set(found.select("solver", "label").iter_rows()) == {
        ("mixedne-ld", "MixedNE-LD"),
        ("gad", "GAD"),
    }


def test_a_run_may_be_tested_in_two_tasks(tmp_path: Path) -> None:
    table = pretend_evaluated(tmp_path / "a", SWEEP, solver="gad")
    older = table.with_columns(task=pl.lit("HalfCheetah-v4"), task_version=pl.lit("v4"))
    write_table(pl.concat([table, older]), tmp_path / "a" / "evaluation.parquet")
    assert set(collect([tmp_path]).sweeps["task"]) == {"HalfCheetah-v5", "HalfCheetah-v4"}


def test_a_stray_run_does_not_hollow_out_the_summary(tmp_path: Path) -> None:
    for seed in SEEDS:
        pretend_evaluated(tmp_path / f"{seed}", SWEEP, solver="gad", seed=seed)
    pretend_evaluated(tmp_path / "stray", shifts(mass=(1.0, 1.1)), solver="gad", seed=9)
    pretend_evaluated(tmp_path / "td3", shifts(mass=(0.9, 1.1)), solver="gad", agent="td3")
    report = collect([tmp_path])
    summary = report.summary.filter(statistic="mean").select("agent", "shifts", "seeds")
    assert set(summary.iter_rows()) == {("ddpg", len(MASSES), len(SEEDS)), ("td3", 2, 1)}
    assert any("is without stray" in said for said in report.missing)


def test_settings_that_do_nothing_tell_no_methods_apart(tmp_path: Path) -> None:
    for seed, idle in ((0, {"beta": 1.0, "inner_max": 1}), (1, {})):
        pretend_evaluated(tmp_path / f"{seed}", SWEEP, agent="sac", seed=seed)
        write_config(tmp_path / f"{seed}", {**config_of(tmp_path / f"{seed}"), **idle})
    sweeps = collect([tmp_path]).sweeps
    assert set(sweeps["label"]) == {"SAC"}
    assert set(sweeps["seeds"]) == {2}


def test_a_method_has_one_name_on_all_tasks(tmp_path: Path) -> None:
    for task, eta in (("HalfCheetah", 1e-4), ("HalfCheetah", 1e-3), ("Hopper", 1e-4)):
        pretend_evaluated(tmp_path / f"{task}-{eta}", SWEEP, task=task, solver="gad", eta=eta)
    found = collect([tmp_path]).sweeps
    assert set(found.filter(task="Hopper-v5")["label"]) == {"GAD"}


def test_training_returns_meet_at_the_same_steps(tmp_path: Path) -> None:
    for seed, last in ((0, 17_000), (1, 12_000)):
        folder = tmp_path / f"{seed}"
        pretend_evaluated(folder, SWEEP, solver="gad", seed=seed, steps=17_000)
        lines = [
            {"kind": "training", "step": step, "updates": step, "inner_steps": 1, "seconds": 1.0,
             "return_mean": 5.0} for step in range(100, last + 1, 100)
        ]  # fmt: skip
        (folder / "metrics.jsonl").unlink()
        MetricsWriter(folder / "metrics.jsonl").write(*lines)
    found = collect([tmp_path]).learning.filter(source="training")
    assert found.height <= 60
    assert set(found.filter(pl.col("step") <= 11_000)["seeds"]) == {2}
    assert set(found.filter(pl.col("step") > 13_000)["seeds"]) == {1}


def test_folder_names_are_no_patterns(tmp_path: Path) -> None:
    pretend_evaluated(tmp_path / "run[1]", SWEEP, solver="gad", seed=0)
    pretend_evaluated(tmp_path / "a?b", SWEEP, solver="gad", seed=1)
    pretend_evaluated(tmp_path / "axb", SWEEP, solver="gad", seed=2)
    report = collect([tmp_path])
    assert report.missing == ()
    assert set(report.sweeps["seeds"]) == {3}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(where=st.sampled_from(["config", "metrics", "plan", "chosen"]), junk=JUNK, data=st.data())
def test_no_junk_in_a_strangers_files_stops_a_report(
    tmp_path_factory: pytest.TempPathFactory, where: str, junk: Any, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("junk")
    pretend_evaluated(folder / "runs" / "a", SWEEP, solver="gad", seed=0)
    pretend_evaluated(folder / "runs" / "b", SWEEP, solver="gad", seed=1)
    config = config_of(folder / "runs" / "a")
    (folder / "studies").mkdir()
    plan: dict[str, Any] = {
        "runs": [{"run": "a", "configuration": config, "evaluations": [{"mass": [1.0]}]}]
    }
    chosen: dict[str, Any] = {"choices": [{"case": {}, "chosen": {"eta": 1}, "paper": None}]}
    if where == "config":
        config[data.draw(st.sampled_from(sorted(config)))] = junk
        write_config(folder / "runs" / "a", config)
    elif where == "metrics":
        line = {"kind": "training", "step": 10, "updates": 5, "return_mean": 1.0, "seconds": 1}
        line[data.draw(st.sampled_from(sorted(line)))] = junk
        (folder / "runs" / "a" / "metrics.jsonl").write_text(
            f"{json.dumps(line)}\n{json.dumps(junk)}"
        )
    elif where == "plan":
        target = data.draw(st.sampled_from([plan, plan["runs"][0], config]))
        target[data.draw(st.sampled_from(sorted(target)))] = junk
    else:
        target = data.draw(st.sampled_from([chosen, chosen["choices"][0]]))
        target[data.draw(st.sampled_from(sorted(target)))] = junk
        (folder / "studies" / "mine-chosen.json").write_text(json.dumps(chosen))
    (folder / "studies" / "mine.json").write_text(json.dumps(plan))
    report = collect([folder])
    assert report.sweeps.height or report.missing
    write_page(report, folder / "page.html")


def test_settings_that_are_no_numbers_are_compared_in_the_tables(tmp_path: Path) -> None:
    """A search's map has no place for them."""
    nominal = {"mass": [1.0], "friction": [1.0], "noise": [0.0], "rho": None}
    runs = []
    for inner in ("frozen", "coupled"):
        pretend_evaluated(tmp_path / "runs" / inner, shifts(mass=[1.0]), inner=inner)
        config = config_of(tmp_path / "runs" / inner)
        runs.append({"run": inner, "configuration": config, "evaluations": [nominal]})
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "mine.json").write_text(json.dumps({"runs": runs}))
    report = collect([tmp_path])
    assert report.counts["runs"] == 2
    assert set(report.learning["label"]) == {"MixedNE-LD", "MixedNE-LD, inner=coupled"}
    assert report.searches.is_empty()


def test_a_study_and_its_search(tmp_path: Path) -> None:
    listed = {}
    for number, (eta, seed) in enumerate([(1e-3, 1), (1e-3, 2), (1e-4, 1), (1e-4, 2)]):
        name = f"tried-{number}"
        table = pretend_evaluated(
            tmp_path / "runs" / name, shifts(mass=[1.0]), solver="gad", seed=seed, eta=eta
        )
        listed[name] = (eta, float(table["return"].to_numpy().mean()))
    nominal = {"mass": [1.0], "friction": [1.0], "noise": [0.0], "rho": None}
    config = config_of(tmp_path / "runs" / "tried-0")
    runs = [
        {
            "run": name,
            "configuration": config_of(tmp_path / "runs" / name),
            "evaluations": [nominal],
        }
        for name in listed
    ]
    runs.append({"run": "never-run", "configuration": config, "evaluations": [nominal]})
    pretend_evaluated(tmp_path / "runs" / "reported", SWEEP, solver="gad", seed=5, eta=1e-3)
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "mine.json").write_text(json.dumps({"runs": runs}))
    case = {name: config[name] for name in ("task", "agent", "solver", "formulation", "delta")}
    choice = {"case": {**case, "preset": "paper"}, "chosen": {"eta": 1e-3}, "paper": {"eta": 1e-4}}
    chosen = {"choices": [choice]}
    (tmp_path / "studies" / "mine-chosen.json").write_text(json.dumps(chosen))
    report = collect([tmp_path])
    assert set(report.sweeps["label"]) == {"GAD"}  # the reported run alone
    assert report.counts["runs"] == 1
    assert "1 of 5 of DDPG, GAD, δ = 0.1 on HalfCheetah-v5" in " ".join(report.missing)
    assert report.searches.schema == tables.SEARCHES
    rows = {row["x"]: row for row in report.searches.iter_rows(named=True)}
    assert {x: (row["chosen"], row["paper"]) for x, row in rows.items()} == {
        1e-3: (True, False),
        1e-4: (False, True),
    }
    for eta, row in rows.items():
        means = [mean for its, mean in listed.values() if its == eta]
        assert row["value"] == pytest.approx(np.mean(means))
        assert (row["setting_x"], row["setting_y"], row["seeds"]) == ("eta", None, 2)


def test_a_report_shows_the_number_that_a_search_chose_by(tmp_path: Path) -> None:
    grid = {"mass": [1.0], "friction": [1.0], "noise": [0.0], "rho": None, "episodes": 3, "seed": 1}
    seeds = [episode_seed(1, episode) for episode in range(3)]
    runs, wanted = [], {}
    for name, eta in (("a", 1e-3), ("b", 1e-4)):
        folder = tmp_path / "runs" / name
        table = pretend_evaluated(folder, shifts(mass=(1.0, 2.0)), solver="gad", eta=eta)
        own = table.filter(mass=1.0).head(3).with_columns(episode_seed=pl.Series(seeds))
        # Later the run was evaluated in other worlds, and with other episodes.
        other = own.with_columns(pl.lit(5.0).alias("mass[torso]"), pl.lit(1e6).alias("return"))
        rows = pl.concat([table, other, own], how="diagonal")
        write_table(rows, folder / "evaluation.parquet")
        wanted[eta] = own["return"].mean()
        runs.append({"run": name, "configuration": config_of(folder), "evaluations": [grid]})
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "mine.json").write_text(json.dumps({"runs": runs}))
    (tmp_path / "studies" / "mine-chosen.json").write_text(json.dumps({"choices": []}))
    found = collect([tmp_path]).searches
    assert dict(found.select("x", "value").iter_rows()) == wanted


def test_how_it_was_made(made: tuple[Path, pl.DataFrame]) -> None:
    report = collect([made[0]])
    assert report.provenance.seeds == (
        ("DDPG, GAD, δ = 0.1", "0 to 2"),
        ("DDPG, MixedNE-LD, δ = 0.1", "0 to 2"),
    )
    command = report.provenance.commands[0]
    assert command.startswith("mixedne train HalfCheetah-v5 --agent ddpg --solver gad")
    assert command.endswith("--seed 0  # and with seeds 0 to 2")
    assert "mujoco 3.17.0" in " ".join(report.provenance.versions)
    assert "cores" in report.provenance.machines[0]


def test_reports_need_no_physics_and_no_jax() -> None:
    code = "import sys; import mixedne.reports.inputs.collect; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"jax", "mujoco", "gymnasium", "optax"} & set(done.stdout.split())
