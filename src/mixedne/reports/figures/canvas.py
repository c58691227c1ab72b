"""Common parts of all figures: the sheet, its title, legend and note, ticks, and files."""

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from mixedne.files import write_beside
from mixedne.reports.style import ACTING, RC, SOLVERS, Style, further_style, solver_words
from mixedne.reports.tables import BAND_SEEDS, INTERVALS, STATISTICS

LITERAL: dict[Any, Any] = {**RC, "text.parse_math": False}
"""Matplotlib settings with which a dollar sign in a name does not start a formula."""

FORMATS = ("pdf", "png")
SMALL = 8  # points, of notes and of titles in narrow panels
TASKS_ON_A_SHEET = 4  # rows that a printed page holds at a readable size

NICE = (1, 0.5, 2, 0.1, 10, 0.25, 4, 0.2, 5, 1.5, 0.75, 3, 0.05, 20, 8, 1.25, 0.01, 100, 0.9, 1.1)
"""Ticks for axes with multiples, in order of preference."""

ROUND = [1, 2, 2.5, 5, 10]
"""Allowed steps between ticks, times a power of ten."""

Named = tuple[str, Figure]
"""The name of a figure's files, without suffix, and the figure."""


def open_sheet(width: float, height: float, title: str) -> tuple[Figure, SubFigure]:
    """A figure and its part for panels, to be completed with :func:`close_sheet`.

    ``height`` is the height of the panels in inches; title, legend and note are added to it.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(textwrap.fill(title, int(12 * width)), fontsize=10)
    # This keeps the panels' labels and the figure's legend from overlapping.
    body = figure.subfigures()
    assert isinstance(body, SubFigure)
    return figure, body


def close_sheet(figure: Figure, legend: Mapping[str, Artist], note: str) -> None:
    """Add one legend for all panels, with the note as its title."""
    width, height = figure.get_size_inches()
    words = textwrap.fill(note, int(16 * width))
    longest = max(map(len, legend), default=1)
    columns = max(1, min(len(legend), int(14.5 * width / (longest + 7))))
    rows = -(-len(legend) // columns)
    title_lines = figure.get_suptitle().count("\n") + 1
    lines = 1.1 * title_lines + rows + words.count("\n") + 1.4
    figure.set_size_inches(width, height + 0.18 * lines)
    sizes: dict[str, Any] = {"fontsize": 9, "title_fontsize": SMALL, "handlelength": 3.4}
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "title": words}
    shown = figure.legend([*legend.values()], [*legend], **place, **sizes)
    shown.get_title().set_multialignment("center")


def sheets(
    rows: pl.DataFrame, most: int | None = TASKS_ON_A_SHEET
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Split rows into sheets of at most ``most`` tasks: part of a file name, words, rows.

    The first sheet has an empty part of the name, and without rows there is no sheet.
    """
    tasks = in_order(rows, "task")
    most = most or max(len(tasks), 1)
    parts = [tasks[first : first + most] for first in range(0, len(tasks), most)]
    for place, own in enumerate(parts, 1):
        words = f" ({place} of {len(parts)})" if len(parts) > 1 else ""
        yield f"part{place}" if place > 1 else "", words, rows.filter(pl.col("task").is_in(own))


def say_in(axes: Axes, words: str) -> None:
    """Write a text, e.g. that data are missing, into an empty panel."""
    # Do not remove the ticks: other panels may share them.
    axes.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color="0.45")


def ways_of_testing(rows: pl.DataFrame) -> Iterator[tuple[list[str], str, pl.DataFrame]]:
    """Split rows by ``acting`` and ``mass_mode``: parts of a file name, words, rows.

    What all rows have in common is not named.
    """
    told = [name for name in ("acting", "mass_mode") if rows[name].n_unique() > 1]
    for (acting, mode), group in rows.group_by("acting", "mass_mode", maintain_order=True):
        scaled = f"masses scaled in the mode “{mode or 'not known'}”"
        names = {"acting": acting or "acting-unknown", "mass_mode": mode or "mode-unknown"}
        words = {"acting": ACTING.get(acting) or acting, "mass_mode": scaled}
        yield [str(names[it]) for it in told], "".join(f", {words[it]}" for it in told), group


def in_order(table: pl.DataFrame, column: str) -> list[Any]:
    """A column's distinct values, in order of appearance."""
    return table[column].unique(maintain_order=True).to_list()


def solver_styles(methods: Iterable[tuple[str | None, str]]) -> dict[str, Style]:
    """The style of every label, given with its solver; solvers are in the order of the legend.

    The plain label of a solver, or else its first, gets the solver's own style, and all others
    get further styles.
    """

    def place(method: tuple[str, str]) -> tuple[int, bool]:
        solver, label = method
        return [*SOLVERS, solver].index(solver), label != solver_words(solver)

    styles: dict[str, Style] = {}
    unused, further = dict(SOLVERS), itertools.count()
    for solver, label in sorted(((solver or "sac", label) for solver, label in methods), key=place):
        if label not in styles:
            look = unused.pop(solver, None) or further_style(label, next(further))
            styles[label] = replace(look, label=label)
    return styles


def seeds_note(rows: pl.DataFrame, drawn: str = "Lines", statistic: str = "mean") -> str:
    """A note on what lines and bands show, for rows with the columns over seeds."""
    few, many = min(rows["seeds"]), max(rows["seeds"])
    is_line = drawn == "Lines"
    if many == 1:
        note = f"{drawn}: a single run each; one seed: no interval."
    else:
        count = f"{few} to {many}" if few < many else f"{many}"
        of = "" if statistic == "mean" else f" of each run's {STATISTICS[statistic]}"
        note = f"{drawn}: mean over {count} training seeds{of}."
        if is_line and many >= BAND_SEEDS:
            note += f" Bands: {INTERVALS['mean']}."
        if is_line and few < BAND_SEEDS:
            note += f" Thin: single runs, where fewer than {BAND_SEEDS} seeds allow no band."
    if rows["value"].is_nan().any() and is_line:
        note += " Gaps: a return that is no number."
    return note


def multiples(low: float, high: float, room: int) -> list[float]:
    """At most about ``room`` preferred multiples in a range, spaced out on a logarithmic axis."""
    apart = np.log(high / low) / room * 0.95
    ticks: list[float] = []
    for tick in NICE:
        if low <= tick <= high and all(abs(np.log(tick / other)) >= apart for other in ticks):
            ticks.append(tick)
    return sorted(ticks) if len(ticks) > 2 else evenly(low, high, room)


def evenly(low: float, high: float, room: int) -> list[float]:
    """At most about ``room`` round values in a range, at equal steps."""
    between = MaxNLocator(room, steps=ROUND).tick_values(low, high)
    return [float(tick) for tick in between if low <= tick <= high] or [low]


def save_figure(figure: Figure, path: Path, settings: Mapping[Any, Any] = LITERAL) -> None:
    """Write a figure in the format of the suffix. The same figure gives the same bytes."""
    with mpl.rc_context(dict(settings)), write_beside(path) as temporary:
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else None
        figure.savefig(temporary, metadata=metadata)
