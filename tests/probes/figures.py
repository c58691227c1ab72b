"""Reading a figure back: what its lines, bands, cells and legend show."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection, QuadMesh
from matplotlib.figure import Figure

from mixedne.reports import tables
from mixedne.reports.figures.curves import RUN

Points = set[tuple[Any, ...]]


def every_number_differs(frame: pl.DataFrame, by: float) -> pl.DataFrame:
    """So that a number at the wrong place is seen."""
    shift = pl.int_range(pl.len()) * by
    columns = [name for name in ("value", "low", "high") if name in frame.columns]
    return frame.with_columns(pl.col(name) + shift for name in columns)


def note(figure: Figure) -> str:
    return figure.legends[0].get_title().get_text().replace("\n", " ")


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def own_lines(axes: Axes) -> list[Any]:
    return [line for line in axes.lines if line.get_label() not in ("training", RUN)]


def spots(line: Any) -> list[list[float]]:
    return np.asarray(line.get_xydata()).tolist()


def points(panels: Iterable[Axes]) -> Points:
    """Title of the panel, label, x, value, low and high of all that is drawn as curves."""
    found: Points = set()
    for axes in panels:
        bands = {it.get_label(): edges(it) for it in axes.collections}
        for line in own_lines(axes):
            label = line.get_label()
            for x, value in zip(line.get_xdata(), line.get_ydata(), strict=True):
                low, high = bands[label][round(x, 6)] if label in bands else (None, None)
                found.add((axes.get_title(), label, *rounded(x, value, low, high)))
    return found


def edges(band: Any) -> dict[float, tuple[float, float]]:
    """Low and high of a band at each x."""
    assert isinstance(band, FillBetweenPolyCollection)
    corners = np.concatenate([path.vertices for path in band.get_paths()])
    xs = {round(x, 6) for x in corners[:, 0]}
    at = {x: corners[np.isclose(corners[:, 0], x), 1] for x in xs}
    return {x: (float(ys.min()), float(ys.max())) for x, ys in at.items()}


def rounded(*numbers: float | None) -> tuple[float | None, ...]:
    return tuple(None if it is None else round(float(it), 4) for it in numbers)


def wanted(rows: pl.DataFrame, title: str = "{task}", curve: str = "{label}") -> Points:
    """The same of rows of a frame, with titles and labels from their columns."""
    return {
        (
            title.format(**row),
            curve.format(**row),
            *rounded(*(row[name] for name in ("x", "value", "low", "high"))),
        )
        for row in rows.iter_rows(named=True)
    }


def published(report: tables.Report) -> Points:
    return wanted(report.published, curve="{label} ({source})")


def chosen(report: tables.Report, axis: str, statistic: str = "mean") -> pl.DataFrame:
    return report.sweeps.filter(pl.col("axis") == axis, pl.col("statistic") == statistic)


def grid(figure: Figure, columns: int) -> list[list[Axes]]:
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    return [panels[first : first + columns] for first in range(0, len(panels), columns)]


def mesh(axes: Axes) -> QuadMesh:
    (found,) = (it for it in axes.collections if isinstance(it, QuadMesh))
    return found


def colours(axes: Axes) -> np.ma.MaskedArray:
    values = mesh(axes).get_array()
    assert values is not None
    return np.ma.asarray(values)


def table(rows: pl.DataFrame, **kept: object) -> np.ndarray:
    """Values with a row for each y and a column for each x."""
    own = rows.filter(*(pl.col(name) == it for name, it in kept.items()))
    wide = own.sort("x").pivot("x", index="y", values="value").sort("y")
    return wide.drop("y").to_numpy()
