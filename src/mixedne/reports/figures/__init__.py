"""All figures of a report, in the paper's form, as vector and as picture files."""

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from mixedne.errors import InvalidInputError
from mixedne.reports.figures import saddle
from mixedne.reports.figures.canvas import Named, save_figure
from mixedne.reports.figures.heatmaps import draw_heatmaps
from mixedne.reports.figures.learning import draw_learning
from mixedne.reports.figures.searches import draw_searches
from mixedne.reports.figures.sweeps import draw_sweeps
from mixedne.reports.tables import STATISTICS, Report

FORMATS = ("pdf", "png")


def draw_figures(report: Report, statistic: str = "mean") -> Iterator[Named]:
    """Every figure but those of the case study, with the name of its files.

    Learning curves and searches know the mean only, and come with it.
    """
    if statistic not in STATISTICS:
        raise InvalidInputError(
            f"the statistic must be one of {', '.join(STATISTICS)}, not {statistic!r}"
        )
    drawn = [draw_sweeps(report, statistic), draw_heatmaps(report, statistic)]
    if statistic == "mean":
        drawn += [draw_learning(report), draw_searches(report)]
    taken: set[str] = set()
    for name, figure in chain.from_iterable(drawn):
        free = (f"{name}-{n}" if n > 1 else name for n in count(1))
        own = next(each for each in free if each not in taken)
        taken.add(own)
        yield own, figure


def write_figures(report: Report, folder: Path, statistic: str = "mean") -> list[Path]:
    """Write all figures of a report; return the files written."""
    written = []
    for name, figure in draw_figures(report, statistic):
        for suffix in FORMATS:
            path = folder / f"{name}.{suffix}"
            save_figure(figure, path)
            written.append(path)
    if report.saddle is not None and statistic == "mean":
        written += saddle.write_figures(report.saddle, folder)
    return written
