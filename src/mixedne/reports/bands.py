"""Curves with bands: a mean and its interval over runs, several panels side by side."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from mixedne.reports.style import RC
from mixedne.reports.sweep import CURVES


class Band(NamedTuple):
    """One curve; without an interval ``low`` and ``high`` are empty."""

    x: Sequence[float]
    mean: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def draw_bands(
    panels: Mapping[str, Mapping[str, Band]],
    *,
    x: str,
    y: str,
    reference: Mapping[str, Band] | None = None,
    training: float | None = None,
    log_x: bool = False,
) -> Figure:
    """A panel for each title, a curve for each label.

    Args:
      panels: title → label → curve; a label looks the same in every panel.
      x: what runs along the axes.
      y: what is drawn.
      reference: grey curves for every panel, e.g. the best that is possible.
      training: where the runs were trained, marked in every panel.
      log_x: whether the horizontal axes are logarithmic.
    """
    labels = list(dict.fromkeys(label for curves in panels.values() for label in curves))
    looks = dict(zip(labels, CURVES, strict=False))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(4.2 * len(panels), 3.9), layout="constrained")
        row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, curves) in zip(row, panels.items(), strict=True):
            for label, band in (reference or {}).items():
                axes.plot(band.x, band.mean, color="0.45", linewidth=1.0, label=label)
            for label, band in curves.items():
                color, line, _ = looks[label]
                axes.plot(
                    band.x, band.mean, color=color, linestyle=line, linewidth=1.8, label=label
                )
                if band.low:
                    axes.fill_between(
                        band.x, band.low, band.high, color=color, alpha=0.18, linewidth=0
                    )
            if training is not None:
                axes.axvline(training, color="0.7", linewidth=0.8, zorder=0)
                axes.annotate(
                    "training", (training, 0.0), (3, 3), ("data", "axes fraction"),
                    "offset points", color="0.4",
                )  # fmt: skip
            if log_x:
                axes.set_xscale("log")
                axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_title(title)
            axes.set_xlabel(x)
        row[0].set_ylabel(y)
        handles = dict(zip(*reversed(row[0].get_legend_handles_labels()), strict=True))
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=4)
    return figure
