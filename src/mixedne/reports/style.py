"""Names and styles in reports: labels, file names, colours and markers."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mixedne import names

RC: dict[Any, Any] = {
    **{"font.size": 9, "legend.frameon": False, "savefig.dpi": 200, "pdf.fonttype": 42},
    **{"axes.spines.top": False, "axes.spines.right": False},
}
"""Matplotlib settings, applied with ``rc_context`` so that nothing global changes."""


@dataclass(frozen=True)
class Style:
    """One solver's label, colour-blind-safe colour, line and marker (readable in grey)."""

    label: str
    color: str
    line: Any
    marker: str


CASE_STUDY: dict[tuple[str, str | None], Style] = {
    ("gad", None): Style("GAD", "#D55E00", "-.", "s"),
    ("eg", None): Style("Extra-gradient", "#0072B2", "--", "^"),
    ("mixedne-ld", "frozen"): Style("MixedNE-LD, frozen chains", "#009E73", "-", "o"),
    ("mixedne-ld", "coupled"): Style("MixedNE-LD, coupled chains", "#CC79A7", "-", "D"),
}
"""Styles by solver and kind of inner chain; colours from Okabe and Ito's palette."""

SOLVERS: dict[str, Style] = {
    "mixedne-ld": Style(names.SOLVERS["mixedne-ld"], "#009E73", "-", "o"),
    "gad": Style(names.SOLVERS["gad"], "#D55E00", "-.", "s"),
    "extra-adam": Style(names.SOLVERS["extra-adam"], "#0072B2", "--", "^"),
    "sac": Style(names.AGENTS["sac"], "#CC79A7", ":", "D"),
}
"""Styles by solver of training; SAC, which has none, is listed under its own name."""

FURTHER_COLORS = ("#E69F00", "#56B4E9", "#000000")
FURTHER_LINES = ((0, (3, 1, 1, 1, 1, 1)), (0, (10, 2)), (0, (1, 3)), (0, (6, 2, 2, 2)))
FURTHER_MARKERS = ("P", "v", "X", "*", "<")
"""Markers for further curves, in turn: sixty styles differ, and twenty in greyscale. The palette's
yellow, which is too light, is left out."""


def further_style(label: str, place: int) -> Style:
    """The style of a curve without a style of its solver."""
    kinds: tuple[Any, ...] = (FURTHER_COLORS, FURTHER_LINES, FURTHER_MARKERS)
    return Style(label, *(kind[place % len(kind)] for kind in kinds))


PLOTLY_LINES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
PLOTLY_MARKERS = {
    **{"o": "circle", "s": "square", "^": "triangle-up", "v": "triangle-down", "D": "diamond"},
    **{"P": "cross", "X": "x", "*": "star", "<": "triangle-left"},
}
"""Matplotlib's lines and markers in Plotly's terms."""

ACTING = {"mean": "acting by the mean", "stochastic": "acting by samples", None: "acting not known"}

SETTINGS = {
    "sigma": "σ: standard deviation of the action noise",
    "sigma0": "σ0: thermal noise at the start",
    "eta": "η: step size of the players",
    "inner_steps": "steps of the inner chains",
}
"""Labels of settings that searches vary; others are labelled with their own name."""

PLAYERS = (
    "One-player MixedNE-LD (δ = 0) beside GAD and Extra-Adam with two players (δ = 0.1): the paper "
    "claims that sampling without an adversary is as robust as these baselines with one. "
    "Two-player MixedNE-LD is no part of that claim."
)
"""A note on which methods the comparison of one player with two includes, and why."""


def solver_words(solver: str | None, agent: str | None = None) -> str:
    """A solver's printed name; for an agent without a solver, the agent's name."""
    return agent_words(agent) if solver is None else names.SOLVERS.get(solver, solver)


def agent_words(agent: str | None) -> str:
    """E.g. DDPG."""
    return "agent not known" if agent is None else names.AGENTS.get(agent, agent.upper())


def delta_words(delta: float | None) -> str:
    """E.g. δ = 0.1; external policies and games without δ have none."""
    return "no δ" if delta is None else f"δ = {delta:g}"


def game_words(agent: str | None, delta: float | None) -> str:
    """E.g. ``DDPG, δ = 0.1``."""
    return f"{agent_words(agent)}, {delta_words(delta)}"


def method_words(agent: str | None, label: str, delta: float | None) -> str:
    """E.g. ``DDPG, GAD, δ = 0.1``."""
    words = [] if agent is None or label == agent_words(agent) else [agent_words(agent)]
    with_delta = delta is not None and agent not in (None, "sac")
    return ", ".join([*words, label, *([delta_words(delta)] if with_delta else [])])


def number_words(numbers: Iterable[int]) -> str:
    """E.g. ``0 to 4, 7``."""
    ordered = enumerate(sorted(set(numbers)))  # neighbours are as far from their places
    groups = itertools.groupby(ordered, key=lambda pair: pair[1] - pair[0])
    spans = [[number for _, number in group] for _, group in groups]
    return ", ".join(f"{s[0]} to {s[-1]}" if len(s) > 2 else ", ".join(map(str, s)) for s in spans)


def list_words(words: Iterable[str]) -> str:
    """The first five names, and the number of the others."""
    listed = list(dict.fromkeys(words))
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return ", ".join(listed[:5]) + more


def short_axis(name: str) -> str:
    """A short name of what is shifted."""
    if name.startswith("attack[") and name.endswith("]"):
        return f"attack on {name[7:-1]}"
    return "ρ" if name == "rho" else name


def method_name(agent: str | None, delta: float | None) -> str:
    """An agent and δ as a part of a file name, e.g. ddpg-delta0.1."""
    return f"{agent or 'unknown'}-{'nodelta' if delta is None else f'delta{delta:g}'}"


def safe_name(*parts: str) -> str:
    """A file name that consists only of lower-case letters, digits, dots and hyphens.

    Parts are truncated, so that the name stays below the file system's 255 bytes.
    """
    cleaned = (re.sub(r"[^a-z0-9.]+", "-", part.lower()) for part in parts if part)
    return "-".join(part[:60].strip("-.") or "unnamed" for part in cleaned)
