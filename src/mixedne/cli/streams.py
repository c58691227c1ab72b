"""Standard output and standard error, also where they are closed, full or narrow."""

import io
import os
import shutil
import sys
from typing import TextIO

NARROWEST = 40
"""Columns below which tyro's help texts never end."""


def prepare_streams() -> None:
    """Let everything that prints find something to print on."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by `2>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # where Greek letters cannot be printed
        sys.stdout.reconfigure(errors="replace")
    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)


def note(text: str) -> None:
    """Print something on stderr, beside the results; nothing stops because nobody reads it."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Send what a stream still holds, and what comes, nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
