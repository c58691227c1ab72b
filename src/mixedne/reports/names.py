"""Names for people and names for files, of the things that a report's tables name."""

import re
from collections.abc import Iterable

from mixedne.names import AGENTS, SOLVERS
from mixedne.shifts import Axis, shift_axes

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

PLAYERS = (
    "One-player MixedNE-LD (δ = 0) beside GAD and Extra-Adam with two players (δ = 0.1): the paper "
    "claims that sampling without an adversary is as robust as these baselines with one. "
    "Two-player MixedNE-LD is no part of that claim."
)
"""Which methods the comparison of one player with two takes, and why."""

LONGEST_NAME = 60
"""Of a part of a file's name: a whole one must stay below the file system's 255 bytes."""

LISTED = 5
"""So many names are spelled out in a sentence; of more, the number is given."""


def solver_words(solver: str | None, agent: str | None = None) -> str:
    """A solver's name in print; an agent without a solver goes by its own name."""
    if solver is None:
        return agent_words(agent)
    return SOLVERS.get(solver, solver)


def agent_words(agent: str | None) -> str:
    """E.g. DDPG."""
    return "agent not known" if agent is None else AGENTS.get(agent, agent.upper())


def delta_words(delta: float | None) -> str:
    """E.g. δ = 0.1."""
    return "δ not known" if delta is None else f"δ = {delta:g}"


def method_words(agent: str | None, label: str, delta: float | None) -> str:
    """E.g. ``DDPG, GAD, δ = 0.1``."""
    words = [] if agent is None or label == agent_words(agent) else [agent_words(agent)]
    words.append(label)
    if delta is not None and agent not in (None, "sac"):
        words.append(delta_words(delta))
    return ", ".join(words)


def number_words(numbers: Iterable[int]) -> str:
    """E.g. ``0 to 4, 7``."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{s[0]} to {s[-1]}" if len(s) > 2 else ", ".join(map(str, s)) for s in spans)


def list_words(names: Iterable[str]) -> str:
    """The first names, and the number of the others."""
    listed = list(dict.fromkeys(names))
    more = len(listed) - LISTED
    return ", ".join(listed[:LISTED]) + (f" and {more} more" if more > 0 else "")


def find_axis(name: str) -> Axis | None:
    """The axis of a column; None where this version does not know it."""
    return next(iter(shift_axes([name])), None)


def axis_words(name: str) -> str:
    """What is shifted, with its unit."""
    axis = find_axis(name)
    return name if axis is None else axis.label


def nominal_value(name: str) -> float | None:
    """The number of the world of training; None where it is not known."""
    axis = find_axis(name)
    return None if axis is None else axis.nominal


def short_axis(name: str) -> str:
    """What is shifted, in a word."""
    return "ρ" if name == "rho" else name


def agent_name(agent: str | None) -> str:
    """An agent in a file's name."""
    return agent or "unknown"


def delta_name(delta: float | None) -> str:
    """A share of the adversary in a file's name, e.g. delta0.1."""
    return "delta" + ("unknown" if delta is None else f"{delta:g}")


def statistic_name(statistic: str) -> list[str]:
    """A statistic in a file's name; the mean goes without saying."""
    return [] if statistic == "mean" else [statistic]


def safe_name(*parts: str | None) -> str:
    """One name for a file, made of small letters, digits, dots and hyphens alone."""
    cleaned = (re.sub(r"[^a-z0-9.]+", "-", part.lower()) for part in parts if part)
    return "-".join(part[:LONGEST_NAME].strip("-.") or "unnamed" for part in cleaned)
