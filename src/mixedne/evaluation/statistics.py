"""Summaries of an evaluation table: per shift, over the grid, over seeds and over tasks.

The table has one row per episode. Training seeds are the independent repetitions, episodes
are not: they are averaged within a training seed first, and every interval is over seeds.

    episodes → seed_means → shift_summary                    per shift, over seeds
                          → grid_scores → grid_summary       over the grid, over seeds
                                        → normalise
                                          → score_summary    over seeds and tasks
                                          → improvement      one method against another

An episode whose return is null, NaN or infinite is invalid. It is counted, and every number
that it enters is NaN: a policy that broke the simulator must not look better for it. Rows can
come in any order, and the result for one group does not depend on the others in the table.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from mixedne.errors import InvalidInputError, check_number
from mixedne.evaluation.estimators import Array, Bootstrap, Estimate, Student, cvar
from mixedne.shifts import is_nominal, shift_axes

TASK = ("task", "task_version")
"""The columns that name a task."""

METHOD = ("agent", "solver", "formulation", "delta", "preset")
"""The columns that name a method; its runs on a task differ by training seed alone."""

SEED = "train_seed"
"""The column that tells the runs of one method on one task apart."""

SHIFT = (
    "mass_mode",
    "mass",
    "friction",
    "noise",
    "rho",
    "acting",
)
"""The columns that name a shift, and whether a policy's mean acted in it or a sample; the
distinct shifts of a task are its grid."""

MEASURES = ("worst_return", "mean_return", "cvar_return")
"""What :func:`grid_scores` says about one run."""


def seed_means(
    table: pl.DataFrame, *, method: Sequence[str] = METHOD, shift: Sequence[str] = SHIFT
) -> pl.DataFrame:
    """One row per task, method, training seed and shift: the mean return of its episodes.

    A training seed must stand for one run after one number of steps. If it does not, filter
    the table, or add ``run`` or ``steps`` to the columns that name a method.
    """
    shift = _all_axes(table, shift)
    key = [*TASK, *method, SEED]
    _require(table, [*key, *shift, "run", "steps", "return"], "return")
    whole = list(dict.fromkeys([*key, "run", "steps"]))
    if table.select(whole).n_unique() > table.select(key).n_unique():
        raise InvalidInputError(
            "each training seed of a method must stand for one run and one number of steps; "
            f"the table has several with the same {', '.join(key)}"
        )
    episodes = [*key, *shift, "episode_seed"]
    if "episode_seed" in table.columns and table.select(episodes).is_duplicated().any():
        raise InvalidInputError(
            "the table holds episodes twice: the same training seed, shift and episode_seed"
        )
    return (
        table.with_columns(_finite("return"))
        .sort([*key, *shift, "return"])  # sums then do not depend on the order of the rows
        .group_by([*key, *shift], maintain_order=True)
        .agg(
            pl.len().alias("episodes"),
            pl.col("return").is_nan().sum().alias("invalid_episodes"),
            pl.col("return").mean().alias("mean_return"),
        )
    )


def shift_summary(
    table: pl.DataFrame,
    *,
    interval: Student | Bootstrap = Student(),
    method: Sequence[str] = METHOD,
    shift: Sequence[str] = SHIFT,
) -> pl.DataFrame:
    """One row per task, method and shift: the mean return over training seeds.

    ``mean_return_low`` and ``mean_return_high`` bound its interval, null for a single seed.
    """
    shift = _all_axes(table, shift)
    means = seed_means(table, method=method, shift=shift)
    return _over_seeds(means, [*TASK, *method, *shift], ["mean_return"], interval)


def grid_scores(
    table: pl.DataFrame,
    *,
    level: float = 0.1,
    method: Sequence[str] = METHOD,
    shift: Sequence[str] = SHIFT,
) -> pl.DataFrame:
    """One row per task, method and training seed: its mean returns over the grid of shifts.

    ``worst_return`` is the lowest of them, ``mean_return`` their mean and ``cvar_return``
    their :func:`cvar` at ``level``. Every shift counts the same, however the grid is spaced,
    and all runs on a task must have the same grid. The worst of many noisy means lies below
    the worst true mean: compare methods with the same number of episodes only.
    """
    check_number("level", level, above=0, at_most=1)
    shift = _all_axes(table, shift)
    means = seed_means(table, method=method, shift=shift)
    key = [*TASK, *method, SEED]
    grid = pl.struct(*shift).n_unique().over(*TASK)
    partial = means.filter(pl.len().over(*key) != grid)
    if len(partial):
        raise InvalidInputError(
            "every run on a task must be evaluated on the same shifts; "
            f"one on {partial['task'][0]} lacks some that others have"
        )
    groups = means.group_by(key, maintain_order=True).agg(
        pl.len().alias("shifts"),
        pl.col("episodes", "invalid_episodes").sum(),
        pl.col("mean_return"),
    )
    runs = _arrays(groups["mean_return"])
    return groups.drop("mean_return").with_columns(
        pl.lit(float(level)).alias("level"),
        pl.Series("worst_return", [float(np.min(values)) for values in runs]),
        pl.Series("mean_return", [float(np.mean(values)) for values in runs]),
        pl.Series("cvar_return", [cvar(values, level) for values in runs]),
    )


def grid_summary(
    table: pl.DataFrame,
    *,
    level: float = 0.1,
    interval: Student | Bootstrap = Student(),
    method: Sequence[str] = METHOD,
    shift: Sequence[str] = SHIFT,
) -> pl.DataFrame:
    """One row per task and method: each of :data:`MEASURES`, its mean over training seeds.

    ``…_low`` and ``…_high`` bound the intervals, null for a single seed.
    """
    scores = grid_scores(table, level=level, method=method, shift=shift)
    return _over_seeds(scores, [*TASK, *method, "shifts", "level"], MEASURES, interval)


def _all_axes(table: pl.DataFrame, shift: Sequence[str]) -> Sequence[str]:
    """By default, the columns of every shift that the table has."""
    if shift is not SHIFT:
        return shift
    return [*SHIFT, *(name for name in map(str, shift_axes(table.columns)) if name not in SHIFT)]


def _over_seeds(
    frame: pl.DataFrame,
    key: Sequence[str],
    measures: Sequence[str],
    interval: Student | Bootstrap,
) -> pl.DataFrame:
    """Replace the rows that differ by seed by their mean and its interval."""
    groups = frame.sort([*key, SEED]).group_by(key, maintain_order=True)
    counts = groups.agg(
        pl.len().alias("seeds"), pl.col("episodes", "invalid_episodes").sum(), pl.col(*measures)
    )
    columns = [
        column
        for name in measures
        for column in _columns(name, [interval.mean(values) for values in _arrays(counts[name])])
    ]
    return counts.drop(*measures).with_columns(columns)


def _columns(name: str, estimates: Sequence[Estimate]) -> list[pl.Series]:
    names = (name, f"{name}_low", f"{name}_high")
    return [
        pl.Series(title, values, pl.Float64)
        for title, values in zip(names, zip(*estimates, strict=True), strict=True)
    ]


def normalise(
    scores: pl.DataFrame,
    references: Mapping[str, tuple[float, float]],
    *,
    column: str = "mean_return",
) -> pl.DataFrame:
    """Add ``score`` = (return − low) / (high − low), with the task's reference (low, high).

    The references are the caller's to choose and to state, say the mean returns of a random
    policy and of the best nominal one. Scores below 0 and above 1 are kept as they are.
    """
    _require(scores, ["task", column], column)
    tasks = scores["task"].unique().to_list()
    for task in tasks:
        if task not in references:
            raise InvalidInputError(f"references must hold every task; {task} is missing")
        low, high = references[task]
        check_number(f"the references of {task}", [low, high])
        if low >= high:
            raise InvalidInputError(
                f"the low reference of {task} must be below the high one, not {low} and {high}"
            )
    bounds = [
        pl.col("task").replace_strict(
            tasks, [float(references[task][i]) for task in tasks], return_dtype=pl.Float64
        )
        for i in range(2)
    ]
    return scores.with_columns(
        ((pl.col(column) - bounds[0]) / (bounds[1] - bounds[0])).alias("score")
    )


def score_summary(
    scores: pl.DataFrame,
    *,
    column: str = "score",
    method: Sequence[str] = METHOD,
    bootstrap: Bootstrap = Bootstrap(),
) -> pl.DataFrame:
    """One row per method: the interquartile mean ``iqm`` of its runs on all tasks together.

    Every run counts the same, so a task with more seeds weighs more. All methods must have
    the same tasks. The interval is null if a task has a single seed; ``invalid_runs`` counts
    the scores that are not finite, with which ``iqm`` is NaN.
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
    estimates = [bootstrap.interquartile_mean(_arrays(tasks)) for tasks in groups[column]]
    return groups.drop(column).with_columns(_columns("iqm", estimates))


