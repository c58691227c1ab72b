"""Names for people and names for files, of the things that a report's frames name."""

import re
from collections.abc import Iterator

import polars as pl

from mixedne.names import AGENTS
from mixedne.reports.frames import AXES

ACTING = {
    "mean": "acting by the mean",
    "stochastic": "acting by samples",
    None: "acting not known",
}

SETTINGS = {
    "sigma": "σ: standard deviation of the action noise",
    "sigma0": "σ0: thermal noise at the start",
    "eta": "η: step size of the players",
    "inner_steps": "steps of the inner chains",
}
"""Settings that searches vary; others go by their own name."""

LONGEST_NAME = 60
"""Of a part of a file's name: a whole one must stay below the file system's 255 bytes."""


def agent_words(agent: str | None) -> str:
    """An agent's name in print."""
    return "agent not known" if agent is None else AGENTS.get(agent, agent)


def delta_words(delta: float | None) -> str:
    """E.g. δ = 0.1."""
    return "δ not known" if delta is None else f"δ = {delta:g}"


def axis_words(axis: str) -> str:
    """What is shifted, with its unit."""
    return AXES.get(axis, axis)


def short_axis(axis: str) -> str:
    """What is shifted, in a word."""
    return "ρ" if axis == "rho" else axis


def agent_name(agent: str | None) -> str:
    """An agent in a file's name."""
    return agent or "unknown"


def delta_name(delta: float | None) -> str:
    """A share of the adversary in a file's name, e.g. delta0.1."""
    return "delta" + ("unknown" if delta is None else f"{delta:g}")


def safe_name(*parts: str | None) -> str:
    """One name for a file, made of small letters, digits, dots and hyphens alone."""
    cleaned = (re.sub(r"[^a-z0-9.]+", "-", part.lower()) for part in parts if part)
    return "-".join(part[:LONGEST_NAME].strip("-.") or "unnamed" for part in cleaned)


def statistic_name(statistic: str) -> list[str]:
    """A statistic in a file's name; the mean goes without saying."""
    return [] if statistic == "mean" else [statistic]


def ways_of_testing(rows: pl.DataFrame) -> Iterator[tuple[list[str], str, pl.DataFrame]]:
    """The rows of each way of acting and of scaling masses: parts of a name, words, rows.

    What all rows share is not named.
    """
    several_acting = rows["acting"].n_unique() > 1
    several_modes = rows["mass_mode"].n_unique() > 1
    for (acting, mode), group in rows.group_by("acting", "mass_mode", maintain_order=True):
        names, words = [], ""
        if several_acting:
            names.append(str(acting or "acting-unknown"))
            words += f", {ACTING.get(acting) or acting}"
        if several_modes:
            names.append(str(mode or "mode-unknown"))
            words += f", masses scaled in the mode “{mode or 'not known'}”"
        yield names, words, group


def where(frame: pl.DataFrame, **values: object) -> pl.DataFrame:
    """The rows with these values; null equals null."""
    return frame.filter(*(pl.col(name).eq_missing(pl.lit(it)) for name, it in values.items()))


def in_order(frame: pl.DataFrame, column: str) -> list[object]:
    """A column's different values, as they come."""
    return frame[column].unique(maintain_order=True).to_list()
