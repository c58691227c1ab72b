"""How the tables of the reproduction are made from the published runs."""

import dataclasses
import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from mixedne.config import configure
from mixedne.config.config import unused_fields

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
    words = script["share_of_pairs"](returns(2, 3, 4), returns(1, 2, 3), "value")
    assert words.startswith(f"{(1.5 + 2.5 + 3) / 9:.2f} (")


def test_pairs_that_all_agree_have_no_interval(script: dict[str, Any]) -> None:
    assert (
        script["share_of_pairs"](returns(4, 5, 6), returns(1, 2, 3), "value")
        == "1.00 (all 9 pairs)"
    )


@pytest.mark.parametrize("task", ["HalfCheetah-v5", "Hopper-v5"])
@pytest.mark.parametrize("solver", ["mixedne-ld", "gad"])
def test_the_papers_settings_are_a_method_of_the_main_study(
    script: dict[str, Any], task: str, solver: str
) -> None:
    """Each control has its five runs of the main study to be compared with."""
    own = script["control"](script["control_runs"](), task, script["Kind"](solver))
    main = script["episodes"]("reproduce-ddpg").filter(task=task, solver=solver, delta=0.1)
    assert sorted(own["train_seed"]) == [0, 1, 2, 3, 4]
    assert sorted(own["nominal"]) == pytest.approx(sorted(nominal_means(main)))


def nominal_means(table: pl.DataFrame) -> list[float]:
    """Each run's mean return in the task's own world, by hand."""
    seeds: dict[int, list[float]] = {}
    for row in table.to_dicts():
        if row["mass"] == row["friction"] == 1.0 and row["noise"] == 0.0 and row["episode"] < 10:
            seeds.setdefault(row["train_seed"], []).append(row["return"])
    return [sum(values) / 10 for values in seeds.values()]


DIFFERS = {
    "Langevin noise": {"sigma0"},
    "frozen chains": {"inner"},
    "four times the updates": {"updates"},
    "no noise on the actions": {"sigma"},
    "MixedNE-LD for GAD, own σ": {"solver", "sigma"},
    "MixedNE-LD for GAD, own σ, as many gradient steps": {"solver", "sigma", "updates"},
    "MixedNE-LD for GAD, same σ": {"solver"},
    "MixedNE-LD for GAD, same σ, as many gradient steps": {"solver", "updates"},
}
"""The settings in which the runs of a comparison may differ, of those that both solvers use."""


def test_a_reason_compares_runs_that_differ_in_nothing_else(script: dict[str, Any]) -> None:
    assert set(script["REASONS"]) == set(DIFFERS)
    for what, pairs in script["REASONS"].items():
        differ = set()
        for task, *kinds in pairs:
            first, second = (
                configure(
                    task, agent="ddpg", solver=k.solver, delta=0.1, preset="paper", **k.changed
                )
                for k in kinds
            )
            unused = {name for k in kinds for name in unused_fields("ddpg", k.solver)}
            differ |= {
                name
                for name, value in dataclasses.asdict(first).items()
                if name not in unused and value != getattr(second, name)
            }
        assert differ == DIFFERS[what]
