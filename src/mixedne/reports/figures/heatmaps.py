"""Return against two crossed shifts: solvers side by side, and how they differ."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from mixedne.reports import names
from mixedne.reports.figures import canvas
from mixedne.reports.figures.canvas import LITERAL, SMALL, Named, in_order, where
from mixedne.reports.figures.cells import (
    DIFFERENCES,
    RETURNS,
    Cells,
    cells,
    draw_cells,
    no_number_patch,
    position,
    range_around_zero,
    range_of,
)
from mixedne.reports.tables import STATISTICS, Report

NOMINAL_MARK: dict[str, Any] = {
    "marker": "o", "color": "white", "markeredgecolor": "black", "markersize": 5, "linewidth": 0,
}  # fmt: skip

BELOW_MARK: dict[str, Any] = {"marker": ".", "color": "black", "markersize": 2.5, "linewidth": 0}
"""In cells where the baseline is better: the two sides of the scale differ in grey as well."""

WIDTH, HEIGHT = 1.75, 1.55
"""Of a panel, in inches."""


def draw_heatmaps(report: Report, statistic: str = "mean") -> Iterator[Named]:
    """A figure for each agent, δ and pair of axes, with their names."""
    keys = ["agent", "delta", "axis_x", "axis_y"]
    rows = where(report.maps, statistic=statistic)
    for (agent, delta, x, y), group in rows.group_by(keys, maintain_order=True):
        method = f"{names.agent_words(agent)}, {names.delta_words(delta)}"
        against = f"return against {names.short_axis(str(x))} and {names.short_axis(str(y))}"
        for way, words, tested in canvas.ways_of_testing(group):
            parts = [f"map-{names.agent_name(agent)}-{names.delta_name(delta)}", str(x), str(y)]
            parts += [*way, *names.statistic_name(statistic)]
            for part, part_words, shown in canvas.sheets(tested):
                title = f"{method}: {against}{words}{part_words}"
                yield names.safe_name(*parts, *part), _draw(shown, title, statistic)


def baseline_of(rows: pl.DataFrame, labels: Sequence[str]) -> str:
    """The label that others are compared with: GAD, or else the first."""
    gad = {str(it) for it in in_order(where(rows, solver="gad"), "label")}
    return next((label for label in labels if label in gad), labels[0])


def _draw(rows: pl.DataFrame, title: str, statistic: str) -> Figure:
    labels = list(canvas.solver_styles(rows.select("solver", "label").iter_rows()))
    baseline = baseline_of(rows, labels)
    others = [label for label in labels if label != baseline]
    tasks = in_order(rows, "task")
    columns = len(labels) + len(others)
    axes_names = rows["axis_x"][0], rows["axis_y"][0]
    with mpl.rc_context(LITERAL):
        width = max(columns * WIDTH + (1.9 if others else 1.2), 4.5)
        figure, body = canvas.open_sheet(width, len(tasks) * HEIGHT + 0.4, title)
        grid = body.subplots(len(tasks), columns, squeeze=False)
        for task, line in zip(tasks, grid, strict=True):
            own = where(rows, task=task)
            xs, ys = (sorted(own[name].unique()) for name in ("x", "y"))
            tables = {label: cells(where(own, label=label), xs, ys) for label in labels}
            _draw_row(body, list(line), tables, baseline, axes_names)
            line[0].set_ylabel(str(task), fontsize=SMALL, fontweight="bold")
        titles = [*labels, *(f"{label} − {baseline}" for label in others)]
        for axes, words in zip(grid[0], titles, strict=True):
            axes.set_title(textwrap.fill(words, 24), fontsize=SMALL)
        body.supxlabel(names.axis_words(axes_names[0]), fontsize=9)
        body.supylabel(names.axis_words(axes_names[1]), fontsize=9)
        of = "" if statistic == "mean" else f" of each run's {STATISTICS[statistic]}"
        note = f"Colours: {canvas.return_words(statistic)}. {canvas.seeds_note(rows, 'Cells', of)}"
        canvas.close_sheet(figure, _legend(rows, grid.flat, f"worse than {baseline}"), note)
    return figure


def _draw_row(
    body: SubFigure,
    line: list[Axes],
    tables: Mapping[str, Cells],
    baseline: str,
    axes_names: tuple[str, str],
) -> None:
    """One task: the solvers on one colour scale, then the differences on another."""
    returns = {label: it for label, it in tables.items() if it.values.count()}
    differences = {
        label: replace(it, values=it.values - tables[baseline].values)
        for label, it in tables.items()
        if label != baseline
    }
    left, right = line[: len(tables)], line[len(tables) :]
    parts = (
        (left, tables, range_of([it.values for it in returns.values()]), RETURNS, "return"),
        (
            right,
            differences,
            range_around_zero([it.values for it in differences.values()]),
            DIFFERENCES,
            "difference",
        ),
    )
    for panels, shown, norm, colors, words in parts:
        meshes = [
            _draw_panel(axes, it, norm, colors, axes_names)
            for axes, it in zip(panels, shown.values(), strict=True)
        ]
        drawn = [mesh for mesh in meshes if mesh is not None]
        if drawn:
            bar = body.colorbar(drawn[0], ax=panels, pad=0.01, aspect=14)
            bar.set_label(words, fontsize=SMALL)
            bar.ax.tick_params(labelsize=7.5)
    for axes in line[1:]:
        axes.tick_params(labelleft=False)


def _draw_panel(
    axes: Axes, it: Cells, norm: Normalize, colors: str, axes_names: tuple[str, str]
) -> QuadMesh | None:
    if not it.values.count():
        canvas.say_in(axes, "not evaluated")
        return None
    mesh = draw_cells(axes, it, norm, colors=colors)
    if colors == DIFFERENCES:
        up, across = np.nonzero(np.ma.filled(it.values < 0, False))
        axes.plot(across, up, label="below", **BELOW_MARK)
    nominal = [*map(names.nominal_value, axes_names)]
    across_at, up_at = position(nominal[0], it.xs), position(nominal[1], it.ys)
    if across_at is not None and up_at is not None:
        axes.plot([across_at], [up_at], label="training", **NOMINAL_MARK)
    return mesh


def _legend(rows: pl.DataFrame, panels: Iterable[Axes], below: str) -> dict[str, Artist]:
    """Of the marks that are there."""
    every = list(panels)
    marks = {line.get_label() for axes in every for line in axes.lines if np.size(line.get_xdata())}
    masked = any(np.ma.is_masked(mesh.get_array()) for axes in every for mesh in meshes(axes))
    found: dict[str, Artist] = {}
    if "training" in marks:
        found["training"] = Line2D([], [], **NOMINAL_MARK)
    if "below" in marks:
        found[below] = Line2D([], [], **{**BELOW_MARK, "markersize": 5})
    if masked:
        invalid = rows["invalid"].sum()
        words = f", or one of {invalid} invalid episodes" if invalid else ""
        found[f"no number: not evaluated{words}"] = no_number_patch()
    return found


def meshes(axes: Axes) -> list[QuadMesh]:
    """The coloured cells of a panel."""
    return [it for it in axes.collections if isinstance(it, QuadMesh)]
