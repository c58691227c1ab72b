"""The policies that ship: found by name, chosen by the rule, scored as they say."""

import json

import polars as pl
import pytest
import zoo as chooser

import mixedne
from mixedne.cli.main import main
from mixedne.policies import load_policy
from mixedne.zoo import zoo, zoo_entry

KEPT = chooser.KEPT
KEY = ("task", "agent", "solver", "formulation", "delta")


def test_what_ships_is_what_the_rule_takes_from_the_kept_runs() -> None:
    chosen = {
        tuple(row[name] for name in KEY): row for row in chooser.chosen(KEPT).iter_rows(named=True)
    }
    entries = zoo()
    assert len(entries) == len(chosen) > 0
    for name, entry in entries.items():
        row = chosen[tuple(entry[name] for name in KEY)]
        assert name == chooser.policy_name(row)
        assert entry["train_seed"] == row["train_seed"]
        assert entry["mean_return"] == pytest.approx(row["mean_return"], abs=0.01)
        [run] = [path for kept in KEPT for path in kept.glob(f"runs/{row['run']}")]
        assert zoo_entry(name)[0].read_bytes() == (run / "policy.json").read_bytes()
        assert load_policy(f"zoo:{name}").spec.task == entry["task"]  # its digest is checked


def test_the_median_seed_is_taken() -> None:
    table = mixedne.results(*KEPT, study="reproduce-ddpg").filter(
        solver="gad", task="HalfCheetah-v5", train_seed=0
    )
    copies = [
        table.with_columns(
            pl.lit(seed).cast(pl.Int64).alias("train_seed"),
            pl.lit(f"run-{seed}").alias("run"),
            pl.col("return") + bonus,
        )
        for seed, bonus in enumerate([5.0, 300.0, -100.0, 20.0])
    ]
    [row] = chooser.choose(pl.concat(copies)).iter_rows(named=True)
    assert (row["train_seed"], row["run"], row["seeds"]) == (0, "run-0", 4)


def test_a_policy_of_the_zoo_scores_as_its_run_did() -> None:
    name = "halfcheetah-ddpg-gad"  # whose episodes are alike
    entry = zoo()[name]
    table = mixedne.evaluate(f"zoo:{name}", episodes=10)
    assert set(table["run"]) == {name}
    assert set(table["solver"]) == {"gad"}
    # Other processors round otherwise, and motions drift apart: the returns stay close.
    assert table["return"].mean() == pytest.approx(entry["nominal_return"], rel=0.2)


def test_the_command_line_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["zoo", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [policy["policy"] for policy in listed] == [f"zoo:{name}" for name in zoo()]
    assert main(["zoo"]) == 0
    assert f"zoo:{next(iter(zoo()))}" in capsys.readouterr().out
    assert main(["evaluate", "zoo:halfchetah-ddpg-gad"]) == 2
    assert "did you mean 'halfcheetah-ddpg-gad'" in capsys.readouterr().err


def test_they_take_little_room() -> None:
    folder = zoo_entry(next(iter(zoo())))[0].parent
    assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) < 2**20
