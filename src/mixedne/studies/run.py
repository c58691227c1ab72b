"""``run_study``: all runs of a study, and for a search also the choice and the runs reported."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from mixedne.files import write_beside
from mixedne.studies.folder import FORMAT_VERSION, StudyFolder
from mixedne.studies.plan import PlannedRun, expand
from mixedne.studies.results import results
from mixedne.studies.scheduler import Executor, Progress, run_jobs
from mixedne.studies.search import Choice, choose, reported_runs
from mixedne.studies.spec import Study

Display = Callable[[str], AbstractContextManager[Callable[[Progress], None]]]
"""Takes what is counted ("runs"), and yields a function that shows the progress."""


@dataclass(frozen=True)
class Outcome:
    """The end of a study."""

    runs: list[PlannedRun]
    """The runs whose results it reports; for a search, those of the chosen configurations."""
    total: int
    """The number of all runs."""
    failed: dict[str, str]
    """The errors of the runs that were given up, by the runs' names."""
    retried: int
    choices: list[Choice] | None
    """What a search chose."""


def run_study(
    study: Study,
    folder: StudyFolder,
    make_executor: Callable[[], Executor],
    *,
    retries: int,
    command: str | None = None,
    display: Display,
    log: Callable[[str], None],
) -> Outcome:
    """Do all runs of a study that are not finished.

    ``command`` is what the user typed; the plan records it. ``log`` takes messages to the user.
    """
    runs = expand(study)
    folder.create()

    def run_all(runs: list[PlannedRun], plan: str, unit: str) -> Progress:
        if folder.save_plan(plan, runs, command):
            log(f"the study {plan} in {folder.path} had another plan: runs in both are kept")
        with display(unit) as show:
            return run_jobs(folder, runs, make_executor(), retries=retries, show=show)

    if study.search is None:
        progress = run_all(runs, study.name, "runs")
        return Outcome(runs, progress.total, progress.failed, progress.retried, None)
    progress = run_all(runs, study.name, "runs compared")
    choices = choose(study.search, runs, results(folder.path, study=study.name))
    _write_choices(folder, study, choices)
    chosen = reported_runs(study, choices)
    second = run_all(chosen, f"{study.name}-reported", "runs reported")
    return Outcome(
        runs=chosen,
        total=progress.total + second.total,
        failed=progress.failed | second.failed,
        retried=progress.retried + second.retried,
        choices=choices,
    )


def _write_choices(folder: StudyFolder, study: Study, choices: Sequence[Choice]) -> None:
    document = {
        "format_version": FORMAT_VERSION,
        "study": study.name,
        "choices": [dataclasses.asdict(choice) for choice in choices],
    }
    with write_beside(folder.studies / f"{study.name}-chosen.json") as temporary:
        temporary.write_text(json.dumps(document, indent=1) + "\n")
