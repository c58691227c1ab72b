"""What hyperparameter searches found: nominal return at the values that were tried."""

import textwrap
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullFormatter

from mixedne.reports.figures.canvas import (
    LITERAL,
    SMALL,
    Named,
    close_sheet,
    open_sheet,
    seeds_note,
)
from mixedne.reports.figures.cells import cells, draw_cells, no_number_patch, range_of
from mixedne.reports.names import SETTINGS, agent_words, delta_words, safe_name, solver_words
from mixedne.reports.style import SOLVERS
from mixedne.reports.tables import BAND_SEEDS, Report

PANEL = ["agent", "delta", "solver", "fixed", "setting_x", "setting_y"]
"""The columns whose values name a panel."""

COLUMNS = 3
WIDTH, HEIGHT = 3.1, 2.1
"""Of a panel, in inches."""

MARKS: dict[str, dict[str, Any]] = {
    "chosen": {"edgecolor": "#D55E00", "linewidth": 2.6, "linestyle": "-", "fill": False},
    "paper": {"edgecolor": "black", "linewidth": 1.6, "linestyle": (0, (3, 1.5)), "fill": False},
}
"""The frame around a cell, by the column that says it."""

MARK_WORDS = {"chosen": "chosen by the search", "paper": "in the paper's tables"}

RETURN = "return in the task itself"

LONGEST_STRIP = 8
"""Values of a single setting up to which they are a strip of cells; more are a curve."""

MOST_WRITTEN = 48
"""Cells of a panel up to which their numbers are written in them."""


def draw_searches(report: Report) -> Iterator[Named]:
    """A figure for each study and task, with their names."""
    for (study, task), rows in report.searches.group_by("study", "task", maintain_order=True):
        yield safe_name("search", str(study), str(task)), _draw(rows, f"{study}: {task}")


def _draw(rows: pl.DataFrame, title: str) -> Figure:
    order = [*SOLVERS, None]
    groups = sorted(
        rows.group_by(PANEL, maintain_order=True),
        key=lambda it: (
            str(it[0][0]), -(it[0][1] or 0.0),
            order.index(it[0][2]) if it[0][2] in order else len(order), str(it[0][3]),
        ),
    )  # fmt: skip
    columns = min(COLUMNS, len(groups))
    lines = -(-len(groups) // columns)
    norm = range_of([np.ma.masked_invalid(rows["value"].fill_null(np.nan).to_numpy())])
    several_agents = rows["agent"].n_unique() > 1
    with mpl.rc_context(LITERAL):
        figure, body = open_sheet(max(columns * WIDTH + 0.9, 4.6), lines * HEIGHT, title)
        grid = body.subplots(lines, columns, squeeze=False)
        drawn: list[QuadMesh] = []
        for axes in grid.flat[len(groups) :]:
            axes.remove()
        used = list(grid.flat[: len(groups)])
        for axes, ((agent, delta, solver, fixed, _, _), own) in zip(used, groups, strict=True):
            if own["setting_y"][0] is None and own.height > LONGEST_STRIP:
                _draw_line(axes, own)
            else:
                drawn.append(_draw_panel(axes, own, norm))
            words = [agent_words(agent)] if several_agents else []
            words += [solver_words(solver, agent), delta_words(delta), *([fixed] if fixed else [])]
            axes.set_title(textwrap.fill(", ".join(words), 44), fontsize=SMALL)
        if drawn:
            bar = body.colorbar(drawn[0], ax=used, aspect=30)
            bar.set_label(RETURN, fontsize=9)
        close_sheet(figure, _legend(rows, drawn), seeds_note(rows, "Numbers"))
    return figure


def _draw_panel(axes: Axes, rows: pl.DataFrame, norm: Normalize) -> QuadMesh:
    """Two settings crossed, or a strip of one."""
    setting_x, setting_y = rows["setting_x"][0], rows["setting_y"][0]
    xs = sorted(rows["x"].unique())
    ys = [0.0] if setting_y is None else sorted(rows["y"].unique())
    it = cells(rows, xs, ys, None if setting_y is None else "y")
    mesh = draw_cells(axes, it, norm, most=8)
    axes.set_xlabel(SETTINGS.get(setting_x, setting_x), fontsize=SMALL)
    if setting_y is None:
        axes.set(yticks=[], box_aspect=0.16)
    else:
        axes.set_ylabel(textwrap.fill(SETTINGS.get(setting_y, setting_y), 22), fontsize=SMALL)
    for row in rows.iter_rows(named=True):
        across, up = xs.index(row["x"]), 0 if setting_y is None else ys.index(row["y"])
        for column, mark in MARKS.items():
            if row[column]:
                inset = 0.06 if column == "chosen" else 0.14
                corner, side = (across - 0.5 + inset, up - 0.5 + inset), 1 - 2 * inset
                axes.add_patch(Rectangle(corner, side, side, label=column, **mark))
        if it.values.size <= MOST_WRITTEN and not np.ma.getmaskarray(it.values)[up, across]:
            _write(axes, (across, up), row["value"], norm)
    return mesh


def _draw_line(axes: Axes, rows: pl.DataFrame) -> None:
    """Many values of one setting: a curve, with frames around the points that stand out."""
    rows = rows.sort("x")
    x, setting = rows["x"].to_numpy(), rows["setting_x"][0]
    axes.plot(x, rows["value"], color="0.35", marker=".", markersize=4, linewidth=1.2)
    if rows["seeds"].max() >= BAND_SEEDS:  # type: ignore[operator]
        axes.fill_between(x, rows["low"], rows["high"], color="0.35", alpha=0.15, linewidth=0)
    for column, mark in MARKS.items():
        points = rows.filter(column)
        size = 9 if column == "chosen" else 12
        axes.plot(
            points["x"], points["value"], "s", markersize=size, markerfacecolor="none",
            markeredgecolor=mark["edgecolor"], markeredgewidth=mark["linewidth"] / 1.4,
        )  # fmt: skip
    if x.min() > 0 and x.max() > 10 * x.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(SETTINGS.get(setting, setting), fontsize=SMALL)
    axes.set_ylabel(RETURN, fontsize=SMALL)


def _write(axes: Axes, place: tuple[float, float], value: float, norm: Normalize) -> None:
    """A number in a cell, dark on light and light on dark."""
    color = "black" if float(norm(value)) > 0.55 else "white"
    axes.text(*place, f"{value:.4g}", ha="center", va="center", fontsize=6.5, color=color)


def _legend(rows: pl.DataFrame, drawn: list[QuadMesh]) -> dict[str, Artist]:
    found: dict[str, Artist] = {
        MARK_WORDS[column]: Rectangle((0, 0), 1, 1, **mark)
        for column, mark in MARKS.items()
        if rows[column].any()
    }
    if any(np.ma.is_masked(mesh.get_array()) for mesh in drawn):
        found["no number: not tried, or an invalid episode"] = no_number_patch()
    return found
