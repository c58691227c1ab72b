"""Progress display: a bar on a terminal, occasional lines elsewhere."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column
from rich.text import Text

OnProgress: TypeAlias = Callable[[int, int], None]
"""A function that is called regularly with the amount done and the total."""


@contextlib.contextmanager
def showing(progress: bool | OnProgress, title: str, unit: str) -> Iterator[OnProgress]:
    """Yield the function that an argument ``progress`` stands for; True shows a bar or lines."""
    if progress is True:
        with counting(title, unit) as show:
            yield show
    else:
        yield progress or (lambda done, total: None)


class Bar(Progress):
    """A progress bar that fits into 80 columns; further text has its own line."""

    def __init__(self, title: str, console: Console, said: str = "") -> None:
        """The bar is indeterminate until ``show`` is called for the first time."""
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
        """Move to ``done`` of ``total``; the seconds left are estimated if not given."""
        self.said = said
        if left is None and done:
            left = (time.monotonic() - self._start) / done * (total - done)
        time_left = "" if left is None or math.isnan(left) else f" {duration(left)} left"
        count = f"{done:,}/{total:,}{time_left}"
        self.update(self._job, completed=done, total=total, count=count)

    def get_renderables(self) -> Iterator[RenderableType]:
        """The bar and, below it, the text."""
        yield from super().get_renderables()
        if self.said:
            yield Text(self.said, no_wrap=True, overflow="ellipsis")


@contextlib.contextmanager
def counting(
    title: str,
    unit: str = "",
    *,
    lines: int = 10,
    said: str = "",
    note: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
) -> Iterator[Callable[..., None]]:
    """Yield ``Bar.show`` on a terminal, and elsewhere a function that prints about ``lines`` lines.

    The first line is printed at once, unless there is another text, ``said``, to print first.
    Notebooks get lines, too.
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
            time_left = "" if left is None or math.isnan(left) else f"{duration(left)} left"
            note(", ".join(filter(None, (count, said, time_left))))
        reported = max(reported, lines * done // total)

    yield report


def duration(seconds: float) -> str:
    """A duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"
