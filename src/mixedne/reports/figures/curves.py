"""Panels of curves: a mean and its interval, or single runs, against something along the axis."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike, NDArray

from mixedne.reports.figures.canvas import LITERAL, TRAINING, close_sheet, open_sheet, say_in
from mixedne.reports.figures.ticks import ROUND, multiples
from mixedne.reports.names import axis_words, find_axis
from mixedne.reports.style import Style
from mixedne.reports.tables import BAND_SEEDS

SIZES = {1: (5.2, 3.4), 2: (3.7, 2.7), 3: (3.0, 2.3), 4: (2.5, 2.0)}
"""Width and height of a panel in inches, by the number of columns."""

MOST_MARKERS = 12
"""On a line; markers of further points would cover it."""

RUN = "run"
"""The label of single runs; legends do not show it."""

REFERENCE = "0.5"
"""The grey of curves that are not the runs' own."""


Kind = Literal["plain", "multiples", "counts", "log counts"]


@dataclass(frozen=True)
class Curve:
    """One line; ``low`` and ``high`` are empty, or null where there is no interval."""

    x: ArrayLike
    value: ArrayLike
    style: Style
    low: ArrayLike = ()
    high: ArrayLike = ()
    runs: Sequence[tuple[ArrayLike, ArrayLike]] = ()
    """Single runs, drawn thin."""
    is_reference: bool = False
    """Whether it is drawn in grey: published, or the best that is possible."""


@dataclass(frozen=True)
class Axis:
    """What runs along a panel."""

    label: str
    kind: Kind = "plain"
    """Multiples have a logarithmic axis, counts are written as 200k."""
    training: float | None = None
    """Where the runs were trained."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    axis: Axis
    curves: Sequence[Curve] = field(default=())


def shift_axis(name: str) -> Axis:
    """The axis of a shift, as the registry has it."""
    axis = find_axis(name)
    if axis is None:
        return Axis(axis_words(name))
    return Axis(axis.label, "multiples" if axis.log_axis else "plain", axis.nominal)


def curve(
    rows: pl.DataFrame,
    style: Style,
    single: pl.DataFrame | None = None,
    *,
    x: str = "x",
    scale: float = 1.0,
    is_reference: bool = False,
) -> Curve:
    """The curve of rows that have the columns value, low, high and seeds.

    Where there are too few seeds for a band, the runs in ``single`` are drawn instead.
    """
    along, value, low, high = (_numbers(rows.sort(x)[n]) for n in (x, "value", "low", "high"))
    runs: list[tuple[ArrayLike, ArrayLike]] = []
    if rows.select(pl.col("seeds").max()).item() < BAND_SEEDS:
        low = high = np.full(along.shape, np.nan)
        by_run = [] if single is None else single.sort(x).partition_by("run", maintain_order=True)
        runs = [(_numbers(run[x]) * scale, _numbers(run["value"])) for run in by_run]
    return Curve(along * scale, value, style, low, high, runs, is_reference)


def draw_panels(
    panels: Sequence[Panel],
    *,
    title: str,
    y: str,
    note: str = "",
    columns: int = 4,
    share_rows: bool = False,
    empty: str = "not evaluated",
) -> Figure:
    """Panels in rows, with one legend for all.

    Args:
      panels: row by row.
      title: of the figure.
      y: what is drawn, with its unit.
      note: what lines and bands are.
      columns: panels in a row, at most.
      share_rows: whether the panels of a row have one vertical scale.
      empty: what a panel without curves says.
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    width, height = SIZES[min(columns, max(SIZES))]
    with mpl.rc_context(LITERAL):
        figure, body = open_sheet(columns * width, rows * height, title)
        grid = body.subplots(rows, columns, squeeze=False, sharey="row" if share_rows else "none")
        one_label = len({panel.axis.label for panel in panels}) == 1
        for place, axes in enumerate(grid.flat):
            if place >= len(panels):
                axes.remove()
                continue
            _draw_panel(axes, panels[place], width, empty)
            if not one_label and place >= len(panels) - columns:
                axes.set_xlabel(panels[place].axis.label)
        if one_label:
            body.supxlabel(panels[0].axis.label, fontsize=9)
        body.supylabel(y, fontsize=9)
        close_sheet(figure, _legend(panels), note)
    return figure


