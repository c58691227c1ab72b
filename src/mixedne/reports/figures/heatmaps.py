"""Heatmaps: return against two shifts, and the results of hyperparameter searches."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
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
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import NullFormatter

from mixedne.reports import style
from mixedne.reports.figures import canvas
from mixedne.reports.figures.canvas import LITERAL, SMALL, Named, in_order
from mixedne.reports.tables import BAND_SEEDS, STATISTICS, Report, where
from mixedne.shifts import Axis

RETURNS = "cividis"  # from dark to light: the same to the colour-blind, and in grey
DIFFERENCES = "PuOr"  # orange below zero, purple above; told apart by the colour-blind

# The background of cells without a number.
NO_NUMBER: dict[str, Any] = {"facecolor": "0.88", "edgecolor": "0.55", "hatch": "//////", "lw": 0.0}

NOMINAL_MARK: dict[str, Any] = {
    "marker": "o", "color": "white", "markeredgecolor": "black", "markersize": 5, "linewidth": 0,
}  # fmt: skip

BELOW_MARK: dict[str, Any] = {"marker": ".", "color": "black", "markersize": 2.5, "linewidth": 0}
"""Mark of cells where the baseline is better, so that they differ in greyscale as well."""

MARKS: dict[str, dict[str, Any]] = {
    "chosen": {"edgecolor": "#D55E00", "linewidth": 2.6, "linestyle": "-", "fill": False},
    "paper": {"edgecolor": "black", "linewidth": 1.6, "linestyle": (0, (3, 1.5)), "fill": False},
}
"""Frames around cells of a search, by the column that selects them."""

RETURN = "return in the task itself"
Numbers = Sequence[float]


def cells(rows: pl.DataFrame, xs: Numbers, ys: Numbers) -> np.ma.MaskedArray:
    """A table of the rows' values at their positions in ``xs`` and ``ys``, which are sorted."""
    values = np.full((len(ys), len(xs)), np.nan)
    values[np.searchsorted(ys, rows["y"]), np.searchsorted(xs, rows["x"])] = rows["value"]
    return np.ma.masked_invalid(values)


def color_scale(tables: Sequence[np.ma.MaskedArray], *, around_zero: bool = False) -> Normalize:
    """A colour scale from the lowest to the highest number, or symmetric around zero."""
    numbers = np.concatenate([np.empty(0), *map(np.ma.compressed, tables)])
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    if around_zero:
        most = max(-low, high) or 1.0
        return Normalize(-most, most)
    return Normalize(low, high) if high > low else Normalize(low - 0.5, high + 0.5)


def draw_cells(
    axes: Axes,
    values: np.ma.MaskedArray,
    xs: Numbers,
    ys: Numbers,
    norm: Normalize,
    colors: str = RETURNS,
    most: int = 7,
) -> QuadMesh:
    """Draw cells of equal size; those without a number are hatched. Has at most ``most`` ticks."""
    axes.patch.set(**NO_NUMBER)
    corners = (np.arange(len(each) + 1) - 0.5 for each in (xs, ys))
    mesh = axes.pcolormesh(
        *corners, values, cmap=colors, norm=norm, edgecolors="face", linewidth=0.1
    )
    axes.set_xticks(*_ticks(xs, most))
    axes.set_yticks(*_ticks(ys, most))
    axes.tick_params(labelsize=7.5, length=2)
    return mesh


def _ticks(among: Numbers, most: int) -> tuple[list[float], list[str]]:
    """Positions and labels of ticks: of every value, or of round ones if there are many."""
    if len(among) <= most:
        return list(range(len(among))), [f"{value:.3g}" for value in among]
    low, high = among[0], among[-1]
    is_wide = low > 0 and high > 3 * low
    shown = canvas.multiples(low, high, most) if is_wide else canvas.evenly(low, high, most - 2)
    return [_place(value, among) for value in shown], [f"{value:g}" for value in shown]


def _place(value: float, among: Numbers) -> float:
    """The position of a value in units of cells."""
    return float(np.interp(value, among, range(len(among))))


def draw_heatmaps(report: Report, statistic: str) -> Iterator[Named]:
    """A figure for each agent, δ and pair of axes, with their names."""
    suffix = "" if statistic == "mean" else statistic
    keys = ["agent", "delta", "axis_x", "axis_y"]
    rows = where(report.maps, statistic=statistic)
    for (agent, delta, *axes), group in rows.group_by(keys, maintain_order=True):
        x, y = map(str, axes)
        own = f"map-{style.method_name(agent, delta)}"
        against = f"return against {style.short_axis(x)} and {style.short_axis(y)}"
        for ways, words, tested in canvas.ways_of_testing(group):
            for part, part_words, shown in canvas.sheets(tested):
                title = f"{style.game_words(agent, delta)}: {against}{words}{part_words}"
                name = style.safe_name(own, x, y, *ways, suffix, part)
                yield name, _draw(shown, title, statistic)


