"""A study from its plan to its table: run, and where it is a search, choose and run again."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from mixedne.files import write_beside
from mixedne.studies.plan import PlannedRun, expand
from mixedne.studies.results import results
from mixedne.studies.schedule import Board, Executor, run_all
from mixedne.studies.search import Choice, choose, reported
from mixedne.studies.spec import Study
from mixedne.studies.store import FORMAT_VERSION, StudyFolder

Watching = Callable[[str], AbstractContextManager[Callable[[Board], None]]]
"""Given what is being done, yields what shows the board."""


@dataclass(frozen=True)
class Outcome:
    """What became of a study."""

    runs: list[PlannedRun]
    """Whose results it reports: of a search, those of the chosen configurations."""
    total: int
    """Runs in all."""
    failed: dict[str, str]
    """Errors of the runs that were given up, by name."""
    retried: int
    choices: list[Choice] | None
    """What a search chose."""


def conduct(
    study: Study,
    folder: StudyFolder,
    executor: Callable[[], Executor],
    *,
    retries: int,
    command: str | None = None,
    watching: Watching,
    say: Callable[[str], None],
) -> Outcome:
    """Do all runs of a study that are not done; ``command`` is what was typed for it."""
    runs = expand(study)
    folder.open()

    def do(runs: list[PlannedRun], name: str, title: str) -> Board:
        changed = folder.freeze(name, runs, command)
        if changed:
            say(changed)
        with watching(title) as show:
            return run_all(folder, runs, executor(), retries=retries, show=show)

    if study.search is None:
        board = do(runs, study.name, "runs")
        return Outcome(runs, board.total, board.failed, board.retried, None)
    board = do(runs, study.name, "runs compared")
    choices = choose(study.search, runs, results(folder.path, study=study.name))
    _write_choices(folder, study, choices)
    chosen = reported(study, choices)
    second = do(chosen, f"{study.name}-reported", "runs reported")
    return Outcome(
        runs=chosen,
        total=board.total + second.total,
        failed=board.failed | second.failed,
        retried=board.retried + second.retried,
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
