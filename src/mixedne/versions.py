"""Which versions made a result, and on what machine."""

import os
import platform
from importlib.metadata import version
from pathlib import Path


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of this package and of the others named."""
    names = ("mixedne", *packages)
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def machine() -> str:
    """The machine in words, without its name."""
    cores = os.cpu_count()
    words = [f"{platform.system()} {platform.machine()}", _processor(), f"{cores} cores"]
    return ", ".join(word for word in words if word)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "")
