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
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        processor = platform.processor()
    else:
        models = (line.split(":", 1)[1].strip() for line in lines if "model name" in line)
        processor = next(models, "")
    words = [f"{platform.system()} {platform.machine()}", processor, f"{os.cpu_count()} cores"]
    return ", ".join(filter(None, words))


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
