"""``mixedne report``: one page with every figure that the results allow."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro

from mixedne.cli.console import note, print_json
from mixedne.errors import InvalidInputError


@dataclass(frozen=True)
class Report:
    """Make a page, and figures for a paper, from results."""

    about: ClassVar[str] = """\
A PATH is a study folder, a run folder, a folder of runs, an evaluation table (.parquet), an
output folder of mixedne saddle, or a film (.mp4). The page is one file that needs no network;
it shows every figure that the results allow, and says what is missing.

Examples:
  mixedne report studies
  mixedne report runs/a runs/b --out ab.html
  mixedne report studies case-study --out all.html --figures figures"""

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """What to report."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE.html")] = Path("report.html")
    """The page."""
    figures: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Also write the paper's figures here, as PDF and PNG."""
    statistic: Literal["mean", "worst", "cvar"] = "mean"
    """Of the figures for a paper; the page has all three."""
    title: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
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
        if self.out.suffix.lower() not in (".html", ".htm"):
            raise InvalidInputError(f"the page must be a .html file, not {self.out}")
        if self.out.is_dir():
            raise InvalidInputError(f"the page {self.out} is a folder")
        if self.figures is not None and self.figures.exists() and not self.figures.is_dir():
            raise InvalidInputError(f"the folder for figures {self.figures} is a file")
        if not self.overwrite:
            self._check_new()
        for folder in filter(None, (self.out.parent, self.figures)):
            places = (folder.absolute(), *folder.absolute().parents)
            nearest = next(place for place in places if place.exists())
            if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
                raise InvalidInputError(f"{folder} cannot be written: {nearest} is not open to you")

    def _check_new(self) -> None:
        if self.out.exists():
            raise InvalidInputError(f"{self.out} exists: choose another file or pass --overwrite")
        if self.figures is not None and self.figures.is_dir() and any(self.figures.iterdir()):
            raise InvalidInputError(
                f"{self.figures} is not empty: choose another folder or pass --overwrite"
            )
