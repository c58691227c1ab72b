"""The case study, thinned for the page: values over seeds, and the first seed's path."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mixedne.saddle.objectives import OBJECTIVES
from mixedne.saddle.tables import CASE, START

VALUES, POINTS = 160, 320
"""At most so many steps of the values, and points of a path."""

BAND = (0.05, 0.5, 0.95)


def thinned(paths: pl.DataFrame | None) -> dict[str, pl.DataFrame]:
    """The tables ``values`` and ``paths``; null where one seed has no band."""
    if paths is None or paths.height == 0:
        return {"values": pl.DataFrame(), "paths": pl.DataFrame()}
    values, points = [], []
    for _, case in paths.group_by(CASE, maintain_order=True):
        named = case.row(0, named=True)
        theta, omega = (np.stack(case[name].to_list()) for name in ("theta", "omega"))
        values.append(_values(named, OBJECTIVES[named["objective"]].value(theta, omega)))
        points.append(_points(named, theta[0], omega[0]))
    return {"values": pl.concat(values), "paths": pl.concat(points)}


def _values(named: dict[str, Any], value: NDArray[np.float64]) -> pl.DataFrame:
    """Steps from 1 on, equally spaced on a logarithmic axis."""
    seeds, length = value.shape
    steps = np.unique(np.geomspace(1, max(length - 1, 1), VALUES).round().astype(int))
    steps = steps[steps < length]
    low, middle, high = np.quantile(value[:, steps], BAND, axis=0)
    band = {"low": low, "middle": middle, "high": high} if seeds > 1 else {}
    columns = {"step": steps, "first": value[0, steps], **band}
    table = pl.DataFrame(columns | {"seeds": np.full(len(steps), seeds)})
    missing = [pl.lit(None, pl.Float64).alias(x) for x in ("low", "middle", "high") if not band]
    names = ["step", "first", "middle", "low", "high", "seeds"]
    return _with_case(named, table.with_columns(missing).select(names))


def _points(
    named: dict[str, Any], theta: NDArray[np.float64], omega: NDArray[np.float64]
) -> pl.DataFrame:
    """The first seed's path, both ends among its points."""
    count = min(POINTS, len(theta))
    steps = np.unique(np.linspace(0, len(theta) - 1, count).round().astype(int))
    return _with_case(
        named, pl.DataFrame({"step": steps, "theta": theta[steps], "omega": omega[steps]})
    )


def _with_case(named: dict[str, Any], table: pl.DataFrame) -> pl.DataFrame:
    """The table with the columns that name its case before its own."""
    words = [pl.lit(named[name], pl.String).alias(name) for name in CASE]
    start = [pl.lit(named[name], pl.Float64).alias(name) for name in START]
    return table.select(*words, *start, pl.all())
