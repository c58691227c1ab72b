"""The report as one HTML file that works offline.

Tables are embedded in the page as compressed JSON; the scripts in ``parts`` draw what is selected.
Only these scripts may run: the page's content security policy lists them by their SHA-256.
"""

import base64
import hashlib
import html
import io
import json
import math
import re
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mixedne.files import write_beside
from mixedne.reports import style, tables
from mixedne.reports.inputs.sets import PUBLISHED_NOTE
from mixedne.reports.tables import METHOD, Report, Video
from mixedne.saddle.objectives import BOX, CURVE, OBJECTIVES
from mixedne.saddle.tables import CASE, START
from mixedne.shifts import shift_axes

SCRIPTS = tuple(
    f"{name}.js"
    for name in (
        *("inflate", "data", "dom", "figures", "selection", "sections", "comparison", "table"),
        *("sweep", "maps", "overview", "sets", "attacks", "learning", "saddle", "searches"),
        *("videos", "provenance", "main"),
    )
)
"""Scripts of the page, joined in this order."""

STYLES = ("page.css", "sections.css", "media.css")  # later ones may overrule earlier ones
VIDEO_BYTES = 3_800_000  # of videos that are put into the page; further ones are only named
PAGE_BYTES = 9_500_000  # the table of single runs is left out of a page larger than that


VALUES, POINTS = 160, 320  # maximum numbers of steps of the case study's values, points of a path
BAND = {"middle": 0.5, "low": 0.05, "high": 0.95}  # quantiles over seeds


