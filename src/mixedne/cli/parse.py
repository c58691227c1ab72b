"""Parse the command line: one class per subcommand, errors in one sentence."""

import contextlib
import dataclasses
import difflib
import functools
import importlib
import io
import re
import tomllib
import typing
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

from mixedne.errors import InvalidInputError, check_choice
from mixedne.files import find_modules_here

COMMANDS = (
    *("quickstart", "saddle", "theorems", "train", "evaluate", "watch"),
    *("attack", "export", "study", "report", "card", "presets", "sets", "zoo"),
)
"""The subcommands. Each is a class of that name, in a module that is imported on demand."""

HELP = tomllib.loads((resources.files(__package__) / "help.toml").read_text("utf-8"))
"""Texts of ``--help``, for the program and for each command."""


def parse(arguments: Sequence[str]) -> Any:
    """Parse arguments into a command, an object with a method ``run``."""
    if not arguments or arguments[0] in ("-h", "--help"):
        summaries = (f"  {n:<12}{command_class(n).__doc__.splitlines()[0]}" for n in COMMANDS)
        print(HELP["program"].format(commands="\n".join(summaries)))
        raise SystemExit(0)
    if list(arguments) == ["--version"]:
        from mixedne import __version__

        print(f"mixedne {__version__}")
        raise SystemExit(0)
    for word in arguments:
        word.encode()  # raises if it is not UTF-8, which no table can store
    name, *rest = arguments
    kind = command_class(check_choice("command", name, COMMANDS))
    description = f"{kind.__doc__}\n\n{HELP[name]}"
    read = functools.partial(_read, program=f"mixedne {name}", description=description)
    if name == "train":
        return kind.parse(rest, read)
    command = read(kind, rest, flag_pairs=False)
    find_modules_here(getattr(command, "task", None), *(getattr(command, "tasks", None) or ()))
    return command


def command_class(name: str) -> Any:
    """The class of a command."""
    module = {"theorems": "saddle", "watch": "evaluate"}.get(name, name)
    return getattr(importlib.import_module(f"mixedne.cli.{module}"), name.title())


def _read(
    kind: type, arguments: Sequence[str], *, program: str, description: str, flag_pairs: bool = True
) -> Any:
    """Fill a dataclass from the command line; what is wrong is reported in one sentence."""
    import tyro
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec

    registry = ConstructorRegistry()

    @registry.primitive_rule
    def whole_number(info: Any) -> PrimitiveConstructorSpec[int] | None:
        number = PrimitiveConstructorSpec(
            nargs=1,
            metavar="INT",
            instance_from_str=lambda words: _whole_number(words[0]),
            is_instance=lambda value: isinstance(value, int),
            str_from_instance=lambda value: [str(value)],
        )
        return number if info.type is int else None

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parsed: tuple[Any, list[str]] = tyro.cli(
                kind,
                prog=program,
                description=description,
                args=list(arguments),
                return_unknown_args=True,
                registry=registry,
                config=() if flag_pairs else (tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if stop.code == 2:
            raise InvalidInputError(_sentence(said.getvalue())) from None
        raise
    filled, unknown = parsed
    if unknown:
        option = unknown[0].partition("=")[0]
        if not option.startswith("-"):
            raise InvalidInputError(f"there is no place for the argument {option}")
        near = difflib.get_close_matches(option.replace("_", "-"), [*_option_names(kind)], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InvalidInputError(f"there is no option {option}{hint}")
    return filled


def _whole_number(word: str) -> int:
    """Parse a whole number, which may also be written as 1e5."""
    with contextlib.suppress(ValueError):
        return int(word)
    with contextlib.suppress(ValueError):
        if (number := float(word)).is_integer():
            return int(number)
    raise ValueError(f"must be a whole number, not {word!r}")


def _option_names(kind: type) -> Iterator[str]:
    """The options of a dataclass, including those of nested ones."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[field.name]):
            yield from _option_names(hints[field.name])
        else:
            yield f"--{field.name.replace('_', '-')}"


def _sentence(box: str) -> str:
    """The message in the box that tyro draws around an error; tyro has no public API for it."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    _, message, *_ = re.split("[─-]{9,}", plain)  # between the rule of the title and the next
    message = " ".join(message.strip("╮│╰ \n").replace("│", " ").split()).rstrip(".")
    message = re.sub(r"no type matching .*- <class '\w+'>: ", "", message)  # None, or a number
    return re.sub(r"^Error parsing ((--\S+ )|\S+: )", r"\2", f"{message} ").strip()
