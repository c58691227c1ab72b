"""``mixedne quickstart``: a small study and its report, in a few minutes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from mixedne.cli.console import note, print_table
from mixedne.cli.study import raise_failures, run_with_progress
from mixedne.errors import check_number

if TYPE_CHECKING:
    import polars as pl

    from mixedne.studies.plan import PlannedRun

SHOWN = (0.5, 1.0, 2.0, 4.0)
"""The masses in the table that is printed."""


@dataclass(frozen=True)
class Quickstart:
    """Train a robust pendulum four ways, change its mass, and compare."""

    about: ClassVar[str] = """\
DDPG on InvertedPendulum with MixedNE-LD, GAD and Extra-Adam against an adversary, and without
one; a few seeds each on all cores; then every policy in pendulums of other masses. Ends with a
report: a page to open in a browser. It is the study `quickstart`, and can be stopped and resumed.

Examples:
  mixedne quickstart
  mixedne quickstart --out results --seeds 5"""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """The folder for the results; by default a new one named quickstart, quickstart-2, …
    An earlier quickstart in the folder is resumed."""
    seeds: int = 2
    """Runs of each kind."""
    steps: int = 50_000
    """Environment steps of each run."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Runs at a time; by default one for each core."""

    def run(self) -> None:
        """Train, evaluate, write the report and print a summary."""
        check_number("seeds", self.seeds, at_least=1)
        check_number("steps", self.steps, at_least=1)
        check_number("workers", 1 if self.workers is None else self.workers, at_least=1)

        from mixedne.studies.folder import StudyFolder
        from mixedne.studies.results import results
        from mixedne.studies.spec import find_study

        spec = find_study("quickstart").select(seeds=self.seeds, steps=self.steps)
        folder = StudyFolder(self.out or _new_folder())
        options = [
            "--seeds",
            str(self.seeds),
            "--steps",
            str(self.steps),
            "--out",
            str(folder.path),
        ]
        outcome = run_with_progress(
            spec,
            folder,
            workers=self.workers,
            retries=1,
            command=["mixedne", "study", spec.name, *options],
            resume=["mixedne", "quickstart", *options],
        )
        raise_failures(spec, folder, outcome)
        report = folder.path / "report.html"
        _write_report(folder.path, report)
        _print_summary(outcome.runs, results(folder.path, study=spec.name))
        note(f"The runs are in {folder.runs}")
        note(f"The report is {report}: open it in a browser")


def _new_folder() -> Path:
    names = (Path(f"quickstart{f'-{number}' if number > 1 else ''}") for number in count(1))
    return next(path for path in names if not path.exists())


def _write_report(folder: Path, report: Path) -> None:
    from mixedne.reports.inputs.collect import collect
    from mixedne.reports.page import write_page

    write_page(collect([folder], title="Quickstart: InvertedPendulum-v5 four ways"), report)


def _print_summary(runs: "Sequence[PlannedRun]", table: "pl.DataFrame") -> None:
    """One row for each method: mean over runs, and the lowest run, at some masses."""
    from mixedne.evaluation.statistics import seed_means
    from mixedne.names import SOLVERS

    means = seed_means(table)
    rows = []
    for solver, delta in dict.fromkeys((r.fields["solver"], r.fields["delta"]) for r in runs):
        cells = [f"{SOLVERS[solver]}, {'two players' if delta else 'one player'}"]
        for mass in SHOWN:
            returns = means.filter(solver=solver, delta=delta, mass=mass)["mean_return"].to_numpy()
            cells.append(f"{returns.mean():.0f} ({returns.min():.0f})")
        rows.append(cells)
    title = f"Return on {table['task'][0]} by mass: mean over runs (and the lowest run)"
    print_table(title, ["trained with", *(f"mass × {mass:g}" for mass in SHOWN)], rows)
