"""A made-up report, and its figures, drawn once."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure

from mixedne.reports import tables
from mixedne.reports.figures import draw_figures
from probes.figures import every_number_differs
from probes.report import sample_report


@pytest.fixture(scope="session")
def report() -> tables.Report:
    sample = sample_report()
    changed: dict[str, Any] = {
        name: every_number_differs(getattr(sample, name), by)
        for name, by in (("sweeps", 0.37), ("maps", 0.11), ("learning", 0.23), ("searches", 0.71))
    }
    # A part of it is enough, and quick to draw.
    kept = {
        "sweeps": (pl.col("axis") == "mass") | (pl.col("agent") == "sac"),
        "maps": (pl.col("agent") == "td3") & (pl.col("delta") == 0),
        "learning": (pl.col("agent") == "td3") & (pl.col("delta") == 0.1),
        "searches": pl.col("task") == "Hopper-v5",
    }
    parts: dict[str, Any] = {name: changed[name].filter(part) for name, part in kept.items()}
    return replace(sample, saddle=None, **parts)


@pytest.fixture(scope="session")
def figures(report: tables.Report) -> dict[str, Figure]:
    return dict(draw_figures(report))
