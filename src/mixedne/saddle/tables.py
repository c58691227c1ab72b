"""The case study's results as tables: one row per seed, and summaries over seeds.

Needs no JAX: reports read these tables.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mixedne.saddle.objectives import CURVE, Case, Moments, Objective, distance, exploitability

CURVE_WIDTH = 0.05
"""An iterate is on the stationary curve if |θω − 0.5| is at most this."""

CASE = ("objective", "start", "solver", "inner")
"""The columns that identify a case; its rows differ by seed."""

START = ("start_theta", "start_omega")
"""The columns with the starting point of a case."""

PATHS = (*CASE, *START, "steps", "seed", "theta", "omega")
"""The columns of :func:`paths`."""

MEASURES = (
    *("distance", "average_distance", "chain_distance", "end_exploitability"),
    *("average_exploitability", "exploitability", "path_exploitability", "escape_step"),
)
"""The columns for which :func:`summary` reports the spread over seeds."""


@dataclass(frozen=True)
class Run:
    """The runs of a case on one of its objectives, for many seeds."""

    case: Case
    objective: Objective
    seeds: NDArray[np.int64]
    theta: NDArray[np.float64]
    """(seeds, steps + 1): the outer iterates, including the start."""
    omega: NDArray[np.float64]
    """(seeds, steps + 1)."""
    chain: Moments
    """(seeds,): moments over all inner iterates of the run. Solvers without chains have one
    inner iterate per step, their new outer iterate."""


def results(runs: list[Run]) -> pl.DataFrame:
    """One row per case and seed.

    ``theta``, ``omega``, ``value``, ``distance`` and ``end_exploitability`` are of the last
    iterate; ``average_…`` of the running average of the outer iterates; ``exploitability``
    and ``chain_distance`` of the distribution of all inner iterates; ``path_exploitability``
    of the distribution of all outer iterates. ``escaped`` is whether the last iterate is off
    the stationary curve, ``reached_step`` the step at which the path first reached it, and
    ``escape_step`` the step since which it has been off it for good; all three are null where
    they do not apply.
    """
    return pl.concat(map(_run_results, runs))


def _run_results(run: Run) -> pl.DataFrame:
    objective = run.objective
    theta, omega = run.theta[:, -1], run.omega[:, -1]
    average_theta, average_omega = run.theta.mean(1), run.omega.mean(1)
    end = Moments.of_point(theta, omega)
    average = Moments.of_point(average_theta, average_omega)
    columns = {
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
    }
    return _with_case(run, pl.DataFrame(columns).hstack(_escape(run)))


def _with_case(run: Run, frame: pl.DataFrame) -> pl.DataFrame:
    """Put the columns that name the case before the others."""
    return frame.select(
        pl.lit(run.objective.name).alias("objective"),
        pl.lit(run.case.start).alias("start"),
        pl.lit(run.theta[0, 0]).alias("start_theta"),
        pl.lit(run.omega[0, 0]).alias("start_omega"),
        pl.lit(run.case.solver).alias("solver"),
        pl.lit(run.case.inner, pl.String).alias("inner"),
        pl.lit(run.theta.shape[1] - 1).alias("steps"),
        pl.all(),
    )


def _escape(run: Run) -> pl.DataFrame:
    """When the path reached the stationary curve, and whether and when it left it for good."""
    on_curve = np.abs(run.theta * run.omega - CURVE) <= CURVE_WIDTH
    on_curve &= run.objective.has_curve
    reached, escaped = pl.Series(on_curve.any(1)), pl.Series(~on_curve[:, -1])
    since = on_curve.shape[1] - np.argmax(on_curve[:, ::-1], axis=1)
    return pl.select(
        escaped=pl.when(pl.lit(run.objective.has_curve)).then(escaped),
        reached_step=pl.when(reached).then(pl.Series(np.argmax(on_curve, axis=1))),
        escape_step=pl.when(reached & escaped).then(pl.Series(since)),
    )


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per case: fractions and medians over seeds, with their spreads.

    ``…_low`` and ``…_high`` are the 5 % and 95 % quantiles over seeds; for the escaped
    fraction they are its 95 % Wilson interval.
    """
    measures = pl.col(MEASURES)
    low, high = (measures.quantile(share, "linear") for share in (0.05, 0.95))
    escaped_low, escaped_high = wilson_interval(pl.col("escaped"), pl.col("seeds"))
    return (
        table.group_by(CASE, maintain_order=True)
        .agg(
            pl.len().alias("seeds"),
            pl.col("escaped").mean(),
            measures.median(),
            low.name.suffix("_low"),
            high.name.suffix("_high"),
        )
        .with_columns(escaped_low=escaped_low, escaped_high=escaped_high)
    )


def wilson_interval(share: Any, count: Any) -> tuple[Any, Any]:
    """The 95 % Wilson interval of a share of ``count`` runs; numbers or columns."""
    z = 1.959964
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * (share * (1 - share) / count + z**2 / (4 * count**2)) ** 0.5 / (1 + z**2 / count)
    return centre - half, centre + half


def paths(runs: list[Run], seeds: int) -> pl.DataFrame:
    """The outer iterates of the first ``seeds`` seeds, one row per case and seed.

    They are in single precision, for drawing.
    """

    def of_run(run: Run) -> pl.DataFrame:
        theta, omega = (list(x[:seeds].astype(np.float32)) for x in (run.theta, run.omega))
        columns = {"seed": run.seeds[:seeds], "theta": theta, "omega": omega}
        return _with_case(run, pl.DataFrame(columns))

    return pl.concat(map(of_run, runs))


def mark_settings(paths: pl.DataFrame, settings: str) -> pl.DataFrame:
    """The table of paths, with the settings in the names of starts unless they are the paper's.

    One figure can then show cases of several settings.
    """
    if settings == "paper":
        return paths
    return paths.with_columns(pl.col("start") + f" ({settings}' settings)")
