"""Sweeps and maps of any shift that a table has, and single runs where there are few."""

from pathlib import Path

import polars as pl
import pytest

from mixedne.evaluation.statistics import fill_nominal
from mixedne.reports.inputs import numbers
from mixedne.reports.inputs.collect import collect
from mixedne.reports.tables import BAND_SEEDS, SWEEP_RUNS
from mixedne.shifts import Axis
from probes.tables import pretend_evaluated, shifts


def runs(**columns: list[float | None]) -> pl.DataFrame:
    """A row a shift of one run, with its number as its return."""
    table = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))
    known = {
        "identity": "a", "run": "a", "task": "Hopper-v5", "task_version": "v5", "agent": "ddpg",
        "solver": "gad", "formulation": "nr-mdp", "delta": 0.1, "preset": "paper", "label": "GAD",
        "acting": "mean", "mass_mode": "reference",
    }  # fmt: skip
    count = pl.int_range(pl.len()).cast(pl.Float64)
    return fill_nominal(
        table.with_columns(
            *(pl.lit(value).alias(name) for name, value in known.items()),
            *(count.alias(name) for name in ("mean", "worst", "cvar")),
            episodes=pl.lit(1, pl.Int64), invalid=pl.lit(0, pl.Int64),
        )
    )  # fmt: skip


def test_a_part_of_the_model_is_an_axis_like_any_other() -> None:
    names = ["mass", "mass[torso]", "friction[#3]:abs"]
    values = [
        (1.0, None, None),
        (1.0, 0.5, None),
        (1.0, None, 0.2),
        (1.0, None, 0.4),
        (2.0, 0.5, None),
    ]
    table = runs(**dict(zip(names, map(list, zip(*values, strict=True)), strict=True)))
    means, single = numbers.sweeps(table)
    swept = means.filter(statistic="mean").select("axis", "x", "value").sort("axis", "x").rows()
    # Both masses changed is no sweep of either; of an absolute value, the nominal one is unknown.
    assert swept == [
        ("friction[#3]:abs", 0.2, 2.0),
        ("friction[#3]:abs", 0.4, 3.0),
        ("mass[torso]", 0.5, 1.0),
        ("mass[torso]", 1.0, 0.0),
    ]
    assert single.filter(statistic="mean").height == len(swept)
    summary = numbers.summary(table).filter(statistic="mean")
    assert summary.select("axis", "shifts").sort("axis").rows() == [
        ("friction[#3]:abs", 2),
        ("mass[torso]", 2),
    ]


def test_an_attack_is_swept_by_its_strength() -> None:
    own, at_random = "attack[force torso]", "attack[force torso at random]"
    means, _ = numbers.sweeps(runs(**{own: [None, 5.0, None], at_random: [None, None, 5.0]}))
    swept = means.filter(statistic="mean").select("axis", "x", "value").sort("axis", "x").rows()
    assert swept == [(at_random, 0.0, 0.0), (at_random, 5.0, 2.0), (own, 0.0, 0.0), (own, 5.0, 1.0)]
    assert Axis.parse(own).label == "strength of the attack (force torso)"


def test_shifts_that_were_crossed_make_a_map() -> None:
    crossed = [(mass, part) for mass in (1.0, 2.0) for part in (None, 0.5)]
    columns = dict(zip(("mass", "mass[torso]"), map(list, zip(*crossed, strict=True)), strict=True))
    found = numbers.maps(runs(**columns)).filter(statistic="mean")
    assert found.select("axis_x", "axis_y").unique().rows() == [("mass", "mass[torso]")]
    assert found.select("x", "y", "value").sort("x", "y").rows() == [
        (1.0, 0.5, 1.0), (1.0, 1.0, 0.0), (2.0, 0.5, 3.0), (2.0, 1.0, 2.0),
    ]  # fmt: skip


@pytest.mark.parametrize("seeds", [BAND_SEEDS - 1, BAND_SEEDS])
def test_single_runs_are_kept_while_they_are_few(tmp_path: Path, seeds: int) -> None:
    tables = [
        pretend_evaluated(tmp_path / f"{seed}", shifts(mass=(0.5, 1.0)), solver="gad", seed=seed)
        for seed in range(seeds)
    ]
    report = collect([tmp_path])
    few = seeds < BAND_SEEDS
    assert report.sweep_runs.schema == SWEEP_RUNS
    assert report.learning_runs.is_empty() == (not few)
    found = report.sweep_runs.filter(statistic="mean", x=0.5)["value"].to_list()
    expected = [table.filter(mass=0.5)["return"].mean() for table in tables]
    assert sorted(found) == (pytest.approx(sorted(map(float, expected))) if few else [])  # type: ignore[arg-type]
