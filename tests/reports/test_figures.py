"""The figures show the report's numbers, all of them, and say what they show."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection, QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from mixedne.errors import InvalidInputError
from mixedne.reports import frames, style, ticks
from mixedne.reports.canvas import further_look, save_figure, solver_looks
from mixedne.reports.figures import draw_figures, write_figures
from mixedne.reports.sweeps import NOMINAL
from mixedne.tasks.toy import NOMINAL_RHO
from probes.report import SOLVERS, TASKS, sample_report

Points = set[tuple[Any, ...]]


def every_number_differs(frame: pl.DataFrame, by: float) -> pl.DataFrame:
    """So that a number at the wrong place is seen."""
    shift = pl.int_range(pl.len()) * by
    columns = [name for name in ("value", "low", "high") if name in frame.columns]
    return frame.with_columns(pl.col(name) + shift for name in columns)


@pytest.fixture(scope="module")
def report() -> frames.Report:
    sample = sample_report()
    changed: dict[str, Any] = {
        name: every_number_differs(getattr(sample, name), by)
        for name, by in (("sweeps", 0.37), ("maps", 0.11), ("learning", 0.23), ("searches", 0.71))
    }
    # A part of it is enough, and quick to draw.
    kept = {
        "sweeps": (pl.col("axis") == "mass") | (pl.col("agent") == "sac"),
        "maps": (pl.col("agent") == "td3") & (pl.col("delta") == 0),
        "learning": (pl.col("agent") == "td3") & (pl.col("delta") == 0.1),
        "searches": pl.col("task") == "Hopper-v5",
    }
    parts: dict[str, Any] = {name: changed[name].filter(part) for name, part in kept.items()}
    return replace(sample, saddle=None, **parts)


@pytest.fixture(scope="module")
def figures(report: frames.Report) -> dict[str, Figure]:
    return dict(draw_figures(report))


def note(figure: Figure) -> str:
    return figure.legends[0].get_title().get_text().replace("\n", " ")


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def own_lines(axes: Axes) -> list[Any]:
    return [line for line in axes.lines if line.get_label() != "training"]


def spots(line: Any) -> list[list[float]]:
    return np.asarray(line.get_xydata()).tolist()


def points(panels: Iterable[Axes]) -> Points:
    """Title of the panel, label, x, value, low and high of all that is drawn as curves."""
    found: Points = set()
    for axes in panels:
        bands = {it.get_label(): edges(it) for it in axes.collections}
        for line in own_lines(axes):
            label = line.get_label()
            for x, value in zip(line.get_xdata(), line.get_ydata(), strict=True):
                low, high = bands[label][round(x, 6)] if label in bands else (None, None)
                found.add((axes.get_title(), label, *rounded(x, value, low, high)))
    return found


def edges(band: Any) -> dict[float, tuple[float, float]]:
    """Low and high of a band at each x."""
    assert isinstance(band, FillBetweenPolyCollection)
    corners = np.concatenate([path.vertices for path in band.get_paths()])
    xs = {round(x, 6) for x in corners[:, 0]}
    at = {x: corners[np.isclose(corners[:, 0], x), 1] for x in xs}
    return {x: (float(ys.min()), float(ys.max())) for x, ys in at.items()}


def rounded(*numbers: float | None) -> tuple[float | None, ...]:
    return tuple(None if it is None else round(float(it), 4) for it in numbers)


def wanted(rows: pl.DataFrame, title: str = "{task}", curve: str = "{label}") -> Points:
    """The same of rows of a frame, with titles and labels from their columns."""
    return {
        (
            title.format(**row),
            curve.format(**row),
            *rounded(*(row[name] for name in ("x", "value", "low", "high"))),
        )
        for row in rows.iter_rows(named=True)
    }


def published(report: frames.Report) -> Points:
    return wanted(report.published, curve="{label} ({source})")


def chosen(report: frames.Report, axis: str, statistic: str = "mean") -> pl.DataFrame:
    return report.sweeps.filter(pl.col("axis") == axis, pl.col("statistic") == statistic)


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
    report: frames.Report, figures: dict[str, Figure], agent: str, delta: float, axis: str
) -> None:
    figure = figures[f"sweep-{agent}-delta{delta:g}-{axis}"]
    rows = chosen(report, axis).filter(pl.col("agent") == agent, pl.col("delta") == delta)
    more = published(report) if agent == "ddpg" else set()
    assert points(figure.axes) == wanted(rows) | more
    assert figure.get_suptitle() == f"{agent.upper()}, δ = {delta:g}: return against {axis}"
    assert figure.subfigs[0].get_supxlabel() == frames.AXES[axis]
    assert figure.subfigs[0].get_supylabel() == "return of an episode, mean"
    assert frames.INTERVALS["mean"] in note(figure)
    assert "5 training seeds" in note(figure)
    sources = {point[1] for point in more}
    assert set(legend(figure)) == set(rows["label"]) | sources | {"training"}


def test_tasks_and_deltas(report: frames.Report, figures: dict[str, Figure]) -> None:
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
    report: frames.Report, figures: dict[str, Figure]
) -> None:
    rows = chosen(report, "mass")
    sampled = rows.filter(pl.col("solver") == "mixedne-ld", pl.col("delta") == 0.1)
    words = {"ddpg": "DDPG", "td3": "TD3"}
    expected = wanted(rows.filter(pl.col("agent") == "sac"))
    for agent, name in words.items():
        expected |= wanted(sampled.filter(pl.col("agent") == agent), curve=name + " with {label}")
    assert points(figures["agents-delta0.1-mass"].axes) == expected


def test_one_player_beside_two(report: frames.Report, figures: dict[str, Figure]) -> None:
    rows = chosen(report, "mass").filter(pl.col("agent") == "ddpg")
    alone = rows.filter(pl.col("solver") == "mixedne-ld", pl.col("delta") == 0)
    robust = rows.filter(pl.col("solver") != "mixedne-ld", pl.col("delta") == 0.1)
    expected = wanted(alone, curve="{label}, one player (δ = 0)")
    expected |= wanted(robust, curve="{label}, two players (δ = 0.1)") | published(report)
    assert points(figures["one-player-ddpg-mass"].axes) == expected


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
    assert NOMINAL["rho"] == NOMINAL_RHO


def test_axes_of_multiples_are_logarithmic_with_readable_ticks(figures: dict[str, Figure]) -> None:
    axes = figures["sweep-ddpg-delta0.1-mass"].axes[0]
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.5", "0.75", "1", "1.5", "2"]
    assert ticks.multiples(0.3, 3.0, 4) == [0.5, 1, 2]
    assert np.allclose(ticks.multiples(0.95, 1.05, 4), [0.95, 1.0, 1.05])


def test_learning_curves(report: frames.Report, figures: dict[str, Figure]) -> None:
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
    assert figure.subfigs[0].get_supylabel() == "return of an episode of training"
    assert frames.INTERVALS["mean"] in note(figure)


def grid(figure: Figure, columns: int) -> list[list[Axes]]:
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    return [panels[first : first + columns] for first in range(0, len(panels), columns)]


def mesh(axes: Axes) -> QuadMesh:
    (found,) = (it for it in axes.collections if isinstance(it, QuadMesh))
    return found


def colours(axes: Axes) -> np.ma.MaskedArray:
    values = mesh(axes).get_array()
    assert values is not None
    return np.ma.asarray(values)


def table(rows: pl.DataFrame, **kept: object) -> np.ndarray:
    """Values with a row for each y and a column for each x."""
    own = rows.filter(*(pl.col(name) == it for name, it in kept.items()))
    wide = own.sort("x").pivot("x", index="y", values="value").sort("y")
    return wide.drop("y").to_numpy()


def test_heat_maps(report: frames.Report, figures: dict[str, Figure]) -> None:
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
    assert figure.subfigs[0].get_supxlabel() == frames.AXES["noise"]
    assert figure.subfigs[0].get_supylabel() == frames.AXES["mass"]
    assert legend(figure) == ["training", "worse than GAD"]
    bars = [axes.get_ylabel() for axes in figure.axes if axes.get_label() == "<colorbar>"]
    assert bars == ["return", "difference"] * 2


def test_cells_without_a_number_are_hatched(report: frames.Report) -> None:
    broken = (pl.col("label") == "GAD") & (pl.col("x") == 0.1) & (pl.col("y") == 2.0)
    absent = (pl.col("label") == "Extra-Adam") & (pl.col("x") == 0.2) & (pl.col("y") == 0.5)
    gone = (pl.col("task") == TASKS[1]) & (pl.col("label") == "GAD")
    maps = report.maps.filter(~absent, ~gone)
    maps = maps.with_columns(
        pl.when(broken).then(float("nan")).otherwise("value").alias("value"),
        pl.when(broken).then(1).otherwise(0).alias("invalid"),
    )
    ((_, figure),) = draw_figures(frames.Report(maps=maps))
    first, second = grid(figure, 5)
    hidden = [set(zip(*np.nonzero(np.ma.getmaskarray(colours(it))), strict=True)) for it in first]
    nan, missing = (4, 1), (0, 2)
    assert hidden == [set(), {nan}, {missing}, {nan}, {nan, missing}]
    assert all(it.patch.get_hatch() for it in first)
    assert any("1 invalid episodes" in words for words in legend(figure))
    said = [[text.get_text() for text in it.texts] for it in second]
    assert said == [[], ["not evaluated"], [], ["not evaluated"], ["not evaluated"]]


def test_searches(report: frames.Report, figures: dict[str, Figure]) -> None:
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


def test_one_seed_has_a_line_and_no_band(report: frames.Report) -> None:
    alone = chosen(report, "mass").filter(pl.col("agent") == "sac", pl.col("task") == TASKS[0])
    alone = alone.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64), seeds=1)
    ((_, figure),) = draw_figures(frames.Report(sweeps=alone))
    assert points(figure.axes) == wanted(alone)
    assert not any(axes.collections for axes in figure.axes)
    assert "one seed: no interval" in note(figure)
    assert frames.INTERVALS["mean"] not in note(figure)


def test_a_value_that_is_no_number_leaves_a_gap(report: frames.Report) -> None:
    rows = chosen(report, "mass").filter(pl.col("agent") == "sac")
    broken = pl.when(pl.col("x") == 1.5).then(float("nan"))
    rows = rows.with_columns(
        broken.otherwise(pl.col(name)).alias(name) for name in ("value", "low", "high")
    )
    ((_, figure),) = draw_figures(frames.Report(sweeps=rows))
    line = own_lines(figure.axes[0])[0]
    assert np.isnan(line.get_ydata()).tolist() == [False, False, False, True, False]
    assert "no number" in note(figure)


def test_other_statistics_have_their_own_files_and_words(report: frames.Report) -> None:
    own = (pl.col("agent") == "ddpg") & (pl.col("delta") == 0.1)
    less = replace(report, sweeps=report.sweeps.filter(own), maps=report.maps.clear())
    ((name, figure),) = draw_figures(less, "worst")
    assert name == "sweep-ddpg-delta0.1-mass-worst"
    assert points(figure.axes) == wanted(chosen(less, "mass", "worst"))
    assert "of each run's worst case" in note(figure)
    assert figure.subfigs[0].get_supylabel() == "return of an episode, worst case"
    with pytest.raises(InvalidInputError, match="mean, worst, cvar, not 'best'"):
        list(draw_figures(report, "best"))


def test_ways_of_acting_have_figures_of_their_own(report: frames.Report) -> None:
    rows = chosen(report, "mass").filter(pl.col("agent") == "sac")
    sampled = every_number_differs(rows, 5.0).with_columns(acting=pl.lit("stochastic"))
    found = dict(draw_figures(frames.Report(sweeps=pl.concat([rows, sampled]))))
    assert points(found["sweep-sac-delta0-mass-mean"].axes) == wanted(rows)
    assert points(found["sweep-sac-delta0-mass-stochastic"].axes) == wanted(sampled)
    assert found["sweep-sac-delta0-mass-stochastic"].get_suptitle().endswith("acting by samples")


def test_vpg_against_rho_and_samples(report: frames.Report) -> None:
    as_vpg = [pl.lit("vpg").alias("agent"), pl.lit("toy").alias("task")]
    of_ddpg = (pl.col("agent") == "ddpg") & (pl.col("task") == TASKS[0])
    rows = chosen(report, "mass").filter(of_ddpg)
    rows = rows.with_columns(*as_vpg, axis=pl.lit("rho"), x=pl.col("x") / 5)
    learning = report.learning.filter(pl.col("task") == TASKS[0], pl.col("source") == "training")
    learning = learning.with_columns(*as_vpg)
    found = dict(draw_figures(frames.Report(sweeps=rows, learning=learning)))
    figure = found["sweep-vpg-deltas-rho"]
    assert points(figure.axes) == wanted(rows, title="{task}, δ = {delta:g}")
    assert figure.subfigs[0].get_supxlabel() == frames.AXES["rho"]
    marks = [line for axes in figure.axes for line in axes.lines if line.get_label() == "training"]
    assert [spots(line)[0][0] for line in marks] == [NOMINAL_RHO, NOMINAL_RHO]
    samples = found["learning-vpg-delta0.1-training"].axes[0]
    assert (samples.get_xscale(), samples.get_xlabel()) == ("log", "environment samples")
    own = learning.filter(pl.col("step") > 0)
    assert points([samples]) == wanted(own.with_columns(x=pl.col("step").cast(pl.Float64)))


def test_many_tasks_stay_legible(report: frames.Report) -> None:
    one = (pl.col("agent") == "td3") & (pl.col("task") == TASKS[0]) & (pl.col("label") == "GAD")
    rows = chosen(report, "mass").filter(one)
    tasks = [f"Task{n}-v5" for n in range(5)]
    many = pl.concat([rows.with_columns(task=pl.lit(task)) for task in tasks])
    many = many.filter((pl.col("task") != tasks[2]) | (pl.col("delta") == 0))
    found = dict(draw_figures(frames.Report(sweeps=many)))
    shape = found["sweep-td3-delta0-mass"].axes[0].get_subplotspec()
    assert shape is not None
    assert shape.get_gridspec().get_geometry() == (2, 4)
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
    further = {(it.marker, it.line) for it in (further_look("", n) for n in range(60))}
    assert len(own | further) == 24
    assert len({it.marker for it in style.SOLVERS.values()} | set(style.FURTHER_MARKERS)) == 9


def test_the_plain_label_has_the_solvers_own_look() -> None:
    long = "MixedNE-LD, preset authors"
    looks = solver_looks([("gad", "GAD"), ("mixedne-ld", long), ("mixedne-ld", "MixedNE-LD")])
    assert list(looks) == ["MixedNE-LD", long, "GAD"]
    assert looks["MixedNE-LD"].color == style.SOLVERS["mixedne-ld"].color
    assert looks[long].color not in {it.color for it in style.SOLVERS.values()}


def test_nothing_to_show_is_no_error(tmp_path: Path) -> None:
    assert write_figures(frames.Report(), tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def small(report: frames.Report, names: list[str], label: str) -> frames.Report:
    """One curve a task."""
    rows = chosen(report, "mass").filter(pl.col("agent") == "sac", pl.col("task") == TASKS[0])
    many = [rows.with_columns(task=pl.lit(name), label=pl.lit(label)) for name in names]
    search = report.searches.filter(pl.col("solver") == "gad", pl.col("delta") == 0)
    searches = [search.with_columns(task=pl.lit(name)) for name in names]
    return frames.Report(sweeps=pl.concat(many), searches=pl.concat(searches))


def test_files_are_pictures_and_vectors_and_the_same_again(
    report: frames.Report, tmp_path: Path
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


def test_hostile_names_stay_names(report: frames.Report, tmp_path: Path) -> None:
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


def test_nothing_drawn_leaves_its_sheet(report: frames.Report, tmp_path: Path) -> None:
    long = "MixedNE-LD, preset authors, updates=100, critic_weight_decay=0"
    ((_, figure), *_) = draw_figures(small(report, [TASKS[0]], long))
    save_figure(figure, tmp_path / "figure.png")
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    body = figure.axes[0].get_tightbbox()
    assert body is not None
    assert box.y1 <= body.y0
