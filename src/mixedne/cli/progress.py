"""How far a study is: a live table on a terminal, plain lines elsewhere."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from mixedne.cli.console import duration, note

if TYPE_CHECKING:
    from mixedne.studies.scheduler import Progress

ROWS = 20
"""The most running jobs that are shown."""

PLAIN_EVERY = 60.0
"""Seconds between two lines if there is no terminal and nothing happens."""


@contextlib.contextmanager
def show_progress(unit: str) -> "Iterator[Callable[[Progress], None]]":
    """Yield a function that shows the progress of a study; ``unit`` says what is counted."""
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
        for line in progress.messages:
            note(line)
        if progress.messages or time.monotonic() - last >= PLAIN_EVERY:
            last = time.monotonic()
            note(describe(progress, unit))

    yield print_lines


def describe(progress: "Progress", unit: str) -> str:
    """The progress in one line."""
    words = [f"{progress.done} of {progress.total} {unit}", f"{len(progress.running)} running"]
    if progress.failed:
        words.append(f"{len(progress.failed)} failed")
    if progress.seconds_left is not None and (progress.running or progress.seconds_left):
        words.append(f"{duration(progress.seconds_left)} left")
    return ", ".join(words)


def render(progress: "Progress", unit: str) -> Group:
    """The line, and a table of the running jobs in which only names are ever shortened."""
    stage, done = (Column(title, no_wrap=True) for title in ("stage", "done"))
    table = Table(Column("run", overflow="ellipsis"), stage, done, box=box.SIMPLE_HEAD)
    for name, event in list(progress.running.items())[:ROWS]:
        table.add_row(escape(name), event.stage, f"{event.share:.0%}")
    return Group(Text(describe(progress, unit)), table)
