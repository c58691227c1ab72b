"""``mixedne.report``: one page with every figure that the results allow."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixedne.errors import InvalidInputError, check_choice
from mixedne.reports.inputs.collect import collect
from mixedne.reports.page import write_page
from mixedne.reports.tables import STATISTICS


@dataclass(frozen=True)
class Page:
    """A written report."""

    path: Path
    figures: tuple[Path, ...]
    missing: tuple[str, ...]
    """One sentence for each result that is missing or incomplete."""
    counts: Mapping[str, int]
    """Numbers of runs, tasks and episodes in the report."""


def report(
    *results: Any,
    out: str | Path = "report.html",
    figures: str | Path | None = None,
    statistic: str = "mean",
    title: str | None = None,
    overwrite: bool = False,
) -> Page:
    """Make an HTML report, and figures for a paper, from results.

    Args:
      results: runs returned by :func:`mixedne.train`, or paths of study folders, run folders,
        folders of runs, evaluation tables, output folders of ``mixedne saddle``, or videos.
      out: the ``.html`` file to write.
      figures: folder to also write figures in the paper's style to, as PDF and PNG.
      statistic: statistic that these figures show: ``mean``, ``worst`` or ``cvar``. The page shows
        all three.
      title: title of the page.
      overwrite: replace the page, and figures with the same names, if they exist.

    Returns:
      The files written, and what is missing.

    Examples:
      >>> import mixedne
      >>> stay = lambda observations: 0 * observations[:, :1]
      >>> table = mixedne.evaluate(
      ...     {"stay": stay}, "InvertedPendulum-v5", mass=[0.5, 2], episodes=3, out="stay.parquet"
      ... )
      >>> page = mixedne.report("stay.parquet", out="stay.html")
      >>> page.counts["episodes"]
      6
    """
    if not results:
        raise InvalidInputError("report needs at least one folder or file with results")
    paths = [getattr(result, "path", result) for result in results]
    for path in paths:
        if not isinstance(path, str | Path):
            raise InvalidInputError(f"report takes paths and runs, not {type(path).__name__}")
    check_choice("statistic", statistic, STATISTICS)
    page, folder = Path(out), None if figures is None else Path(figures)
    _check_output(page, folder, overwrite=overwrite)
    found = collect(list(map(Path, paths)), title)
    write_page(found, page)
    written: list[Path] = []
    if folder is not None:
        from mixedne.reports.figures import write_figures

        written = write_figures(found, folder, statistic)
    return Page(page, tuple(written), found.missing, found.counts)


def _check_output(out: Path, figures: Path | None, *, overwrite: bool) -> None:
    """Raise, before reading, if an output cannot be written or would overwrite something."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"the page must be a .html file, not {out}")
    if out.is_dir():
        raise InvalidInputError(f"the page {out} is a folder")
    if figures is not None and figures.exists() and not figures.is_dir():
        raise InvalidInputError(f"the folder for figures {figures} is a file")
    if out.exists() and not overwrite:
        raise InvalidInputError(f"{out} exists: choose another file or pass overwrite=True")
    filled = figures is not None and figures.is_dir() and any(figures.iterdir())
    if filled and not overwrite:
        raise InvalidInputError(
            f"{figures} is not empty: choose another folder or pass overwrite=True"
        )
    for folder in filter(None, (out.parent, figures)):
        places = (folder.absolute(), *folder.absolute().parents)
        nearest = next(place for place in places if place.exists())
        if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
            raise InvalidInputError(f"{folder} cannot be written: {nearest} is not open to you")
