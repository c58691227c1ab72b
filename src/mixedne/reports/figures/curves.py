"""Panels of curves: a mean with its interval, or single runs, against a shift or steps."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

from mixedne.reports.figures import canvas
from mixedne.reports.style import Style
from mixedne.reports.tables import BAND_SEEDS, where

SIZES = {1: (5.2, 3.4), 2: (3.7, 2.7), 3: (3.0, 2.3), 4: (2.5, 2.0)}
"""Width and height of a panel in inches, by the number of columns."""

RUN = "run"  # the label of single runs; legends do not show it
REFERENCE = "0.5"  # the grey of curves that are not the runs' own

Kind = Literal["plain", "multiples", "counts", "log counts"]
"""Kind of horizontal axis. Multiples have a logarithmic one; counts are written as 200k."""


@dataclass(frozen=True)
class Curve:
    """One line; ``low`` and ``high`` are empty or null if there is no interval."""

    x: ArrayLike
    value: ArrayLike
    style: Style
    low: ArrayLike = ()
    high: ArrayLike = ()
    runs: Sequence[tuple[ArrayLike, ArrayLike]] = ()  # single runs, drawn thin
    is_reference: bool = False  # drawn in grey: published, or the best that is possible


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    label: str  # what runs along
    curves: Sequence[Curve]
    kind: Kind = "plain"
    training: float | None = None  # where the runs were trained


def curves_by(
    column: str,
    rows: pl.DataFrame,
    single: pl.DataFrame | None,
    styles: Mapping[str, Style],
    *,
    x: str = "x",
    scale: float = 1.0,
) -> list[Curve]:
    """A curve for each name in a column, from rows with the columns value, low, high and seeds.

    If there are too few seeds for a band, the runs in ``single`` are drawn instead; curves
    without single runs are references.
    """
    found = []
    for name, style in styles.items():
        own = where(rows, **{column: name}).drop_nulls(x).sort(x)
        if own.is_empty():
            continue
        along, value, low, high = (own[it].to_numpy() for it in (x, "value", "low", "high"))
        runs: list[tuple[ArrayLike, ArrayLike]] = []
        if max(own["seeds"]) < BAND_SEEDS:
            low = high = np.full(along.shape, np.nan)
            if single is not None:
                thin = where(single, **{column: name}).drop_nulls(x).sort(x)
                by_run = thin.partition_by("run", maintain_order=True)
                runs = [(run[x].to_numpy() * scale, run["value"].to_numpy()) for run in by_run]
        found.append(Curve(along * scale, value, style, low, high, runs, single is None))
    return found


@mpl.rc_context(canvas.LITERAL)
def draw_panels(
    panels: Sequence[Panel],
    *,
    title: str,
    y: str,
    note: str,
    columns: int = 4,
    share_rows: bool = False,
    empty: str = "not evaluated",
) -> Figure:
    """Panels in rows of at most ``columns``, as even as possible, with one legend for all.

    ``note`` explains lines and bands, and ``empty`` is the text in panels without curves; with
    ``share_rows``, the panels of a row share their vertical scale.
    """
    rows = -(-len(panels) // columns)
    columns = -(-len(panels) // rows)  # five panels are three and two, not four and one
    width, height = SIZES[min(columns, max(SIZES))]
    figure, body = canvas.open_sheet(columns * width, rows * height, title)
    grid = body.subplots(rows, columns, squeeze=False, sharey="row" if share_rows else "none")
    one_label = len({panel.label for panel in panels}) == 1
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for place, (panel, axes) in enumerate(zip(panels, grid.flat, strict=False)):
        _draw_panel(axes, panel, width, empty)
        if not one_label and place >= len(panels) - columns:
            axes.set_xlabel(panel.label)
    if one_label:
        body.supxlabel(panels[0].label, fontsize=9)
    body.supylabel(y, fontsize=9)
    canvas.close_sheet(figure, _legend(panels), note)
    return figure


def _draw_panel(axes: Axes, panel: Panel, width: float, empty: str) -> None:
    title = textwrap.fill(panel.title, int(14 * width), break_long_words=False)
    axes.set_title(title, fontsize=9)
    shown = [it for it in panel.curves if np.isfinite(_shown(it, panel.kind)[1]).any()]
    if not shown:
        canvas.say_in(axes, empty)
        return
    for place, it in enumerate(shown):
        _draw_curve(axes, it, panel.kind, place / len(shown))
    if panel.training is not None:
        axes.axvline(panel.training, color="0.6", linewidth=0.8, zorder=0, label="training")
    _scale(axes, panel, width)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=canvas.ROUND))


def _draw_curve(axes: Axes, it: Curve, kind: str, shift: float) -> None:
    """Draw line, band and single runs; neighbouring curves have markers at different points."""
    x, value, low, high = _shown(it, kind)
    style, label = _style(it), it.style.label
    color = style["color"]
    for run in it.runs:
        axes.plot(*run, color=color, linewidth=0.7, alpha=0.5, label=RUN)
    if np.isfinite(low).any():
        axes.fill_between(x, low, high, color=color, alpha=0.16, linewidth=0, zorder=1, label=label)
    marks = _marked(np.log(x) if _is_log(kind, x) else x, shift)
    axes.plot(x, value, label=label, markevery=marks, **style)


def _marked(x: NDArray[np.float64], shift: float) -> list[int]:
    """Points that get a marker: all of up to twelve, otherwise some, evenly along the axis."""
    gap = (x[-1] - x[0]) / 8 if len(x) else 0.0
    if len(x) <= 12 or not gap > 0:  # a run that has not moved yet
        return list(range(len(x)))
    wanted = np.arange(x[0] + shift * gap, x[-1] + gap / 100, gap)
    return sorted({int(np.abs(x - each).argmin()) for each in wanted})


def _style(it: Curve) -> dict[str, Any]:
    color = REFERENCE if it.is_reference else it.style.color
    return {
        "linestyle": it.style.line, "marker": it.style.marker, "markersize": 4, "color": color,
        "markerfacecolor": "white" if it.is_reference else color,
        "linewidth": 1.0 if it.is_reference else 1.5, "zorder": 2 if it.is_reference else 3,
    }  # fmt: skip


def _legend(panels: Sequence[Panel]) -> dict[str, Artist]:
    """Own curves first, then the grey ones, then the mark of the training world."""
    curves = [it for panel in panels for it in panel.curves]
    found: dict[str, Artist] = {}
    for it in sorted(curves, key=lambda it: it.is_reference):
        found.setdefault(it.style.label, Line2D([], [], **_style(it)))
    if any(panel.training is not None and panel.curves for panel in panels):
        mark: dict[str, Any] = {"marker": "|", "markersize": 11, "markeredgewidth": 1.2}
        found["training"] = Line2D([], [], color="0.5", linewidth=0, **mark)
    return found


def _shown(it: Curve, kind: str) -> tuple[NDArray[np.float64], ...]:
    """x, value, low and high, without points that a logarithmic axis of counts cannot show."""
    x = np.asarray(it.x, dtype=float)
    kept = np.isfinite(x) & (x > 0) if kind == "log counts" else np.isfinite(x)
    columns = (np.asarray(each, dtype=float) for each in (x, it.value, it.low, it.high))
    return tuple((each if each.size else np.full(x.shape, np.nan))[kept] for each in columns)


def _scale(axes: Axes, panel: Panel, width: float) -> None:
    """The horizontal scale and its ticks, as many as the panel has room for."""
    kind = panel.kind
    x = np.concatenate([_shown(it, panel.kind)[0] for it in panel.curves])
    room = int(1.7 * width)
    if _is_log(kind, x):
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(LogLocator(subs=range(1, 10)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if kind == "multiples" and x.min() > 0:
        ticks = canvas.multiples(x.min(), x.max(), room)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    elif kind == "log counts":
        subs = (1, 2, 5) if x.max() < 100 * x.min() else (1,)
        axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=room + 1))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(room, steps=canvas.ROUND))
    if kind in ("counts", "log counts"):
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def _is_log(kind: str, x: NDArray[np.float64]) -> bool:
    return kind == "log counts" or (kind == "multiples" and bool(x.min() > 0))
