"""Summaries of an evaluation table: per shift, over the grid, over seeds and over tasks.

The table has one row per episode. Training seeds are independent repetitions, episodes are
not: they are averaged within a training seed first, and every interval is over seeds.

    episodes → seed_means → shift_summary                    per shift, over seeds
                          → grid_scores → grid_summary       over the grid, over seeds
                                        → normalise → score_summary, improvement     over tasks

They consist of three steps that reports and commands also use directly: :func:`over_episodes`,
:func:`over_shifts` and :func:`over_seeds`. A search selects by :func:`nominal_returns`.

An episode whose return is null, NaN or infinite is invalid. It is counted, and makes every
statistic that includes it NaN: a policy must not look better for breaking the simulator. Rows
can be in any order, and the result for one group does not depend on the others in the table.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from mixedne.errors import InvalidInputError, check_number
from mixedne.evaluation.estimators import Array, Bootstrap, Estimate, Student, cvar, cvar_expression
from mixedne.shifts import is_nominal, shift_axes

TASK = ("task", "task_version")
"""The columns that identify a task."""

METHOD = ("agent", "solver", "formulation", "delta", "strength", "preset")
"""The columns that identify a method; its runs on a task differ only in their training seed."""

SEED = "train_seed"
"""The column that distinguishes the runs of one method on one task."""

LEVEL = 0.1
"""The level of the CVaR: the fraction of worst values that it averages."""

MEASURES = ("worst_return", "mean_return", "cvar_return")
"""The statistics of one run in :func:`over_episodes` and :func:`over_shifts`."""


def shift_columns(columns: Iterable[str]) -> list[str]:
    """The columns that identify a shift, including whether actions were sampled.

    The distinct shifts of a task are its grid.
    """
    known = list(columns)
    axes = [str(axis) for axis in shift_axes(known)]
    return [name for name in ("mass_mode", *axes, "acting") if name in known]


def fill_nominal(table: pl.DataFrame) -> pl.DataFrame:
    """The table with nulls replaced by the nominal value, in tasks that have such a shift."""
    return table.with_columns(
        pl.col(name).fill_null(pl.when(pl.col(name).is_not_null().any().over("task")).then(nominal))
        for name, nominal in ((str(axis), axis.nominal) for axis in shift_axes(table.columns))
        if nominal is not None
    )


def nominal_returns(
    table: pl.DataFrame, key: Sequence[str], episode_seeds: Sequence[int] | None = None
) -> pl.DataFrame:
    """Mean return of each run in the nominal world, acting by its mean; used by searches.

    The columns ``key`` identify a run. Only episodes with ``episode_seeds`` count, each once, or
    all episodes by default.
    """
    rows = table.filter(is_nominal(table.columns), pl.col("acting") == "mean")
    if episode_seeds is not None:
        rows = rows.filter(pl.col("episode_seed").is_in(list(episode_seeds)))
        rows = rows.unique([*key, "episode_seed"], keep="first", maintain_order=True)
    return over_episodes(rows, key).select(*key, "episodes", "mean_return")


def over_episodes(table: pl.DataFrame, key: Sequence[str], *more: pl.Expr) -> pl.DataFrame:
    """One row per value of the key: counts of all and invalid episodes, statistics of returns.

    ``more`` are further aggregations.
    """
    returns = pl.col("return").cast(pl.Float64)
    invalid = ~returns.is_finite().fill_null(False)
    statistics = {
        "mean_return": returns.mean(),
        "std_return": returns.std(ddof=0),
        "worst_return": returns.min(),
        "cvar_return": cvar_expression(returns, LEVEL),
    }
    groups = table.group_by(key, maintain_order=True).agg(
        *more,
        pl.len().cast(pl.Int64).alias("episodes"),
        invalid.sum().cast(pl.Int64).alias("invalid_episodes"),
        **statistics,
    )
    sound = pl.col("invalid_episodes") == 0
    return groups.with_columns(
        pl.when(sound).then(pl.col(name)).otherwise(math.nan).alias(name) for name in statistics
    )


def over_shifts(
    means: pl.DataFrame, key: Sequence[str], *, value: str = "mean_return", level: float = LEVEL
) -> pl.DataFrame:
    """One row per value of the key: :data:`MEASURES` over the mean returns of its shifts."""
    groups = means.group_by(key, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("shifts"), *_sums(means), pl.col(value).alias("values")
    )
    runs = arrays(groups["values"])
    return groups.drop("values").with_columns(
        pl.Series("worst_return", [float(np.min(values)) for values in runs], pl.Float64),
        pl.Series("mean_return", [float(np.mean(values)) for values in runs], pl.Float64),
        pl.Series("cvar_return", [cvar(values, level) for values in runs], pl.Float64),
    )


def over_seeds(
    frame: pl.DataFrame,
    key: Sequence[str],
    measures: Sequence[str] = ("value",),
    interval: Student | Bootstrap = Student(),
) -> pl.DataFrame:
    """One row per value of the key: the number of rows, and each measure's mean over them.

    ``…_low`` and ``…_high`` bound its confidence interval; they are null for a single row. A row
    whose measure is null does not count in it.
    """
    groups = frame.group_by(key, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("seeds"), *_sums(frame), pl.col(*measures)
    )
    if isinstance(interval, Bootstrap):
        for name in measures:
            estimates = map(interval.mean, arrays(groups[name]))
            groups = groups.with_columns(estimate_columns(name, estimates))
        return groups
    counts = np.unique(groups.select(pl.col(*measures).list.drop_nulls().list.len()).to_numpy())
    widths = {count: interval.half_width(count) for count in counts.tolist() if count > 1}
    for name in measures:
        values = pl.col(name).list.drop_nulls()
        width = values.list.len().replace_strict(
            widths or {0: 0.0}, default=None, return_dtype=pl.Float64
        )
        mean, half = values.list.mean(), values.list.std(ddof=1) * width
        groups = groups.with_columns(
            (mean - half).alias(f"{name}_low"),
            (mean + half).alias(f"{name}_high"),
            mean.alias(name),
        )
    order = [f"{name}{end}" for name in measures for end in ("", "_low", "_high")]
    return groups.select(pl.exclude(order), *order)


def worst_first(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort by ``mean_return``; NaN is the worst, as in all statistics, and null is last."""
    value = pl.col("mean_return")
    return frame.sort(value.is_nan(), value, descending=[True, False], nulls_last=True)


