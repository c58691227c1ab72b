"""Return while training, against environment steps, inner updates and time."""

from collections.abc import Iterator, Mapping

import polars as pl
from matplotlib.figure import Figure

from mixedne.reports import names
from mixedne.reports.figures import canvas
from mixedne.reports.figures.canvas import Named, in_order, where
from mixedne.reports.figures.curves import Axis, Curve, Kind, Panel, curve, draw_panels
from mixedne.reports.style import Style
from mixedne.reports.tables import Report

SOURCES = {
    "evaluation": "return, without noise",
    "training": "return while training",
}

UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
"""From how many seconds on, seconds in one, name."""


def draw_learning(report: Report) -> Iterator[Named]:
    """A figure for each agent, δ and source of the returns, with their names."""
    keys = ["agent", "delta", "source"]
    for (agent, delta, source), rows in report.learning.group_by(keys, maintain_order=True):
        title = f"{names.agent_words(agent)}, {names.delta_words(delta)}: return while training"
        name = f"learning-{names.agent_name(agent)}-{names.delta_name(delta)}"
        suffix = [] if source == "evaluation" else [str(source)]
        y = SOURCES.get(str(source), str(source))
        for part, words, shown in canvas.sheets(rows):
            figure = _draw(shown, report.learning_runs, title + words, y)
            yield names.safe_name(name, *suffix, *part), figure


def _draw(rows: pl.DataFrame, runs: pl.DataFrame, title: str, y: str) -> Figure:
    styles = canvas.solver_styles(rows.select("solver", "label").unique(maintain_order=True).rows())
    drawn = {name: rows[name][0] for name in ("agent", "delta", "source")}
    single, is_vpg = where(runs, **drawn), drawn["agent"] == "vpg"
    longest = rows["seconds"].max() or 0.0
    unit, unit_name = next((size, name) for least, size, name in UNITS if not longest < least)  # type: ignore[operator]
    counts: Kind = "log counts" if is_vpg else "counts"
    axes = {
        "step": (Axis("environment samples" if is_vpg else "environment steps", counts), 1.0),
        "updates": (Axis("inner updates", counts), 1.0),
        "seconds": (Axis(f"wall-clock time in {unit_name}"), 1 / unit),
    }
    panels = [
        Panel(
            str(task),
            axis,
            _curves(where(rows, task=task), where(single, task=task), styles, x, scale),
        )
        for task in in_order(rows, "task")
        for x, (axis, scale) in axes.items()
    ]
    return draw_panels(
        panels,
        title=title,
        y=y,
        note=canvas.seeds_note(rows),
        columns=len(axes),
        share_rows=True,
        empty="not recorded",
    )


def _curves(
    rows: pl.DataFrame, single: pl.DataFrame, styles: Mapping[str, Style], x: str, scale: float
) -> list[Curve]:
    """Of the rows that know where they are along ``x``."""
    rows, single = (it.filter(pl.col(x).is_not_null()) for it in (rows, single))
    by_label = {label: where(rows, label=label) for label in styles}
    return [
        curve(it, styles[label], where(single, label=label), x=x, scale=scale)
        for label, it in by_label.items()
        if len(it)
    ]
