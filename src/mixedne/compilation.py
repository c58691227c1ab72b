"""Setup of JAX's persistent compilation cache.

The command line and the workers of studies enable it; importing the package does not. JAX reads
the settings from the environment when it is imported; settings of the user take precedence.
A cached program is the one that would be compiled again, so results are bitwise the same.
"""

import contextlib
import os
from pathlib import Path

MAX_SIZE = 500_000_000
"""Maximum size in bytes; the least recently used programs are removed. A run needs about 10⁶."""


def cache_folder() -> Path | None:
    """The user's own folder for compiled programs of JAX; None if it cannot be created.

    The programs are executables: they are never read from a study folder, which others may have
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
    """Environment variables that enable the cache; empty if the user has chosen another cache."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ or (folder := cache_folder()) is None:
        return {}
    _remove_halves(folder)
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_COMPILATION_CACHE_MAX_SIZE": str(MAX_SIZE),  # also enables locking between processes
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",  # starting compiles many small programs
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def use_compilation_cache() -> None:
    """Enable the cache for this process; JAX must not have been imported yet."""
    for name, value in cache_settings().items():
        os.environ.setdefault(name, value)


def _remove_halves(folder: Path) -> None:
    """Remove programs whose writer was killed, which lack the file with their last use."""
    from filelock import FileLock, Timeout

    with contextlib.suppress(OSError, Timeout), FileLock(folder / ".lockfile", timeout=1):
        for path in folder.glob("*-cache"):
            if not path.with_name(f"{path.name.removesuffix('-cache')}-atime").exists():
                path.unlink(missing_ok=True)
