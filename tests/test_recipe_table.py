"""How the tables about the recipe are made, and that the preset is what they say."""

import runpy
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl
import pytest

from mixedne import results
from mixedne.config import configure

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks" / "recipe.py"))


def test_a_configuration_that_lacks_a_task_counts_for_none(script: dict[str, Any]) -> None:
    table = results(script["PUBLISHED"], study="recipe-search", settings=script["SEARCHED"])
    own = pl.col("eta") == 1e-3, pl.col("updates") == 50, pl.col("sigma0") == 1e-4
    best, second = (table.filter(*own, policy_delay=delay, train_seed=1000) for delay in (1, 2))
    part = pl.concat([best.filter(task="HalfCheetah-v5"), second])
    assert script["scores"](part)["score"].to_list() == [1.0, None]


def test_a_score_is_the_mean_share_of_the_best_return(script: dict[str, Any]) -> None:
    fields = script["SEARCHED"]
    table = results(script["PUBLISHED"], study="recipe-search", settings=fields)
    returns: dict[str, dict[tuple[Any, ...], list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in table.to_dicts():
        returns[row["task"]][tuple(row[name] for name in fields)].append(row["return"])
    assert len(returns) == 3
    whole = 2 * 20  # seeds, episodes
    complete = {
        place
        for place in set().union(*returns.values())
        if all(len(of[place]) == whole for of in returns.values())
    }
    best = {task: max(mean(of[place]) for place in complete) for task, of in returns.items()}
    for row in script["scores"](table).to_dicts():
        place = tuple(row[name] for name in fields)
        assert (row["score"] is not None) == (place in complete)
        if place in complete:
            shares = [max(mean(of[place]), 0) / best[task] for task, of in returns.items()]
            assert row["score"] == pytest.approx(mean(shares), rel=1e-12)


def test_the_preset_is_what_won_the_search(script: dict[str, Any]) -> None:
    fields = script["SEARCHED"]
    table = results(script["PUBLISHED"], study="recipe-finals", settings=fields)
    assert table["identifier"].n_unique() == 3 * 3 * 2  # configurations, tasks, seeds
    best = script["scores"](table).row(0, named=True)
    for task in table["task"].unique():
        config = configure(task, agent="td3", preset="robust")
        assert {name: getattr(config, name) for name in fields} == {n: best[n] for n in fields}


def test_the_preset_on_ant_is_what_did_best_there(script: dict[str, Any]) -> None:
    fields = script["TRIED_ON_ANT"]
    table = results(script["PUBLISHED"], study="recipe-ant", settings=fields)
    tried = table.filter(steps=100_000).group_by(fields).agg(pl.col("return").mean(), pl.len())
    assert tried["len"].to_list() == [2 * 20] * 8  # seeds, episodes
    best = tried.sort("return").row(-1, named=True)
    config = configure("Ant-v5", agent="td3", preset="robust", steps=100_000)
    assert {name: getattr(config, name) for name in fields} == {name: best[name] for name in fields}
