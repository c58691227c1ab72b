"""``mixedne report``: one page with every figure that the results allow."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from mixedne.cli.console import noted_warnings, print_json
from mixedne.cli.streams import note


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
        from mixedne.reports.report import report

        options = {name: x for name, x in vars(self).items() if name not in ("paths", "json")}
        with noted_warnings():
            made = report(*self.paths, **options)
        for sentence in made.missing:
            note(f"missing: {sentence}")
        if self.json:
            found = {"page": made.path, "figures": made.figures, **made.counts}
            print_json({**found, "missing": made.missing})
            return
        if self.figures is not None:
            note(f"{len(made.figures)} files of figures are in {self.figures}")
        print(made.path)
