"""Heat maps and searches show the report's numbers in the right cells."""

import itertools

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mixedne.reports import tables
from mixedne.reports.figures import draw_figures
from mixedne.shifts import PARAMETERS
from probes.figures import (
    colours,
    grid,
    legend,
    mesh,
    note,
    spots,
    table,
)
from probes.report import SOLVERS, TASKS


def test_heat_maps(report: tables.Report, figures: dict[str, Figure]) -> None:
    figure = figures["map-td3-delta0-noise-mass"]
    rows = report.maps.filter(
        pl.col("agent") == "td3", pl.col("delta") == 0, pl.col("statistic") == "mean"
    )
    for task, line in zip(TASKS, grid(figure, 5), strict=True):
        assert line[0].get_ylabel() == task
        returns = [table(rows, task=task, label=label) for label in SOLVERS.values()]
        differences = [returns[0] - returns[1], returns[2] - returns[1]]
        for axes, expected in zip(line, returns + differences, strict=True):
            np.testing.assert_allclose(colours(axes), expected)
            (mark,) = (it for it in axes.lines if it.get_label() == "training")
            assert spots(mark) == [[0.0, 2.0]]  # noise 0, mass 1
        scales = {(mesh(axes).norm.vmin, mesh(axes).norm.vmax) for axes in line[:3]}
        assert scales == {(np.min(returns), np.max(returns))}
        most = np.abs(differences).max()
        assert all(mesh(it).norm.vmin == -most and mesh(it).norm.vmax == most for it in line[3:])
        below = [it for it in line[4].lines if it.get_label() == "below"]
        assert len(spots(below[0])) == (differences[1] < 0).sum()
    titles = [axes.get_title() for axes in grid(figure, 5)[0]]
    assert titles == [*SOLVERS.values(), "MixedNE-LD − GAD", "Extra-Adam − GAD"]
    assert figure.subfigs[0].get_supxlabel() == PARAMETERS["noise"].label
    assert figure.subfigs[0].get_supylabel() == PARAMETERS["mass"].label
    assert legend(figure) == ["training", "worse than GAD"]
    bars = [axes.get_ylabel() for axes in figure.axes if axes.get_label() == "<colorbar>"]
    assert bars == ["return", "difference"] * 2


def test_cells_without_a_number_are_hatched(report: tables.Report) -> None:
    broken = (pl.col("label") == "GAD") & (pl.col("x") == 0.1) & (pl.col("y") == 2.0)
    absent = (pl.col("label") == "Extra-Adam") & (pl.col("x") == 0.2) & (pl.col("y") == 0.5)
    gone = (pl.col("task") == TASKS[1]) & (pl.col("label") == "GAD")
    maps = report.maps.filter(~absent, ~gone)
    maps = maps.with_columns(
        pl.when(broken).then(float("nan")).otherwise("value").alias("value"),
        pl.when(broken).then(1).otherwise(0).alias("invalid"),
    )
    ((_, figure),) = draw_figures(tables.Report(maps=maps))
    first, second = grid(figure, 5)
    hidden = [set(zip(*np.nonzero(np.ma.getmaskarray(colours(it))), strict=True)) for it in first]
    nan, missing = (4, 1), (0, 2)
    assert hidden == [set(), {nan}, {missing}, {nan}, {nan, missing}]
    assert all(it.patch.get_hatch() for it in first)
    assert any("1 invalid episodes" in words for words in legend(figure))
    said = [[text.get_text() for text in it.texts] for it in second]
    assert said == [[], ["not evaluated"], [], ["not evaluated"], ["not evaluated"]]


def test_searches(report: tables.Report, figures: dict[str, Figure]) -> None:
    figure = figures["search-paper-search-ddpg-hopper-v5"]
    rows = report.searches.filter(pl.col("task") == "Hopper-v5")
    kinds = list(itertools.product((0.1, 0.0), SOLVERS.items()))
    for axes, (delta, (solver, label)) in zip(
        itertools.chain(*grid(figure, 3)), kinds, strict=True
    ):
        assert axes.get_title() == f"{label}, δ = {delta:g}"
        own = rows.filter(pl.col("solver") == solver, pl.col("delta") == delta)
        own = own.with_columns(pl.col("y").fill_null(0.0))
        np.testing.assert_allclose(colours(axes), table(own))
        xs, ys = (sorted(own[name].unique()) for name in ("x", "y"))
        marks = {
            (it.get_label(), *np.round(np.add(it.get_xy(), it.get_width() / 2), 6))
            for it in axes.patches
            if isinstance(it, Rectangle)
        }
        assert marks == {
            (name, xs.index(row["x"]), ys.index(row["y"]))
            for name in ("chosen", "paper")
            for row in own.filter(name).iter_rows(named=True)
        }
        assert {text.get_text() for text in axes.texts} == {f"{it:.4g}" for it in own["value"]}
        assert axes.get_xlabel().startswith("σ: ")
    assert legend(figure) == ["chosen by the search", "in the paper's tables"]
    assert "3 training seeds" in note(figure)


def test_many_values_of_one_setting_are_a_curve(report: tables.Report) -> None:
    x = [1e-5 * 1.5**place for place in range(12)]
    rows = report.searches.filter(solver="gad", task="Hopper-v5", delta=0.1).head(1)
    many = pl.concat(
        rows.with_columns(
            x=value, value=pl.lit(1000.0 + place), chosen=place == 7, paper=place == 2
        )
        for place, value in enumerate(x)
    )
    # Beside two maps and in a row of its own, so that the grid has empty places.
    maps = report.searches.filter(solver="mixedne-ld", task="Hopper-v5")
    others = maps.with_columns(fixed=pl.lit("other")).filter(delta=0.1)
    searches = pl.concat([maps, others, many])
    ((_, figure),) = draw_figures(tables.Report(searches=searches))
    (axes,) = [it for it in figure.subfigs[0].axes if it.get_title() == "GAD, δ = 0.1"]
    curve, chosen, paper = axes.lines
    drawn, *marked = (np.asarray(line.get_xydata()) for line in (curve, chosen, paper))
    np.testing.assert_allclose(drawn, np.array([(v, 1000.0 + n) for n, v in enumerate(x)]))
    assert [float(place[0, 0]) for place in marked] == [x[7], x[2]]
