"""Return against one shift, in the forms of the paper's figures.

- one agent and δ, a panel a task: DDPG's figures, and VPG's;
- one agent, tasks × δ: TD3's figures;
- agents with one another: TD3 against SAC;
- one-player MixedNE-LD beside the two-player baselines: the introduction's third claim.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from mixedne.reports import names
from mixedne.reports.figures import canvas
from mixedne.reports.figures.canvas import Named, in_order, where
from mixedne.reports.figures.curves import Curve, Panel, curve, draw_panels, shift_axis
from mixedne.reports.style import SOLVERS, Style
from mixedne.reports.tables import METHOD, STATISTICS, Report

TWO_PLAYER_DELTA = 0.1
"""Of the baselines in the introduction's claim: the paper compares them at this δ."""

CURVE = "curve"
"""The column with a row's name in the legend."""


@dataclass(frozen=True)
class Choice:
    """Rows that make a figure, on each axis."""

    name: str
    title: str
    rows: pl.DataFrame
    """With the column :data:`CURVE`."""
    over_deltas: bool = False
    """Whether δ has columns of panels."""
    compared: str | None = None
    """A column: only tasks that have several of its values are shown."""
    note: str = ""
    """Which methods were taken, and why."""

    @property
    def published_by(self) -> list[str]:
        """The columns that a published curve must share; it may be of a further solver."""
        return ["task", "agent", "delta", *(["solver"] if self.compared else [])]


def draw_sweeps(report: Report, statistic: str = "mean") -> Iterator[Named]:
    """All figures of sweeps, with their names."""
    rows = where(report.sweeps, statistic=statistic)
    single = where(report.sweep_runs, statistic=statistic)
    published = report.published if statistic == "mean" else report.published.clear()
    kinds = (each_delta, all_deltas, agents_compared, one_player)
    for choice in (it for kind in kinds for it in kind(rows)):
        for (axis,), of_axis in choice.rows.group_by("axis", maintain_order=True):
            others = where(published, axis=axis), where(single, axis=axis)
            for parts, words, tested in canvas.ways_of_testing(of_axis):
                most = canvas.TASKS_ON_A_SHEET if choice.over_deltas else None
                for part, part_words, shown in canvas.sheets(_comparable(tested, choice), most):
                    against = f"return against {names.short_axis(str(axis))}{words}{part_words}"
                    title = f"{choice.title}: {against}"
                    name = [choice.name, str(axis), *parts, *names.statistic_name(statistic), *part]
                    yield names.safe_name(*name), _draw(choice, shown, others, title, statistic)


def each_delta(rows: pl.DataFrame) -> Iterator[Choice]:
    """One agent and δ; solvers side by side."""
    for (agent, delta), group in rows.group_by("agent", "delta", maintain_order=True):
        name = f"sweep-{names.agent_name(agent)}-{names.delta_name(delta)}"
        named = group.with_columns(pl.col("label").alias(CURVE))
        yield Choice(name, f"{names.agent_words(agent)}, {names.delta_words(delta)}", named)


def all_deltas(rows: pl.DataFrame) -> Iterator[Choice]:
    """One agent that has several δ."""
    for (agent,), group in rows.group_by("agent", maintain_order=True):
        named = group.with_columns(pl.col("label").alias(CURVE))
        name = f"sweep-{names.agent_name(agent)}-deltas"
        yield Choice(name, names.agent_words(agent), named, over_deltas=True)


def agents_compared(rows: pl.DataFrame) -> Iterator[Choice]:
    """Every agent by MixedNE-LD, if it has it, and agents without a solver, which know no δ."""
    sampled = (pl.col("solver") == "mixedne-ld").fill_null(False)
    best = rows.filter(sampled | ~sampled.any().over("agent"))
    alone = best.filter(pl.col("solver").is_null())
    played = best.filter(pl.col("solver").is_not_null())
    for (delta,), group in played.group_by("delta", maintain_order=True):
        both = pl.concat([group.sort(pl.col("agent") != "td3", maintain_order=True), alone])
        named = both.with_columns(
            pl.struct("agent", "solver", "label")
            .map_elements(_with_agent, return_dtype=pl.String)
            .alias(CURVE)
        )
        title = f"Agents compared, two players with {names.delta_words(delta)}"
        if delta == 0:
            title = f"Agents compared, one player ({names.delta_words(delta)})"
        yield Choice(f"agents-{names.delta_name(delta)}", title, named, compared="agent")