def estimate_columns(name: str, estimates: Iterable[Estimate]) -> list[pl.Series]:
    """Three columns: the estimates and the bounds of their intervals."""
    names = (name, f"{name}_low", f"{name}_high")
    rows = list(estimates)
    return list(pl.DataFrame(rows, dict.fromkeys(names, pl.Float64), orient="row"))


def _sums(frame: pl.DataFrame) -> list[pl.Expr]:
    """Sums of the columns that count episodes, if the frame has them."""
    counted = ("episodes", "invalid_episodes")
    return [pl.col(name).sum() for name in counted if name in frame.columns]


def seed_means(table: pl.DataFrame, *, method: Sequence[str] = METHOD) -> pl.DataFrame:
    """One row per task, method, training seed and shift: the mean return of its episodes.

    A training seed must identify one run after one number of steps. If it does not, filter
    the table, or add ``run`` or ``steps`` to the columns ``method``.
    """
    shift = shift_columns(table.columns)
    key = [*TASK, *method, SEED]
    require_columns(table, [*key, *shift, "run", "steps", "return"], "return")
    whole = list(dict.fromkeys([*key, "run", "steps"]))
    if table.select(whole).n_unique() > table.select(key).n_unique():
        raise InvalidInputError(
            "each training seed of a method must stand for one run and one number of steps; "
            f"the table has several with the same {', '.join(key)}"
        )
    table = fill_nominal(table)
    episodes = [*key, *shift, "episode_seed"]
    if "episode_seed" in table.columns and table.select(episodes).is_duplicated().any():
        raise InvalidInputError(
            "the table holds episodes twice: the same training seed, shift and episode_seed"
        )
    # Sort, so that sums do not depend on the order of the rows.
    means = over_episodes(table.sort([*key, *shift, "return"]), [*key, *shift])
    return means.select(*key, *shift, "episodes", "invalid_episodes", "mean_return")


