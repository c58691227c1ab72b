"""``mixedne quickstart``: a small study, its report, and a video."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from mixedne.cli import study_tables
from mixedne.cli.console import print_table
from mixedne.cli.streams import note
from mixedne.cli.study import Count, in_foreground, raise_failures
from mixedne.errors import InvalidInputError, check_number

if TYPE_CHECKING:
    import polars as pl

    from mixedne.studies.folder import StudyFolder
    from mixedne.studies.plan import PlannedRun

WAYS = {"mixedne-ld": "an adversary sets the mass", "gad": "plain TD3"}
"""By solver, a label for how its policies are trained; the video shows them side by side."""

MASSES, SECONDS = (1.0, 12.0), 6.0
"""Mass factors of the worlds in the video, and its maximum length in seconds."""


@dataclass(frozen=True)
class Quickstart:
    """Train robust and plain policies for a pendulum, and compare them at other masses."""

    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Folder for the results; by default a new one named quickstart, quickstart-2, …
    An earlier quickstart in the folder is resumed."""
    seeds: int = 3
    """Number of runs, one per seed, for each of the two methods."""
    steps: int = 40_000
    """Environment steps of each run."""
    workers: Count = None
    """Number of parallel runs; by default one per core."""

    def run(self) -> None:
        """Train, evaluate, write the report and print a summary."""
        check_number("steps", self.steps, at_least=1)
        check_number("workers", 1 if self.workers is None else self.workers, at_least=1)

        from mixedne.studies.folder import StudyFolder
        from mixedne.studies.local import LocalExecutor
        from mixedne.studies.results import results
        from mixedne.studies.scheduler import run_study
        from mixedne.studies.spec import find_study

        spec = find_study("quickstart").select(seeds=self.seeds, steps=self.steps)
        new = (Path(f"quickstart-{number}".removesuffix("-1")) for number in count(1))
        folder = StudyFolder(self.out or next(path for path in new if not path.exists()))
        out = shlex.quote(str(folder.path))
        command = f"quickstart --seeds {self.seeds} --steps {self.steps} --out {out}"
        workers = "" if self.workers is None else f" --workers {self.workers}"
        with in_foreground(resume=f"mixedne {command}{workers}"):
            outcome = run_study(
                spec,
                folder,
                partial(LocalExecutor, folder, folder.log(spec.name), self.workers),
                retries=1,
                command=f"mixedne study {command}",
                display=study_tables.show_progress,
                log=note,
            )
        raise_failures(spec, folder, outcome)
        table = results(folder.path, study=spec.name)
        _film(folder, outcome.runs, table)

        from mixedne.reports.report import report

        page = folder.path / "report.html"
        title = "Quickstart: InvertedPendulum-v5, robust and plain"
        report(folder.path, out=page, title=title, overwrite=True)
        _print_summary(table)
        note(f"The runs are in {folder.runs}")
        note(f"The report is {page}: open it in a browser")


def _film(folder: "StudyFolder", runs: "Sequence[PlannedRun]", table: "pl.DataFrame") -> None:
    """Film the median robust and plain run, in the nominal world and in a heavier one."""
    from mixedne.video.watch import watch

    returns = dict(table.select("identifier", "return").group_by("identifier").mean().iter_rows())
    filmed = []
    for solver in WAYS:
        own = [run for run in runs if run.fields["solver"] == solver]
        own.sort(key=lambda run: returns[run.identifier])
        filmed.append(folder.run_folder(own[(len(own) - 1) // 2]))
    film = folder.path / "robust-beside-plain.mp4"
    try:
        watch(filmed, film, mass=MASSES, seconds=SECONDS, overwrite=True)
        note(f"The film is {film}")
    except InvalidInputError as error:  # no OpenGL on this machine
        note(f"There is no film: {error}")


def _print_summary(table: "pl.DataFrame") -> None:
    """Print one row per method: mean over runs, and the worst run, at some masses."""
    from mixedne.evaluation.statistics import seed_means

    means, rows, masses = seed_means(table), [], (1.0, 4.0, 8.0, 12.0)
    for solver, words in WAYS.items():
        cells = [words]
        for mass in masses:
            returns = means.filter(solver=solver, mass=mass)["mean_return"].to_numpy()
            cells.append(f"{returns.mean():.0f} ({returns.min():.0f})")
        rows.append(cells)
    title = f"Return on {table['task'][0]} by mass: mean over runs (and the lowest run)"
    print_table(title, ["trained with", *(f"mass × {mass:g}" for mass in masses)], rows)
