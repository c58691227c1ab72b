"""How the tables of the reproduction are made from the published runs."""

import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks" / "reproduction.py"))


def test_the_main_table_is_plain_arithmetic(script: dict[str, Any]) -> None:
    """The mean over 21 masses of one run, from its rows by hand."""
    table = script["episodes"]("reproduce-ddpg")
    run = table.filter(table["identifier"] == table["identifier"][0])
    returns: dict[float, list[float]] = {}
    for row in run.to_dicts():
        if row["friction"] == 1.0 and row["noise"] == 0.0:
            returns.setdefault(row["mass"], []).append(row["return"])
    assert len(returns) == 21
    assert {len(values) for values in returns.values()} == {10}
    by_hand = sum(sum(values) / 10 for values in returns.values()) / 21
    [found] = script["sweep_scores"](run, "mass", script["KEY"]).to_dicts()
    assert found["mean_return"] == pytest.approx(by_hand, rel=1e-12)


def test_a_heat_map_is_plain_arithmetic(script: dict[str, Any]) -> None:
    """The mean over the 121 cells of one run, without what only the mass sweep has."""
    masses = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
    table = script["episodes"]("reproduce-ddpg")
    run = table.filter(table["identifier"] == table["identifier"][0])
    cells: dict[tuple[float, float], list[float]] = {}
    for row in run.to_dicts():
        if row["friction"] == 1.0 and row["mass"] in masses and row["episode"] < 3:
            cells.setdefault((row["noise"], row["mass"]), []).append(row["return"])
    assert len(cells) == 121
    by_hand = sum(sum(values) / 3 for values in cells.values()) / 121
    [found] = script["map_scores"](run, ("noise", "mass"), script["KEY"]).to_dicts()
    assert found["mean_return"] == pytest.approx(by_hand, rel=1e-12)


def returns(*values: float) -> pl.DataFrame:
    seeds = range(len(values))
    return pl.DataFrame({"task": "Hopper-v5", "train_seed": seeds, "value": values})


def test_pairs_of_runs_are_counted_with_ties_as_half(script: dict[str, Any]) -> None:
    """Against (1, 2, 3): 2 wins once and ties once, 3 wins twice and ties once, 4 wins thrice."""
    words = script["beaten"](returns(2, 3, 4), returns(1, 2, 3), "value")
    assert words.startswith(f"{(1.5 + 2.5 + 3) / 9:.2f} (")


def test_pairs_that_all_agree_have_no_interval(script: dict[str, Any]) -> None:
    assert script["beaten"](returns(4, 5, 6), returns(1, 2, 3), "value") == "1.00 (all 9 pairs)"


def test_two_runs_or_a_method_itself_say_nothing(script: dict[str, Any]) -> None:
    assert script["beaten"](returns(4, 5), returns(1, 2, 3), "value") == "–"
    assert script["beaten"](returns(4, 5, 6), returns(4, 5, 6), "value") == "–"


def test_the_papers_settings_are_a_method_of_the_main_study(script: dict[str, Any]) -> None:
    """Each task of the controls has its five runs to compare with."""
    table = script["episodes"]("reproduce-ddpg").filter(pl.col("delta") == 0.1)
    for task in script["TASKS"][:2]:
        own = table.filter(pl.col("task") == task, **script["paper_settings"](task))
        assert own["train_seed"].n_unique() == 5
