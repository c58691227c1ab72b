"""Searches choose by the nominal world alone."""

import polars as pl
import pytest

from mixedne.evaluation.grids import episode_seed
from mixedne.studies.plan import expand
from mixedne.studies.results import choose, expected_runs, reported_runs
from mixedne.studies.spec import parse_study
from probes.studies import table_of

STUDY = parse_study(
    b"""
    [[runs]]
    tasks = ["Hopper"]
    solvers = ["mixedne-ld", "gad"]
    seeds = [0, 1]
    [runs.overrides]
    sigma = [0.1, 0.2]
    [search]
    seeds = [7, 8]
    episodes = 1
    [[evaluations]]
    mass = [0.5]
    """,
    "mine",
    "mine.toml",
)
RUNS = expand(STUDY)
assert STUDY.search is not None
SEARCH = STUDY.search
SEED = episode_seed(SEARCH.evaluation.seed, 0)


def nominal(*returns: float) -> pl.DataFrame:
    """By run: σ 0.1 and 0.2 of MixedNE-LD and of GAD with seed 7, then with seed 8."""
    return table_of(RUNS, returns, episode_seed=SEED)


def chosen(table: pl.DataFrame) -> dict[str, float]:
    return {c.case["solver"]: c.chosen["sigma"] for c in choose(SEARCH, RUNS, table)}


def test_the_order_that_the_tables_here_stand_on() -> None:
    kinds = [(run.fields["seed"], run.fields["solver"], run.fields["sigma"]) for run in RUNS]
    expected = [(s, k, x) for s in (7, 8) for k in ("mixedne-ld", "gad") for x in (0.1, 0.2)]
    assert kinds == expected


def test_the_highest_mean_over_seeds_is_chosen() -> None:
    table = nominal(1, 5, 3, 2, 5, 2, 3, 2)
    assert chosen(table) == {"mixedne-ld": 0.2, "gad": 0.1}  # 3 < 3.5, and 3 > 2
    first = choose(SEARCH, RUNS, table)[0]
    assert (first.mean_return, first.candidates) == (3.5, 2)
    assert first.paper == {"sigma0": 1e-3, "sigma": 0.2}
    assert chosen(nominal(*[4] * 8)) == {"mixedne-ld": 0.1, "gad": 0.1}


@pytest.mark.parametrize(
    "shift",
    [
        *({"mass": 0.5}, {"friction": 2.0}, {"noise": 0.1}, {"rho": 0.3}),
        *({"acting": "stochastic"}, {"mass[torso]": 2.0}, {"episode_seed": SEED + 1}),
    ],
)
def test_no_other_row_has_a_say(shift: dict[str, object]) -> None:
    table = nominal(1, 2, 1, 2, 1, 2, 1, 2)
    shifted = table_of(RUNS, [9e9, 0] * 4, **{"episode_seed": SEED, **shift})
    both = pl.concat([table, shifted], how="diagonal_relaxed")
    assert chosen(both) == {"mixedne-ld": 0.2, "gad": 0.2}
    assert chosen(shifted) == {}


def test_a_configuration_with_a_failed_run_is_not_chosen() -> None:
    table = nominal(1, 9, 1, 9, 1, float("nan"), 1, 9)
    assert chosen(table) == {"mixedne-ld": 0.1, "gad": 0.2}
    assert [choice.candidates for choice in choose(SEARCH, RUNS, table)] == [1, 2]
    assert chosen(table.head(7)) == {"mixedne-ld": 0.1, "gad": 0.1}
    assert chosen(table.head(6)) == {"mixedne-ld": 0.1}


def test_what_is_reported_has_other_seeds_and_the_shifts() -> None:
    choices = choose(SEARCH, RUNS, nominal(1, 2, 2, 1, 1, 2, 2, 1))
    runs = reported_runs(STUDY, [choice.fields for choice in choices])
    assert [(r.fields["solver"], r.fields["sigma"], r.fields["seed"]) for r in runs] == [
        *(("mixedne-ld", 0.2, 0), ("gad", 0.1, 0)),
        *(("mixedne-ld", 0.2, 1), ("gad", 0.1, 1)),
    ]
    assert all(run.evaluations == STUDY.evaluations for run in runs)
    assert all(run.evaluations == (SEARCH.evaluation,) for run in RUNS)
    assert len(expected_runs(STUDY, RUNS)) == len(runs)
