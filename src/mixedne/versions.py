"""Software versions and machine, to be recorded with results."""

import os
import platform
from importlib.metadata import version
from pathlib import Path


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of this package and of the given packages."""
    names = ("mixedne", *packages)
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def machine() -> str:
    """A description of the machine, without its host name."""
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
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
