"""Trained policies that ship with the package: ``zoo:NAME`` wherever a policy's path may stand.

``zoo.json`` says of each how it was trained and what it scored; ``benchmarks/zoo.py`` made it.
"""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from mixedne.errors import check_choice

PREFIX = "zoo:"
"""Of a name that stands for a policy of the zoo."""

_FOLDER = Path(str(resources.files(__package__)))


def zoo() -> dict[str, dict[str, Any]]:
    """What is known of each policy, by name: training, selection, returns over its mass sweep."""
    entries: dict[str, dict[str, Any]] = json.loads((_FOLDER / "zoo.json").read_text("utf-8"))
    return entries


def is_zoo_name(what: str | Path) -> bool:
    """Whether a path names a policy of the zoo."""
    return str(what).startswith(PREFIX)


def zoo_entry(name: str | Path) -> tuple[Path, dict[str, Any]]:
    """The file of the policy ``zoo:NAME``, and what is known of it."""
    entries = zoo()
    name = check_choice("a policy of the zoo", str(name).removeprefix(PREFIX), entries)
    return _FOLDER / f"{name}.json", entries[name]
