"""A report as data for the page: packed tables, and what its selectors may offer."""

import base64
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import polars as pl

from mixedne.reports.frames import METHOD, Report
from mixedne.reports.style import (
    LOOKS,
    PLOTLY_LINES,
    PLOTLY_MARKERS,
    SOLVERS,
    Look,
    further_look,
)

DIGITS = 7
"""Significant digits of a number in the page."""

FURTHER = 60
"""So many further looks differ from each other."""


def pack(table: pl.DataFrame) -> str:
    """A table as column-wise JSON, compressed, in letters that HTML does not interpret."""
    content = {"rows": table.height, "columns": {x.name: _column(x) for x in table}}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _column(column: pl.Series) -> Any:
    """Strings as places in a list of words, -1 for null; numbers as they are."""
    if column.dtype == pl.String:
        words = column.drop_nulls().unique(maintain_order=True).to_list()
        place = {word: code for code, word in enumerate(words)}
        return {"words": words, "codes": [place.get(word, -1) for word in column]}
    if column.dtype.is_float():
        return [None if x is None else _shortened(x) for x in column.to_list()]
    return column.to_list()


def _shortened(number: float) -> float | str:
    """A number with few digits; one that JSON cannot hold as JavaScript's word for it."""
    if math.isfinite(number):
        return float(f"{number:.{DIGITS}g}")
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def inline_json(content: Any) -> str:
    """JSON that can stand in a script element whatever its strings are."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def index(report: Report) -> pl.DataFrame:
    """Every combination that can be selected, and what kind of result there is for it."""
    parts = []
    for kind, table in (
        ("sweep", report.sweeps),
        ("sweep", report.summary),
        ("map", report.maps),
        ("learning", report.learning),
        ("search", report.searches),
    ):
        names = [name for name in (*METHOD, "axis", "statistic") if name in table.columns]
        parts.append(
            table.select(names)
            .drop_nulls("task")  # a comparison over all tasks is of none
            .unique(maintain_order=True)
            .with_columns(kind=pl.lit(kind))
        )
    return pl.concat(parts, how="diagonal").unique(maintain_order=True)


def looks() -> dict[str, Any]:
    """How curves look: by solver, and further ones for what has none of its own."""
    own = {"sac": None}
    return {
        "solvers": [
            {"solver": own.get(solver, solver), "label": look.label, **in_plotly(look)}
            for solver, look in SOLVERS.items()
        ],
        "further": [in_plotly(further_look("", place)) for place in range(FURTHER)],
    }


def in_plotly(look: Look) -> dict[str, str]:
    """Colour, dash and symbol in Plotly's words."""
    return {
        "color": look.color,
        "dash": _dash(look.line),
        "symbol": PLOTLY_MARKERS[look.marker],
    }


def _dash(line: Any) -> str:
    """A line by its name, or by the lengths of its dashes and gaps."""
    if isinstance(line, str):
        return PLOTLY_LINES[line]
    return ",".join(f"{2 * length}px" for length in line[1])


def case_looks() -> list[dict[str, Any]]:
    """How the case study's solvers look."""
    return [
        {"solver": solver, "inner": inner, "label": look.label, **in_plotly(look)}
        for (solver, inner), look in LOOKS.items()
    ]


def made_of(made: Any) -> Mapping[str, Any]:
    """How the results were made, for JSON."""
    return {name: list(getattr(made, name)) for name in type(made).__dataclass_fields__}
