"""Every figure of the page, in a real browser, shows the frames' numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from mixedne.reports.page import write_page
from mixedne.reports.tables import STATISTICS, Report
from mixedne.saddle.objectives import OBJECTIVES
from probes.browser import Opener, View
from probes.report import rows, sample_report

REPORT = sample_report()


def assert_curves(view: View, section: str, table: pl.DataFrame, x: str) -> None:
    """A line and a band for every label, with the table's numbers in order of x."""
    plot = f"#plot-{section}"
    lines = {trace["name"]: trace for trace in view.traces(section, plot, "curve")}
    bands = {trace["legendgroup"]: trace for trace in view.traces(section, plot, "band")}
    assert set(lines) == set(table["label"])
    for label, line in lines.items():
        own = rows(table, label=label).sort(x)
        assert line["x"] == pytest.approx(own[x].to_list())
        assert line["y"] == pytest.approx(own["value"].to_list())
        back = own.reverse()
        assert bands[label]["x"][:-1] == pytest.approx([*own[x], *back[x]])
        assert bands[label]["y"][:-1] == pytest.approx([*own["high"], *back["low"]])


def test_every_selector_changes_the_sweep_to_the_frames_numbers(view: Opener) -> None:
    opened = view()
    selected: dict[str, Any] = {
        "task": "HalfCheetah-v5", "agent": "ddpg", "delta": 0.1, "axis": "mass",
        "statistic": "mean",
    }  # fmt: skip
    for key, value, text in (
        ("task", "HalfCheetah-v5", "HalfCheetah-v5"),
        ("task", "Hopper-v5", "Hopper-v5"),
        ("agent", "td3", "TD3"),
        ("delta", 0.0, "0"),
        ("axis", "friction", "friction"),
        *(("statistic", name, text) for name, text in STATISTICS.items()),
    ):
        opened.choose(key, text)
        selected[key] = value
        assert_curves(opened, "sweep", rows(REPORT.sweeps, **selected), "x")
    title = opened.page.eval_on_selector("#plot-sweep", "plot => plot.layout.xaxis.title.text")
    assert title.startswith("friction")


def test_one_player_against_two_and_agents_are_compared(view: Opener) -> None:
    opened = view("#agent=td3")
    own = rows(REPORT.sweeps, task="HalfCheetah-v5", axis="mass", statistic="mean")
    opened.choose("compare", "one player against two")
    curves = {x["name"]: x["y"] for x in opened.traces("sweep", "#plot-sweep", "curve")}
    expected = {
        f"{label}, δ = {delta:g}": rows(own, agent="td3", label=label, delta=delta)[
            "value"
        ].to_list()
        for label, delta in (("MixedNE-LD", 0.0), ("GAD", 0.1), ("Extra-Adam", 0.1))
    }
    assert curves == {name: pytest.approx(y) for name, y in expected.items()}
    assert opened.page.is_disabled("#select-delta")
    opened.choose("compare", "agents: with SAC")
    both = pl.concat([rows(own, agent="td3", delta=0.1), rows(own, agent="sac")])
    assert_curves(opened, "sweep", both, "x")


def test_published_curves_are_grey_named_and_can_be_switched_off(view: Opener) -> None:
    opened = view()
    (line,) = opened.traces("sweep", "#plot-sweep", "published")
    assert (line["x"], line["y"]) == (
        REPORT.published["x"].to_list(),
        REPORT.published["value"].to_list(),
    )
    assert "Tessler et al. 2019" in opened.text("#sweep figcaption")
    opened.page.uncheck("#switch-published")
    assert opened.traces("sweep", "#plot-sweep", "published") == []
    opened.page.check("#switch-published")
    opened.choose("statistic", "worst case")
    assert opened.traces("sweep", "#plot-sweep", "published") == []


def test_selectors_offer_only_what_there_is(view: Opener) -> None:
    opened = view()
    assert opened.offered("agent") == ["DDPG", "TD3", "SAC"]
    assert opened.offered("axis") == ["mass", "friction"]
    opened.choose("agent", "SAC")
    assert opened.offered("delta") == ["0"]
    assert not opened.page.is_visible("#select-compare")
    assert not opened.page.is_visible("#select-acting")


def test_a_task_without_the_chosen_values_falls_back(view: Opener, tmp_path: Path) -> None:
    poor = REPORT.sweeps.filter(
        (pl.col("task") == "HalfCheetah-v5")
        | ((pl.col("delta") == 0) & (pl.col("axis") == "friction"))
    )
    several = pl.concat([poor, poor.with_columns(acting=pl.lit("stochastic"))])
    write_page(Report(sweeps=several), tmp_path / "poor.html")
    opened = view(path=tmp_path / "poor.html")
    assert opened.offered("acting") == ["mean action", "drawn action"]
    opened.choose("task", "Hopper-v5")
    assert (opened.chosen("delta"), opened.chosen("axis")) == ("0", "friction")
    left = rows(poor, task="Hopper-v5", agent="ddpg", statistic="mean")
    assert_curves(opened, "sweep", left, "x")


