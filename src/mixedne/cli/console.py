"""What is printed: progress and notes on stderr, results on stdout."""

import contextlib
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, track
from rich.table import Column, Table
from rich.text import Text

T = TypeVar("T")

PLAIN_WIDTH = 170
"""Width of tables where stdout is not a terminal and so has no width of its own."""


def note(text: str) -> None:
    """Print something on stderr, beside the results."""
    print(text, file=sys.stderr, flush=True)


def progress(items: Sequence[T], describe: Callable[[T], str], title: str) -> Iterator[T]:
    """Go through ``items`` with a progress bar on a terminal, and plain lines elsewhere."""
    console = Console(stderr=True)
    if console.is_terminal:
        yield from track(items, description=title, console=console, transient=True)
        return
    for number, item in enumerate(items, 1):
        note(f"{title} {number}/{len(items)}: {describe(item)}")
        yield item


class Bar(Progress):
    """A progress bar that fits into 80 columns: what else there is to say has a line of its own."""

    def __init__(self, title: str, console: Console) -> None:
        """The bar moves without a share until it is shown the first time."""
        whole = Column(no_wrap=True)
        self.said = ""
        super().__init__(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, max_width=34)),
            BarColumn(None, table_column=Column(ratio=1)),
            TextColumn("{task.fields[count]}", table_column=whole),
            TextColumn("{task.fields[left]}", table_column=whole),
            console=console,
            transient=True,
            expand=True,
        )
        self._job = self.add_task(escape(title), total=None, count="", left="")

    def show(self, done: int, total: int, seconds_left: float | None, said: str = "") -> None:
        """Move to ``done`` of ``total``."""
        self.said = said
        left = "" if seconds_left is None else f"{duration(seconds_left)} left"
        count = f"{done:,}/{total:,}"
        self.update(self._job, completed=done, total=total, count=count, left=left)

    def get_renderables(self) -> Iterator[RenderableType]:
        """The bar and, below it, what is said."""
        yield from super().get_renderables()
        if self.said:
            yield Text(self.said, no_wrap=True, overflow="ellipsis")


@contextlib.contextmanager
def counting(title: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (done, total): a bar on a terminal, a line every tenth elsewhere."""
    console = Console(stderr=True)
    if console.is_terminal:
        start = time.monotonic()

        def show(done: int, total: int) -> None:
            passed = time.monotonic() - start
            bar.show(done, total, passed / done * (total - done) if done else None)

        with Bar(f"{title}, {unit}", console) as bar:
            yield show
        return
    reported = -1

    def report(done: int, total: int) -> None:
        nonlocal reported
        if 10 * done // total > reported:
            reported = 10 * done // total
            note(f"{title}: {done} of {total} {unit}")

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
    """Let what the package warns of reach the user as plain notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: note(f"mixedne: {message}")
        yield


def print_json(document: Any) -> None:
    """Print one JSON document on stdout; numbers that JSON lacks become null."""
    print(json.dumps(_finite(document), allow_nan=False))


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


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
