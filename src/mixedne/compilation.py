"""Compiled programs that outlive their process: JAX's persistent compilation cache, in one place.

The command line and the workers of studies switch it on; importing the package does not. JAX reads
the settings from the environment when it is imported, and what the user has set there counts.
A program from the cache is the one that would be compiled again: results are the same to the bit.
"""

import contextlib
import os
from pathlib import Path

MAX_SIZE = 500_000_000
"""Bytes; programs that were not used for the longest time make room. A run's take about 10⁶."""


def cache_folder() -> Path | None:
    """The user's own folder for programs that JAX has compiled; None if there can be none.

    The programs are executables: they never come from a study folder, which others may have
    written, nor from a folder that others can write to.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home and Path(home).is_absolute() else Path("~/.cache").expanduser()
    path = base / "mixedne" / "programs"
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (path.parent, path):
            folder.mkdir(mode=0o700, exist_ok=True)
            status = folder.stat()
            if status.st_uid != os.getuid() or status.st_mode & 0o022:
                return None
    except (OSError, RuntimeError, AttributeError):  # read-only, no home at all, or Windows
        return None
    return path


def cache_settings() -> dict[str, str]:
    """Environment variables that switch the cache on; none where the user has chosen another."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ or (folder := cache_folder()) is None:
        return {}
    _remove_halves(folder)
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_COMPILATION_CACHE_MAX_SIZE": str(MAX_SIZE),  # also makes processes take turns
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",  # a start has many small programs
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def use_compilation_cache() -> None:
    """Switch the cache on for this process; JAX must not have been imported yet."""
    for name, value in cache_settings().items():
        os.environ.setdefault(name, value)


def _remove_halves(folder: Path) -> None:
    """Remove programs whose writer was killed: the note of their last use is written after them."""
    from filelock import FileLock, Timeout

    with contextlib.suppress(OSError, Timeout), FileLock(folder / ".lockfile", timeout=1):
        for path in folder.glob("*-cache"):
            if not path.with_name(f"{path.name.removesuffix('-cache')}-atime").exists():
                path.unlink(missing_ok=True)
