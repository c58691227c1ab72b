"""Coloured cells: numbers at crossed values, in cells of one size."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.patches import Patch
from numpy.typing import NDArray

from mixedne.reports.figures.ticks import evenly, multiples

RETURNS = "cividis"
"""From dark to light: the same to the colour-blind, and in grey."""

DIFFERENCES = "PuOr"
"""Orange below zero, purple above; told apart by the colour-blind."""

NO_NUMBER = {"facecolor": "0.88", "edgecolor": "0.55", "hatch": "//////", "linewidth": 0.0}
"""What shows through where there is no number."""


@dataclass(frozen=True)
class Cells:
    """Numbers at the crossings of ``xs`` and ``ys``; masked where there is none."""

    xs: Sequence[float]
    ys: Sequence[float]
    values: np.ma.MaskedArray


def cells(
    rows: pl.DataFrame, xs: Sequence[float], ys: Sequence[float], y: str | None = "y"
) -> Cells:
    """The value of every row at its place; ``y`` is None where there is one row of cells."""
    values = np.full((len(ys), len(xs)), np.nan)
    for row in rows.iter_rows(named=True):
        if row["value"] is not None:
            values[ys.index(row[y]) if y else 0, xs.index(row["x"])] = row["value"]
    return Cells(xs, ys, np.ma.masked_invalid(values))


def range_of(tables: Sequence[NDArray[np.float64]]) -> Normalize:
    """A colour scale from the lowest to the highest number."""
    numbers = _numbers(tables)
    if numbers.size == 0:
        return Normalize(0.0, 1.0)
    low, high = float(numbers.min()), float(numbers.max())
    return Normalize(low, high) if high > low else Normalize(low - 0.5, high + 0.5)


def range_around_zero(tables: Sequence[NDArray[np.float64]]) -> Normalize:
    """A colour scale with zero in its middle."""
    numbers = _numbers(tables)
    most = float(np.abs(numbers).max()) if numbers.size else 0.0
    return Normalize(-(most or 1.0), most or 1.0)


def _numbers(tables: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate([np.empty(0), *(np.ma.compressed(table) for table in tables)])


def draw_cells(
    axes: Axes,
    it: Cells,
    norm: Normalize,
    *,
    colors: str = RETURNS,
    most: int = 7,
) -> QuadMesh:
    """Colour the cells; what has no number is hatched. Ticks name the values."""
    axes.patch.set(**NO_NUMBER)
    mesh = axes.pcolormesh(
        np.arange(len(it.xs) + 1) - 0.5,
        np.arange(len(it.ys) + 1) - 0.5,
        it.values,
        cmap=colors,
        norm=norm,
        edgecolors="face",
        linewidth=0.1,
    )
    axes.set_xticks(*_ticks(it.xs, most))
    axes.set_yticks(*_ticks(it.ys, most))
    axes.tick_params(labelsize=7.5, length=2)
    return mesh


def _ticks(among: Sequence[float], most: int) -> tuple[list[float], list[str]]:
    """Places and words: of every value, or of round ones where there are many."""
    if len(among) <= most:
        return list(range(len(among))), [f"{value:.3g}" for value in among]
    low, high = among[0], among[-1]
    shown = (
        multiples(low, high, most) if low > 0 and high > 3 * low else evenly(low, high, most - 2)
    )
    return [float(np.interp(value, among, range(len(among)))) for value in shown], [
        f"{value:g}" for value in shown
    ]


def position(value: float | None, among: Sequence[float]) -> float | None:
    """Where a value lies in units of cells; None if it is outside of them."""
    if value is None or not among[0] <= value <= among[-1]:
        return None
    return float(np.interp(value, among, np.arange(len(among))))


def no_number_patch() -> Patch:
    """What a legend shows for cells without a number."""
    return Patch(**NO_NUMBER)  # type: ignore[arg-type]