def write_page(report: Report, path: Path) -> None:
    """Write the page; a file of that name is replaced."""
    text = render(report)
    with write_beside(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")  # names may be no text


def render(report: Report) -> str:
    """The page as text."""
    own = {name: it for name, it in vars(report).items() if isinstance(it, pl.DataFrame)}
    saddle, all_runs = own.pop("saddle", None), own.pop("runs", None)
    drawn = {"index": index(report), **own, **thinned(saddle)}
    embedded = _within_limit(report.videos)
    packed = [_data(f"table-{name}", pack(table)) for name, table in drawn.items()]
    packed += [_data(f"video-{n}", _base64(x.path.read_bytes())) for n, x in enumerate(embedded)]
    plotly = _part("plotly/plotly-cartesian.min.js")
    runs = _runs(all_runs, PAGE_BYTES - len(plotly) - sum(map(len, packed)))
    script = '(() => {\n"use strict";\n' + "\n".join(map(_part, SCRIPTS)) + "\n})();"
    counts = {
        "rows": {name: table.height for name, table in drawn.items()},
        "runs": {"there": all_runs is not None, "embedded": bool(runs)},
    }
    parts = {
        "TITLE": html.escape(report.title),
        "HASHES": f"{_hash(plotly)} {_hash(script)}",
        "STYLE": "\n".join(map(_part, STYLES)),
        "META": inline_json(_meta(report, embedded) | counts),
        "DATA": "\n".join([*packed, _data("runs", runs)]),
        "PLOTLY": plotly,
        "SCRIPT": script,
    }
    return re.sub(r"@@([A-Z]+)@@", lambda found: parts[found[1]], _part("page.html"))


def _meta(report: Report, embedded: list[Video]) -> dict[str, Any]:
    """Words, styles and counts: everything except tables."""
    return {
        "title": report.title,
        "counts": dict(report.counts),
        "missing": report.missing,
        "provenance": vars(report.provenance),
        "statistics": tables.STATISTICS,
        "intervals": tables.INTERVALS,
        "bandSeeds": tables.BAND_SEEDS,
        "intervalSeeds": tables.INTERVAL_SEEDS,
        "players": style.PLAYERS,
        "publishedSets": PUBLISHED_NOTE,
        "axes": axes(report),
        "styles": styles(),
        "caseStyles": [
            {"solver": solver, "inner": inner, **in_plotly(look)}
            for (solver, inner), look in style.CASE_STUDY.items()
        ],
        "objectives": {
            name: {"label": x.label, "curve": CURVE if x.has_curve else None, "box": BOX}
            for name, x in OBJECTIVES.items()
        },
        "videos": [{"type": "video/mp4", "caption": x.caption} for x in embedded],
        "videosLeftOut": [
            {"name": str(x.path), "caption": x.caption} for x in report.videos if x not in embedded
        ],
    }


def pack(table: pl.DataFrame) -> str:
    """A table as column-wise JSON, compressed, in characters that HTML does not interpret."""
    content = {"rows": table.height, "columns": {x.name: _column(x) for x in table}}
    return _base64(zlib.compress(_json(content).encode(), 9))


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _column(column: pl.Series) -> Any:
    """Strings as indices into a list of words, -1 for null; numbers as they are."""
    if column.dtype == pl.String:
        words = column.drop_nulls().unique(maintain_order=True).to_list()
        place = {word: code for code, word in enumerate(words)}
        return {"words": words, "codes": [place.get(word, -1) for word in column]}
    if column.dtype.is_float():
        return [None if x is None else _shortened(x) for x in column]
    return column.to_list()


def _shortened(number: float) -> float | str:
    """A number with few digits; NaN and ±∞ as JavaScript's words for them."""
    return float(f"{number:.7g}") if math.isfinite(number) else json.dumps(number)


def inline_json(content: Any) -> str:
    """JSON that is safe in a script element, whatever its strings are."""
    escapes = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
    return _json(content).translate(escapes)


def index(report: Report) -> pl.DataFrame:
    """Every combination that can be selected, with the kind of results that it has."""
    kinds = ("sweep", "sweep", "map", "learning", "search")
    tables = report.sweeps, report.summary, report.maps, report.learning, report.searches
    parts = [
        table.select(name for name in (*METHOD, "axis", "statistic") if name in table.columns)
        .drop_nulls("task")  # a comparison over all tasks is of none
        .with_columns(kind=pl.lit(kind))
        for kind, table in zip(kinds, tables, strict=True)
    ]
    return pl.concat(parts, how="diagonal").unique(maintain_order=True)


def axes(report: Report) -> dict[str, Any]:
    """The axes that were shifted, in the registry's order, and how they are drawn."""
    found = {*report.sweeps["axis"], *report.summary["axis"]}
    found |= {*report.maps["axis_x"], *report.maps["axis_y"]}
    return {
        str(axis): {
            "label": axis.label,
            "short": style.short_axis(str(axis)),
            "nominal": axis.nominal,
            "log": axis.entry.log_axis,
        }
        for axis in shift_axes(sorted(found))
    }


def styles() -> dict[str, Any]:
    """Styles of curves: by solver, and further ones for curves without their own."""
    return {
        "solvers": [
            {"solver": None if solver == "sac" else solver, **in_plotly(look)}
            for solver, look in style.SOLVERS.items()
        ],
        "further": [in_plotly(style.further_style("", place)) for place in range(60)],
    }


def in_plotly(look: style.Style) -> dict[str, str]:
    """Label, colour, dash and symbol in Plotly's terms; further lines are dash lengths."""
    dash = style.PLOTLY_LINES.get(look.line) or ",".join(f"{2 * it}px" for it in look.line[1])
    named = {"label": look.label} if look.label else {}
    symbol = style.PLOTLY_MARKERS[look.marker]
    return {**named, "color": look.color, "dash": dash, "symbol": symbol}


def thinned(paths: pl.DataFrame | None) -> dict[str, pl.DataFrame]:
    """The case study's tables ``values``, over seeds, and ``paths``, of the first seed."""
    found: dict[str, list[pl.DataFrame]] = {"values": [], "paths": []}
    cases: Any = [] if paths is None else paths.group_by(CASE, maintain_order=True)
    for _, case in cases:
        named = case.head(1).select(pl.col(CASE).cast(pl.String), pl.col(START).cast(pl.Float64))
        theta, omega = (np.stack(case[name].to_list()) for name in ("theta", "omega"))
        values = _values(OBJECTIVES[named["objective"][0]].value(theta, omega))
        count = min(POINTS, theta.shape[1])
        steps = np.unique(np.linspace(0, theta.shape[1] - 1, count).round().astype(int))
        points = {"step": steps, "theta": theta[0, steps], "omega": omega[0, steps]}
        for name, table in (("values", values), ("paths", pl.DataFrame(points))):
            found[name].append(named.join(table, how="cross"))
    return {name: pl.concat(tables) if tables else pl.DataFrame() for name, tables in found.items()}


def _values(value: NDArray[np.float64]) -> pl.DataFrame:
    """Steps from 1 on, equally spaced on a logarithmic axis; no band for one seed."""
    seeds, length = value.shape
    steps = np.unique(np.geomspace(1, max(length - 1, 1), VALUES).round().astype(int))
    steps = steps[steps < length]
    quantiles = np.quantile(value[:, steps], [*BAND.values()], axis=0)
    columns = {"step": steps, "first": value[0, steps], **dict(zip(BAND, quantiles, strict=True))}
    band = pl.when(pl.lit(seeds > 1)).then(pl.col(*BAND))
    return pl.DataFrame(columns).with_columns(band, seeds=pl.lit(seeds, pl.Int64))


def _within_limit(videos: tuple[Video, ...]) -> list[Video]:
    """The videos that are embedded in the page, until it would be too large."""
    taken, room = [], VIDEO_BYTES
    for video in videos:
        if video.path.is_file() and video.path.stat().st_size <= room:
            taken.append(video)
            room -= video.path.stat().st_size
    return taken


def _runs(runs: pl.DataFrame | None, room: int) -> str:
    """The table of runs as a base64 Parquet file; empty if there is none or no room for it."""
    if runs is None:
        return ""
    buffer = io.BytesIO()
    runs.write_parquet(buffer)
    content = _base64(buffer.getvalue())
    return content if len(content) <= room else ""


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _data(name: str, content: str) -> str:
    """An element with text for the scripts, which is neither run nor shown."""
    return f'<script type="text/plain" id="{name}">{content}</script>'


def _hash(script: str) -> str:
    """The hash of a script for the content security policy."""
    return f"'sha256-{_base64(hashlib.sha256(script.encode()).digest())}'"


def _part(name: str) -> str:
    return files("mixedne.reports.page").joinpath("parts", name).read_text(encoding="utf-8")
