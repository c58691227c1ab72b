"""Return while training, against environment steps, inner updates and time."""

from collections.abc import Iterator, Mapping

import polars as pl
from matplotlib.figure import Figure

from mixedne.reports.figures.canvas import Named, seeds_note, sheets, solver_looks
from mixedne.reports.figures.curves import Axis, Curve, Kind, Panel, curve, draw_panels
from mixedne.reports.figures.words import (
    agent_name,
    agent_words,
    delta_name,
    delta_words,
    in_order,
    safe_name,
    where,
)
from mixedne.reports.frames import Report
from mixedne.reports.style import Look

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
        title = f"{agent_words(agent)}, {delta_words(delta)}: return while training"
        name = f"learning-{agent_name(agent)}-{delta_name(delta)}"
        suffix = [] if source == "evaluation" else [str(source)]
        y = SOURCES.get(str(source), str(source))
        for part, words, shown in sheets(rows):
            figure = _draw(shown, title + words, y, is_vpg=agent == "vpg")
            yield safe_name(name, *suffix, *part), figure


def _draw(rows: pl.DataFrame, title: str, y: str, *, is_vpg: bool) -> Figure:
    looks = solver_looks(rows.select("solver", "label").unique(maintain_order=True).iter_rows())
    longest = rows["seconds"].max() or 0.0
    unit, unit_name = next((size, name) for least, size, name in UNITS if not longest < least)  # type: ignore[operator]
    counts: Kind = "log counts" if is_vpg else "counts"
    axes = {
        "step": (Axis("environment samples" if is_vpg else "environment steps", counts), 1.0),
        "updates": (Axis("inner updates", counts), 1.0),
        "seconds": (Axis(f"wall-clock time in {unit_name}"), 1 / unit),
    }
    panels = [
        Panel(str(task), axis, _curves(where(rows, task=task), looks, x, scale))
        for task in in_order(rows, "task")
        for x, (axis, scale) in axes.items()
    ]
    return draw_panels(
        panels,
        title=title,
        y=y,
        note=seeds_note(rows),
        columns=len(axes),
        share_rows=True,
        empty="not recorded",
    )


def _curves(rows: pl.DataFrame, looks: Mapping[str, Look], x: str, scale: float) -> list[Curve]:
    """Of the rows that know where they are along ``x``."""
    rows = rows.filter(pl.col(x).is_not_null())
    by_label = {label: where(rows, label=label) for label in looks}
    return [curve(it, looks[label], x=x, scale=scale) for label, it in by_label.items() if len(it)]
