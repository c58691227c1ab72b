"""The entry point: one subcommand each, errors as one sentence, exit codes as promised."""

import contextlib
import functools
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import tyro
import tyro.extras

from mixedne.cli.console import note
from mixedne.cli.evaluate import Evaluate
from mixedne.cli.presets import Presets
from mixedne.cli.quickstart import Quickstart
from mixedne.cli.report import Report
from mixedne.cli.saddle import Saddle
from mixedne.cli.study import Study
from mixedne.cli.theorems import Theorems
from mixedne.cli.train import Train
from mixedne.cli.watch import Watch
from mixedne.errors import InvalidInputError, TrainingError, check_choice

Command: TypeAlias = (
    Quickstart | Saddle | Theorems | Evaluate | Presets | Train | Study | Report | Watch
)
CommandType: TypeAlias = type[Command]

COMMANDS: dict[str, CommandType] = {
    "quickstart": Quickstart,
    "saddle": Saddle,
    "theorems": Theorems,
    "train": Train,
    "evaluate": Evaluate,
    "watch": Watch,
    "study": Study,
    "report": Report,
    "presets": Presets,
}

PLANNED = ("export",)
"""Commands that are to come."""

DESCRIPTION = """Robust reinforcement learning as a two-player game, solved by sampling.

Examples:
  mixedne quickstart
  mixedne train Hopper-v5 --agent td3 --delta 0.1
  mixedne saddle --help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # where Greek letters cannot be printed
        sys.stdout.reconfigure(errors="replace")
    try:
        parse(sys.argv[1:] if arguments is None else arguments).run()
    except InvalidInputError as error:
        note(f"mixedne: {error}")
        return 2
    except BrokenPipeError:  # the reader of stdout has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        note("mixedne: interrupted")
        sys.stdout.flush()
        os._exit(130)  # a compiled program may still run in a thread, and crash on the way out
    except (OSError, MemoryError, TrainingError) as error:
        note(f"mixedne: {error or 'out of memory'}")
        return 1
    return 0


def parse(arguments: Sequence[str]) -> Command:
    """The command that the arguments name."""
    if list(arguments) == ["--version"]:
        from mixedne import __version__

        print(f"mixedne {__version__}")
        raise SystemExit(0)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            if not arguments or arguments[0].startswith("-"):
                return _parse_with_tyro(COMMANDS, "mixedne", DESCRIPTION, arguments)
            if arguments[0] in PLANNED:
                raise InvalidInputError(f"the command {arguments[0]} is not there yet")
            name = check_choice("command", arguments[0], COMMANDS)
            command = COMMANDS[name]
            description = f"{command.__doc__}\n\n{command.about}"
            read = functools.partial(_parse_with_tyro, command, f"mixedne {name}", description)
            default = Train.default(arguments[1:], read) if command is Train else None
            return read(arguments[1:], default)
    except SystemExit as stop:
        if stop.code == 2:
            raise InvalidInputError(_one_sentence(said.getvalue())) from None
        raise


def _parse_with_tyro(
    what: CommandType | dict[str, CommandType],
    program: str,
    description: str,
    arguments: Sequence[str],
    default: Train | None = None,
) -> Any:
    read: Any = tyro.extras.subcommand_cli_from_dict if isinstance(what, dict) else tyro.cli
    return read(
        what,
        prog=program,
        description=description,
        args=list(arguments),
        **({} if default is None else {"default": default}),
        # A preset may turn flags of train on: those need their --no-….
        config=() if what is Train else (tyro.conf.FlagCreatePairsOff,),
    )


def _one_sentence(box: str) -> str:
    """The message inside the box that tyro draws, with the option it suggests, if any."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    lines = [line.strip("│╭╮╰╯ ") for line in plain.splitlines()[1:]]  # less the title
    ruled = "\n".join("\f" if line and not line.strip("─-") else line for line in lines)
    sections = [" ".join(part.split()) for part in ruled.split("\f") if part.strip()]
    message = sections[0].rstrip(".") if sections else plain.strip()
    message = re.sub(r"^Error parsing [^-]\S*: ", "", message)  # raised by a dataclass itself
    near = next((re.search(r"--[\w-]+", part) for part in sections if "meant" in part), None)
    return f"{message}; did you mean {near.group()}?" if near else message


if __name__ == "__main__":
    sys.exit(main())