@mpl.rc_context(LITERAL)
def _draw(rows: pl.DataFrame, title: str, statistic: str) -> Figure:
    labels = list(canvas.solver_styles(rows.select("solver", "label").iter_rows()))
    gad = in_order(where(rows, solver="gad"), "label")
    baseline = min((label for label in labels if label in gad), key=len, default=labels[0])
    others = [label for label in labels if label != baseline]
    tasks = in_order(rows, "task")
    columns = len(labels) + len(others)
    width = max(1.75 * columns + (1.9 if others else 1.2), 4.5)
    figure, body = canvas.open_sheet(width, 1.55 * len(tasks) + 0.4, title)
    grid = body.subplots(len(tasks), columns, squeeze=False)
    for task, line in zip(tasks, grid, strict=True):
        _draw_row(body, list(line), where(rows, task=task), labels, baseline)
        line[0].set_ylabel(task, fontsize=SMALL, fontweight="bold")
    titles = [*labels, *(f"{label} − {baseline}" for label in others)]
    for axes, words in zip(grid[0], titles, strict=True):
        axes.set_title(textwrap.fill(words, 24), fontsize=SMALL)
    body.supxlabel(Axis.parse(rows["axis_x"][0]).label, fontsize=9)
    body.supylabel(Axis.parse(rows["axis_y"][0]).label, fontsize=9)
    seeds = canvas.seeds_note(rows, "Cells", statistic)
    note = f"Colours: return of an episode, {STATISTICS[statistic]}. {seeds}"
    canvas.close_sheet(figure, _legend(rows, [*grid.flat], f"worse than {baseline}"), note)
    return figure


def _draw_row(
    body: SubFigure, line: list[Axes], rows: pl.DataFrame, labels: list[str], baseline: str
) -> None:
    """One task: the solvers on one colour scale, then the differences on another."""
    xs, ys = (sorted(rows[name].unique()) for name in ("x", "y"))
    returns = [cells(where(rows, label=label), xs, ys) for label in labels]
    base = labels.index(baseline)
    differences = [it - returns[base] for place, it in enumerate(returns) if place != base]
    scales = color_scale(returns), color_scale(differences, around_zero=True)
    parts = (
        (line[: len(labels)], returns, scales[0], RETURNS, "return"),
        (line[len(labels) :], differences, scales[1], DIFFERENCES, "difference"),
    )
    at = {"axis_x": xs, "axis_y": ys}
    nominal = [(Axis.parse(rows[name][0]).nominal, among) for name, among in at.items()]
    for panels, tables, norm, colors, words in parts:
        drawn = []
        for axes, values in zip(panels, tables, strict=True):
            if not values.count():
                canvas.say_in(axes, "not evaluated")
                continue
            drawn.append(draw_cells(axes, values, xs, ys, norm, colors))
            if colors == DIFFERENCES:
                up, across = np.nonzero(np.ma.filled(values < 0, False))
                axes.plot(across, up, label="below", **BELOW_MARK)
            if all(it is not None and among[0] <= it <= among[-1] for it, among in nominal):
                place = ([_place(it, among)] for it, among in nominal if it is not None)
                axes.plot(*place, label="training", **NOMINAL_MARK)
        if drawn:
            bar = body.colorbar(drawn[0], ax=panels, pad=0.01, aspect=14)
            bar.set_label(words, fontsize=SMALL)
            bar.ax.tick_params(labelsize=7.5)
    for axes in line[1:]:
        axes.tick_params(labelleft=False)


def _legend(rows: pl.DataFrame, panels: Sequence[Axes], below: str) -> Mapping[str, Artist]:
    """The legend of the marks that are used."""
    marks = {it.get_label() for axes in panels for it in axes.lines if np.size(it.get_xdata())}
    meshes = [it for axes in panels for it in axes.collections if isinstance(it, QuadMesh)]
    found: dict[str, Artist] = {}
    if "training" in marks:
        found["training"] = Line2D([], [], **NOMINAL_MARK)
    if "below" in marks:
        found[below] = Line2D([], [], **{**BELOW_MARK, "markersize": 5})
    if any(np.ma.is_masked(mesh.get_array()) for mesh in meshes):
        invalid = rows["invalid"].sum()
        words = f", or one of {invalid} invalid episodes" if invalid else ""
        found[f"no number: not evaluated{words}"] = Patch(**NO_NUMBER)
    return found


def draw_searches(report: Report) -> Iterator[Named]:
    """A figure for each study and task, with their names."""
    for (study, task), rows in report.searches.group_by("study", "task", maintain_order=True):
        name = style.safe_name("search", str(study), str(task))
        yield name, _draw_search(rows, f"{study}: {task}")


def _order(panel: tuple[tuple[Any, ...], pl.DataFrame]) -> tuple[Any, ...]:
    """Sort key of panels."""
    (agent, delta, solver, fixed, *_), _ = panel
    order = [*style.SOLVERS, None, solver]
    return str(agent), -(delta or 0.0), order.index(solver), str(fixed)


