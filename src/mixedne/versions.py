"""Which versions made a result."""

import platform
from importlib.metadata import version


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of this package and of the others named."""
    names = ("mixedne", *packages)
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
