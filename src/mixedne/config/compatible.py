"""Which runs of VPG can share a program; planning asks as well, so there is no JAX here."""

from collections.abc import Mapping
from typing import Any

LANES = 8
"""Of a program; never changes, or the numbers of all runs would."""

MAY_DIFFER = ("seed", "eta", "sigma0")
"""Fields in which runs of one program may differ."""


def program_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the program of a configuration depends on; without heat it is another one."""
    alike = {name: value for name, value in fields.items() if name not in MAY_DIFFER}
    return {**alike, "sigma0 > 0": fields["sigma0"] > 0}
