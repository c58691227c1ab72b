"""The case study's figures, in the form of the paper's Figures 1 to 3.

For each objective, and each start side by side: the objective against the outer step, and
the path in the plane over the field of the dynamics.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mixedne.evaluation.estimators import Array
from mixedne.reports.figures.canvas import FORMATS, save_figure
from mixedne.reports.style import CASE_STUDY, RC, Style
from mixedne.saddle.objectives import BOX, CURVE, OBJECTIVES, Objective


def write_figures(paths: pl.DataFrame, folder: Path) -> list[Path]:
    """Draw one figure per objective from the table of paths; return the files written."""
    written = []
    for name in paths["objective"].unique(maintain_order=True):
        figure = draw(paths.filter(objective=name), OBJECTIVES[name])
        for suffix in reversed(FORMATS):
            written.append(folder / f"{name}.{suffix}")
            save_figure(figure, written[-1], RC)
    return written


@mpl.rc_context(RC)
def draw(paths: pl.DataFrame, objective: Objective) -> Figure:
    """The figure of one objective: a row of two panels for each start."""
    starts = paths["start"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(8.4, 3.7 * len(starts) + 1.1), layout="constrained")
    rows = figure.subplots(len(starts), 2, squeeze=False, width_ratios=[1.15, 1])
    for start, (left, right) in zip(starts, rows, strict=True):
        cases = paths.filter(pl.col("start") == start)
        name, _, settings = start.partition(" ")
        words = {"far": "far from the equilibrium", "near": "near the equilibrium"}
        where = f"start {words.get(name, f'at ({name})')}\n{settings}".rstrip()
        draw_values(left, cases, objective)
        left.set_title(f"Objective, {where}")
        draw_plane(right, cases, objective)
        right.set_title(f"Path, {where}")
    seeds = paths["seed"].n_unique()
    spread = "" if seeds == 1 else f" (bold: median and 5–95 % band of {seeds} seeds)"
    figure.suptitle(f"f(θ, ω) = {objective.label}.  MixedNE-LD, thin: first seed{spread}")
    handles, labels = rows[0][1].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=2)
    for handle in legend.get_lines():
        handle.set(alpha=1.0, linewidth=max(handle.get_linewidth(), 1.6))
    return figure


def draw_values(axes: Axes, cases: pl.DataFrame, objective: Objective) -> None:
    """The objective against the outer step."""
    for style, is_sampled, theta, omega in _cases(cases):
        values = objective.value(theta, omega)
        step = np.arange(values.shape[1])
        if not is_sampled:
            axes.plot(step, values[0], style.line, color=style.color, lw=1.6, zorder=3)
            continue
        axes.plot(step, values[0], color=style.color, lw=0.4, alpha=0.5)
        if len(values) > 1:
            low, middle, high = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
            axes.fill_between(step, low, high, color=style.color, alpha=0.2, lw=0)
            axes.plot(step, middle, style.line, color=style.color, lw=1.6)
    axes.axhline(0, color="black", lw=0.8, ls=":")
    box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1}
    corner: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
    axes.annotate("value at equilibrium", (1, 0), fontsize=7, bbox=box, zorder=6, **corner)
    axes.set_xscale("symlog", linthresh=10)
    axes.set(xlim=(0, None), xlabel="outer step t", ylabel="f(θ, ω)")


def draw_plane(axes: Axes, cases: pl.DataFrame, objective: Objective) -> None:
    """The path in the plane, with the field (∇_θ f, −∇_ω f) and the stationary curve."""
    _draw_field(axes, objective)
    for style, is_sampled, theta, omega in _cases(cases):
        width, alpha, order = (0.4, 0.5, 2) if is_sampled else (1.6, 0.9, 3)
        drawn: dict[str, Any] = {"color": style.color, "zorder": order}
        axes.plot(theta[0], omega[0], style.line, lw=width, alpha=alpha, **drawn)
        axes.plot(theta[:, -1], omega[:, -1], style.marker, ms=3, alpha=0.4, **drawn)
        end: dict[str, Any] = {"color": style.color, "ms": 6.5, "mec": "black", "zorder": 5}
        words = f"{style.label}, and where it ends"
        axes.plot(theta[0, -1], omega[0, -1], style.marker, ls=style.line, label=words, **end)
    start = cases.row(0, named=True)
    place = start["start_theta"], start["start_omega"]
    axes.plot(*place, "X", color="black", ms=8, label="start", zorder=6)
    axes.set(xlim=(-BOX, BOX), ylim=(-BOX, BOX), aspect="equal")
    axes.set(xlabel="θ (agent, maximises)", ylabel="ω (adversary, minimises)")


def _draw_field(axes: Axes, objective: Objective) -> None:
    """Directions of the gradient dynamics, the stationary curve and the equilibria."""
    grid = np.linspace(-BOX, BOX, 17)
    theta, omega = np.meshgrid(grid, grid)
    by_theta, by_omega = objective.gradient(theta, omega)
    length = np.maximum(np.hypot(by_theta, by_omega), 1e-9)
    arrows = by_theta / length, -by_omega / length
    axes.quiver(theta, omega, *arrows, color="0.72", width=0.003, scale=28, pivot="mid", zorder=1)
    if objective.has_curve:
        branch = np.linspace(CURVE / BOX, BOX, 200)
        label = "stationary, no equilibrium (θω = 0.5)"
        axes.plot(branch, CURVE / branch, "k--", lw=1, label=label)
        axes.plot(-branch, -CURVE / branch, "k--", lw=1)
        axes.plot(0, 0, "*", color="black", ms=11, label="equilibrium (0, 0)", zorder=4)
    else:
        axes.plot([-BOX, BOX], [0, 0], color="0.45", lw=3, label="equilibria (ω = 0)")


def _cases(cases: pl.DataFrame) -> Iterator[tuple[Style, bool, Array, Array]]:
    """Style, whether there are chains, and θ and ω of shape (seeds, steps + 1)."""
    for (solver, inner), case in cases.group_by("solver", "inner", maintain_order=True):
        theta, omega = (np.stack(case[name].to_list()) for name in ("theta", "omega"))
        yield CASE_STUDY[solver, inner], inner is not None, theta, omega
