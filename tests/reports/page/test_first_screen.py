"""What a reader sees first: the verdict, the table, a figure; and nothing blank on paper."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from mixedne.reports.inputs.collect import collect
from mixedne.reports.page import write_page
from probes.browser import Opener, View
from probes.report import sample_report
from probes.tables import pretend_evaluated, shifts

REPORT = sample_report()
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "is_mobile": True}
LAPTOP: dict[str, Any] = {"viewport": {"width": 1366, "height": 768}}
MASSES = (0.5, 1.0, 2.0, 4.0)


@pytest.fixture(scope="module")
def four_ways(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the quickstart leaves it: three solvers with an adversary, one without, two seeds each."""
    folder = tmp_path_factory.mktemp("four")
    for name, solver, delta in (
        ("mixedne-ld", "mixedne-ld", 0.1), ("gad", "gad", 0.1),
        ("extra-adam", "extra-adam", 0.1), ("one-player", "mixedne-ld", 0.0),
    ):  # fmt: skip
        for seed in range(2):
            path = folder / f"{name}-seed{seed}"
            pretend_evaluated(path, shifts(mass=MASSES), solver=solver, delta=delta, seed=seed)
    write_page(collect([folder], "Four ways"), folder / "page.html")
    return folder / "page.html"


def _box(opened: View, selector: str) -> dict[str, float]:
    box = opened.page.locator(selector).first.bounding_box()
    assert box is not None
    return dict(box)


@pytest.mark.parametrize(
    "screen",
    [pytest.param(LAPTOP, id="laptop"), pytest.param(PHONE, id="phone", marks=pytest.mark.slow)],
)
def test_the_verdict_the_table_and_a_figure_are_on_the_first_screen(
    view: Opener, four_ways: Path, screen: dict[str, Any]
) -> None:
    for path in (None, four_ways):
        opened = view(path=path, **screen)
        opened.page.wait_for_selector("#sweep[data-state=drawn]")
        said, table, plot = (
            _box(opened, x) for x in ("#table .verdict", "#table table", "#plot-sweep .nsewdrag")
        )
        assert 0 < said["y"] < table["y"] < plot["y"]
        drawn = min(plot["y"] + plot["height"], screen["viewport"]["height"]) - plot["y"]
        assert drawn > 0.6 * plot["height"]
        assert opened.page.locator(".modebar").count() == 0


def test_the_verdict_names_the_best_and_what_is_not_told_apart(view: Opener) -> None:
    # Means over the masses are 2432, 2052 and 1672 with intervals of ± 200 each.
    assert view().text("#table .verdict") == (
        "MixedNE-LD has the highest mean return over 5 values of mass on HalfCheetah-v5: 2432, "
        "before GAD with 2052, but its interval overlaps that of GAD: these runs do not show "
        "which is better."
    )


def test_a_clear_lead_is_called_one(view: Opener, tmp_path: Path) -> None:
    narrow = REPORT.summary.with_columns(low=pl.col("value") - 10, high=pl.col("value") + 10)
    write_page(replace(REPORT, summary=narrow), tmp_path / "page.html")
    said = view(path=tmp_path / "page.html").text("#table .verdict")
    assert said.endswith("before GAD with 2052; its interval lies above those of all others.")


def test_every_method_that_the_title_counts_is_shown(view: Opener, four_ways: Path) -> None:
    opened = view(path=four_ways)
    named = {"MixedNE-LD, δ = 0.1", "MixedNE-LD, δ = 0", "GAD, δ = 0.1", "Extra-Adam, δ = 0.1"}
    assert {x["name"] for x in opened.traces("sweep", "#plot-sweep", "curve")} == named
    cells = opened.page.locator("#table tbody th").all_inner_texts()
    assert set(cells) == named
    learned = opened.traces("learning", "#plot-learning", "curve")
    shown = opened.traces("sweep", "#plot-sweep", "curve")
    looks = [{x["name"]: x["line"]["color"] for x in traces} for traces in (learned, shown)]
    assert looks[0] == looks[1]
    opened.choose("compare", "solvers")
    assert len(opened.traces("sweep", "#plot-sweep", "curve")) == 3


