"""Trained policies that are included in the package; use ``zoo:NAME`` as the path of a policy.

``zoo.json``, made by ``benchmarks/zoo.py``, has the training and the scores of each.
"""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from mixedne.errors import check_choice

PREFIX = "zoo:"
"""Prefix of the name of a policy in the zoo."""

_FOLDER = Path(str(resources.files(__package__)))


def zoo() -> dict[str, dict[str, Any]]:
    """Training, selection, and returns over the mass sweep of each policy, by name."""
    entries: dict[str, dict[str, Any]] = json.loads((_FOLDER / "zoo.json").read_text("utf-8"))
    return entries


def is_zoo_name(what: str | Path) -> bool:
    """Whether a path names a policy of the zoo."""
    return str(what).startswith(PREFIX)


def zoo_entry(name: str | Path) -> tuple[Path, dict[str, Any]]:
    """The file of the policy ``zoo:NAME``, and its entry in ``zoo.json``."""
    entries = zoo()
    name = check_choice("a policy of the zoo", str(name).removeprefix(PREFIX), entries)
    return _FOLDER / f"{name}.json", entries[name]
