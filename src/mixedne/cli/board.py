"""How far a study is: a live table on a terminal, plain lines elsewhere."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mixedne.cli.console import duration, note

if TYPE_CHECKING:
    from mixedne.studies.schedule import Board

ROWS = 20
"""Runs under way that are shown."""

PLAIN_EVERY = 60.0
"""Seconds between two lines where there is no terminal and nothing happens."""


@contextlib.contextmanager
def watching(title: str) -> "Iterator[Callable[[Board], None]]":
    """Yield what shows the board of a study; ``title`` says what is counted."""
    console = Console(stderr=True)
    if console.is_terminal:
        with Live(console=console, transient=True, auto_refresh=False) as live:

            def show(board: "Board") -> None:
                for line in board.news:
                    live.console.print(escape(line), highlight=False)
                live.update(Group(Text(describe(board, title)), _running(board)), refresh=True)

            yield show
        return
    told = time.monotonic()

    def tell(board: "Board") -> None:
        nonlocal told
        for line in board.news:
            note(line)
        if board.news or time.monotonic() - told >= PLAIN_EVERY:
            told = time.monotonic()
            note(describe(board, title))

    yield tell


def describe(board: "Board", title: str) -> str:
    """The board in one line."""
    words = [f"{board.done} of {board.total} {title}", f"{len(board.running)} running"]
    if board.failed:
        words.append(f"{len(board.failed)} failed")
    if board.seconds_left is not None and (board.running or board.seconds_left):
        words.append(f"{duration(board.seconds_left)} left")
    return ", ".join(words)


def _running(board: "Board") -> Table:
    table = Table("run", "doing", "share", box=box.SIMPLE_HEAD)
    for name, event in list(board.running.items())[:ROWS]:
        table.add_row(escape(name), event.what, f"{event.done / max(event.total, 1):.0%}")
    return table
