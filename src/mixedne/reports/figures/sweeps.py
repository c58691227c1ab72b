"""Return against one shift, in the forms of the paper's figures.

- one agent and δ, a panel a task: DDPG's figures, and VPG's;
- one agent, tasks × δ: TD3's figures;
- agents with one another: TD3 against SAC;
- one-player MixedNE-LD beside the two-player baselines: the introduction's third claim.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from mixedne.reports.figures.canvas import (
    TASKS_ON_A_SHEET,
    Named,
    return_words,
    seeds_note,
    sheets,
    solver_looks,
)
from mixedne.reports.figures.curves import Axis, Curve, Kind, Panel, curve, draw_panels
from mixedne.reports.figures.words import (
    agent_name,
    agent_words,
    axis_words,
    delta_name,
    delta_words,
    in_order,
    safe_name,
    short_axis,
    statistic_name,
    ways_of_testing,
    where,
)
from mixedne.reports.frames import NOMINAL, STATISTICS, Report
from mixedne.reports.style import SOLVERS, Look

MULTIPLES = ("mass", "friction")

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

    @property
    def published_by(self) -> list[str]:
        """The columns that a published curve must share; it may be of a further solver."""
        return ["task", "agent", "delta", *(["solver"] if self.compared else [])]


def draw_sweeps(report: Report, statistic: str = "mean") -> Iterator[Named]:
    """All figures of sweeps, with their names."""
    rows = where(report.sweeps, statistic=statistic)
    published = report.published if statistic == "mean" else report.published.clear()
    kinds = (each_delta, all_deltas, agents_compared, one_player)
    for choice in (it for kind in kinds for it in kind(rows)):
        for (axis,), of_axis in choice.rows.group_by("axis", maintain_order=True):
            for names, words, tested in ways_of_testing(of_axis):
                most = TASKS_ON_A_SHEET if choice.over_deltas else None
                for part, part_words, shown in sheets(_comparable(tested, choice), most):
                    title = f"{choice.title}: return against {short_axis(str(axis))}{words}"
                    own = where(published, axis=axis)
                    name = [choice.name, str(axis), *names, *statistic_name(statistic), *part]
                    figure = _draw(choice, shown, own, str(axis), title + part_words, statistic)
                    yield safe_name(*name), figure


def each_delta(rows: pl.DataFrame) -> Iterator[Choice]:
    """One agent and δ; solvers side by side."""
    for (agent, delta), group in rows.group_by("agent", "delta", maintain_order=True):
        name = f"sweep-{agent_name(agent)}-{delta_name(delta)}"
        named = group.with_columns(pl.col("label").alias(CURVE))
        yield Choice(name, f"{agent_words(agent)}, {delta_words(delta)}", named)


def all_deltas(rows: pl.DataFrame) -> Iterator[Choice]:
    """One agent that has several δ."""
    for (agent,), group in rows.group_by("agent", maintain_order=True):
        named = group.with_columns(pl.col("label").alias(CURVE))
        name = f"sweep-{agent_name(agent)}-deltas"
        yield Choice(name, agent_words(agent), named, over_deltas=True)


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
        title = f"Agents compared, two players with {delta_words(delta)}"
        if delta == 0:
            title = f"Agents compared, one player ({delta_words(delta)})"
        yield Choice(f"agents-{delta_name(delta)}", title, named, compared="agent")


def _with_agent(method: Mapping[str, Any]) -> str:
    if method["solver"] is None:
        return str(method["label"])
    return f"{agent_words(method['agent'])} with {method['label']}"


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
        title = f"{agent_words(agent)}, one-player sampling and two-player optimisation"
        yield Choice(f"one-player-{agent_name(agent)}", title, group, compared="delta")


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
    published: pl.DataFrame,
    axis: str,
    title: str,
    statistic: str,
) -> Figure:
    methods = list(rows.select("solver", CURVE).unique(maintain_order=True).iter_rows())
    looks = solver_looks(methods)
    own = published.join(
        rows.select(choice.published_by).unique(), on=choice.published_by, how="semi",
        nulls_equal=True,
    )  # fmt: skip
    kind: Kind = "multiples" if axis in MULTIPLES else "plain"
    along = Axis(axis_words(axis), kind, NOMINAL.get(axis))
    tasks = in_order(rows, "task")
    deltas = sorted(rows["delta"].unique(), key=lambda it: (it is None, it))
    places: list[dict[str, Any]] = [{"task": task} for task in tasks]
    if choice.over_deltas:
        places = [{"task": task, "delta": delta} for task, delta in product(tasks, deltas)]
    panels = [
        Panel(
            _panel_title(place),
            along,
            [
                *_published(where(own, **place), with_agent=choice.compared == "agent"),
                *_curves(where(rows, **place), looks),
            ],
        )
        for place in places
    ]
    of = "" if statistic == "mean" else f" of each run's {STATISTICS[statistic]}"
    return draw_panels(
        panels,
        title=title,
        y=return_words(statistic),
        note=seeds_note(rows, of=of),
        columns=len(deltas) if choice.over_deltas else 4,
        share_rows=choice.over_deltas,
    )


def _panel_title(place: Mapping[str, Any]) -> str:
    return place["task"] + (f", {delta_words(place['delta'])}" if "delta" in place else "")


def _curves(rows: pl.DataFrame, looks: Mapping[str, Look]) -> list[Curve]:
    by_label = {label: where(rows, **{CURVE: label}) for label in looks}
    return [curve(it, looks[label]) for label, it in by_label.items() if len(it)]


def _published(rows: pl.DataFrame, *, with_agent: bool) -> list[Curve]:
    """Curves of others, in grey, with the marks of their solvers and the name of their source."""
    curves = []
    keys = ["solver", "agent", "delta", "label", "source"]
    for (solver, agent, _, label, source), it in rows.group_by(keys, maintain_order=True):
        own = SOLVERS.get(str(solver or "sac"), SOLVERS["sac"])
        method = {"agent": agent, "solver": solver, "label": label}
        words = _with_agent(method) if with_agent else label
        look = Look(f"{words} ({source})", own.color, own.line, own.marker)
        curves.append(curve(it, look, is_reference=True))
    return curves
