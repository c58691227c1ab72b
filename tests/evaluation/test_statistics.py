"""The statistics against hand-worked values, rliable's numbers and laws that must hold."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from mixedne import InvalidInputError
from mixedne.evaluation import (
    METHOD,
    Bootstrap,
    Student,
    cvar,
    grid_scores,
    grid_summary,
    improvement,
    improvement_probability,
    interquartile_mean,
    normalise,
    score_summary,
    seed_means,
    shift_columns,
    shift_summary,
)
from mixedne.evaluation.statistics import (
    LEVEL,
    nominal_returns,
    over_episodes,
    over_seeds,
    worst_first,
)

# Subnormal numbers, which some libraries flush to zero for the whole process, are left out.
samples = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30)
levels = st.floats(1e-3, 1)
QUICK = Bootstrap(replicates=200)


def episodes(returns: Any, seed: int = 0, mass: float = 1.0, **columns: object) -> pl.DataFrame:
    """Rows of an evaluation table; what is not given is that of one nominal run."""
    row: dict[str, object] = {
        "task": "Hopper-v5",
        "task_version": "v5",
        "agent": "ddpg",
        "solver": "mixedne-ld",
        "formulation": "nr-mdp",
        "delta": 0.1,
        "strength": 0.1,
        "preset": "paper",
        "train_seed": seed,
        "steps": 1000,
        "mass_mode": "reference",
        "mass": mass,
        "friction": 1.0,
        "noise": 0.0,
        "rho": None,
        "acting": "mean",
        **columns,
    }
    row["run"] = columns.get("run", f"{row['task']}-{row['solver']}-{seed}")
    rows = [{**row, "episode": i, "return": value} for i, value in enumerate(returns)]
    kinds: dict[str, Any] = dict.fromkeys(["mass", "rho", "return"], pl.Float64)
    kinds |= {"solver": pl.String}
    return pl.DataFrame(rows, schema_overrides=kinds)


def table() -> pl.DataFrame:
    """Two tasks, two methods (one without a solver), four seeds, three masses, two episodes."""
    random = np.random.default_rng(7)
    return pl.concat(
        episodes(random.normal(size=2), seed, mass, task=task, solver=solver)
        for task in ("Hopper-v5", "Ant-v5")
        for solver in ("mixedne-ld", None)
        for seed in range(4)
        for mass in (0.5, 1.0, 2.0)
    )


def test_different_worlds_are_not_pooled() -> None:
    nominal, heavy = (
        episodes([1.0, 3.0]),
        episodes([5.0]).with_columns(pl.lit(5.0).alias("mass[torso]")),
    )
    means = seed_means(pl.concat([nominal, heavy], how="diagonal"))
    assert means.select("mass[torso]", "mean_return").rows() == [(1.0, 2.0), (5.0, 5.0)]


def test_a_shift_that_is_absent_or_null_is_nominal() -> None:
    plain, heavy = episodes([1.0]).drop("mass"), episodes([5.0], mass=2.0)
    rows = pl.concat([plain, heavy, episodes([3.0])], how="diagonal")
    means = seed_means(rows).sort("mass")
    assert means.select("mass", "episodes", "mean_return").rows() == [(1.0, 2, 2.0), (2.0, 1, 5.0)]
    assert means["rho"].to_list() == [None, None]  # the task has no ρ


def test_any_shift_in_the_table_is_a_column_of_its_own() -> None:
    light = episodes([7.0]).with_columns(pl.lit(0.5).alias("mass[torso]"))
    means = seed_means(pl.concat([episodes([1.0, 3.0]), light], how="diagonal"))
    assert means.select("mass[torso]", "mean_return").rows() == [(0.5, 7.0), (1.0, 2.0)]
    assert shift_columns(means.columns)[:3] == ["mass_mode", "mass", "mass[torso]"]


def test_the_nominal_return_has_no_other_row_in_it() -> None:
    count = pl.int_range(pl.len()).alias("episode_seed")
    wanted = episodes([1.0, 2.0, 9.0]).with_columns(count)
    others = [
        episodes([100.0], mass=2.0),
        episodes([100.0]).with_columns(pl.lit(5.0).alias("mass[torso]")),
        episodes([100.0]).with_columns(pl.lit(5.0).alias("mass[torso]:abs")),
        episodes([100.0], acting="stochastic"),
        episodes([100.0]).with_columns(pl.lit(0.5).alias("friction[floor]")),
    ]
    rows = pl.concat([wanted, *(each.with_columns(count) for each in others)], how="diagonal")
    assert nominal_returns(rows, ["run"])["mean_return"].to_list() == [4.0]
    twice = pl.concat([rows, rows])
    assert nominal_returns(twice, ["run"], [0, 1, 7]).row(0)[1:] == (2, 1.5)
    broken = rows.with_columns(pl.col("return").replace(2.0, math.inf))
    assert math.isnan(nominal_returns(broken, ["run"])["mean_return"].item())


@given(samples)
def test_statistics_of_episodes_are_those_of_the_arrays(values: list[float]) -> None:
    found = over_episodes(pl.DataFrame({"run": "a", "return": values}), ["run"]).row(0, named=True)
    assert found["episodes"] == len(values)
    assert found["worst_return"] == min(values)
    scale = max(map(abs, values))
    for name, expected in (
        ("mean_return", np.mean(values)),
        ("std_return", np.std(values)),
        ("cvar_return", cvar(values, LEVEL)),
    ):
        assert found[name] == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale)


def test_an_episode_does_not_count_twice() -> None:
    once = episodes([1.0, 3.0]).with_columns(pl.col("episode").alias("episode_seed"))
    assert seed_means(once).height == 1
    with pytest.raises(InvalidInputError, match="holds episodes twice"):
        seed_means(pl.concat([once, once]))


def scores(values: Any) -> pl.DataFrame:
    """One score per run; a row per seed and a column per task, as rliable takes them."""
    return pl.DataFrame(
        {"task": f"task {task}", "task_version": None, "train_seed": seed, "score": score}
        | dict.fromkeys(METHOD, "any")
        for seed, row in enumerate(values)
        for task, score in enumerate(row)
    )


# --- Per shift -------------------------------------------------------------------------------


def test_episodes_are_averaged_within_a_seed_first() -> None:
    # Seed means 2, 4 and 9: mean 5, s² = (9 + 1 + 16) / 2 = 13, t(0.975, 2) = 4.302653,
    # half width 4.302653 √(13 / 3) = 8.95669. The mean of all five episodes would be 5.2.
    rows = pl.concat([episodes([1, 3], 0), episodes([4], 1), episodes([9, 9], 2)])
    found = shift_summary(rows).row(0, named=True)
    assert (found["seeds"], found["episodes"], found["invalid_episodes"]) == (3, 5, 0)
    assert found["mean_return"] == 5
    assert found["mean_return_low"] == pytest.approx(5 - 8.95669, abs=1e-4)
    assert found["mean_return_high"] == pytest.approx(5 + 8.95669, abs=1e-4)


def test_each_task_method_and_shift_has_its_row() -> None:
    assert len(seed_means(table())) == 2 * 2 * 4 * 3
    found = shift_summary(table())
    assert len(found) == 2 * 2 * 3
    assert found["seeds"].to_list() == [4] * 12
    assert found["solver"].null_count() == 6


@pytest.mark.parametrize("interval", [Student(), QUICK])
def test_a_single_seed_has_no_interval(interval: Student | Bootstrap) -> None:
    found = shift_summary(episodes([1, 2]), interval=interval).row(0, named=True)
    assert found["mean_return"] == 1.5
    assert found["mean_return_low"] is None
    assert found["mean_return_high"] is None


@pytest.mark.parametrize("broken", [None, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("interval", [Student(), QUICK])
def test_invalid_returns_are_counted_and_not_dropped(
    broken: float | None, interval: Student | Bootstrap
) -> None:
    rows = pl.concat(
        [episodes([1, broken], 0), episodes([3, 3], 1), episodes([5, 5], 0, 2), episodes([6], 1, 2)]
    )
    bad, good = shift_summary(rows, interval=interval).rows(named=True)
    assert (bad["episodes"], bad["invalid_episodes"]) == (4, 1)
    assert all(math.isnan(bad[f"mean_return{end}"]) for end in ("", "_low", "_high"))
    assert (good["invalid_episodes"], good["mean_return"]) == (0, 5.5)
    assert good["mean_return_low"] is not None
    over_grid = grid_scores(rows)
    assert over_grid["invalid_episodes"].to_list() == [1, 0]
    for measure in ("worst_return", "mean_return", "cvar_return"):
        assert over_grid[measure].is_nan().to_list() == [True, False]
    aggregate = score_summary(normalise(over_grid, {"Hopper-v5": (0, 1)}), bootstrap=QUICK)
    assert aggregate["invalid_runs"].to_list() == [1]
    assert all(aggregate[f"iqm{end}"].is_nan().all() for end in ("", "_low", "_high"))
    chance = improvement(over_grid, over_grid, column="mean_return", bootstrap=QUICK)
    assert np.isnan(np.array(chance, dtype=float)).all()
    assert None not in chance


def test_the_student_interval_covers_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    found = [Student(0.8).mean(random.normal(size=4)) for _ in range(2000)]
    inside = [e.low <= 0 <= e.high for e in found if e.low is not None and e.high is not None]
    assert np.mean(inside) == pytest.approx(0.8, abs=0.03)  # three standard errors: 0.027


def test_the_bootstrap_of_two_seeds() -> None:
    # Draws of (0, 1): the mean is 0, ½ or 1 with chances ¼, ½ and ¼. So 95 % reach from 0 to
    # 1, and the middle 40 % (from the 30 % to the 70 % quantile) are all ½.
    values = np.array([0.0, 1.0])
    assert Bootstrap().mean(values) == (0.5, 0, 1)
    assert Bootstrap(confidence=0.4).mean(values) == (0.5, 0.5, 0.5)


# --- Over the grid ---------------------------------------------------------------------------


def test_the_grid_by_hand() -> None:
    # Seed 0 has means 1, 4, 7 and 8, seed 1 has 6, 2, 4 and 4. At level 0.375 of four shifts
    # the worst one and a half count: (1 + 4/2) / 1.5 = 2 and (2 + 4/2) / 1.5 = 8/3.
    returns = {0: [1, 4, 7, 8], 1: [6, 2, 4, 4]}
    rows = pl.concat(
        episodes([value - 1, value + 1], seed, mass)
        for seed, values in returns.items()
        for mass, value in enumerate(values, start=1)
    )
    found = grid_scores(rows, level=0.375)
    assert found["shifts"].to_list() == [4, 4]
    assert found["episodes"].to_list() == [8, 8]
    assert found["worst_return"].to_list() == [1, 2]
    assert found["mean_return"].to_list() == [5, 4]
    assert found["cvar_return"].to_list() == pytest.approx([2, 8 / 3])
    # Of two seeds s = |a − b| / √2 and t(0.975, 1) = 12.7062, so the half width of the worst
    # return is 12.7062 · (1 / √2) / √2 = 6.3531. The worst of the seeds' means would be 3.
    summary = grid_summary(rows, level=0.375).row(0, named=True)
    assert (summary["seeds"], summary["shifts"], summary["level"]) == (2, 4, 0.375)
    assert summary["worst_return"] == 1.5
    assert summary["worst_return_low"] == pytest.approx(1.5 - 6.3531, abs=1e-4)
    assert summary["worst_return_high"] == pytest.approx(1.5 + 6.3531, abs=1e-4)
    assert summary["cvar_return"] == pytest.approx(7 / 3)


@pytest.mark.parametrize(
    ("level", "expected"), [(1, 2.5), (0.5, 1.5), (0.375, 4 / 3), (0.25, 1), (0.1, 1)]
)
def test_cvar_by_hand(level: float, expected: float) -> None:
    assert cvar([4, 1, 3, 2], level) == pytest.approx(expected)


@given(samples, levels, levels)
def test_cvar_rises_from_the_minimum_to_the_mean(
    values: list[float], level: float, other: float
) -> None:
    low, high = (cvar(values, each) for each in sorted([level, other]))
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert min(values) - slack <= low <= high + slack <= np.mean(values) + 2 * slack
    assert cvar(values, 1) == pytest.approx(np.mean(values), abs=slack)


@given(samples, st.floats(0.01, 0.99))
def test_cvar_is_continuous_in_the_level(values: list[float], level: float) -> None:
    change = cvar(values, level + 1e-9) - cvar(values, level)
    assert abs(change) <= 1e-6 * (1 + np.ptp(values))


# --- Over seeds and tasks --------------------------------------------------------------------

# Made by rliable 1.2.0 (arch 7.2.0, scipy 1.17.1) in an environment of its own, from these
# scores: rows are runs, columns are tasks, and the two methods share some values. With
# np.random.seed(0), library.get_interval_estimates gave the intervals, with
# metrics.aggregate_iqm and 50 000 replicates, and metrics.probability_of_improvement and
# 20 000. With np.random.seed(1) their ends differed by at most 0.0017.
FIRST = [
    [0.91, 0.35, 0.60],
    [0.72, 0.48, 0.15],
    [0.88, 0.20, 0.74],
    [0.65, 0.55, 0.42],
    [0.97, 0.41, 0.60],
]
SECOND = [[0.70, 0.35, 0.52], [0.72, 0.30, 0.60], [0.59, 0.44, 0.38], [0.81, 0.12, 0.47]]


@pytest.mark.parametrize(
    ("values", "expected", "low", "high"),
    [(FIRST, 0.57444444, 0.48222222, 0.65444444), (SECOND, 0.5, 0.445, 0.55666667)],
)
def test_the_interquartile_mean_is_rliables(
    values: list[list[float]], expected: float, low: float, high: float
) -> None:
    found = score_summary(scores(values)).row(0, named=True)
    assert (found["tasks"], found["runs"]) == (3, 3 * len(values))
    assert found["iqm"] == pytest.approx(expected, abs=1e-8)
    assert found["iqm_low"] == pytest.approx(low, abs=0.004)
    assert found["iqm_high"] == pytest.approx(high, abs=0.004)


def test_the_probability_of_improvement_is_rliables() -> None:
    found = improvement(scores(FIRST), scores(SECOND))
    assert found.value == pytest.approx(0.7)
    assert found.low == pytest.approx(0.48333333, abs=0.0084)  # it moves in steps of 1/120
    assert found.high == pytest.approx(0.88333333, abs=0.0084)


def test_the_bootstrap_stays_within_tasks() -> None:
    # Tasks differ, seeds do not: every replicate is the sample itself.
    same = scores([[0, 1, 5]] * 4)
    found = score_summary(same, bootstrap=QUICK).row(0, named=True)
    assert found["iqm"] == found["iqm_low"] == found["iqm_high"]
    assert improvement(same, same, bootstrap=QUICK) == (0.5, 0.5, 0.5)


def test_the_interquartile_mean_by_hand() -> None:
    # Of eight values two go at each end, of six one, of three none.
    assert interquartile_mean([8, 3, 1, 5, 2, 6, 4, 1000]) == (3 + 4 + 5 + 6) / 4
    assert interquartile_mean([50, 0, 1, 2, 3, 4]) == (1 + 2 + 3 + 4) / 4
    assert interquartile_mean([1, 2, 6]) == 3
    assert math.isnan(interquartile_mean([1, 2, 3, math.nan]))


def test_the_probability_of_improvement_by_hand() -> None:
    # 1 beats 0; 2 beats 0 and ties twice; 3 beats all: 1 + 2 + 3 of nine.
    assert improvement_probability([1, 2, 3], [2, 2, 0]) == pytest.approx(6 / 9)
    assert math.isnan(improvement_probability([1, 2], [0, math.nan]))


def test_one_seed_on_one_task_leaves_no_interval() -> None:
    ragged = scores(FIRST).filter((pl.col("task") != "task 1") | (pl.col("train_seed") == 0))
    found = score_summary(ragged).row(0, named=True)
    assert (found["runs"], found["iqm_low"], found["iqm_high"]) == (11, None, None)
    assert improvement(ragged, scores(SECOND))[1:] == (None, None)


def test_scores_are_normalised_by_their_task() -> None:
    rows = pl.DataFrame({"task": ["a", "b", "a"], "mean_return": [5.0, 5.0, 20.0]})
    found = normalise(rows, {"a": (0, 10), "b": (-5, 15), "unused": (0, 0)})
    assert found["score"].to_list() == [0.5, 0.5, 2.0]
    assert found["mean_return"].to_list() == [5, 5, 20]


@given(samples)
def test_the_interquartile_mean_lies_between_the_quartiles(values: list[float]) -> None:
    low, high = np.quantile(values, [0.25, 0.75])
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert low - slack <= interquartile_mean(values) <= high + slack


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=9),
    st.lists(st.integers(0, 5), min_size=1, max_size=9),
)
def test_one_of_two_methods_is_better(x: list[int], y: list[int]) -> None:
    assert improvement_probability(x, y) + improvement_probability(y, x) == pytest.approx(1)
    assert improvement_probability(x, x) == 0.5


def everything(rows: pl.DataFrame) -> list[pl.DataFrame]:
    runs = normalise(grid_scores(rows), {"Hopper-v5": (0, 2), "Ant-v5": (-1, 1)})
    ours = pl.col("solver").is_not_null()
    return [
        shift_summary(rows),
        shift_summary(rows, interval=QUICK),
        grid_summary(rows, interval=QUICK),
        score_summary(runs, bootstrap=QUICK),
        pl.DataFrame([improvement(runs.filter(ours), runs.filter(~ours), bootstrap=QUICK)]),
        score_summary(runs.reverse(), bootstrap=QUICK),
    ]


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(random: Any) -> None:
    rows = table()
    order = list(range(len(rows)))
    random.shuffle(order)
    for found, expected in zip(everything(rows[order]), everything(rows), strict=True):
        assert_frame_equal(found, expected, check_exact=True)


def test_a_group_does_not_depend_on_the_others() -> None:
    ours = pl.col("solver").is_not_null() & (pl.col("task") == "Ant-v5")
    alone = grid_summary(table().filter(ours), interval=QUICK)
    assert_frame_equal(alone, grid_summary(table(), interval=QUICK).filter(ours), check_exact=True)


def test_another_seed_gives_another_interval() -> None:
    one, other = (score_summary(scores(FIRST), bootstrap=Bootstrap(seed=s)) for s in (0, 1))
    assert one["iqm"].equals(other["iqm"])
    assert not one.equals(other)


# --- What is refused -------------------------------------------------------------------------


def test_two_runs_are_not_taken_for_one_seed() -> None:
    for name in ("run", "steps"):
        first, second = episodes([1, 2]), episodes([3, 4])
        value: Any = "elsewhere" if name == "run" else 2000
        rows = pl.concat(
            [first, second.with_columns(pl.lit(value, first.schema[name]).alias(name))]
        )
        with pytest.raises(InvalidInputError, match="one run and one number of steps"):
            shift_summary(rows)
        assert shift_summary(rows, method=[*METHOD, name])["mean_return"].to_list() == [1.5, 3.5]


def test_runs_with_different_grids_are_not_compared() -> None:
    rows = pl.concat([episodes([1], 0, 1), episodes([1], 1, 1), episodes([1], 1, 2)])
    assert shift_summary(rows)["seeds"].to_list() == [2, 1]
    with pytest.raises(InvalidInputError, match="the same shifts; one on Hopper-v5"):
        grid_scores(rows)


def test_methods_on_different_tasks_are_not_compared() -> None:
    both = scores(FIRST)
    part = both.filter(pl.col("task") != "task 0")
    other = part.with_columns(pl.lit("other").alias("solver"))
    with pytest.raises(InvalidInputError, match="every method must have scores on the same"):
        score_summary(pl.concat([both, other]))
    with pytest.raises(InvalidInputError, match="both methods must have scores on the same"):
        improvement(both, part)
    with pytest.raises(InvalidInputError, match="one score per training seed"):
        improvement(pl.concat([both, both]), both)


@pytest.mark.parametrize("references", [{}, {"a": (1, 1)}, {"a": (2, 1)}, {"a": (0, math.inf)}])
def test_bad_references(references: dict[str, tuple[float, float]]) -> None:
    with pytest.raises(InvalidInputError, match=r"reference.* a"):
        normalise(pl.DataFrame({"task": ["a"], "mean_return": [1.0]}), references)


def test_bad_tables() -> None:
    with pytest.raises(InvalidInputError, match="must have the columns preset, return"):
        seed_means(table().drop("preset", "return"))
    with pytest.raises(InvalidInputError, match="at least one row"):
        shift_summary(table().clear())
    with pytest.raises(InvalidInputError, match="return must hold numbers, not String"):
        grid_summary(table().with_columns(pl.lit("1").alias("return")))


def test_bad_numbers() -> None:
    for level in (0, -0.1, 1.1, math.nan):
        with pytest.raises(InvalidInputError, match="level must be"):
            cvar([1, 2], level)
        with pytest.raises(InvalidInputError, match="level must be"):
            grid_summary(table(), level=level)
    for confidence in (0, 1, 95):
        with pytest.raises(InvalidInputError, match="confidence must be"):
            Student(confidence)
        with pytest.raises(InvalidInputError, match="confidence must be"):
            Bootstrap(confidence)
    with pytest.raises(InvalidInputError, match="replicates must be at least 1"):
        Bootstrap(replicates=0)
    for sample in ([], [[1, 2]]):
        with pytest.raises(InvalidInputError, match="at least one number"):
            interquartile_mean(sample)


def test_a_measure_that_a_seed_lacks_has_the_interval_of_the_others() -> None:
    values = [100.0, None, 104.0]
    frame = pl.DataFrame({"key": ["a"] * 3, "value": values, "other": [1.0, 2.0, 3.0]})
    [row] = over_seeds(frame, ["key"], ["value", "other"]).to_dicts()
    [two] = over_seeds(frame.drop_nulls(), ["key"]).to_dicts()
    assert (row["seeds"], row["value"], row["other"]) == (3, 102.0, 2.0)
    assert (row["value_low"], row["value_high"]) == (two["value_low"], two["value_high"])


def test_a_world_without_a_number_is_the_worst() -> None:
    frame = pl.DataFrame({"mean_return": [3.0, math.nan, None, 1.0]})
    order = worst_first(frame)["mean_return"].to_list()
    assert math.isnan(order[0])
    assert order[1:] == [1.0, 3.0, None]
