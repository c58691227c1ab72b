"""From evaluation tables on disk to what a reader sees in the browser."""

from pathlib import Path

import polars as pl
import pytest

from mixedne.evaluation.table import write_table
from mixedne.reports.inputs.collect import collect
from mixedne.reports.page import write_page
from probes.browser import Opener
from probes.tables import pretend_evaluated, shifts

MASSES = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """One and two players by two solvers, three seeds each; one-player runs are worse by far."""
    folder = tmp_path_factory.mktemp("made")
    tables = []
    for solver in ("mixedne-ld", "gad"):
        for delta in (0.0, 0.1):
            for seed in range(3):
                path = folder / f"{solver}-{delta}-{seed}"
                places = shifts(mass=MASSES)
                table = pretend_evaluated(path, places, solver=solver, delta=delta, seed=seed)
                better = 5000.0 * (delta > 0) + 50.0 * (solver == "mixedne-ld")
                table = table.with_columns(pl.col("return") / 1000 + better)
                write_table(table, path / "evaluation.parquet")
                tables.append(table)
    write_page(collect([folder]), folder / "page.html")
    return folder / "page.html", pl.concat(tables)


def test_a_hover_shows_the_number_in_the_parquet_files(
    view: Opener, made: tuple[Path, pl.DataFrame]
) -> None:
    path, table = made
    opened = view("#delta=0.1&statistic=mean", path=path)
    opened.show("sweep")
    for solver, label in (("gad", "GAD"), ("mixedne-ld", "MixedNE-LD")):
        rows = table.filter(solver=solver, delta=0.1)
        expected = rows.group_by("mass").agg(pl.mean("return")).sort("mass")["return"].to_list()
        curves = opened.traces("sweep", "#plot-sweep", "curve")
        (curve,) = [curve for curve in curves if curve["name"] == label]
        assert curve["x"] == list(MASSES)
        assert curve["y"] == pytest.approx(expected, rel=1e-6)
        for text, value in zip(curve["hovertext"], expected, strict=True):
            assert f"{value:.7g}" in text.replace(",", "")
            assert "3 seeds" in text


def test_one_player_is_not_called_better_than_a_baseline_that_is_not_shown(
    view: Opener, made: tuple[Path, pl.DataFrame]
) -> None:
    opened = view("#compare=players&delta=0.1", path=made[0])
    opened.show("table")
    rows = opened.page.eval_on_selector_all(
        "#table tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
    assert {row[0]: row[2] for row in rows} == {
        "MixedNE-LD, δ = 0": "lower than GAD, δ = 0.1",
        "GAD, δ = 0.1": "the baseline",
    }
    assert "sampling without an adversary is as robust" in opened.text("#sweep")
