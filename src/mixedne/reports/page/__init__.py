"""The report as one HTML file that shows everything, without a network.

Tables travel in the page as compressed JSON; the scripts in ``parts`` draw what is selected.
Only these scripts may run: the page's security policy names them by their SHA-256.
"""

import base64
import hashlib
import html
import io
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.files import write_beside
from mixedne.reports.names import PLAYERS
from mixedne.reports.page import data, saddle
from mixedne.reports.tables import (
    BAND_SEEDS,
    INTERVAL_SEEDS,
    INTERVALS,
    STATISTICS,
    Report,
    Video,
)
from mixedne.saddle.objectives import BOX, CURVE, OBJECTIVES

SCRIPTS = (
    "inflate.js",
    "data.js",
    "dom.js",
    "figures.js",
    "selection.js",
    "sections.js",
    "comparison.js",
    "table.js",
    "sweep.js",
    "maps.js",
    "overview.js",
    "learning.js",
    "saddle.js",
    "searches.js",
    "videos.js",
    "provenance.js",
    "main.js",
)
"""Joined in this order."""

STYLES = ("page.css", "sections.css", "media.css")
"""Later ones may overrule earlier ones."""

VIDEO_BYTES = 3_800_000
"""So many bytes of videos are put into the page; further ones are only named."""

PAGE_BYTES = 9_500_000
"""The table of single runs is left out of a page that would become larger with it."""

VIDEO_TYPES = {".mp4": "video/mp4", ".webm": "video/webm", ".gif": "image/gif"}


def write_page(report: Report, path: Path) -> None:
    """Write the page; a file of that name is replaced."""
    text = render(report)
    with write_beside(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")  # names may be no text


def render(report: Report) -> str:
    """The page as text."""
    tables = _tables(report)
    embedded = _within_limit(report.videos)
    packed = [_data(f"table-{name}", data.pack(table)) for name, table in tables.items()]
    packed += [_data(f"video-{place}", _base64(x.path)) for place, x in enumerate(embedded)]
    plotly = _part("plotly/plotly-cartesian.min.js")
    runs = _runs(report.runs, PAGE_BYTES - len(plotly) - sum(map(len, packed)))
    script = '(() => {\n"use strict";\n' + "\n".join(_part(x) for x in SCRIPTS) + "\n})();"
    counts = {
        "rows": {name: table.height for name, table in tables.items()},
        "runs": {"there": report.runs is not None, "embedded": runs is not None},
    }
    parts = {
        "TITLE": html.escape(report.title),
        "HASHES": f"{_hash(plotly)} {_hash(script)}",
        "STYLE": "\n".join(_part(name) for name in STYLES),
        "META": data.inline_json(_meta(report, embedded) | counts),
        "DATA": "\n".join([*packed, _data("runs", runs or "")]),
        "PLOTLY": plotly,
        "SCRIPT": script,
    }
    return re.sub(r"@@([A-Z]+)@@", lambda found: parts[found[1]], _part("page.html"))


def _tables(report: Report) -> dict[str, pl.DataFrame]:
    """All that the page draws, by name."""
    case = saddle.thinned(report.saddle)
    return {
        "index": data.index(report),
        "sweeps": report.sweeps,
        "sweepRuns": report.sweep_runs,
        "maps": report.maps,
        "summary": report.summary,
        "learning": report.learning,
        "learningRuns": report.learning_runs,
        "searches": report.searches,
        "published": report.published,
        "values": case["values"],
        "paths": case["paths"],
    }


def _meta(report: Report, embedded: list[Video]) -> dict[str, Any]:
    """Words, styles and counts: all that is no table."""
    return {
        "title": report.title,
        "counts": dict(report.counts),
        "missing": list(report.missing),
        "provenance": data.provenance(report.provenance),
        "statistics": STATISTICS,
        "intervals": INTERVALS,
        "bandSeeds": BAND_SEEDS,
        "intervalSeeds": INTERVAL_SEEDS,
        "players": PLAYERS,
        "axes": data.axes(report),
        "styles": data.styles(),
        "caseStyles": data.case_styles(),
        "objectives": {
            name: {"label": x.label, "curve": CURVE if x.has_curve else None, "box": BOX}
            for name, x in OBJECTIVES.items()
        },
        "videos": [{"type": _type(x), "caption": x.caption} for x in embedded],
        "videosLeftOut": [
            {"name": str(x.path), "caption": x.caption} for x in report.videos if x not in embedded
        ],
    }


def _within_limit(videos: tuple[Video, ...]) -> list[Video]:
    """The videos that are put into the page: those that are there, until it would be too large."""
    taken, size = [], 0
    for video in videos:
        if video.path.suffix.lower() not in VIDEO_TYPES or not video.path.is_file():
            continue
        own = video.path.stat().st_size
        if size + own <= VIDEO_BYTES:
            taken.append(video)
            size += own
    return taken


def _type(video: Video) -> str:
    return VIDEO_TYPES[video.path.suffix.lower()]


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _runs(runs: pl.DataFrame | None, room: int) -> str | None:
    """The table of runs as a Parquet file in base64, unless there is none or no room for it."""
    if runs is None:
        return None
    buffer = io.BytesIO()
    runs.write_parquet(buffer)
    content = base64.b64encode(buffer.getvalue()).decode()
    return content if len(content) <= room else None


def _data(name: str, content: str) -> str:
    """An element that holds text for the scripts and is neither run nor shown."""
    return f'<script type="text/plain" id="{name}">{content}</script>'


def _hash(script: str) -> str:
    """What the security policy calls a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _part(name: str) -> str:
    return files("mixedne.reports.page").joinpath("parts", name).read_text(encoding="utf-8")
