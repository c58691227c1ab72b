"""The figures show the report's numbers, all of them, and say what they show."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from mixedne.errors import InvalidInputError
from mixedne.reports import style, tables
from mixedne.reports.figures import draw_figures
from mixedne.reports.figures.canvas import multiples, solver_styles
from mixedne.reports.figures.curves import RUN
from mixedne.reports.style import further_style
from mixedne.shifts import PARAMETERS, Axis
from mixedne.tasks.toy import NOMINAL_RHO
from probes.figures import (
    chosen,
    every_number_differs,
    legend,
    note,
    own_lines,
    points,
    published,
    spots,
    wanted,
)
from probes.report import TASKS


def test_there_is_a_figure_of_every_kind(figures: dict[str, Figure]) -> None:
    played = [f"sweep-{agent}-delta{delta}" for agent in ("ddpg", "td3") for delta in ("0.1", "0")]
    sweeps = [*played, "sweep-sac-delta0", "sweep-ddpg-deltas", "sweep-td3-deltas"]
    sweeps += ["agents-delta0.1", "agents-delta0", "one-player-ddpg", "one-player-td3"]
    assert set(figures) == {
        *(f"{name}-mass" for name in sweeps),
        "sweep-sac-delta0-friction",
        "map-td3-delta0-noise-mass",
        "learning-td3-delta0.1",
        "learning-td3-delta0.1-training",
        "search-paper-search-ddpg-hopper-v5",
    }


@pytest.mark.parametrize(
    ("agent", "delta", "axis"),
    [("ddpg", 0.1, "mass"), ("td3", 0.0, "mass"), ("sac", 0.0, "friction")],
)
def test_sweeps_of_a_delta(
    report: tables.Report, figures: dict[str, Figure], agent: str, delta: float, axis: str
) -> None:
    figure = figures[f"sweep-{agent}-delta{delta:g}-{axis}"]
    rows = chosen(report, axis).filter(pl.col("agent") == agent, pl.col("delta") == delta)
    more = published(report) if agent == "ddpg" else set()
    assert points(figure.axes) == wanted(rows) | more
    assert figure.get_suptitle() == f"{agent.upper()}, δ = {delta:g}: return against {axis}"
    assert figure.subfigs[0].get_supxlabel() == Axis.parse(axis).label
    assert figure.subfigs[0].get_supylabel() == "return of an episode, mean"
    assert tables.INTERVALS["mean"] in note(figure)
    assert "5 training seeds" in note(figure)
    sources = {point[1] for point in more}
    assert set(legend(figure)) == set(rows["label"]) | sources | {"training"}


def test_tasks_and_deltas(report: tables.Report, figures: dict[str, Figure]) -> None:
    figure = figures["sweep-td3-deltas-mass"]
    rows = chosen(report, "mass").filter(pl.col("agent") == "td3")
    assert points(figure.axes) == wanted(rows, title="{task}, δ = {delta:g}")
    first, second = figure.axes[:2]
    assert (first.get_title(), second.get_title()) == (
        f"{TASKS[0]}, δ = 0",
        f"{TASKS[0]}, δ = 0.1",
    )
    assert first.get_ylim() == second.get_ylim()


def test_agents_are_compared_by_their_sampling_solver(
    report: tables.Report, figures: dict[str, Figure]
) -> None:
    rows = chosen(report, "mass")
    sampled = rows.filter(pl.col("solver") == "mixedne-ld", pl.col("delta") == 0.1)
    words = {"ddpg": "DDPG", "td3": "TD3"}
    expected = wanted(rows.filter(pl.col("agent") == "sac"))
    for agent, name in words.items():
        expected |= wanted(sampled.filter(pl.col("agent") == agent), curve=name + " with {label}")
    assert points(figures["agents-delta0.1-mass"].axes) == expected


def test_one_player_beside_two(report: tables.Report, figures: dict[str, Figure]) -> None:
    rows = chosen(report, "mass").filter(pl.col("agent") == "ddpg")
    alone = rows.filter(pl.col("solver") == "mixedne-ld", pl.col("delta") == 0)
    robust = rows.filter(pl.col("solver") != "mixedne-ld", pl.col("delta") == 0.1)
    expected = wanted(alone, curve="{label}, one player (δ = 0)")
    expected |= wanted(robust, curve="{label}, two players (δ = 0.1)") | published(report)
    assert points(figures["one-player-ddpg-mass"].axes) == expected
    assert "sampling without an adversary" in note(figures["one-player-ddpg-mass"])


def test_published_curves_are_grey_and_others_are_not(figures: dict[str, Figure]) -> None:
    lines = own_lines(figures["sweep-ddpg-delta0.1-mass"].axes[0])
    greys = {line.get_label(): len(set(to_rgb(line.get_color()))) == 1 for line in lines}
    assert [label for label, grey in greys.items() if grey] == [
        "GAD, published (Tessler et al. 2019, Gym v2)"
    ]


def test_training_is_marked_in_every_panel_of_a_sweep(figures: dict[str, Figure]) -> None:
    for name, figure in figures.items():
        if name.startswith(("sweep", "agents", "one-player")):
            for axes in figure.axes:
                (mark,) = (line for line in axes.lines if line.get_label() == "training")
                assert np.all(np.asarray(mark.get_xdata()) == 1.0)
    assert PARAMETERS["rho"].nominal == NOMINAL_RHO


def test_axes_of_multiples_are_logarithmic_with_readable_ticks(figures: dict[str, Figure]) -> None:
    axes = figures["sweep-ddpg-delta0.1-mass"].axes[0]
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.5", "0.75", "1", "1.5", "2"]
    assert multiples(0.3, 3.0, 4) == [0.5, 1, 2]
    assert np.allclose(multiples(0.95, 1.05, 4), [0.95, 1.0, 1.05])


def test_learning_curves(report: tables.Report, figures: dict[str, Figure]) -> None:
    figure = figures["learning-td3-delta0.1-training"]
    rows = report.learning.filter(
        pl.col("agent") == "td3", pl.col("delta") == 0.1, pl.col("source") == "training"
    )
    for place, (column, scale) in enumerate((("step", 1), ("updates", 1), ("seconds", 1 / 60))):
        along = rows.with_columns(x=pl.col(column) * scale)
        assert points(figure.axes[place::3]) == wanted(along)
    labels = [axes.get_xlabel() for axes in figure.axes[3:]]
    assert labels == ["environment steps", "inner updates", "wall-clock time in minutes"]
    assert figure.get_suptitle() == "TD3, δ = 0.1: return while training"
    assert figure.subfigs[0].get_supylabel() == "return while training"
    assert tables.INTERVALS["mean"] in note(figure)


def test_one_seed_has_a_line_and_no_band(report: tables.Report) -> None:
    alone = chosen(report, "mass").filter(pl.col("agent") == "sac", pl.col("task") == TASKS[0])
    alone = alone.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64), seeds=1)
    ((_, figure),) = draw_figures(tables.Report(sweeps=alone))
    assert points(figure.axes) == wanted(alone)
    assert not any(axes.collections for axes in figure.axes)
    assert "one seed: no interval" in note(figure)
    assert tables.INTERVALS["mean"] not in note(figure)


@pytest.mark.parametrize("seeds", [2, 4])
def test_few_seeds_are_thin_lines_and_no_band(report: tables.Report, seeds: int) -> None:
    rows = chosen(report, "mass").filter(pl.col("agent") == "sac", pl.col("task") == TASKS[0])
    rows = rows.with_columns(seeds=seeds)
    runs = pl.concat(
        rows.with_columns(pl.col("value") + 10.0 * n, run=pl.lit(f"{n}")) for n in range(seeds)
    ).select(list(tables.SWEEP_RUNS))
    ((_, figure),) = draw_figures(tables.Report(sweeps=rows, sweep_runs=runs))
    (axes,) = figure.axes
    assert not axes.collections
    thin = [line for line in axes.lines if line.get_label() == RUN]
    (bold,) = own_lines(axes)
    assert len(thin) == seeds
    assert all(line.get_linewidth() < bold.get_linewidth() for line in thin)
    drawn = sorted(spots(line)[0][1] for line in thin)
    assert drawn == pytest.approx([rows.sort("x")["value"][0] + 10.0 * n for n in range(seeds)])
    assert "Thin: single runs, where fewer than 5 seeds allow no band." in note(figure)
    assert tables.INTERVALS["mean"] not in note(figure)


def test_a_value_that_is_no_number_leaves_a_gap(report: tables.Report) -> None:
    rows = chosen(report, "mass").filter(pl.col("agent") == "sac")
    broken = pl.when(pl.col("x") == 1.5).then(float("nan"))
    rows = rows.with_columns(
        broken.otherwise(pl.col(name)).alias(name) for name in ("value", "low", "high")
    )
    ((_, figure),) = draw_figures(tables.Report(sweeps=rows))
    line = own_lines(figure.axes[0])[0]
    assert np.isnan(line.get_ydata()).tolist() == [False, False, False, True, False]
    assert "no number" in note(figure)


def test_other_statistics_have_their_own_files_and_words(report: tables.Report) -> None:
    own = (pl.col("agent") == "ddpg") & (pl.col("delta") == 0.1)
    less = replace(report, sweeps=report.sweeps.filter(own), maps=report.maps.clear())
    ((name, figure),) = draw_figures(less, "worst")
    assert name == "sweep-ddpg-delta0.1-mass-worst"
    assert points(figure.axes) == wanted(chosen(less, "mass", "worst"))
    assert "of each run's worst case" in note(figure)
    assert figure.subfigs[0].get_supylabel() == "return of an episode, worst case"
    with pytest.raises(InvalidInputError, match="mean, worst, cvar, not 'best'"):
        list(draw_figures(report, "best"))


def test_ways_of_acting_have_figures_of_their_own(report: tables.Report) -> None:
    rows = chosen(report, "mass").filter(pl.col("agent") == "sac")
    sampled = every_number_differs(rows, 5.0).with_columns(acting=pl.lit("stochastic"))
    found = dict(draw_figures(tables.Report(sweeps=pl.concat([rows, sampled]))))
    assert points(found["sweep-sac-delta0-mass-mean"].axes) == wanted(rows)
    assert points(found["sweep-sac-delta0-mass-stochastic"].axes) == wanted(sampled)
    assert found["sweep-sac-delta0-mass-stochastic"].get_suptitle().endswith("acting by samples")


def test_vpg_against_rho_and_samples(report: tables.Report) -> None:
    as_vpg = [pl.lit("vpg").alias("agent"), pl.lit("toy").alias("task")]
    of_ddpg = (pl.col("agent") == "ddpg") & (pl.col("task") == TASKS[0])
    rows = chosen(report, "mass").filter(of_ddpg)
    rows = rows.with_columns(*as_vpg, axis=pl.lit("rho"), x=pl.col("x") / 5)
    learning = report.learning.filter(pl.col("task") == TASKS[0], pl.col("source") == "training")
    learning = learning.with_columns(*as_vpg)
    found = dict(draw_figures(tables.Report(sweeps=rows, learning=learning)))
    figure = found["sweep-vpg-deltas-rho"]
    assert points(figure.axes) == wanted(rows, title="{task}, δ = {delta:g}")
    assert figure.subfigs[0].get_supxlabel() == PARAMETERS["rho"].label
    marks = [line for axes in figure.axes for line in axes.lines if line.get_label() == "training"]
    assert [spots(line)[0][0] for line in marks] == [NOMINAL_RHO, NOMINAL_RHO]
    samples = found["learning-vpg-delta0.1-training"].axes[0]
    assert (samples.get_xscale(), samples.get_xlabel()) == ("log", "environment samples")
    own = learning.filter(pl.col("step") > 0)
    assert points([samples]) == wanted(own.with_columns(x=pl.col("step").cast(pl.Float64)))


def test_many_tasks_stay_legible(report: tables.Report) -> None:
    one = (pl.col("agent") == "td3") & (pl.col("task") == TASKS[0]) & (pl.col("label") == "GAD")
    rows = chosen(report, "mass").filter(one)
    tasks = [f"Task{n}-v5" for n in range(5)]
    many = pl.concat([rows.with_columns(task=pl.lit(task)) for task in tasks])
    many = many.filter((pl.col("task") != tasks[2]) | (pl.col("delta") == 0))
    found = dict(draw_figures(tables.Report(sweeps=many)))
    shape = found["sweep-td3-delta0-mass"].axes[0].get_subplotspec()
    assert shape is not None
    assert shape.get_gridspec().get_geometry() == (2, 3)  # not four and one
    parts = [found[f"sweep-td3-deltas-mass{end}"] for end in ("", "-part2")]
    shown = [[axes.get_title().split(",")[0] for axes in it.axes[::2]] for it in parts]
    assert shown == [tasks[:4], tasks[4:]]
    assert [it.get_suptitle()[-8:] for it in parts] == ["(1 of 2)", "(2 of 2)"]
    assert [text.get_text() for text in parts[0].axes[5].texts] == ["not evaluated"]
    assert parts[0].axes[4].get_yticklabels()[0].get_visible()


def test_looks_differ_without_colour(figures: dict[str, Figure]) -> None:
    for figure in figures.values():
        for axes in figure.axes:
            lines = [it for it in own_lines(axes) if it.get_label() != "below"]
            kinds = {(it.get_marker(), it.get_linestyle(), it.is_dashed()) for it in lines}
            assert len(kinds) == len(lines) - sum("published" in it.get_label() for it in lines)
    own = {(it.marker, it.line) for it in style.SOLVERS.values()}
    further = {(it.marker, it.line) for it in (further_style("", n) for n in range(60))}
    assert len(own | further) == 24
    assert len({it.marker for it in style.SOLVERS.values()} | set(style.FURTHER_MARKERS)) == 9


def test_the_plain_label_has_the_solvers_own_look() -> None:
    long = "MixedNE-LD, preset authors"
    looks = solver_styles([("gad", "GAD"), ("mixedne-ld", long), ("mixedne-ld", "MixedNE-LD")])
    assert list(looks) == ["MixedNE-LD", long, "GAD"]
    assert looks["MixedNE-LD"].color == style.SOLVERS["mixedne-ld"].color
    assert looks[long].color not in {it.color for it in style.SOLVERS.values()}