def test_the_address_keeps_and_restores_a_selection(view: Opener) -> None:
    first = view()
    first.show("learning")
    chosen = {
        "task": "Hopper-v5",
        "agent": "TD3",
        "delta": "0",
        "statistic": "CVaR 10 %",
        "source": "training episodes",
    }
    for key, text in chosen.items():
        first.choose(key, text)
    first.show("learning")
    second = view("#" + first.page.url.split("#")[1], path=first.path)
    second.show("learning")
    assert [second.chosen(key) for key in chosen] == list(chosen.values())


def test_a_hover_shows_the_numbers_of_the_point(view: Opener) -> None:
    opened = view("#statistic=worst")
    opened.show("sweep")
    opened.page.locator("#plot-sweep .points").last.locator("path").first.hover(force=True)
    said = opened.page.locator("#plot-sweep .hoverlayer .hovertext").text_content()
    row = rows(
        REPORT.sweeps, task="HalfCheetah-v5", agent="ddpg", delta=0.1, label="Extra-Adam",
        axis="mass", statistic="worst", x=0.5,
    ).row(0, named=True)  # fmt: skip
    assert f"mass 0.5: {row['value']:g}" in said
    assert f"{row['low']:g} to {row['high']:g}" in said
    assert "5 seeds, 50 episodes, 0 invalid" in said


@pytest.mark.parametrize("statistic", STATISTICS)
def test_maps_and_differences_are_the_frames(view: Opener, statistic: str) -> None:
    opened = view(f"#task=Hopper-v5&agent=td3&statistic={statistic}")
    own = rows(REPORT.maps, task="Hopper-v5", agent="td3", delta=0.1, statistic=statistic)
    grid = {label: _grid(rows(own, label=label)) for label in own["label"].unique()}
    panels = opened.panels("maps", "maps", "map")
    assert set(panels) == set(grid)
    for label, (trace,) in panels.items():
        assert np.array(trace["z"]) == pytest.approx(grid[label])
        limits = own["value"].min(), own["value"].max()
        assert (trace["zmin"], trace["zmax"]) == pytest.approx(limits)
    for baseline in ("GAD", "Extra-Adam"):
        opened.choose("baseline", baseline)
        differences = opened.panels("maps", "differences", "map")
        assert set(differences) == {f"{x} minus {baseline}" for x in grid if x != baseline}
        for head, (trace,) in differences.items():
            expected = grid[head.split(" minus ")[0]] - grid[baseline]
            assert np.array(trace["z"]) == pytest.approx(expected, abs=2e-3)
            assert trace["zmin"] == -trace["zmax"]


def _grid(table: pl.DataFrame) -> np.ndarray:
    """Values by y, then x."""
    return table.sort("y", "x")["value"].to_numpy().reshape(table["y"].n_unique(), -1)


def test_all_tasks_at_a_glance_and_a_click_selects(view: Opener) -> None:
    opened = view("#agent=td3&axis=friction&statistic=worst")
    own = rows(REPORT.summary, agent="td3", delta=0.1, axis="friction", statistic="worst")
    panels = opened.panels("overview", "overview", "dot")
    assert list(panels) == ["HalfCheetah-v5", "Hopper-v5"]
    for task, dots in panels.items():
        for dot in dots:
            row = rows(own, task=task, label=dot["name"]).row(0, named=True)
            assert dot["x"] == [pytest.approx(row["value"])]
            assert dot["error_x"]["array"] == [pytest.approx(row["high"] - row["value"])]
            assert dot["error_x"]["arrayminus"] == [pytest.approx(row["value"] - row["low"])]
    opened.page.click("button.task >> text=Hopper-v5")
    assert opened.chosen("task") == "Hopper-v5"
    opened.show("overview")
    opened.page.locator("#panels-overview .points path").first.click(force=True)
    opened.page.wait_for_function("location.hash.includes('task=HalfCheetah-v5')")


def test_learning_curves_against_steps_updates_and_time(view: Opener) -> None:
    opened = view("#task=Hopper-v5&delta=0")
    opened.show("learning")
    for source, words in (
        ("evaluation", "evaluation, without noise"),
        ("training", "training episodes"),
    ):
        opened.choose("source", words)
        for name, text in (("step", "environment steps"), ("updates", "inner updates"),
                           ("seconds", "seconds of wall-clock time")):  # fmt: skip
            opened.choose("progress", text)
            own = rows(REPORT.learning, task="Hopper-v5", agent="ddpg", delta=0.0, source=source)
            assert_curves(opened, "learning", own, name)


