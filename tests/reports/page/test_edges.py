"""The page where things are odd: nothing there, one seed, no numbers, names that are code."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from mixedne.reports import page
from mixedne.reports.page import write_page
from mixedne.reports.tables import METHOD, Provenance, Report, Video
from probes.browser import Opener, View
from probes.large_report import large_report
from probes.report import rows, sample_report

REPORT = sample_report()

CODE = "<script>hacked = 1</script>"
IMAGE = "<img src='x:' onerror='hacked = 1'>"
LINK = '<b>bold</b>, <a href="javascript:hacked = 1">link</a> &amp; %{x}'


def test_it_opens_from_disk_in_silence_and_asks_for_nothing(view: Opener, sample: Path) -> None:
    opened = view(path=sample)
    opened.show_all()
    assert opened.requests == [sample.as_uri()]
    assert opened.page.title() == "A made-up study"
    assert "48 runs" in opened.text("header")
    assert "2 of 50 planned runs are not finished." in opened.text("#missing")


def test_the_policy_lets_nothing_else_run(browser: Any, sample: Path) -> None:
    opened = View(browser, sample)
    opened.page.evaluate(
        """() => {
             document.body.insertAdjacentHTML("beforeend", "<img src='x:' onerror='hacked = 1'>");
             const script = document.createElement("script");
             script.textContent = "hacked = 1";
             document.body.append(script);
           }"""
    )
    fetched = "fetch('data:,x').then(() => 'fetched', () => 'refused')"
    assert opened.page.evaluate(fetched) == "refused"
    assert opened.page.evaluate("typeof hacked") == "undefined"
    opened.page.close()


def test_pictures_are_not_blank_and_follow_the_dark(view: Opener) -> None:
    opened = view()
    grounds = []
    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme=scheme)
        opened.show("sweep")
        content = opened.page.locator("#plot-sweep").screenshot()
        pixels = matplotlib.image.imread(io.BytesIO(content))[..., :3].reshape(-1, 3)
        colors, counts = np.unique(pixels, axis=0, return_counts=True)
        assert len(colors) > 100
        grounds.append(colors[counts.argmax()])
    dark, light = grounds
    assert dark.max() < 0.2
    assert light.min() > 0.94


@pytest.mark.slow
def test_a_phone_never_scrolls_sideways(view: Opener) -> None:
    opened = view(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    opened.show_all()
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 390
    assert opened.page.evaluate("innerWidth") == 390
    assert not opened.page.is_visible("#select-task")
    opened.page.click("#fold")
    opened.choose("task", "Hopper-v5")
    assert "Hopper-v5" in opened.text("#fold")


def test_downloads_hold_the_frames_numbers(view: Opener) -> None:
    opened = view("#task=Hopper-v5")
    opened.show("sweep")
    own = rows(REPORT.sweeps, task="Hopper-v5", agent="ddpg", delta=0.1, axis="mass")
    own = rows(own, statistic="mean")
    order = [*METHOD, "x"]
    saved = pl.read_csv(opened.saved("#sweep .csv"), schema=own.schema)
    assert_frame_equal(saved.sort(order), own.sort(order), rel_tol=1e-6)
    assert opened.saved("#sweep .png").read_bytes().startswith(b"\x89PNG")
    opened.show("maps")
    saved = pl.read_csv(opened.saved("#maps .csv >> nth=1"))
    assert saved.filter(
        (saved["value"] - saved["baseline_value"] - saved["difference"]).abs() > 1e-3
    ).is_empty()
    opened.show("download")
    everything = pl.read_csv(opened.saved("#save-summary"), schema=REPORT.summary.schema)
    assert_frame_equal(everything, REPORT.summary, rel_tol=1e-6)
    assert REPORT.runs is not None
    assert_frame_equal(pl.read_parquet(opened.saved("#save-runs")), REPORT.runs)


def test_an_empty_report_says_so_and_how_to_make_one(view: Opener, tmp_path: Path) -> None:
    write_page(Report(), tmp_path / "empty.html")
    opened = view(path=tmp_path / "empty.html")
    assert "There are no results to show" in opened.text("main")
    assert "mixedne study smoke" in opened.text("main")


def test_missing_parts_are_named_and_films_shown(view: Opener, tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"no film")
    videos = Video(tmp_path / "film.mp4", "A light world"), Video(tmp_path / "gone.mp4", "Gone")
    none = Report()
    lacking: dict[str, Any] = {
        "sweeps": none.sweeps,
        "maps": none.maps,
        "sets": none.sets,
        "attacks": none.attacks,
        "saddle": None,
    }
    part = replace(REPORT, **lacking, videos=videos)
    write_page(part, tmp_path / "part.html")
    opened = view(path=tmp_path / "part.html")
    lines = opened.page.locator("#absent .absent").all_inner_texts()
    assert [line.split("\n")[0] for line in lines] == [
        "Return against the shift",
        "Two shifts at once",
        "Uncertainty sets",
        "Attacks",
        "Case study: a game of two numbers",
    ]
    commands = (
        *("evaluate RUN --mass paper", "--noise paper-heatmap", "--set rrls-2d"),
        *("attack RUN --on action", "saddle"),
    )
    for line, command in zip(lines, commands, strict=True):
        assert command in line
    assert opened.page.locator("#sweep, #maps, #saddle").count() == 0
    opened.show("videos")
    assert opened.page.get_attribute("#videos video", "src") == "data:video/mp4;base64,bm8gZmlsbQ=="
    assert "A light world" in opened.text("#videos")
    assert "gone.mp4" in opened.text("#videos")


def test_a_case_study_alone_needs_no_selectors(view: Opener, tmp_path: Path) -> None:
    write_page(Report(saddle=REPORT.saddle), tmp_path / "case.html")
    opened = view(path=tmp_path / "case.html")
    assert len(opened.traces("saddle", "#plot-saddle-paths", "path")) == 3
    assert not opened.page.is_visible("#selectors")
    assert "no verdict on robustness" in opened.text("main > .verdict")
    copy = opened.page.locator("#absent .command button").first
    copy.click()
    assert copy.inner_text() == "Copied"


@pytest.mark.slow
def test_one_seed_and_numbers_that_are_none(view: Opener, tmp_path: Path) -> None:
    broken = (pl.col("x") == 0.5) & (pl.col("label") == "GAD")
    single: dict[str, Any] = {
        "low": pl.lit(None, pl.Float64),
        "high": pl.lit(None, pl.Float64),
        "seeds": 1,
    }
    sweeps = _invalid(REPORT.sweeps, broken).with_columns(**single)
    maps = _invalid(REPORT.maps, (pl.col("x") == 0.1) & (pl.col("y") == 2))
    summary = REPORT.summary.with_columns(seeds=pl.lit(1, pl.Int64))
    write_page(replace(REPORT, sweeps=sweeps, maps=maps, summary=summary), tmp_path / "odd.html")
    opened = view("#baseline=GAD", path=tmp_path / "odd.html")
    bands = opened.traces("sweep", "#plot-sweep", "band")
    assert [band["legendgroup"] for band in bands] == ["GAD, published"]
    curves = {x["name"]: x["y"] for x in opened.traces("sweep", "#plot-sweep", "curve")}
    assert [y is None for y in curves["GAD"]] == [True, False, False, False, False]
    assert "One seed, so no interval: MixedNE-LD, GAD, Extra-Adam." in opened.text("#sweep")
    assert "GAD at 0.5" in opened.text("#sweep")
    for host in ("maps", "differences"):
        for (trace,) in opened.panels("maps", host, "map").values():
            assert [y is None for row in trace["z"] for y in row] == [i == 13 for i in range(15)]
        for (trace,) in opened.panels("maps", host, "invalid").values():
            assert trace["z"][4][1] == 0
    assert _hover_on_cell(opened, "#panels-maps .plot", 1, 4).count("return invalid") == 1
    opened.show("table")
    assert opened.text("#table tbody").count("one seed: no interval") == 2
    assert "One seed is too few to say that it is better." in opened.text("#table .verdict")


def _invalid(table: pl.DataFrame, where: pl.Expr) -> pl.DataFrame:
    nan = pl.lit(float("nan"))
    return table.with_columns(pl.when(where).then(nan).otherwise(pl.col("value")).alias("value"))


def _hover_on_cell(opened: View, plot: str, x: float, y: float) -> str:
    """What is said when the mouse is on a cell, by its place in the grid."""
    opened.page.locator(plot).first.scroll_into_view_if_needed()
    place = opened.page.locator(plot).first.evaluate(
        """(plot, [x, y]) => {
             const { left, top } = plot.getBoundingClientRect();
             const { xaxis, yaxis } = plot._fullLayout;
             return [left + xaxis._offset + xaxis.l2p(x) - 12, top + yaxis._offset + yaxis.l2p(y)];
           }""",
        [x, y],
    )
    opened.page.mouse.move(place[0] - 5, place[1])
    opened.page.mouse.move(*place)
    return str(opened.page.locator(f"{plot} .hoverlayer .hovertext").first.text_content())


def test_names_that_are_code_are_only_shown(view: Opener, tmp_path: Path) -> None:
    hostile = _renamed(REPORT, {"HalfCheetah-v5": CODE}, {"MixedNE-LD": IMAGE, "GAD": LINK})
    provenance = Provenance(commands=(CODE,), sources=("</script>" + CODE,), seeds=((IMAGE, LINK),))
    title = "</title>" + CODE
    hostile = replace(hostile, title=title, missing=("</script>" + CODE,), provenance=provenance)
    write_page(hostile, tmp_path / "hostile.html")
    opened = view("#published=off", path=tmp_path / "hostile.html")
    opened.show_all()
    opened.show("sweep")
    opened.page.locator("#plot-sweep .points path").first.hover(force=True)
    said = opened.page.locator("#plot-sweep .hoverlayer .hovertext").text_content()
    assert IMAGE in said
    assert opened.page.evaluate("typeof hacked") == "undefined"
    assert opened.page.title() == title
    assert opened.text("h1") == title
    assert "</script>" + CODE in opened.text("#missing")
    assert opened.chosen("task") == CODE
    legend = opened.page.locator("#plot-sweep .legendtext").all_text_contents()
    assert {IMAGE, LINK} <= set(legend)
    assert set(pl.read_csv(opened.saved("#sweep .csv"))["label"]) == {IMAGE, LINK, "Extra-Adam"}
    assert opened.page.locator("main a:not(nav a), main img, svg a").count() == 0


def _renamed(report: Report, tasks: dict[str, str], labels: dict[str, str]) -> Report:
    """The report with other names."""
    names: dict[str, Any] = {}
    for frame in ("sweeps", "maps", "summary", "learning", "published", "searches"):
        table = getattr(report, frame).with_columns(pl.col("task").replace(tasks))
        if "label" in table.columns:
            table = table.with_columns(pl.col("label").replace(labels))
        names[frame] = table
    return replace(report, **names)


@pytest.mark.slow
def test_the_papers_whole_study_fits_and_opens(view: Opener, tmp_path: Path) -> None:
    large = large_report()
    assert (large.sweeps.height, large.maps.height) == (16_128, 139_392)
    (tmp_path / "film.mp4").write_bytes(b"x" * page.VIDEO_BYTES)
    runs = pl.DataFrame({"mean": np.random.default_rng(0).normal(size=259_200)})
    videos = (Video(tmp_path / "film.mp4", "film"),)
    write_page(replace(large, runs=runs, videos=videos), tmp_path / "large.html")
    assert (tmp_path / "large.html").stat().st_size < 10e6
    opened = view("#task=Reacher-v5", path=tmp_path / "large.html")
    own = rows(large.sweeps, task="Reacher-v5", agent="ddpg", delta=0.1, axis="mass")
    curves = opened.traces("sweep", "#plot-sweep", "curve")
    assert len(curves) == rows(own, statistic="mean")["label"].n_unique() == 5
    assert len({(x["line"]["color"], x["line"]["dash"]) for x in curves}) == 5
    opened.page.wait_for_selector("#learning[data-state=drawn]")  # it is out of view


@pytest.mark.slow
def test_large_films_and_runs_are_left_out_and_named(
    view: Opener, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(page, "VIDEO_BYTES", 10)
    monkeypatch.setattr(page, "PAGE_BYTES", 10)
    videos = []
    for name, size in (("a.mp4", 8), ("b.mp4", 8), ("c.webm", 2)):
        (tmp_path / name).write_bytes(b"x" * size)
        videos.append(Video(tmp_path / name, f"film {name}"))
    write_page(replace(REPORT, videos=tuple(videos)), tmp_path / "films.html")
    opened = view(path=tmp_path / "films.html")
    opened.show("videos")
    assert opened.page.locator("#videos video").count() == 2
    assert "b.mp4" in opened.text("#videos ul")
    assert "too large for this page" in opened.text("#download")
    assert opened.page.locator("#save-runs").count() == 0


def test_methods_of_one_solver_are_told_apart(view: Opener, tmp_path: Path) -> None:
    chosen = (pl.col("solver") == "gad") & (pl.col("agent") == "ddpg") & (pl.col("delta") == 0.1)
    own = REPORT.sweeps.filter(chosen)
    many = pl.concat(own.with_columns(label=pl.lit(f"GAD, eta={n}")) for n in range(6))
    write_page(Report(sweeps=pl.concat([REPORT.sweeps, many])), tmp_path / "page.html")
    opened = view(path=tmp_path / "page.html")
    opened.show("sweep")
    looks = opened.page.evaluate(
        """() => document.querySelector("#plot-sweep").data
             .filter((trace) => trace.kind === "curve")
             .map(({ name, line, marker }) => [name, line.color, line.dash, marker.symbol])"""
    )
    assert len(looks) == 3 + 6
    assert len({tuple(look[1:]) for look in looks}) == len(looks)
    assert next(look[1] for look in looks if look[0] == "GAD") == "#D55E00"


def test_a_game_without_a_share_of_the_action_has_no_delta(view: Opener, tmp_path: Path) -> None:
    chosen = (pl.col("solver") == "gad") & (pl.col("agent") == "ddpg") & (pl.col("delta") == 0.1)
    game = {"label": pl.lit("GAD, adversarial parameters"), "delta": pl.lit(None, pl.Float64)}
    sweeps, summary = (
        pl.concat([frame, frame.filter(chosen).with_columns(**game)])
        for frame in (REPORT.sweeps, REPORT.summary)
    )
    write_page(replace(REPORT, sweeps=sweeps, summary=summary), tmp_path / "page.html")
    opened = view("#compare=every", path=tmp_path / "page.html")
    names = [x["name"] for x in opened.traces("sweep", "#plot-sweep", "curve")]
    assert "GAD, adversarial parameters" in names
    assert "GAD, δ = 0.1" in names
    assert "null" not in opened.text("main")
    assert "not known" not in opened.text("body")


@pytest.mark.slow
def test_wide_bands_do_not_flatten_the_curves(view: Opener, tmp_path: Path) -> None:
    wide = REPORT.sweeps.with_columns(low=pl.col("value") - 1e5, high=pl.col("value") + 1e5)
    write_page(Report(sweeps=wide), tmp_path / "page.html")
    for path, is_wide in ((None, False), (tmp_path / "page.html", True)):
        opened = view(path=path)
        opened.show("sweep")
        low, high = opened.page.evaluate(
            "document.querySelector('#plot-sweep')._fullLayout.yaxis.range"
        )
        assert high - low < 2e4
        assert ("Bands reach beyond the figure" in opened.text("#sweep")) == is_wide
        shown = opened.traces("sweep", "#plot-sweep", "curve")
        assert low < min(min(x["y"]) for x in shown) < max(max(x["y"]) for x in shown) < high
