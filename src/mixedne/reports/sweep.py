"""Return against a shift: one curve for each kind of run, its mean and every single run."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.figure import Figure

from mixedne.files import write_beside
from mixedne.reports.style import RC

CURVES = (
    ("#009E73", "-", "o"),
    ("#D55E00", "-.", "s"),
    ("#0072B2", "--", "^"),
    ("#CC79A7", ":", "D"),
)
"""Colours of Okabe and Ito's palette, with lines and markers that differ in grey too."""


def draw_sweep(curves: Mapping[str, pl.DataFrame], axis: str, title: str) -> Figure:
    """Bold: the mean over runs; thin: each run. ``curves`` have columns run, ``axis``, return."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(6.4, 4.6), layout="constrained")
        axes = figure.subplots()
        for (label, table), (color, line, marker) in zip(curves.items(), CURVES, strict=False):
            for _, run in table.group_by("run", maintain_order=True):
                axes.plot(run[axis], run["return"], color=color, linewidth=0.7, alpha=0.5)
            mean = table.group_by(axis, maintain_order=True).agg(pl.col("return").mean())
            axes.plot(
                mean[axis],
                mean["return"],
                color=color,
                linestyle=line,
                marker=marker,
                linewidth=2.0,
                label=label,
            )
        axes.axvline(1.0, color="0.6", linewidth=0.8, zorder=0)
        axes.annotate(
            "training", (1.0, 1.0), (3, -2), ("data", "axes fraction"), "offset points", va="top",
            color="0.4",
        )  # fmt: skip
        values = np.unique(np.concatenate([table[axis].to_numpy() for table in curves.values()]))
        axes.set_xscale("log", base=2)
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.minorticks_off()
        axes.set_xlabel(f"{axis}, as a multiple of the task's own")
        axes.set_ylabel("return of an episode")
        axes.set_title(title)
        title = "bold: mean of the runs; thin: each run"
        figure.legend(loc="outside lower center", ncols=2, title=title)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the suffix says the format."""
    with mpl.rc_context(RC), write_beside(path) as temporary:
        figure.savefig(temporary)
