"""Commands that would make results again, rebuilt from what files say.

A page shows them beside a button that copies, so no string of a file is shown as it stands: options
must be known, and values must be numbers or plain names. A file's own command only says which
options to write; their values are the configuration's.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from mixedne.reports.names import number_words

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)?")
"""Of tasks, studies and choices. A task as ``module:Id`` is none: it would import the module."""

STUDY_OPTIONS = ("tasks", "agents", "solvers", "seeds", "steps")
"""Options of ``mixedne study`` that change which runs it has."""


def train_commands(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """One command for runs that differ in their seed alone, with the first of their seeds."""
    seeds: dict[str, list[int]] = {}
    for config in configs:
        command, seed = train_command(config), config.get("seed")
        if command is not None and isinstance(seed, int):
            seeds.setdefault(command, []).append(seed)
    return [
        f"{command} --seed {min(found)}"
        + (f"  # and with seeds {number_words(found)}" if len(set(found)) > 1 else "")
        for command, found in seeds.items()
    ]


def train_command(config: Mapping[str, Any]) -> str | None:
    """The command of a run without its seed; None where a value is not a plain one."""
    said = config.get("command")
    options = re.findall(r" --(?:no-)?([a-z0-9-]+)", said) if isinstance(said, str) else []
    words = ["mixedne", "train", *_values(config.get("task"))]
    complete = bool(options) and len(words) == 3
    for option in dict.fromkeys(options):
        value = config.get(option.replace("-", "_"))
        if option == "seed" or value is None:
            continue
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
            continue
        values = _values(value)
        complete &= bool(values)
        words += [f"--{option}", *values]
    return shlex.join(words) if complete else None


def study_command(plan: Mapping[str, Any], folder: Path) -> str | None:
    """The command of a study, to go on in its folder; None if its plan has none that is plain."""
    options: dict[str, list[str]] = {}
    try:
        _, _, study, *said = shlex.split(plan["command"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    name = ""
    for word in said:
        if word.startswith("--"):
            name, _, word_after = word[2:].partition("=")
            options[name] = [word_after] if word_after else []
        else:
            options.setdefault(name, []).append(word)
    chosen = {name: options[name] for name in STUDY_OPTIONS if name in options}
    if not all(map(NAME.fullmatch, [Path(study).name, *chain(*chosen.values())])):
        return None
    flags = chain.from_iterable((f"--{name}", *values) for name, values in chosen.items())
    return shlex.join(["mixedne", "study", Path(study).name, *flags, "--out", str(folder)])


def _values(value: Any) -> list[str]:
    """A value's words on a command line; empty where it is neither a number nor a plain name."""
    listed = value if isinstance(value, list) else [value]
    plain = (
        type(each) in (int, float) or (isinstance(each, str) and NAME.fullmatch(each))
        for each in listed
    )
    return [str(each) for each in listed] if all(plain) else []
