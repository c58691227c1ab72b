"""``mixedne report``: one page with every figure that the results allow."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from mixedne.cli.console import notes_only, print_json
from mixedne.cli.streams import note


@dataclass(frozen=True)
class Report:
    """Make an HTML report, and figures for a paper, from results."""

    paths: Annotated[tuple[Path, ...], Positional, arg(metavar="PATH")]
    """Results to include."""
    out: Annotated[Path, arg(metavar="FILE.html")] = Path("report.html")
    """HTML file to write."""
    figures: Annotated[Path | None, arg(metavar="DIR")] = None
    """Folder to also write figures in the paper's style to, as PDF and PNG."""
    statistic: Literal["mean", "worst", "cvar"] = "mean"
    """Statistic over episodes that --figures shows; the page shows all three."""
    title: Annotated[str | None, arg(metavar="TEXT")] = None
    """Title of the page."""
    overwrite: bool = False
    """Replace the page, and figures with the same names, if they exist."""
    json: bool = False
    """Print one JSON document: the files written, counts of the results, and what is missing."""

    def run(self) -> None:
        """Read the results and write the report."""
        from mixedne.reports.report import report

        options = {name: x for name, x in vars(self).items() if name not in ("paths", "json")}
        with notes_only():
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
