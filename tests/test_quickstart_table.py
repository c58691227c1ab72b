"""The page about the quickstart says what the published runs say."""

import runpy
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from tables import block

from mixedne import results
from mixedne.studies.plan import expand
from mixedne.studies.spec import find_study

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks" / "quickstart.py"))


def test_the_tables_of_the_page_are_those_of_the_published_runs(script: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "quickstart.md").read_text()
    for name, table in script["TABLES"].items():
        assert block(name, table()) in page, name


def test_a_row_is_plain_arithmetic(script: dict[str, Any]) -> None:
    table = results(script["PUBLISHED"], study="quickstart-search").filter(solver="gad")
    returns: dict[float, dict[int, list[float]]] = {}
    for row in table.to_dicts():
        returns.setdefault(row["mass"], {}).setdefault(row["train_seed"], []).append(row["return"])
    means = {mass: [mean(own) for own in of.values()] for mass, of in returns.items()}
    cells = [f"{mean(means[m]):.0f} ({sum(x >= 990 for x in means[m])})" for m in script["MASSES"]]
    whole = mean(mean(own) for own in means.values())
    line = f"| plain TD3 | {' | '.join(cells)} | {whole:.0f} |"
    assert line in script["TABLES"]["games"]()


def test_no_seed_that_is_shown_was_searched_and_all_shown_runs_are_published(
    script: dict[str, Any],
) -> None:
    searched, shown = (
        expand(find_study(name).select(seeds=count))
        for name, count in (("quickstart-search", None), ("quickstart", 8))
    )
    assert {run.fields["seed"] for run in searched}.isdisjoint(run.fields["seed"] for run in shown)
    for study, runs in (("quickstart-search", searched), ("quickstart", shown)):
        published = results(script["PUBLISHED"], study=study)["identifier"].unique()
        assert set(published) == {run.identifier for run in runs}


def test_the_game_that_is_shown_is_what_won_the_search(script: dict[str, Any]) -> None:
    """The highest mean over all masses of those with an adversary."""
    runs = script["of_runs"]("quickstart-search").filter(script["pl"].col("solver") != "gad")
    means = runs.group_by(script["KEY"]).agg(script["pl"].mean("mean_return"))
    best = means.sort("mean_return").row(-1, named=True)
    [shown] = {
        (run.config.formulation, run.config.delta, run.config.parameters)
        for run in expand(find_study("quickstart"))
        if run.config.solver == "mixedne-ld"
    }
    parameters = best["parameters"] and tuple(best["parameters"])
    assert shown == (best["formulation"], best["delta"], parameters)
