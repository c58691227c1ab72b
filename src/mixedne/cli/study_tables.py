"""Output of ``mixedne study``: plans, progress, selected configurations and results."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from mixedne.cli.console import print_table
from mixedne.cli.streams import note
from mixedne.names import CHOICES
from mixedne.progress import duration

if TYPE_CHECKING:
    import polars as pl

    from mixedne.studies.plan import PlannedRun
    from mixedne.studies.results import Choice
    from mixedne.studies.scheduler import Progress
    from mixedne.studies.spec import Study

CASE = {**{name: name for name in CHOICES}, "delta": "δ"}
"""Column titles of a run's choices."""


def print_runs(spec: "Study", runs: "list[PlannedRun]", reported: "list[PlannedRun]") -> None:
    """Print a plan, with one row per kind of run."""
    kinds: dict[tuple[Any, ...], list[PlannedRun]] = defaultdict(list)
    for run in runs:
        kinds[*run.case, run.fields["steps"]].append(run)
    rows = [
        {
            **_case_words(each[0].fields),
            "steps": f"{each[0].fields['steps']:,}",
            "configurations": str(len({run.configuration for run in each})),
            "runs": str(len(each)),
        }
        for each in kinds.values()
    ]
    title = f"{spec.name}: {spec.about}" if spec.about else spec.name
    print_rows(title, rows, [*CASE.values(), "steps"])
    if reported:
        seeds, again = ({run.fields["seed"] for run in each} for each in (runs, reported))
        print(
            f"The best configuration of each row, by nominal return on seeds {_range(seeds)}, "
            f"is then run with seeds {_range(again)}: {len(reported)} more runs"
        )


@contextlib.contextmanager
def show_progress(unit: str) -> "Iterator[Callable[[Progress], None]]":
    """Yield a function that shows the progress of a study, counted in ``unit``."""
    console = Console(stderr=True)
    if console.is_terminal:
        with Live(console=console, transient=True, auto_refresh=False) as live:

            def show(progress: "Progress") -> None:
                for line in progress.messages:
                    live.console.print(escape(line), highlight=False)
                live.update(render(progress, unit), refresh=True)

            yield show
        return
    last = time.monotonic()

    def print_lines(progress: "Progress") -> None:
        nonlocal last
        if progress.messages or time.monotonic() - last >= 60:
            last = time.monotonic()
            note("\n".join([*progress.messages, progress_in_words(progress, unit)]))

    yield print_lines


def progress_in_words(progress: "Progress", unit: str) -> str:
    """The progress in one line."""
    words = [f"{progress.done} of {progress.total} {unit}", f"{len(progress.running)} running"]
    if progress.failed:
        words.append(f"{len(progress.failed)} failed")
    if progress.seconds_left is not None and (progress.running or progress.seconds_left):
        words.append(f"{duration(progress.seconds_left)} left")
    return ", ".join(words)


def render(progress: "Progress", unit: str) -> Group:
    """The progress line and a table of the running jobs, in which only names are shortened."""
    stage, done = (Column(title, no_wrap=True) for title in ("stage", "done"))
    table = Table(Column("run", overflow="ellipsis"), stage, done, box=box.SIMPLE_HEAD)
    for name, event in list(progress.running.items())[:20]:
        table.add_row(escape(name), event.stage, f"{event.share:.0%}")
    return Group(Text(progress_in_words(progress, unit)), table)


def print_choices(choices: "list[Choice]") -> None:
    """Print the configurations that a search selected, next to those of the paper's tables."""
    rows = [
        {
            **_case_words(choice.case),
            "candidates": str(choice.candidates),
            "return": f"{choice.mean_return:.1f}",
            "chosen": _values(choice.chosen),
            "paper": _values(choice.paper or {}),
        }
        for choice in choices
    ]
    print_rows("Chosen by nominal return, beside the paper's tables", rows, [*CASE.values()])


def print_results(table: "pl.DataFrame") -> None:
    """Print returns by task and method, and by settings where they differ."""
    rows = [
        {
            **_case_words(row),
            "settings": row["settings"] or "–",
            "acting": row["acting"],
            "runs": str(row["runs"]),
            **{
                name: "–" if row[name] is None else f"{row[name]:.1f}"
                for name in ("nominal", "mean", "worst")
            },
        }
        for row in table.iter_rows(named=True)
    ]
    if rows:
        title = "Return in the nominal world, on average over all shifts, and at the worst shift"
        print_rows(title, rows, [*CASE.values(), "settings", "acting"])


def print_rows(title: str, rows: Sequence[Mapping[str, str]], names: Sequence[str]) -> None:
    """Print a table; columns among ``names`` with a single value go into the title."""
    constant = {name: rows[0][name] for name in names if len({row[name] for row in rows}) == 1}
    words = [f"{name} {value}" for name, value in constant.items() if value != "–"]
    columns = [name for name in rows[0] if name not in constant]
    lines = [[row[name] for name in columns] for row in rows]
    print_table(f"{title} ({', '.join(words)})" if words else title, columns, lines)


def _case_words(case: Mapping[str, Any]) -> dict[str, str]:
    """The choices of a run in words, by column."""
    words = {title: str(case[name] or "–") for name, title in CASE.items()}
    return words | ({} if case["delta"] is None else {CASE["delta"]: f"{case['delta']:g}"})


def _values(values: Mapping[str, Any]) -> str:
    words = [
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    ]
    return ", ".join(words) or "–"


def _range(seeds: set[int]) -> str:
    return f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else str(min(seeds))