def improvement(
    x: pl.DataFrame,
    y: pl.DataFrame,
    *,
    column: str = "score",
    bootstrap: Bootstrap = Bootstrap(),
) -> Estimate:
    """The probability that a run of one method beats a run of another, averaged over tasks.

    ``x`` and ``y`` are the rows of :func:`grid_scores` of the two methods, on the same tasks.
    Within a task, every run of x is compared with every run of y, and ties count half. Scores
    of different tasks are never compared, so returns serve as well as normalised scores.
    """
    first, second = (
        _scores(frame, column, TASK).group_by(TASK, maintain_order=True).agg(column)
        for frame in (x, y)
    )
    if not first.select(TASK).equals(second.select(TASK)):
        raise InvalidInputError("both methods must have scores on the same tasks")
    pairs = zip(_arrays(first[column]), _arrays(second[column]), strict=True)
    return bootstrap.improvement(list(pairs))


def _scores(frame: pl.DataFrame, column: str, key: Sequence[str]) -> pl.DataFrame:
    """The scores in a fixed order, one per run, NaN where they are not finite."""
    _require(frame, [*key, SEED, column], column)
    if frame.select(*key, SEED).is_duplicated().any():
        raise InvalidInputError(
            "there must be one score per training seed; "
            f"several have the same {', '.join([*key, SEED])}"
        )
    return frame.with_columns(_finite(column)).sort(*key, SEED)


