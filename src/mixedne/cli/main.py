"""The entry point: reports errors in one sentence and returns the documented exit codes.

Slow imports are deferred until ``main`` can handle Ctrl-C.
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mixedne.cli.streams import note, prepare_streams, silence
from mixedne.errors import EXPECTED, InvalidInputError

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

ARGUMENT = re.compile(r"(?<![\w-])([a-z][a-z_]+)=(True)?(?=[\s,;:)]|$)")
"""A Python argument as error messages name it: ``out=`` or ``resume=True``."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    before, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    try:
        prepare_streams()
        try:
            from mixedne.cli.parse import parse

            parse(sys.argv[1:] if arguments is None else arguments).run()
        finally:
            sys.stdout.flush()
        return 0
    except SystemExit:
        raise
    except KeyboardInterrupt:
        note("mixedne: interrupted")
        os._exit(130)  # a compiled program may still run in a thread, and crash at exit
    except BaseException as error:  # Rust's panics are not Exceptions
        try:
            sys.stdout.flush()
        except OSError:
            silence(sys.stdout)
        if not isinstance(error, BrokenPipeError):  # stdout's reader has gone, as with `| head`
            note(f"mixedne: {explain(error)}")
        return 2 if isinstance(error, InvalidInputError | UnicodeEncodeError) else 1
    finally:
        sys.unraisablehook = before


def _interrupt_again(lost: "UnraisableHookArgs") -> None:
    """Repeat a Ctrl-C that came in a callback, as the garbage collector's: Python drops these."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        # Sent at once, it would come in here.
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(lost)


def explain(error: BaseException) -> str:
    """An error in one sentence; the traceback of an unexpected one is written to a file."""
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object!r} cannot be written as {error.encoding}: choose another name"
    if isinstance(error, EXPECTED):
        return ARGUMENT.sub(_option, str(error)) or "out of memory"
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    where = "the traceback is above"
    if os.environ.get("MIXEDNE_TRACEBACK") == "1":
        note(text)
    else:
        try:
            with tempfile.NamedTemporaryFile(
                "w", prefix="mixedne-", suffix=".txt", delete=False, errors="backslashreplace"
            ) as file:
                file.write(text)
            where = f"the traceback is in {file.name}"
        except OSError:
            where = "MIXEDNE_TRACEBACK=1 shows the traceback"
    message = " ".join(str(error).split())[:500]
    return f"unexpected {type(error).__name__}: {message} ({where}; please report it)"


def _option(argument: re.Match[str]) -> str:
    """The command-line option for a Python argument."""
    return f"--{argument[1].replace('_', '-')}"


if __name__ == "__main__":
    sys.exit(main())
