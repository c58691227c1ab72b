"""What is printed: progress and notes on stderr, results on stdout."""

import contextlib
import functools
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column, Table
from rich.text import Text

from mixedne.cli.streams import note

PLAIN_WIDTH = 170
"""Width of tables where stdout is not a terminal and so has no width of its own."""


class Bar(Progress):
    """A progress bar that fits into 80 columns: what else there is to say has a line of its own."""

    def __init__(self, title: str, console: Console, said: str = "") -> None:
        """The bar moves without a share until it is shown the first time."""
        self.said, self._start = said, time.monotonic()
        super().__init__(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, max_width=34)),
            BarColumn(None, table_column=Column(ratio=1)),
            TextColumn("{task.fields[count]}", table_column=Column(no_wrap=True)),
            console=console,
            transient=True,
            expand=True,
        )
        self._job = self.add_task(escape(title), total=None, count="")

    def show(self, done: int, total: int, left: float | None = None, said: str = "") -> None:
        """Move to ``done`` of ``total``; the seconds left follow from the speed, if not given."""
        self.said = said
        if left is None and done:
            left = (time.monotonic() - self._start) / done * (total - done)
        count = f"{done:,}/{total:,}" + ("" if left is None else f" {duration(left)} left")
        self.update(self._job, completed=done, total=total, count=count)

    def get_renderables(self) -> Iterator[RenderableType]:
        """The bar and, below it, what is said."""
        yield from super().get_renderables()
        if self.said:
            yield Text(self.said, no_wrap=True, overflow="ellipsis")


@contextlib.contextmanager
def counting(
    title: str, unit: str = "", *, lines: int = 10, said: str = ""
) -> Iterator[Callable[..., None]]:
    """Yield ``Bar.show`` on a terminal, and elsewhere what prints about so many lines.

    The first line comes at once, unless there is something else to be ``said`` before.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        with Bar(f"{title}, {unit}" if unit else title, console, said) as bar:
            yield bar.show
        return
    reported = 0 if said else -1

    def report(done: int, total: int, left: float | None = None, said: str = "") -> None:
        nonlocal reported
        if lines * done // total > reported:
            count = f"{title}: {done} of {total} {unit}" if unit else f"step {done} of {total}"
            time_left = "" if left is None else f"{duration(left)} left"
            note(", ".join(filter(None, (count, said, time_left))))
        reported = max(reported, lines * done // total)

    yield report


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"


def find_modules_here(*tasks: str | None) -> None:
    """Let ``module:Id`` name a module in the current directory: only for what a person typed.

    The directory comes last, so that it hides no installed package.
    """
    here = os.getcwd()
    if any(":" in task for task in tasks if task) and here not in sys.path:
        sys.path.append(here)


@contextlib.contextmanager
def noted_warnings() -> Iterator[None]:
    """Let what the package warns of reach the user as plain notes, the same sentence once."""
    once = functools.cache(lambda sentence: note(f"mixedne: {sentence}"))
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: once(str(message))
        yield


def print_json(document: Any) -> None:
    """Print one JSON document on stdout; numbers that JSON lacks become null."""
    finite = json.loads(json.dumps(document), parse_constant=lambda _: None)
    print(json.dumps(finite, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on stdout; where it is too wide, constant columns go into the title."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH, color_system=None)
    table = _table(columns, rows)
    natural = console.measure(table, options=console.options.update(width=10_000)).maximum
    if natural > console.width and len(rows) > 1:
        constant = [i for i, cells in enumerate(zip(*rows, strict=True)) if len({*cells}) == 1]
        words = ", ".join(f"{columns[i]} {rows[0][i]}" for i in constant if rows[0][i])
        title = f"{title}; {words}" if words else title
        kept = [i for i in range(len(columns)) if i not in constant]
        table = _table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows])
    console.print(Text(title, "bold"))
    console.print(table)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Text may come from files, so nothing in it is markup."""
    table = Table(*map(escape, columns), box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