def _finite(column: str) -> pl.Expr:
    """The column's numbers, NaN in place of null and infinite ones."""
    value = pl.col(column).cast(pl.Float64)
    return pl.when(value.is_finite()).then(value).otherwise(math.nan).alias(column)


def _arrays(lists: pl.Series) -> list[Array]:
    return [values.to_numpy() for values in lists]


def _require(frame: pl.DataFrame, columns: Sequence[str], number: str) -> None:
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InvalidInputError(f"the table must have the columns {', '.join(missing)}")
    if frame.is_empty():
        raise InvalidInputError("the table must have at least one row")
    kind = frame.schema[number]
    if not (kind.is_numeric() or kind == pl.Null):
        raise InvalidInputError(f"the column {number} must hold numbers, not {kind}")


NAMED_PARTS = ("body_masses", "geom_frictions")
"""Columns with changes of single parts of the model, as text."""


def shift_columns(columns: Iterable[str]) -> list[str]:
    """The columns that name a shift, and whether a policy's mean acted in it or a sample."""
    known = list(columns)
    axes = [str(axis) for axis in shift_axes(known)]
    return [name for name in ("mass_mode", *axes, *NAMED_PARTS, "acting") if name in known]


def nominal_world(columns: Iterable[str], *, but: Iterable[str] = ()) -> pl.Expr:
    """Which rows are of the world of training, apart from the columns ``but``."""
    known = list(columns)
    whole = (pl.col(name).is_null() for name in NAMED_PARTS if name in known)
    return pl.all_horizontal(is_nominal(known, but=but), *whole)


def nominal_returns(
    table: pl.DataFrame, key: Sequence[str], episode_seeds: Sequence[int] | None = None
) -> pl.DataFrame:
    """Mean return of each run in the nominal world, acting by its mean; a search chooses by it.

    Args:
      table: an evaluation table.
      key: the columns that name a run.
      episode_seeds: the seeds of the episodes that count, each once; by default all of them.
    """
    rows = table.filter(nominal_world(table.columns), pl.col("acting") == "mean")
    if episode_seeds is not None:
        rows = rows.filter(pl.col("episode_seed").is_in(list(episode_seeds)))
        rows = rows.unique([*key, "episode_seed"], keep="first", maintain_order=True)
    return over_episodes(rows, key)


def over_episodes(table: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """One row per value of the key: the number of episodes, and their mean return."""
    groups = table.with_columns(_finite("return")).group_by(key, maintain_order=True)
    return groups.agg(
        pl.len().cast(pl.Int64).alias("episodes"), pl.col("return").mean().alias("mean_return")
    )


def over_shifts(means: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """One row per value of the key: the mean and the worst of its mean returns at its shifts."""
    groups = means.group_by(key, maintain_order=True).agg(pl.col("mean_return").alias("values"))
    runs = _arrays(groups["values"])
    return groups.drop("values").with_columns(
        pl.Series("mean_return", [float(np.mean(values)) for values in runs], pl.Float64),
        pl.Series("worst_return", [float(np.min(values)) for values in runs], pl.Float64),
    )
