"""``mixedne report``: one page with every figure that the results allow."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from mixedne.cli.console import noted_warnings, print_json
from mixedne.cli.streams import note
from mixedne.errors import InvalidInputError


@dataclass(frozen=True)
class Report:
    """Make a page, and figures for a paper, from results."""

    paths: Annotated[tuple[Path, ...], Positional, arg(metavar="PATH")]
    """What to report."""
    out: Annotated[Path, arg(metavar="FILE.html")] = Path("report.html")
    """The page."""
    figures: Annotated[Path | None, arg(metavar="DIR")] = None
    """Also write the paper's figures here, as PDF and PNG."""
    statistic: Literal["mean", "worst", "cvar"] = "mean"
    """Of the figures for a paper; the page has all three."""
    title: Annotated[str | None, arg(metavar="TEXT")] = None
    """The page's title."""
    overwrite: bool = False
    """Replace the page, and figures of the same names, if they exist."""
    json: bool = False
    """Print one JSON document: the files written, what was counted and what is missing."""

    def run(self) -> None:
        """Read, draw and write."""
        if not self.paths:
            raise InvalidInputError("report needs at least one folder or file with results")
        self._check_output()

        from mixedne.reports.inputs.collect import collect
        from mixedne.reports.page import write_page

        with noted_warnings():
            report = collect(self.paths, self.title)
        write_page(report, self.out)
        written = []
        if self.figures is not None:
            from mixedne.reports.figures import write_figures

            written = write_figures(report, self.figures, self.statistic)
        for sentence in report.missing:
            note(f"missing: {sentence}")
        if self.json:
            print_json(
                {
                    "page": str(self.out),
                    "figures": [str(path) for path in written],
                    **report.counts,
                    "missing": list(report.missing),
                }
            )
            return
        if self.figures is not None:
            note(f"{len(written)} files of figures are in {self.figures}")
        print(self.out)

    def _check_output(self) -> None:
        """Refuse what cannot be written, or would overwrite something, before reading."""
        out, figures = self.out, self.figures
        if out.suffix.lower() not in (".html", ".htm"):
            raise InvalidInputError(f"the page must be a .html file, not {out}")
        if out.is_dir():
            raise InvalidInputError(f"the page {out} is a folder")
        if figures is not None and figures.exists() and not figures.is_dir():
            raise InvalidInputError(f"the folder for figures {figures} is a file")
        if out.exists() and not self.overwrite:
            raise InvalidInputError(f"{out} exists: choose another file or pass --overwrite")
        filled = figures is not None and figures.is_dir() and any(figures.iterdir())
        if filled and not self.overwrite:
            raise InvalidInputError(
                f"{figures} is not empty: choose another folder or pass --overwrite"
            )
        for folder in filter(None, (out.parent, figures)):
            places = (folder.absolute(), *folder.absolute().parents)
            nearest = next(place for place in places if place.exists())
            if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
                raise InvalidInputError(f"{folder} cannot be written: {nearest} is not open to you")
