"""``mixedne quickstart``: a small study, its report, and a video."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from mixedne.cli import study_tables
from mixedne.cli.console import print_json, print_table
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
    json: bool = False
    """Print one JSON document: the returns at every mass, and where report, film and runs are."""

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
        film = _film(folder, outcome.runs, table)

        from mixedne.reports.report import report

        page = folder.path / "report.html"
        title = "Quickstart: InvertedPendulum-v5, robust and plain"
        report(folder.path, out=page, title=title, overwrite=True)
        summary = _summary(table)
        if self.json:
            places = {"report": str(page), "film": film and str(film), "runs": str(folder.runs)}
            print_json({"task": table["task"][0], "results": summary, **places})
        else:
            _print_summary(table["task"][0], summary)
            note(f"The runs are in {folder.runs}")
            note(f"The report is {page}: open it in a browser")


def _film(
    folder: "StudyFolder", runs: "Sequence[PlannedRun]", table: "pl.DataFrame"
) -> Path | None:
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
    except InvalidInputError as error:  # no OpenGL on this machine
        note(f"There is no film: {error}")
        return None
    note(f"The film is {film}")
    return film


def _summary(table: "pl.DataFrame") -> list[dict[str, Any]]:
    """One entry per method and mass: the mean over runs, and the worst run."""
    import polars as pl

    from mixedne.evaluation.statistics import seed_means

    returns = pl.col("mean_return")
    of_method = pl.col("solver").replace_strict(WAYS)
    means = (
        seed_means(table)
        .group_by("solver", "mass")
        .agg(runs=pl.len(), mean_return=returns.mean(), min_return=returns.min())
    )
    order = [pl.col("solver") != next(iter(WAYS)), "mass"]
    return means.sort(order).select(of_method.alias("trained_with"), *means.columns).to_dicts()


def _print_summary(task: str, summary: Sequence[dict[str, Any]]) -> None:
    """Print one row per method: mean over runs, and the worst run, at some masses."""
    masses = (1.0, 4.0, 8.0, 12.0)
    rows = []
    for words in WAYS.values():
        own = {row["mass"]: row for row in summary if row["trained_with"] == words}
        returns = [(own[mass]["mean_return"], own[mass]["min_return"]) for mass in masses]
        rows.append([words, *(f"{mean:.0f} ({least:.0f})" for mean, least in returns)])
    title = f"Return on {task} by mass: mean over runs (and the lowest run)"
    print_table(title, ["trained with", *(f"mass × {mass:g}" for mass in masses)], rows)
