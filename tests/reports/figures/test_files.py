"""The files of figures: their formats, their names, and what stays on the sheet."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from matplotlib.text import Text

from mixedne.reports import tables
from mixedne.reports.figures import draw_figures, write_figures
from mixedne.reports.figures.canvas import save_figure
from probes.figures import chosen, legend
from probes.report import TASKS


def test_nothing_to_show_is_no_error(tmp_path: Path) -> None:
    assert write_figures(tables.Report(), tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def small(report: tables.Report, names: list[str], label: str) -> tables.Report:
    """One curve a task."""
    rows = chosen(report, "mass").filter(pl.col("agent") == "sac", pl.col("task") == TASKS[0])
    many = [rows.with_columns(task=pl.lit(name), label=pl.lit(label)) for name in names]
    search = report.searches.filter(pl.col("solver") == "gad", pl.col("delta") == 0)
    searches = [search.with_columns(task=pl.lit(name)) for name in names]
    return tables.Report(sweeps=pl.concat(many), searches=pl.concat(searches))


def test_files_are_pictures_and_vectors_and_the_same_again(
    report: tables.Report, tmp_path: Path
) -> None:
    one = small(report, [TASKS[0]], "SAC")
    written = write_figures(one, tmp_path / "a")
    names = ["sweep-sac-delta0-mass", "search-paper-search-ddpg-halfcheetah-v5"]
    assert [it.name for it in written] == [f"{it}.{end}" for it in names for end in ("pdf", "png")]
    assert sorted(written) == sorted((tmp_path / "a").iterdir())
    assert written[0].read_bytes().startswith(b"%PDF")
    assert written[1].read_bytes().startswith(b"\x89PNG")
    assert b"CreationDate" not in written[0].read_bytes()
    again = write_figures(replace(one, searches=one.searches.clear()), tmp_path / "b")
    assert [it.read_bytes() for it in again] == [it.read_bytes() for it in written[:2]]


@pytest.mark.slow
def test_hostile_names_stay_names(report: tables.Report, tmp_path: Path) -> None:
    tasks = ["../x", "..-X", "<script>$\\frac$" + 300 * "a"]
    folder = tmp_path / "in" / "here"
    written = write_figures(small(report, tasks, "_50 % $\\oops$ {x}"), folder)
    assert sorted(it for it in tmp_path.rglob("*") if it.is_file()) == sorted(written)
    assert all(re.fullmatch(r"[a-z0-9.-]+", it.name) for it in written)
    assert len(set(written)) == 2 * (1 + len(tasks))  # a sweep, and a search of each task
    assert {it.parent for it in written} == {folder}
    (_, figure), *_ = draw_figures(small(report, tasks, "_50 % $\\oops$ {x}"))
    assert legend(figure)[0] == "_50 % $\\oops$ {x}"
    assert [axes.get_title() for axes in figure.axes] == tasks
    named = [it for it in figure.findobj(Text) if "$" in it.get_text()]
    assert named
    assert not any(it.get_parse_math() for it in named)


def test_nothing_drawn_leaves_its_sheet(report: tables.Report, tmp_path: Path) -> None:
    long = "MixedNE-LD, preset authors, updates=100, critic_weight_decay=0"
    ((_, figure), *_) = draw_figures(small(report, [TASKS[0]], long))
    save_figure(figure, tmp_path / "figure.png")
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    body = figure.axes[0].get_tightbbox()
    assert body is not None
    assert box.y1 <= body.y0
