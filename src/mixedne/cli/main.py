"""The entry point: one subcommand each, errors as one sentence, exit codes as promised."""

import contextlib
import dataclasses
import difflib
import functools
import importlib
import io
import itertools
import os
import re
import sys
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from mixedne.cli.console import find_modules_here, note
from mixedne.errors import InvalidInputError, TrainingError, check_choice

COMMANDS = (
    *("quickstart", "saddle", "theorems", "train", "evaluate", "watch"),
    *("study", "report", "presets"),
)
"""Each is the class of that name in its own module, which is imported when it is asked for."""

PLANNED = ("export",)
"""Commands that are to come."""

HELP = """\
usage: mixedne COMMAND [OPTIONS]

Robust reinforcement learning as a two-player game, solved by sampling.

{commands}

mixedne COMMAND --help shows the options of a command, and mixedne --version the version.

Examples:
  mixedne quickstart
  mixedne train Hopper-v5 --agent td3 --delta 0.1
  mixedne saddle --help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # where Greek letters cannot be printed
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            parse(sys.argv[1:] if arguments is None else arguments).run()
        finally:
            sys.stdout.flush()
    except InvalidInputError as error:
        note(f"mixedne: {error}")
        return 2
    except BrokenPipeError:  # the reader of stdout has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        note("mixedne: interrupted")
        os._exit(130)  # a compiled program may still run in a thread, and crash on the way out
    except (OSError, MemoryError, TrainingError) as error:
        note(f"mixedne: {error or 'out of memory'}")
        return 1
    return 0


def parse(arguments: Sequence[str]) -> Any:
    """The command that the arguments name, an object with a method ``run``."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP.format(commands="\n".join(map(_summary, COMMANDS))))
        raise SystemExit(0)
    if list(arguments) == ["--version"]:
        from mixedne import __version__

        print(f"mixedne {__version__}")
        raise SystemExit(0)
    name, *rest = arguments
    if name in PLANNED:
        raise InvalidInputError(f"the command {name} is not there yet")
    kind = command_class(check_choice("command", name, COMMANDS))
    description = f"{kind.__doc__}\n\n{kind.about}"
    read = functools.partial(_read, program=f"mixedne {name}", description=description)
    if name == "train":
        return kind.parse(rest, read)
    command = read(kind, rest, flag_pairs=False)
    find_modules_here(getattr(command, "task", None), *getattr(command, "tasks", ()))
    return command


def command_class(name: str) -> Any:
    """The class of a command."""
    return getattr(importlib.import_module(f"mixedne.cli.{name}"), name.title())


def _summary(name: str) -> str:
    return f"  {name:<12}{command_class(name).__doc__.splitlines()[0]}"


def _read(
    kind: type,
    arguments: Sequence[str],
    *,
    program: str,
    description: str,
    flag_pairs: bool = True,
) -> Any:
    """A dataclass filled in from the command line, or one sentence about what is wrong."""
    import tyro

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parsed: tuple[Any, list[str]] = tyro.cli(
                kind,
                prog=program,
                description=description,
                args=list(arguments),
                return_unknown_args=True,
                registry=_numbers(),
                config=() if flag_pairs else (tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if stop.code == 2:
            raise InvalidInputError(_sentence(said.getvalue())) from None
        raise
    filled, unknown = parsed
    for word in unknown:
        option, _, _ = word.partition("=")
        near = difflib.get_close_matches(option.replace("_", "-"), list(_option_names(kind)), n=1)
        what = "option" if word.startswith("-") else "place for the argument"
        hint = f"; did you mean {near[0]}?" if near and word.startswith("-") else ""
        raise InvalidInputError(f"there is no {what} {option}{hint}")
    return filled


def _numbers() -> Any:
    """Whole numbers may be typed as 1e5, too."""
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

    registry = ConstructorRegistry()

    def read(words: list[str]) -> int:
        with contextlib.suppress(ValueError):
            return int(words[0])
        with contextlib.suppress(ValueError):
            number = float(words[0])
            if number.is_integer():
                return int(number)
        raise ValueError(f"must be a whole number, not {words[0]!r}")

    @registry.primitive_rule
    def whole_number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
        if info.type is not int:
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar="INT",
            instance_from_str=read,
            is_instance=lambda value: isinstance(value, int),
            str_from_instance=lambda value: [str(value)],
        )

    return registry


def _option_names(kind: type) -> Iterator[str]:
    """The options of a dataclass, those of nested ones too."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[field.name]):
            yield from _option_names(hints[field.name])
        else:
            yield f"--{field.name.replace('_', '-')}"


def _sentence(box: str) -> str:
    """The message in the box that tyro draws around an error: what stands before the next rule."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    lines = [line.strip("│╭╮╰╯ ") for line in plain.splitlines()[1:]]  # without the title
    ruled = itertools.groupby(lines, key=lambda line: bool(line.strip("─-")))
    message = next((" ".join(part) for is_text, part in ruled if is_text), plain)
    message = " ".join(message.split()).rstrip(".")
    return re.sub(r"^Error parsing ((--\S+ )|\S+: )", r"\2", f"{message} ").strip()


if __name__ == "__main__":
    sys.exit(main())