def _draw_panel(axes: Axes, panel: Panel, width: float, empty: str) -> None:
    title = textwrap.fill(panel.title, int(14 * width), break_long_words=False)
    axes.set_title(title, fontsize=9)
    shown = [it for it in panel.curves if np.isfinite(_shown(it, panel.axis)[1]).any()]
    if not shown:
        say_in(axes, empty)
        return
    for place, it in enumerate(shown):
        _draw_curve(axes, it, panel.axis, place, len(shown))
    if panel.axis.training is not None:
        axes.axvline(panel.axis.training, color="0.6", linewidth=0.8, zorder=0, label="training")
    _scale(axes, panel, width)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND))


def _draw_curve(axes: Axes, it: Curve, axis: Axis, place: int, count: int) -> None:
    """Line, band and single runs; markers of neighbouring curves stand at different points."""
    x, value, low, high = _shown(it, axis)
    color = REFERENCE if it.is_reference else it.style.color
    for run_x, run_value in it.runs:
        axes.plot(run_x, run_value, color=color, linewidth=0.7, alpha=0.5, label=RUN)
    if np.isfinite(low).any():
        axes.fill_between(
            x, low, high, color=color, alpha=0.16, linewidth=0, zorder=1, label=it.style.label
        )
    marks = _marked(np.log(x) if _is_log(axis, x) else x, place / count)
    axes.plot(x, value, label=it.style.label, markevery=marks, **_style(it))


def _marked(x: NDArray[np.float64], shift: float) -> list[int]:
    """Points that get a marker: all of few, else some, evenly along the axis."""
    gap = (x[-1] - x[0]) / (MOST_MARKERS - 4) if len(x) else 0.0
    if len(x) <= MOST_MARKERS or not gap > 0:  # a run that has not moved yet
        return list(range(len(x)))
    wanted = np.arange(x[0] + shift * gap, x[-1] + gap / 100, gap)
    return sorted({int(np.abs(x - each).argmin()) for each in wanted})


def _style(it: Curve) -> dict[str, Any]:
    color = REFERENCE if it.is_reference else it.style.color
    return {
        "color": color,
        "linestyle": it.style.line,
        "marker": it.style.marker,
        "markersize": 4,
        "markerfacecolor": "white" if it.is_reference else color,
        "linewidth": 1.0 if it.is_reference else 1.5,
        "zorder": 2 if it.is_reference else 3,
    }


def _legend(panels: Sequence[Panel]) -> Mapping[str, Artist]:
    """Own curves first, then the grey ones, then where training was."""
    curves = [it for panel in panels for it in panel.curves]
    found: dict[str, Artist] = {}
    for it in sorted(curves, key=lambda it: it.is_reference):
        found.setdefault(it.style.label, Line2D([], [], **_style(it)))
    if any(panel.axis.training is not None and panel.curves for panel in panels):
        found["training"] = TRAINING
    return found


def _shown(it: Curve, axis: Axis) -> tuple[NDArray[np.float64], ...]:
    """x, value, low and high; what a logarithmic axis of counts cannot show is left out."""
    x, value, low, high = (
        np.asarray(each, dtype=float) for each in (it.x, it.value, it.low, it.high)
    )
    if low.size == 0:
        low = high = np.full(x.shape, np.nan)
    kept = np.isfinite(x) & (x > 0) if axis.kind == "log counts" else np.isfinite(x)
    return x[kept], value[kept], low[kept], high[kept]


def _scale(axes: Axes, panel: Panel, width: float) -> None:
    """The horizontal scale and its ticks, as many as the panel has room for."""
    kind = panel.axis.kind
    x = np.concatenate([_shown(it, panel.axis)[0] for it in panel.curves])
    room = int(1.7 * width)
    if _is_log(panel.axis, x):
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(LogLocator(subs=range(1, 10)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if kind == "multiples" and x.min() > 0:
        ticks = multiples(x.min(), x.max(), room)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    elif kind == "log counts":
        is_short = x.max() < 100 * x.min()
        axes.xaxis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if is_short else (1,), numticks=room + 1)
        )
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(room, steps=ROUND))
        if kind == "counts":
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def _is_log(axis: Axis, x: NDArray[np.float64]) -> bool:
    return axis.kind == "log counts" or (axis.kind == "multiples" and bool(x.min() > 0))


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    """As an array; null is NaN."""
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
