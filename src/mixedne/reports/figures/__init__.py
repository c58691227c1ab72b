"""All figures of a report, in the paper's form, as vector and raster files."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from mixedne.errors import check_choice
from mixedne.reports.figures import saddle
from mixedne.reports.figures.canvas import FORMATS, Named, save_figure
from mixedne.reports.figures.heatmaps import draw_heatmaps, draw_searches
from mixedne.reports.figures.sweeps import draw_learning, draw_sweeps
from mixedne.reports.tables import STATISTICS, Report


def draw_figures(report: Report, statistic: str = "mean") -> Iterator[Named]:
    """Every figure except those of the case study, with the name of its files.

    Learning curves and searches have only the mean, and are drawn with it.
    """
    check_choice("the statistic", statistic, STATISTICS)
    drawn = [draw_sweeps(report, statistic), draw_heatmaps(report, statistic)]
    if statistic == "mean":
        drawn += [draw_learning(report), draw_searches(report)]
    taken: set[str] = set()
    for name, figure in itertools.chain.from_iterable(drawn):
        free = (f"{name}-{n}" if n > 1 else name for n in itertools.count(1))
        own = next(each for each in free if each not in taken)
        taken.add(own)
        yield own, figure


def write_figures(report: Report, folder: Path, statistic: str = "mean") -> list[Path]:
    """Write all figures of a report; return the files written."""
    written = []
    for name, figure in draw_figures(report, statistic):
        for suffix in FORMATS:
            written.append(folder / f"{name}.{suffix}")
            save_figure(figure, written[-1])
    if report.saddle is not None and statistic == "mean":
        written += saddle.write_figures(report.saddle, folder)
    return written
