"""Standard output and standard error, including closed, full and narrow ones."""

import io
import os
import shutil
import sys
from typing import TextIO

NARROWEST = 40
"""Minimum width in columns; below it, tyro's formatting of help texts never ends."""


def prepare_streams() -> None:
    """Make sure that stdout and stderr exist and can be printed to."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by `2>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # where Greek letters cannot be printed
        sys.stdout.reconfigure(errors="replace")
    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)


def note(text: str) -> None:
    """Print a note on stderr; a closed or broken stderr is ignored."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Discard a stream's buffered and future output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
