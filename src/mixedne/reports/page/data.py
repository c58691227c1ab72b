"""A report as data for the page: packed tables, and what its selectors may offer."""

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from mixedne.reports.names import axis_words, find_axis, nominal_value, short_axis
from mixedne.reports.style import (
    CASE_STUDY,
    PLOTLY_LINES,
    PLOTLY_MARKERS,
    SOLVERS,
    Style,
    further_style,
)
from mixedne.reports.tables import METHOD, Provenance, Report
from mixedne.shifts import shift_axes

DIGITS = 7
"""Significant digits of a number in the page."""

FURTHER = 60
"""So many further styles differ from each other."""


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


def axes(report: Report) -> dict[str, Any]:
    """What was shifted, in the registry's order, and how it is drawn."""
    names = {*report.sweeps["axis"], *report.summary["axis"]}
    names |= {*report.maps["axis_x"], *report.maps["axis_y"]} - {None}
    ordered = [str(axis) for axis in shift_axes(sorted(names))]
    return {
        name: {
            "label": axis_words(name),
            "short": short_axis(name),
            "nominal": nominal_value(name),
            "log": bool((axis := find_axis(name)) and axis.log_axis),
        }
        for name in [*ordered, *sorted(names - {*ordered})]
    }


def styles() -> dict[str, Any]:
    """How curves look: by solver, and further ones for what has none of its own."""
    own = {"sac": None}
    return {
        "solvers": [
            {"solver": own.get(solver, solver), "label": style.label, **in_plotly(style)}
            for solver, style in SOLVERS.items()
        ],
        "further": [in_plotly(further_style("", place)) for place in range(FURTHER)],
    }


def in_plotly(style: Style) -> dict[str, str]:
    """Colour, dash and symbol in Plotly's words."""
    line = style.line
    dash = PLOTLY_LINES[line] if isinstance(line, str) else _dashes(line[1])
    return {"color": style.color, "dash": dash, "symbol": PLOTLY_MARKERS[style.marker]}


def _dashes(lengths: Sequence[float]) -> str:
    """A line by the lengths of its dashes and gaps."""
    return ",".join(f"{2 * length}px" for length in lengths)


def case_styles() -> list[dict[str, Any]]:
    """How the case study's solvers look."""
    return [
        {"solver": solver, "inner": inner, "label": style.label, **in_plotly(style)}
        for (solver, inner), style in CASE_STUDY.items()
    ]


def provenance(found: Provenance) -> Mapping[str, Any]:
    """How the results were made, for JSON."""
    return {name: list(value) for name, value in vars(found).items()}
