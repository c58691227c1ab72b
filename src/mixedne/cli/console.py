"""Console output: progress and notes on stderr, results on stdout."""

import contextlib
import functools
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mixedne import progress
from mixedne.cli.streams import note
from mixedne.files import finite_json

PLAIN_WIDTH = 170
"""Width of tables where stdout is not a terminal and has no width of its own."""


counting = functools.partial(progress.counting, note=note)
"""Show a progress bar on a terminal, and print lines to stderr elsewhere."""


@contextlib.contextmanager
def notes_only() -> Iterator[None]:
    """While a command works, nothing but notes: stdout belongs to results.

    The package's warnings become plain notes, each sentence once, and what environments and
    libraries print goes to stderr.
    """
    once = functools.cache(lambda sentence: note(f"mixedne: {sentence}"))
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: once(str(message))
        yield


def print_json(document: Any) -> None:
    """Print one JSON document on stdout, with paths as strings, and NaN and ±∞ as null."""
    print(json.dumps(finite_json(document), allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on stdout; if it is too wide, constant columns are moved into the title."""
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
    """Text may come from files, so it is not parsed as markup. Names that are too long wrap."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in columns:
        table.add_column(escape(name), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
