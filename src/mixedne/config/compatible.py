"""Which runs of VPG can share a compiled program."""

from collections.abc import Mapping
from typing import Any

from mixedne.config.config import SETTINGS

LANES = 8
"""Runs in a program. The numbers of all runs depend on it, so it never changes."""


def compile_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the program of a configuration depends on; without thermal noise it is another one."""
    traced = {name for name, known in SETTINGS.items() if known.traced}
    fixed = {name: value for name, value in fields.items() if name not in traced}
    return {**fixed, "sigma0 > 0": fields["sigma0"] > 0}
