"""The case study's results as tables: one row per seed, and summaries over seeds."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mixedne.saddle.experiment import Run
from mixedne.saddle.objectives import CURVE, Moments, distance, exploitability

CURVE_WIDTH = 0.05
"""An iterate lies on the stationary curve while |θω − 0.5| is at most this."""

CASE = ["objective", "start", "solver", "inner"]
"""The columns that name a case; its rows differ by seed."""

MEASURES = [
    "distance",
    "average_distance",
    "chain_distance",
    "end_exploitability",
    "average_exploitability",
    "exploitability",
    "path_exploitability",
]
"""The columns that :func:`summary` spreads over seeds."""


def results(runs: list[Run]) -> pl.DataFrame:
    """One row per case and seed.

    ``theta``, ``omega``, ``value``, ``distance`` and ``end_exploitability`` are of the last
    iterate; ``average_…`` of the running average of the outer iterates; ``exploitability``
    and ``chain_distance`` of the distribution of all inner iterates; ``path_exploitability``
    of the distribution of all outer iterates. ``escaped`` says whether the last iterate lies
    off the stationary curve, ``reached_step`` when the path first came onto it and
    ``escape_step`` since when it has been off it for good; all three are null where there
    is nothing to say.
    """
    return pl.concat([_run_results(run) for run in runs])


def _run_results(run: Run) -> pl.DataFrame:
    objective = run.objective
    theta, omega = run.theta[:, -1], run.omega[:, -1]
    average_theta, average_omega = run.theta.mean(1), run.omega.mean(1)
    end = Moments.of_point(theta, omega)
    average = Moments.of_point(average_theta, average_omega)
    columns: dict[str, object] = {
        "seed": run.seeds,
        "theta": theta,
        "omega": omega,
        "value": objective.value(theta, omega),
        "distance": distance(objective, end),
        "end_exploitability": exploitability(objective, end),
        "average_theta": average_theta,
        "average_omega": average_omega,
        "average_distance": distance(objective, average),
        "average_exploitability": exploitability(objective, average),
        "chain_distance": distance(objective, run.chain),
        "exploitability": exploitability(objective, run.chain),
        "path_exploitability": exploitability(objective, Moments.of_samples(run.theta, run.omega)),
        **_escape(run),
    }
    return _with_case(run, pl.DataFrame(columns))


def _with_case(run: Run, frame: pl.DataFrame) -> pl.DataFrame:
    """Put the columns that name the case before the others."""
    return frame.select(
        pl.lit(run.objective.name).alias("objective"),
        pl.lit(run.start).alias("start"),
        pl.lit(run.theta[0, 0]).alias("start_theta"),
        pl.lit(run.omega[0, 0]).alias("start_omega"),
        pl.lit(run.solver).alias("solver"),
        pl.lit(run.inner, pl.String).alias("inner"),
        pl.lit(run.theta.shape[1] - 1).alias("steps"),
        pl.all(),
    )


def _escape(run: Run) -> dict[str, pl.Series]:
    """When the path came onto the stationary curve, and whether and when it left for good."""
    seeds, length = run.theta.shape
    types = {"escaped": pl.Boolean, "reached_step": pl.Int64, "escape_step": pl.Int64}
    if not run.objective.has_curve:
        return {name: pl.Series(name, [None] * seeds, kind) for name, kind in types.items()}
    on_curve = np.abs(run.theta * run.omega - CURVE) <= CURVE_WIDTH
    reached, escaped = on_curve.any(1), ~on_curve[:, -1]
    first = np.argmax(on_curve, axis=1)
    last = length - 1 - np.argmax(on_curve[:, ::-1], axis=1)
    return {
        "escaped": pl.Series(escaped),
        "reached_step": _where(reached, first),
        "escape_step": _where(reached & escaped, last + 1),
    }


def _where(known: Any, values: NDArray[np.int64]) -> pl.Series:
    """The values where they are known, null elsewhere."""
    pairs = zip(known.tolist(), values.tolist(), strict=True)
    return pl.Series([value if yes else None for yes, value in pairs], dtype=pl.Int64)


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per case: shares and medians over seeds, with their spreads.

    ``…_low`` and ``…_high`` are the 5 % and 95 % quantiles over seeds; for the escaped
    share they are its 95 % Wilson interval.
    """
    spread = [
        expression
        for name in [*MEASURES, "escape_step"]
        for expression in (
            pl.col(name).median(),
            pl.col(name).quantile(0.05, "linear").alias(f"{name}_low"),
            pl.col(name).quantile(0.95, "linear").alias(f"{name}_high"),
        )
    ]
    share, count, z = pl.col("escaped"), pl.col("seeds"), 1.959964
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * (share * (1 - share) / count + z**2 / (4 * count**2)).sqrt() / (1 + z**2 / count)
    return (
        table.group_by(CASE, maintain_order=True)
        .agg(pl.len().alias("seeds"), pl.col("escaped").mean(), *spread)
        .with_columns(escaped_low=centre - half, escaped_high=centre + half)
    )


def paths(runs: list[Run], seeds: int) -> pl.DataFrame:
    """The outer iterates of the first ``seeds`` seeds, one row per case and seed.

    In single precision: they are for drawing.
    """
    return pl.concat(
        _with_case(
            run,
            pl.DataFrame(
                {
                    "seed": run.seeds[:seeds],
                    "theta": list(run.theta[:seeds].astype(np.float32)),
                    "omega": list(run.omega[:seeds].astype(np.float32)),
                }
            ),
        )
        for run in runs
    )