@mpl.rc_context(LITERAL)
def _draw_search(rows: pl.DataFrame, title: str) -> Figure:
    panel = ["agent", "delta", "solver", "fixed", "setting_x", "setting_y"]
    groups = sorted(rows.group_by(panel, maintain_order=True), key=_order)
    columns = min(3, len(groups))
    lines = -(-len(groups) // columns)
    norm = color_scale([np.ma.masked_invalid(rows["value"].to_numpy())])
    figure, body = canvas.open_sheet(max(3.1 * columns + 0.9, 4.6), 2.1 * lines, title)
    grid = body.subplots(lines, columns, squeeze=False)
    for axes in grid.flat[len(groups) :]:
        axes.remove()
    used = list(grid.flat[: len(groups)])
    drawn: list[QuadMesh] = []
    for axes, ((agent, delta, solver, fixed, _, setting_y), own) in zip(used, groups, strict=True):
        if setting_y is None and own.height > 8:  # too many for a strip of cells
            _draw_line(axes, own)
        else:
            drawn.append(_draw_panel(axes, own, norm))
        words = [style.agent_words(agent)] if rows["agent"].n_unique() > 1 else []
        words += [style.solver_words(solver, agent), style.delta_words(delta)]
        words += [fixed] if fixed else []
        axes.set_title(textwrap.fill(", ".join(words), 44), fontsize=SMALL)
    if drawn:
        body.colorbar(drawn[0], ax=used, aspect=30).set_label(RETURN, fontsize=9)
    canvas.close_sheet(figure, _search_legend(rows, drawn), canvas.seeds_note(rows, "Numbers"))
    return figure


def _draw_panel(axes: Axes, rows: pl.DataFrame, norm: Normalize) -> QuadMesh:
    """Draw cells of two settings, or a strip of one; numbers are dark on light or light on dark."""
    setting_x, setting_y = rows["setting_x"][0], rows["setting_y"][0]
    rows = rows.with_columns(pl.col("y").fill_null(0.0))
    xs, ys = (sorted(rows[name].unique()) for name in ("x", "y"))
    values = cells(rows, xs, ys)
    mesh = draw_cells(axes, values, xs, ys, norm, most=8)
    axes.set_xlabel(style.SETTINGS.get(setting_x, setting_x), fontsize=SMALL)
    if setting_y is None:
        axes.set(yticks=[], box_aspect=0.16)
    else:
        words = textwrap.fill(style.SETTINGS.get(setting_y, setting_y), 22)
        axes.set_ylabel(words, fontsize=SMALL)
    for row in rows.iter_rows(named=True):
        across, up = xs.index(row["x"]), ys.index(row["y"])
        for column, inset in (("chosen", 0.06), ("paper", 0.14)):
            if row[column]:
                corner, side = (across - 0.5 + inset, up - 0.5 + inset), 1 - 2 * inset
                axes.add_patch(Rectangle(corner, side, side, label=column, **MARKS[column]))
        if values.size <= 48 and not np.ma.getmaskarray(values)[up, across]:
            color = "black" if float(norm(row["value"])) > 0.55 else "white"
            centred: dict[str, Any] = {"ha": "center", "va": "center", "color": color}
            axes.text(across, up, f"{row['value']:.4g}", fontsize=6.5, **centred)
    return mesh


def _draw_line(axes: Axes, rows: pl.DataFrame) -> None:
    """Draw a curve for many values of one setting, with frames around the marked points."""
    rows = rows.sort("x")
    x, setting = rows["x"].to_numpy(), rows["setting_x"][0]
    axes.plot(x, rows["value"], color="0.35", marker=".", markersize=4, linewidth=1.2)
    if max(rows["seeds"]) >= BAND_SEEDS:
        axes.fill_between(x, rows["low"], rows["high"], color="0.35", alpha=0.15, linewidth=0)
    for column, size in (("chosen", 9), ("paper", 12)):
        points, mark = rows.filter(column), MARKS[column]
        axes.plot(
            points["x"], points["value"], "s", markersize=size, markerfacecolor="none",
            markeredgecolor=mark["edgecolor"], markeredgewidth=mark["linewidth"] / 1.4,
        )  # fmt: skip
    if x.min() > 0 and x.max() > 10 * x.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(style.SETTINGS.get(setting, setting), fontsize=SMALL)
    axes.set_ylabel(RETURN, fontsize=SMALL)


def _search_legend(rows: pl.DataFrame, drawn: list[QuadMesh]) -> dict[str, Artist]:
    words = {"chosen": "chosen by the search", "paper": "in the paper's tables"}
    found: dict[str, Artist] = {
        words[column]: Rectangle((0, 0), 1, 1, **mark)
        for column, mark in MARKS.items()
        if rows[column].any()
    }
    if any(np.ma.is_masked(mesh.get_array()) for mesh in drawn):
        found["no number: not tried, or an invalid episode"] = Patch(**NO_NUMBER)
    return found