def shift_summary(
    table: pl.DataFrame,
    *,
    interval: Student | Bootstrap = Student(),
    method: Sequence[str] = METHOD,
) -> pl.DataFrame:
    """One row per task, method and shift: the mean return over training seeds.

    ``mean_return_low`` and ``mean_return_high`` bound its confidence interval; they are null for
    a single seed.
    """
    means = seed_means(table, method=method)
    key = [*TASK, *method, *shift_columns(table.columns)]
    return over_seeds(means.sort([*key, SEED]), key, ["mean_return"], interval)


def grid_scores(
    table: pl.DataFrame, *, level: float = LEVEL, method: Sequence[str] = METHOD
) -> pl.DataFrame:
    """One row per task, method and training seed: statistics over the grid of shifts.

    Of the mean returns at the shifts, ``worst_return`` is the lowest, ``mean_return`` the mean
    and ``cvar_return`` the :func:`cvar` at ``level``. Every shift has the same weight, however
    the grid is spaced, and all runs on a task must have the same grid. The worst of many noisy
    means is biased downwards: only compare methods with the same number of episodes.
    """
    check_number("level", level, above=0, at_most=1)
    means = seed_means(table, method=method)
    key = [*TASK, *method, SEED]
    grid = pl.struct(*shift_columns(table.columns)).n_unique().over(*TASK)
    partial = means.filter(pl.len().over(*key) != grid)
    if len(partial):
        raise InvalidInputError(
            "every run on a task must be evaluated on the same shifts; "
            f"one on {partial['task'][0]} lacks some that others have"
        )
    scores = over_shifts(means, key, level=level)
    return scores.with_columns(pl.lit(float(level)).alias("level"))


def grid_summary(
    table: pl.DataFrame,
    *,
    level: float = LEVEL,
    interval: Student | Bootstrap = Student(),
    method: Sequence[str] = METHOD,
) -> pl.DataFrame:
    """One row per task and method: the mean over training seeds of each of :data:`MEASURES`.

    ``…_low`` and ``…_high`` bound the confidence intervals; they are null for a single seed.
    """
    scores = grid_scores(table, level=level, method=method)
    key = [*TASK, *method, "shifts", "level"]
    return over_seeds(scores.sort([*key, SEED]), key, MEASURES, interval)


def arrays(lists: pl.Series) -> list[Array]:
    """The lists of a column as arrays."""
    return [values.to_numpy() for values in lists]