@pytest.mark.parametrize("start", ["far", "near"])
def test_the_case_study_is_the_objective_along_the_paths(view: Opener, start: str) -> None:
    assert REPORT.saddle is not None
    opened = view(f"#start={start}")
    plots = ("saddle", "#plot-saddle-values"), ("saddle", "#plot-saddle-paths")
    first = {x["name"]: x for x in opened.traces(*plots[0], "first")}
    paths = {x["name"]: x for x in opened.traces(*plots[1], "path")}
    for name, solver in (("GAD", "gad"), ("MixedNE-LD, frozen chains", "mixedne-ld")):
        own = rows(REPORT.saddle, start=start, solver=solver)
        theta, omega = (np.stack(own[x].to_list()) for x in ("theta", "omega"))
        value = OBJECTIVES["x2y2-xy"].value(theta, omega)
        assert first[name]["y"] == pytest.approx(value[0, first[name]["x"]].tolist(), rel=1e-5)
        assert paths[name]["x"] == pytest.approx(theta[0].tolist(), rel=1e-5)
        assert paths[name]["y"] == pytest.approx(omega[0].tolist(), rel=1e-5)
    (middle,) = opened.traces(*plots[0], "middle")
    (band,) = opened.traces(*plots[0], "band")
    low, median, high = np.quantile(value[:, middle["x"]], [0.05, 0.5, 0.95], axis=0)
    assert middle["y"] == pytest.approx(median.tolist(), rel=1e-5)
    assert band["y"][:-1] == pytest.approx([*high, *low[::-1]], rel=1e-5)


def test_searches_with_the_chosen_and_the_papers_settings(view: Opener) -> None:
    opened = view("#task=Hopper-v5&delta=0")
    own = rows(REPORT.searches, task="Hopper-v5", delta=0.0)
    (map_,) = opened.panels("searches", "searches", "map")["MixedNE-LD"]
    assert np.array(map_["z"]) == pytest.approx(_grid(rows(own, solver="mixedne-ld")))
    (line,) = opened.panels("searches", "searches", "line")["GAD"]
    assert line["y"] == pytest.approx(rows(own, solver="gad").sort("x")["value"].to_list())
    (chosen,) = opened.panels("searches", "searches", "chosen")["MixedNE-LD"]
    (paper,) = opened.panels("searches", "searches", "paper")["MixedNE-LD"]
    assert (chosen["x"], chosen["y"]) == ([2], [0])  # sigma 0.2, sigma0 1e-4
    assert (paper["x"], paper["y"]) == ([1], [1])
    opened.choose("agent", "TD3")
    assert "No search for Hopper-v5, TD3" in opened.text("#searches")


def test_scores_on_sets_beside_published_ones(view: Opener) -> None:
    opened = view()
    opened.show("sets")
    assert opened.text("#sets h3") == "Hopper-v5, rrls-2d, 100 points"
    cells = [row.split("\t") for row in opened.page.locator("#sets tr").all_inner_texts()]
    assert cells[1] == [
        *("TD3, GAD, δ = 0", "300.5 [250, 351]", "800 [700, 900]", "0.25", "-1.50", "3", ""),
    ]
    assert cells[2] == ["M2TD3", "533 ± 28", "", "", "", "10", "arXiv:2410.06212 App. K"]
    assert "Powers of ten were inferred" in opened.text("#sets .notes")


def test_who_was_attacked_how(view: Opener) -> None:
    opened = view()
    opened.show("attacks")
    assert opened.text("#attacks h3") == "Hopper-v5, attack on force torso, strength 3"
    cells = [row.split("\t") for row in opened.page.locator("#attacks tr").all_inner_texts()]
    hit = ["800 [700, 900]", "790", "200.5 [150, 251]", "200.5", "25 %", "3"]
    assert cells[0][3:5] == ["Trained attacker", "At most"]
    assert cells[1] == ["TD3, GAD, δ = 0", *hit]
    assert cells[2] == ["mine", "50", "", "−5", "−5", "nothing", "1"]
    assert cells[3] == ["helped", "40", "45", "60", "40", "100 %", "1"]
    assert cells[4] == ["Method", "No attack", "This attacker", "Left", "Seeds"]
    assert cells[5] == ["mine", "50", "40", "80 %", "3"]


def test_the_table_says_what_is_told_apart_and_sorts(view: Opener) -> None:
    opened = view()
    opened.show("table")
    every = rows(REPORT.summary, agent="ddpg", delta=0.1, axis="mass", statistic="mean")
    own = rows(every, task="HalfCheetah-v5")
    verdict = {
        "MixedNE-LD": "higher than GAD",
        "GAD": "the baseline",
        "Extra-Adam": "not told apart from GAD",
    }
    texts = [opened.text(f"#table tbody tr:nth-child({i + 1})") for i in range(own.height)]
    for text, row in zip(texts, own.iter_rows(named=True), strict=True):
        for name in ("value", "iqm"):
            assert f"{row[name]:.4g} [" in text
        assert verdict[row["label"]] in text
    opened.page.check("#switch-everywhere")
    opened.show("table")
    assert opened.page.locator("#table tbody tr").count() == every.height
    opened.page.click("#table thead button >> text=Mean")
    methods = opened.page.eval_on_selector_all(
        "#table tbody tr", "rows => rows.map(row => row.cells[1].innerText)"
    )
    assert methods == ["MixedNE-LD"] * 2 + ["GAD"] * 2 + ["Extra-Adam"] * 2
    opened.page.uncheck("#switch-everywhere")
