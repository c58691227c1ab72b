"""Which runs of VPG can share a compiled program."""

from collections.abc import Mapping
from typing import Any

from mixedne.config.config import SETTINGS

LANES = 8
"""Runs in a program. The numbers of all runs depend on it, so it never changes."""


def compile_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the program of a configuration depends on; without thermal noise it is another one."""
    untraced = {name: v for name, v in fields.items() if not SETTINGS[name].traced}
    return {**untraced, "sigma0 > 0": fields["sigma0"] > 0}