def test_two_seeds_are_two_thin_lines_and_no_interval(view: Opener, four_ways: Path) -> None:
    opened = view("#delta=0.1", path=four_ways)
    assert opened.traces("sweep", "#plot-sweep", "band") == []
    thin = opened.traces("sweep", "#plot-sweep", "run")
    curves = {x["name"]: x for x in opened.traces("sweep", "#plot-sweep", "curve")}
    assert len(thin) == 2 * len(curves)
    for name, curve in curves.items():
        own = [x for x in thin if x["legendgroup"] == name]
        assert all(x["line"]["width"] < curve["line"]["width"] for x in own)
        assert all(x["x"] == list(MASSES) for x in own)
        means = [(a + b) / 2 for a, b in zip(own[0]["y"], own[1]["y"], strict=True)]
        assert means == pytest.approx(curve["y"], rel=1e-5)
        assert all("too few seeds for an interval" in text for text in curve["hovertext"])
    assert "Fewer than 5 seeds, too few for a band" in opened.text("#sweep")
    texts = opened.text("#table tbody")
    assert "[" not in texts
    assert texts.count("(too few seeds)") == 3
    assert "2 seeds are too few to say that it is better" in opened.text("#table .verdict")
    assert opened.traces("learning", "#plot-learning", "run") != []


@pytest.mark.slow
def test_published_curves_that_would_flatten_the_view_start_switched_off(
    view: Opener, tmp_path: Path
) -> None:
    far = REPORT.published.with_columns(pl.col("value") + 20_000.0)
    write_page(replace(REPORT, published=far), tmp_path / "far.html")
    opened = view(path=tmp_path / "far.html")
    assert opened.traces("sweep", "#plot-sweep", "published") == []
    assert not opened.page.is_checked("#switch-published")
    assert "start switched off" in opened.text("#sweep")
    view_of = "document.querySelector('#plot-sweep')._fullLayout.yaxis.range[1]"
    assert opened.page.evaluate(view_of) < 5000
    opened.page.check("#switch-published")
    assert len(opened.traces("sweep", "#plot-sweep", "published")) == 1


@pytest.mark.slow
def test_factors_have_a_logarithmic_axis_and_probabilities_have_not(
    view: Opener, tmp_path: Path
) -> None:
    noise = REPORT.sweeps.filter(axis="mass").with_columns(axis=pl.lit("noise"), x=pl.col("x") / 10)
    more = replace(REPORT, sweeps=pl.concat([REPORT.sweeps, noise]))
    write_page(more, tmp_path / "page.html")
    opened = view(path=tmp_path / "page.html")
    for name, kind, mark in (
        ("mass", "log", 1.0),
        ("friction", "log", 1.0),
        ("noise", "linear", 0.0),
    ):
        opened.choose("axis", name)
        opened.show("sweep")
        drawn = opened.page.evaluate(
            """() => {
                 const { xaxis, shapes } = document.querySelector("#plot-sweep")._fullLayout;
                 return [xaxis.type, shapes[0].x0];
               }"""
        )
        assert drawn == [kind, mark]


def test_nothing_is_blank_in_a_picture_of_the_whole_page(view: Opener, sample: Path) -> None:
    opened = view(path=sample, **LAPTOP)
    opened.page.wait_for_function(
        "[...document.querySelectorAll('main section')].every(x => x.dataset.state === 'drawn')"
    )
    assert opened.page.evaluate("scrollY") == 0
    _assert_all_drawn(opened)


def test_a_print_made_at_once_shows_every_figure(browser: Any, sample: Path) -> None:
    page = browser.new_page(**LAPTOP)
    page.goto(sample.as_uri(), wait_until="commit")
    page.wait_for_load_state("load")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    states = page.eval_on_selector_all("main section", "all => all.map(x => x.dataset.state)")
    assert set(states) == {"drawn"}
    page.evaluate("document.body.style.width = '700px'")  # paper, of which Plotly is not told
    widths = page.eval_on_selector_all(
        ".js-plotly-plot .main-svg", "all => all.map(x => x.getBoundingClientRect().right)"
    )
    assert len(widths) > 10
    assert max(widths) <= 700
    assert page.locator("#table thead button").first.is_visible()
    page.close()


def _assert_all_drawn(opened: View) -> None:
    plots = opened.page.eval_on_selector_all(
        ".plot[role=img]", "all => all.map(x => x.querySelectorAll('.main-svg .trace, .hm').length)"
    )
    assert len(plots) > 10
    assert min(plots) > 0