def _with_agent(method: Mapping[str, Any]) -> str:
    if method["solver"] is None:
        return str(method["label"])
    return f"{names.agent_words(method['agent'])} with {method['label']}"


def one_player(rows: pl.DataFrame) -> Iterator[Choice]:
    """MixedNE-LD without an adversary beside the baselines with one."""
    alone = (pl.col("solver") == "mixedne-ld") & (pl.col("delta") == 0)
    robust = pl.col("solver").is_in(["gad", "extra-adam"]) & (pl.col("delta") == TWO_PLAYER_DELTA)
    players = pl.when(alone).then(pl.lit(", one player (δ = 0)"))
    named = rows.filter(alone | robust).with_columns(
        (
            pl.col("label") + players.otherwise(pl.lit(f", two players (δ = {TWO_PLAYER_DELTA:g})"))
        ).alias(CURVE)
    )
    for (agent,), group in named.group_by("agent", maintain_order=True):
        title = f"{names.agent_words(agent)}, one-player sampling and two-player optimisation"
        yield Choice(
            f"one-player-{names.agent_name(agent)}", title, group, compared="delta",
            note=f" {names.PLAYERS}",
        )  # fmt: skip


def _comparable(rows: pl.DataFrame, choice: Choice) -> pl.DataFrame:
    """The rows of tasks where there is something to compare."""
    if choice.over_deltas and rows["delta"].n_unique() < 2:
        return rows.clear()
    if choice.compared is None:
        return rows
    return rows.filter(pl.col(choice.compared).n_unique().over("task") > 1)


def _draw(
    choice: Choice,
    rows: pl.DataFrame,
    others: tuple[pl.DataFrame, pl.DataFrame],
    title: str,
    statistic: str,
) -> Figure:
    """The figure of some rows; ``others`` are published curves and single runs of this axis."""
    published, single = others
    styles = canvas.solver_styles(rows.select("solver", CURVE).unique(maintain_order=True).rows())
    key = choice.published_by
    own = published.join(rows.select(key).unique(), on=key, how="semi", nulls_equal=True)
    # Single runs have no name in the legend: they are found by what names a method.
    method = [name for name in METHOD if name in single.columns]
    single = single.join(
        rows.select(*method, CURVE).unique(), on=method, nulls_equal=True, maintain_order="left"
    )
    deltas = sorted(rows["delta"].unique(), key=lambda it: (it is None, it))
    places: list[dict[str, Any]] = [{"task": task} for task in in_order(rows, "task")]
    if choice.over_deltas:
        places = [{**place, "delta": delta} for place, delta in product(places, deltas)]
    panels = [
        Panel(
            _panel_title(place),
            shift_axis(rows["axis"][0]),
            [
                *_published(where(own, **place), with_agent=choice.compared == "agent"),
                *_curves(where(rows, **place), where(single, **place), styles),
            ],
        )
        for place in places
    ]
    of = "" if statistic == "mean" else f" of each run's {STATISTICS[statistic]}"
    return draw_panels(
        panels,
        title=title,
        y=canvas.return_words(statistic),
        note=canvas.seeds_note(rows, of=of) + choice.note,
        columns=len(deltas) if choice.over_deltas else 4,
        share_rows=choice.over_deltas,
    )


def _panel_title(place: Mapping[str, Any]) -> str:
    return place["task"] + (f", {names.delta_words(place['delta'])}" if "delta" in place else "")


def _curves(rows: pl.DataFrame, single: pl.DataFrame, styles: Mapping[str, Style]) -> list[Curve]:
    by_label = {label: where(rows, **{CURVE: label}) for label in styles}
    return [
        curve(it, styles[label], where(single, **{CURVE: label}))
        for label, it in by_label.items()
        if len(it)
    ]


def _published(rows: pl.DataFrame, *, with_agent: bool) -> list[Curve]:
    """Curves of others, in grey, with the marks of their solvers and the name of their source."""
    curves = []
    keys = ["solver", "agent", "delta", "label", "source"]
    for (solver, agent, _, label, source), it in rows.group_by(keys, maintain_order=True):
        own = SOLVERS.get(str(solver or "sac"), SOLVERS["sac"])
        method = {"agent": agent, "solver": solver, "label": label}
        words = _with_agent(method) if with_agent else label
        style = replace(own, label=f"{words} ({source})")
        curves.append(curve(it, style, is_reference=True))
    return curves
