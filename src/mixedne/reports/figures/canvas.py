"""What all figures have in common: the sheet, its title, legend and note, and their files."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from mixedne.files import write_beside
from mixedne.reports.names import ACTING, solver_words
from mixedne.reports.style import RC, SOLVERS, Style, further_style
from mixedne.reports.tables import BAND_SEEDS, INTERVALS, STATISTICS

LITERAL: dict[Any, Any] = {**RC, "text.parse_math": False}
"""A dollar sign in a name is drawn as one, and starts no formula."""

SMALL = 8
"""Points, of notes and of titles in narrow panels."""

TRAINING = Line2D([], [], color="0.5", linewidth=0, marker="|", markersize=11, markeredgewidth=1.2)
"""What a legend shows for the line at the shift of training."""

TASKS_ON_A_SHEET = 4
"""Where a task has a row of its own, as many as a printed page holds at a readable size."""

Named = tuple[str, Figure]
"""The name that a figure's files get, without suffix, and the figure."""


def open_sheet(width: float, height: float, title: str) -> tuple[Figure, SubFigure]:
    """A figure and the part of it for panels, to be closed with :func:`close_sheet`.

    ``height`` is that of the panels alone, in inches; title, legend and note are added to it.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    if title:
        figure.suptitle(textwrap.fill(title, int(12 * width)), fontsize=10)
    # Labels of the panels' part and the legend of the whole then do not fall on each other.
    body = figure.subfigures()
    assert isinstance(body, SubFigure)
    return figure, body


def close_sheet(figure: Figure, legend: Mapping[str, Artist], note: str) -> None:
    """Add the legend, once for all panels, headed by the note."""
    width, height = figure.get_size_inches()
    words = textwrap.fill(note, int(16 * width))
    longest = max(map(len, legend), default=1)
    columns = max(1, min(len(legend), int(14.5 * width / (longest + 7))))
    rows = -(-len(legend) // columns)
    title_lines = figure.get_suptitle().count("\n") + bool(figure.get_suptitle())
    lines = 1.1 * title_lines + rows + words.count("\n") + 1.4
    figure.set_size_inches(width, height + 0.18 * lines)
    if legend or note:
        shown = figure.legend(
            list(legend.values()),
            list(legend),
            loc="outside lower center",
            ncols=columns,
            title=words,
            fontsize=9,
            title_fontsize=SMALL,
            handlelength=3.4,
        )
        shown.get_title().set_multialignment("center")


def sheets(
    rows: pl.DataFrame, most: int | None = TASKS_ON_A_SHEET
) -> Iterator[tuple[list[str], str, pl.DataFrame]]:
    """The rows of ``most`` tasks at a time: parts of a name, words, rows.

    The first sheet has no part of a name, and without rows there is no sheet.
    """
    tasks = rows["task"].unique(maintain_order=True)
    most = most or max(len(tasks), 1)
    count = -(-len(tasks) // most)
    for place in range(count):
        own = tasks.slice(place * most, most)
        words = f" ({place + 1} of {count})" if count > 1 else ""
        part = rows.filter(pl.col("task").is_in(own.to_list()))
        yield [f"part{place + 1}"] if place else [], words, part


def say_in(axes: Axes, words: str) -> None:
    """A panel without data says so."""
    # Not by taking the ticks away: other panels may share them.
    axes.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color="0.45")


def ways_of_testing(rows: pl.DataFrame) -> Iterator[tuple[list[str], str, pl.DataFrame]]:
    """The rows of each way of acting and of scaling masses: parts of a name, words, rows.

    What all rows share is not named.
    """
    several_acting = rows["acting"].n_unique() > 1
    several_modes = rows["mass_mode"].n_unique() > 1
    for (acting, mode), group in rows.group_by("acting", "mass_mode", maintain_order=True):
        names, words = [], ""
        if several_acting:
            names.append(str(acting or "acting-unknown"))
            words += f", {ACTING.get(acting) or acting}"
        if several_modes:
            names.append(str(mode or "mode-unknown"))
            words += f", masses scaled in the mode “{mode or 'not known'}”"
        yield names, words, group


def where(table: pl.DataFrame, **values: object) -> pl.DataFrame:
    """The rows with these values; null equals null."""
    return table.filter(*(pl.col(name).eq_missing(pl.lit(it)) for name, it in values.items()))


def in_order(table: pl.DataFrame, column: str) -> list[object]:
    """A column's different values, as they come."""
    return table[column].unique(maintain_order=True).to_list()


def solver_styles(methods: Iterable[tuple[str | None, str]]) -> dict[str, Style]:
    """The style of every label, given with its solver; solvers in the order of the legend.

    The plain label of a solver, or else its first, gets the solver's own style, and all others
    one of the further ones.
    """
    order = list(SOLVERS)
    keyed = [(solver or "sac", label) for solver, label in dict.fromkeys(methods)]

    def place(method: tuple[str, str]) -> tuple[int, bool]:
        solver, label = method
        known = solver in SOLVERS
        return order.index(solver) if known else len(order), label != solver_words(solver)

    styles: dict[str, Style] = {}
    taken: set[str] = set()
    further = 0
    for solver, label in sorted(keyed, key=place):
        if label in styles:
            continue
        if solver in SOLVERS and solver not in taken:
            styles[label] = replace(SOLVERS[solver], label=label)
            taken.add(solver)
        else:
            styles[label] = further_style(label, further)
            further += 1
    return styles


def return_words(statistic: str) -> str:
    """What a statistic of the return is called on an axis."""
    return f"return of an episode, {STATISTICS.get(statistic, statistic)}"


def seeds_note(rows: pl.DataFrame, drawn: str = "Lines", of: str = "") -> str:
    """What lines and bands are, in words, for rows with the columns over seeds."""
    seeds = rows["seeds"].drop_nulls()
    if seeds.is_empty():
        return ""
    few, many = int(seeds.min()), int(seeds.max())  # type: ignore[arg-type]
    is_line = drawn == "Lines"
    if many == 1:
        note = f"{drawn}: a single run each; one seed: no interval."
    else:
        count = f"{few} to {many}" if few < many else f"{many}"
        note = f"{drawn}: mean over {count} training seeds{of}."
        if is_line and many >= BAND_SEEDS:
            note += f" Bands: {INTERVALS['mean']}."
        if is_line and few < BAND_SEEDS:
            note += f" Thin: single runs, where fewer than {BAND_SEEDS} seeds allow no band."
    if rows["value"].is_nan().any() and is_line:
        note += " Gaps: a return that is no number."
    return note


def save_figure(figure: Figure, path: Path, settings: Mapping[Any, Any] = LITERAL) -> None:
    """Write a figure; the suffix says the format. The same figure gives the same bytes."""
    with mpl.rc_context(dict(settings)), write_beside(path) as temporary:
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else None
        figure.savefig(temporary, metadata=metadata)
