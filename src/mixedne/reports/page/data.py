"""A report as data for the page: packed tables, and what its selectors may offer."""

import base64
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from mixedne.reports.frames import METHOD, Report
from mixedne.reports.style import LOOKS, METHODS, PLOTLY_LINES, PLOTLY_MARKERS, SPARE, Look

DIGITS = 7
"""Significant digits of a number in the page."""


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
            table.select(names).unique(maintain_order=True).with_columns(kind=pl.lit(kind))
        )
    return pl.concat(parts, how="diagonal").unique(maintain_order=True)


def looks(methods: pl.DataFrame) -> list[dict[str, Any]]:
    """A look for every solver and label; the plainest label has its solver's."""
    pairs: dict[str | None, list[str]] = {}
    named = methods.select("solver", "label").drop_nulls("label").unique(maintain_order=True)
    for solver, label in named.rows():
        pairs.setdefault(solver, []).append(label)
    found, spare = [], 0
    for solver, labels in sorted(pairs.items(), key=lambda pair: _order(pair[0])):
        own = METHODS.get(solver)
        for place, label in enumerate(_plainest_first(labels, own)):
            if own is None or place > 0:
                look, spare = SPARE[spare % len(SPARE)], spare + 1
            else:
                look = own
            found.append({"solver": solver, "label": label, **in_plotly(look)})
    return found


def _order(solver: str | None) -> int:
    return list(METHODS).index(solver) if solver in METHODS else len(METHODS)


def _plainest_first(labels: Iterable[str], look: Look | None) -> list[str]:
    return sorted(labels, key=lambda label: look is None or label != look.label)


def in_plotly(look: Look) -> dict[str, str]:
    """Colour, dash and symbol in Plotly's words."""
    return {
        "color": look.color,
        "dash": PLOTLY_LINES[look.line],
        "symbol": PLOTLY_MARKERS[look.marker],
    }


def case_looks() -> list[dict[str, Any]]:
    """How the case study's solvers look."""
    return [
        {"solver": solver, "inner": inner, "label": look.label, **in_plotly(look)}
        for (solver, inner), look in LOOKS.items()
    ]


def made_of(made: Any) -> Mapping[str, Any]:
    """How the results were made, for JSON."""
    return {name: list(getattr(made, name)) for name in type(made).__dataclass_fields__}
