"""What a person sees: progress on stderr, results on stdout."""

import contextlib
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress, TextColumn, track
from rich.table import Table
from rich.text import Text

T = TypeVar("T")

PLAIN_WIDTH = 170
"""Width of tables where stdout is not a terminal and so has no width of its own."""


def note(text: str) -> None:
    """Say something beside the results."""
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


@contextlib.contextmanager
def counting(title: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (done, total): a bar on a terminal, a line every tenth elsewhere."""
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TextColumn(unit))
        with Progress(*columns, console=console, transient=True) as bar:
            job = bar.add_task(escape(title), total=None)
            yield lambda done, total: bar.update(job, completed=done, total=total)
        return
    told = -1

    def tell(done: int, total: int) -> None:
        nonlocal told
        if 10 * done // total > told:
            told = 10 * done // total
            note(f"{title}: {done} of {total} {unit}")

    yield tell


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
    """Print a table on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH, color_system=None)
    # Text may come from files: what looks like markup in it is none.
    table = Table(
        *map(escape, columns), title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD
    )
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