def require_columns(frame: pl.DataFrame, columns: Sequence[str], number: str) -> None:
    """Raise if a table is empty, lacks columns, or has a non-numeric column ``number``."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InvalidInputError(f"the table must have the columns {', '.join(missing)}")
    if frame.is_empty():
        raise InvalidInputError("the table must have at least one row")
    kind = frame.schema[number]
    if not (kind.is_numeric() or kind == pl.Null):
        raise InvalidInputError(f"the column {number} must hold numbers, not {kind}")


def normalise(
    scores: pl.DataFrame,
    references: Mapping[str, tuple[float, float]],
    *,
    column: str = "mean_return",
) -> pl.DataFrame:
    """Add ``score`` = (return − low) / (high − low), with the task's reference (low, high).

    The caller chooses the references, and should state them: e.g. the mean returns of a random
    policy and of the best nominal one. Scores below 0 and above 1 are not clipped.
    """
    found = normalise_to_baseline(scores, references, column=column)
    for task in found["task"].unique():
        low, high = references[task]
        if low > high:
            raise InvalidInputError(
                f"the low reference of {task} must be below the high one, not {low} and {high}"
            )
    return found


def normalise_to_baseline(
    scores: pl.DataFrame,
    references: Mapping[str, tuple[float, float]],
    *,
    column: str = "worst_return",
) -> pl.DataFrame:
    """Add ``score`` = (return − baseline) / |reference − baseline|, from (baseline, reference).

    With TD3 as the baseline and M2TD3 as the reference, for the same measure on the same set, these
    are the scores in which results on uncertainty sets are published: 0 is the score of TD3, and 1
    that of M2TD3 where it is better than TD3.
    """
    require_columns(scores, ["task", column], column)
    tasks = scores["task"].unique().to_list()
    for task in tasks:
        if task not in references:
            raise InvalidInputError(f"references must hold every task; {task} is missing")
        check_number(f"the references of {task}", references[task])
        if references[task][0] == references[task][1]:
            raise InvalidInputError(f"the references of {task} must differ, not {references[task]}")
    first, second = (
        pl.col("task").replace_strict(tasks, [float(references[task][i]) for task in tasks])
        for i in (0, 1)
    )
    return scores.with_columns(score=(pl.col(column) - first) / (second - first).abs())


def score_summary(
    scores: pl.DataFrame,
    *,
    column: str = "score",
    method: Sequence[str] = METHOD,
    bootstrap: Bootstrap = Bootstrap(),
) -> pl.DataFrame:
    """One row per method: the interquartile mean ``iqm`` of its runs on all tasks together.

    Every run has the same weight, so a task with more seeds weighs more. All methods must have
    the same tasks. The interval is null if a task has a single seed; ``invalid_runs`` counts
    the scores that are not finite, which make ``iqm`` NaN.
    """
    known = _scores(scores, column, [*method, *TASK])
    strata = known.group_by([*method, *TASK], maintain_order=True).agg(
        pl.len().alias("runs"), pl.col(column).is_nan().sum().alias("invalid_runs"), column
    )
    groups = strata.group_by(method, maintain_order=True).agg(
        pl.len().alias("tasks"), pl.col("runs", "invalid_runs").sum(), column
    )
    if groups["tasks"].min() != strata.select(TASK).n_unique():
        raise InvalidInputError("every method must have scores on the same tasks")
    estimates = [bootstrap.interquartile_mean(arrays(tasks)) for tasks in groups[column]]
    return groups.drop(column).with_columns(estimate_columns("iqm", estimates))


def improvement(
    x: pl.DataFrame, y: pl.DataFrame, *, column: str = "score", bootstrap: Bootstrap = Bootstrap()
) -> Estimate:
    """The probability that a run of one method beats a run of another, averaged over tasks.

    ``x`` and ``y`` are the rows of :func:`grid_scores` of the two methods, on the same tasks.
    Within a task, every run of x is compared with every run of y, and ties count half. Scores
    of different tasks are never compared, so returns work as well as normalised scores.
    """
    first, second = (
        _scores(frame, column, TASK).group_by(TASK, maintain_order=True).agg(column)
        for frame in (x, y)
    )
    if not first.select(TASK).equals(second.select(TASK)):
        raise InvalidInputError("both methods must have scores on the same tasks")
    pairs = zip(arrays(first[column]), arrays(second[column]), strict=True)
    return bootstrap.improvement(list(pairs))


def _scores(frame: pl.DataFrame, column: str, key: Sequence[str]) -> pl.DataFrame:
    """The scores in a fixed order, one per run, with NaN for those that are not finite."""
    require_columns(frame, [*key, SEED, column], column)
    if frame.select(*key, SEED).is_duplicated().any():
        raise InvalidInputError(
            "there must be one score per training seed; "
            f"several have the same {', '.join([*key, SEED])}"
        )
    value = pl.col(column).cast(pl.Float64)
    finite = pl.when(value.is_finite()).then(value).otherwise(math.nan)
    return frame.with_columns(finite.alias(column)).sort(*key, SEED)
