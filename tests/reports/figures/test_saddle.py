"""The case study's figures: they exist, are not blank, and show the table's numbers."""

from pathlib import Path

import matplotlib.image
import numpy as np
import polars as pl
import pytest

from mixedne.reports.figures import saddle
from mixedne.saddle import experiment, tables
from mixedne.saddle.objectives import OBJECTIVES, plan_cases


@pytest.fixture(scope="module")
def paths() -> pl.DataFrame:
    cases = plan_cases(
        list(OBJECTIVES.values()),
        ["gad", "mixedne-ld"],
        ["far", "near"],
        ["coupled"],
        overrides={"steps": 12},
    )
    runs = [run for case in cases for run in experiment.run(case, np.arange(3))]
    return tables.paths(runs, seeds=2)


@pytest.mark.slow
def test_every_objective_gets_a_picture_and_a_vector_file(
    paths: pl.DataFrame, tmp_path: Path
) -> None:
    written = saddle.write_figures(paths, tmp_path)
    assert sorted(written) == sorted(tmp_path.iterdir())
    assert {path.suffix for path in written} == {".png", ".pdf"}
    for path in written:
        if path.suffix == ".png":
            pixels = matplotlib.image.imread(path)
            assert pixels.std() > 0.05
        else:
            assert path.read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_figures_are_reproducible(paths: pl.DataFrame, tmp_path: Path) -> None:
    paths = paths.filter(pl.col("objective") == "x2y2")
    first = [path.read_bytes() for path in saddle.write_figures(paths, tmp_path / "a")]
    again = [path.read_bytes() for path in saddle.write_figures(paths, tmp_path / "b")]
    assert first == again


def test_lines_show_the_tables_numbers(paths: pl.DataFrame) -> None:
    objective = OBJECTIVES["x2y2-xy"]
    figure = saddle.draw(paths.filter(pl.col("objective") == objective.name), objective)
    values, plane = figure.axes[:2]
    row = paths.row(
        by_predicate=(pl.col("objective") == "x2y2-xy")
        & (pl.col("start") == "far")
        & (pl.col("solver") == "gad")
        & (pl.col("seed") == 0),
        named=True,
    )
    theta, omega = np.array(row["theta"]), np.array(row["omega"])
    drawn = [np.asarray(line.get_ydata()) for line in values.get_lines()]
    expected = objective.value(theta, omega)
    assert any(np.shape(y) == np.shape(expected) and np.allclose(y, expected) for y in drawn)
    assert any(
        np.array_equal(line.get_xdata(), theta) and np.array_equal(line.get_ydata(), omega)
        for line in plane.get_lines()
    )
    assert values.get_xlabel() == "outer step t"


def test_titles_say_where_a_path_starts(paths: pl.DataFrame) -> None:
    objective = OBJECTIVES["x2y2"]
    marked = tables.mark_settings(paths.filter(pl.col("objective") == "x2y2"), "authors")
    given = marked.with_columns(pl.lit("1,-1").alias("start"))
    for table, title in (
        (marked, "Path, start far from the equilibrium\n(authors' settings)"),
        (given, "Path, start at (1,-1)"),
    ):
        assert saddle.draw(table, objective).axes[1].get_title() == title
