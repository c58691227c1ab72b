"""Return against one shift, in the form of the paper's figures, and during training.

- one agent and δ, one panel per task: DDPG's figures, and VPG's;
- one agent, tasks × δ: TD3's figures;
- comparison of agents: TD3 against SAC;
- one-player MixedNE-LD next to the two-player baselines: the introduction's third claim;
- learning curves, against environment steps, inner updates and time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from mixedne.reports import style
from mixedne.reports.figures import canvas
from mixedne.reports.figures.canvas import Named, in_order
from mixedne.reports.figures.curves import Curve, Kind, Panel, curves_by, draw_panels
from mixedne.reports.tables import METHOD, STATISTICS, Report, where
from mixedne.shifts import Axis

TWO_PLAYER_DELTA = 0.1  # of the baselines in the introduction's claim, in the paper
CURVE = "curve"  # the column with a row's name in the legend


@dataclass(frozen=True)
class Choice:
    """The rows of a figure, for each axis."""

    name: str
    title: str
    rows: pl.DataFrame  # with the column CURVE
    over_deltas: bool = False  # whether δ has columns of panels
    compared: str | None = None  # a column: tasks that have several of its values are shown
    note: str = ""  # which methods were taken, and why


def draw_sweeps(report: Report, statistic: str) -> Iterator[Named]:
    """All figures of sweeps, with their names."""
    suffix = "" if statistic == "mean" else statistic
    single = where(report.sweep_runs, statistic=statistic)
    published = report.published if statistic == "mean" else report.published.clear()
    for choice in _choices(where(report.sweeps, statistic=statistic)):
        for (axis,), of_axis in choice.rows.group_by("axis", maintain_order=True):
            others = where(published, axis=axis), where(single, axis=axis)
            for ways, words, tested in canvas.ways_of_testing(of_axis):
                most = canvas.TASKS_ON_A_SHEET if choice.over_deltas else None
                for part, part_words, shown in canvas.sheets(_comparable(tested, choice), most):
                    against = f"return against {style.short_axis(str(axis))}{words}{part_words}"
                    name = style.safe_name(choice.name, str(axis), *ways, suffix, part)
                    yield name, _draw(choice, shown, *others, against)


def _choices(rows: pl.DataFrame) -> Iterator[Choice]:
    """Comparisons of solvers, at one δ and at all; of agents; and of one player with two."""
    named = rows.with_columns(pl.col("label").alias(CURVE))
    for (agent, delta), own in named.group_by("agent", "delta", maintain_order=True):
        name = f"sweep-{style.method_name(agent, delta)}"
        yield Choice(name, style.game_words(agent, delta), own)
    for (agent,), own in named.group_by("agent", maintain_order=True):
        name = f"sweep-{agent or 'unknown'}-deltas"
        yield Choice(name, style.agent_words(agent), own, over_deltas=True)
    yield from _agents_compared(rows)
    yield from _one_player(rows)


def _agents_compared(rows: pl.DataFrame) -> Iterator[Choice]:
    """Every agent with MixedNE-LD, if available, and agents without a solver, which have no δ."""
    sampled = (pl.col("solver") == "mixedne-ld").fill_null(False)
    best = rows.filter(sampled | ~sampled.any().over("agent"))
    alone, played = best.filter(pl.col("solver").is_null()), best.drop_nulls("solver")
    for (delta,), own in played.group_by("delta", maintain_order=True):
        both = pl.concat([own.sort(pl.col("agent") != "td3", maintain_order=True), alone])
        curves = pl.Series(CURVE, map(_with_agent, both.iter_rows(named=True)), pl.String)
        words = style.delta_words(delta)
        players = f"one player ({words})" if delta == 0 else f"two players with {words}"
        name, title = style.method_name("agents", delta), f"Agents compared, {players}"
        yield Choice(name, title, both.with_columns(curves), compared="agent")


def _with_agent(method: Mapping[str, Any]) -> str:
    if method["solver"] is None:
        return str(method["label"])
    return f"{style.agent_words(method['agent'])} with {method['label']}"


def _one_player(rows: pl.DataFrame) -> Iterator[Choice]:
    """MixedNE-LD without an adversary next to the baselines with one."""
    alone = (pl.col("solver") == "mixedne-ld") & (pl.col("delta") == 0)
    robust = pl.col("solver").is_in(["gad", "extra-adam"]) & (pl.col("delta") == TWO_PLAYER_DELTA)
    two = pl.lit(f", two players (δ = {TWO_PLAYER_DELTA:g})")
    players = pl.when(alone).then(pl.lit(", one player (δ = 0)")).otherwise(two)
    named = rows.filter(alone | robust).with_columns((pl.col("label") + players).alias(CURVE))
    for (agent,), own in named.group_by("agent", maintain_order=True):
        name = f"one-player-{agent or 'unknown'}"
        title = f"{style.agent_words(agent)}, one-player sampling and two-player optimisation"
        yield Choice(name, title, own, compared="delta", note=f" {style.PLAYERS}")


def _comparable(rows: pl.DataFrame, choice: Choice) -> pl.DataFrame:
    """The rows of tasks where there is something to compare."""
    if choice.over_deltas and rows["delta"].n_unique() < 2:
        return rows.clear()
    if choice.compared is None:
        return rows
    return rows.filter(pl.col(choice.compared).n_unique().over("task") > 1)


def _draw(
    choice: Choice, rows: pl.DataFrame, published: pl.DataFrame, single: pl.DataFrame, against: str
) -> Figure:
    """The figure of some rows, with published curves and single runs of their axis."""
    axis, statistic = Axis.parse(rows["axis"][0]), rows["statistic"][0]
    styles = canvas.solver_styles(rows.select("solver", CURVE).iter_rows())
    # What a published curve must share with a row; it may be of a further solver.
    key = ["task", "agent", "delta", *(["solver"] if choice.compared else [])]
    own = published.join(rows.select(key).unique(), on=key, how="semi", nulls_equal=True)
    # Single runs have no name in the legend: they are found by what names a method.
    method = rows.select(*METHOD, CURVE).unique()
    single = single.join(method, on=[*METHOD], nulls_equal=True, maintain_order="left")
    kind: Kind = "multiples" if axis.entry.log_axis else "plain"
    deltas = sorted(rows["delta"].unique(), key=lambda it: (it is None, it))
    places: list[dict[str, Any]] = [{"task": task} for task in in_order(rows, "task")]
    if choice.over_deltas:
        places = [{**place, "delta": delta} for place in places for delta in deltas]
    panels = []
    for place in places:
        words = f", {style.delta_words(place['delta'])}" if choice.over_deltas else ""
        grey = _published(where(own, **place), with_agent=choice.compared == "agent")
        curves = curves_by(CURVE, where(rows, **place), where(single, **place), styles)
        title = place["task"] + words
        panels.append(Panel(title, axis.label, [*grey, *curves], kind, axis.nominal))
    return draw_panels(
        panels,
        title=f"{choice.title}: {against}",
        y=f"return of an episode, {STATISTICS[statistic]}",
        note=canvas.seeds_note(rows, statistic=statistic) + choice.note,
        columns=len(deltas) if choice.over_deltas else 4,
        share_rows=choice.over_deltas,
    )


def _published(rows: pl.DataFrame, *, with_agent: bool) -> list[Curve]:
    """Published curves, in grey, with the markers of their solvers and the name of their source."""
    styles: dict[str, style.Style] = {}
    labels: list[str] = []
    for row in rows.iter_rows(named=True):
        words = _with_agent(row) if with_agent else row["label"]
        labels.append(f"{words} ({row['source']})")
        look = style.SOLVERS.get(row["solver"], style.SOLVERS["sac"])
        styles[labels[-1]] = replace(look, label=labels[-1])
    named = rows.with_columns(pl.Series(CURVE, labels, pl.String))
    return curves_by(CURVE, named, None, styles)


def draw_learning(report: Report) -> Iterator[Named]:
    """A figure for each agent, δ and source of the returns, with their names."""
    keys = ["agent", "delta", "source"]
    for (agent, delta, source), rows in report.learning.group_by(keys, maintain_order=True):
        single = where(report.learning_runs, agent=agent, delta=delta, source=source)
        name = f"learning-{style.method_name(agent, delta)}"
        suffix = "" if source == "evaluation" else str(source)
        for part, words, shown in canvas.sheets(rows):
            title = f"{style.game_words(agent, delta)}: return while training{words}"
            figure = _draw_learning(shown, single, title, is_vpg=agent == "vpg")
            yield style.safe_name(name, suffix, part), figure


def _draw_learning(rows: pl.DataFrame, single: pl.DataFrame, title: str, *, is_vpg: bool) -> Figure:
    styles = canvas.solver_styles(rows.select("solver", "label").iter_rows())
    longest: Any = rows["seconds"].max() or 0.0
    units = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
    unit, unit_name = next((it for it in units if longest >= 2 * it[0]), units[-1])
    axes = {
        "step": ("environment samples" if is_vpg else "environment steps", 1.0),
        "updates": ("inner updates", 1.0),
        "seconds": (f"wall-clock time in {unit_name}", 1 / unit),
    }
    panels = []
    for task, (x, (label, scale)) in product(in_order(rows, "task"), axes.items()):
        kind: Kind = "plain" if x == "seconds" else "log counts" if is_vpg else "counts"
        own = where(rows, task=task), where(single, task=task)
        panels.append(Panel(task, label, curves_by("label", *own, styles, x=x, scale=scale), kind))
    return draw_panels(
        panels,
        title=title,
        y="return, without noise" if rows["source"][0] == "evaluation" else "return while training",
        note=canvas.seeds_note(rows),
        columns=len(axes),
        share_rows=True,
        empty="not recorded",
    )
