"""How the figures of the project look: colours, lines and words for solvers."""

from dataclasses import dataclass
from typing import Any

from mixedne import names

RC: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "mixedne",
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
"""By solver and kind of inner chain; colours from Okabe and Ito's palette."""

SOLVERS: dict[str, Style] = {
    "mixedne-ld": Style(names.SOLVERS["mixedne-ld"], "#009E73", "-", "o"),
    "gad": Style(names.SOLVERS["gad"], "#D55E00", "-.", "s"),
    "extra-adam": Style(names.SOLVERS["extra-adam"], "#0072B2", "--", "^"),
    "sac": Style(names.AGENTS["sac"], "#CC79A7", ":", "D"),
}
"""By solver of training; SAC, which has none, stands under its own name."""

FURTHER_COLORS = ("#E69F00", "#56B4E9", "#000000")
FURTHER_LINES = ((0, (3, 1, 1, 1, 1, 1)), (0, (10, 2)), (0, (1, 3)), (0, (6, 2, 2, 2)))
FURTHER_MARKERS = ("P", "v", "X", "*", "<")
"""For further curves, taken in turn: sixty differ, and twenty in grey. Without the palette's
yellow, which is too light."""


def further_style(label: str, place: int) -> Style:
    """The style of a curve that has none by its solver."""
    return Style(
        label,
        FURTHER_COLORS[place % len(FURTHER_COLORS)],
        FURTHER_LINES[place % len(FURTHER_LINES)],
        FURTHER_MARKERS[place % len(FURTHER_MARKERS)],
    )


PLOTLY_LINES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
PLOTLY_MARKERS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "D": "diamond",
    "P": "cross",
    "X": "x",
    "*": "star",
    "<": "triangle-left",
}
"""Matplotlib's lines and markers in Plotly's words."""
