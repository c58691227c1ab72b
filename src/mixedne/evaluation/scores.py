"""Runs on many tasks: their scores made comparable, aggregated, and compared by method.

A score is one number of a run on a task, such as those of :func:`statistics.grid_scores`.
"""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from mixedne.errors import InvalidInputError, check_number
from mixedne.evaluation.estimators import Bootstrap, Estimate
from mixedne.evaluation.statistics import (
    METHOD,
    SEED,
    TASK,
    arrays,
    estimate_columns,
    require_columns,
)


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
    require_columns(scores, ["task", column], column)
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
    estimates = [bootstrap.interquartile_mean(arrays(tasks)) for tasks in groups[column]]
    return groups.drop(column).with_columns(estimate_columns("iqm", estimates))


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
    pairs = zip(arrays(first[column]), arrays(second[column]), strict=True)
    return bootstrap.improvement(list(pairs))


def _scores(frame: pl.DataFrame, column: str, key: Sequence[str]) -> pl.DataFrame:
    """The scores in a fixed order, one per run, NaN where they are not finite."""
    require_columns(frame, [*key, SEED, column], column)
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
