"""Keeping MuJoCo's and Gymnasium's own warnings and log files away from the user.

MuJoCo prints warnings and appends them to a file in the working folder; Gymnasium warns of
versions that are not the newest. Both are silenced around the calls that this package makes,
and only there: no warning filter or handler outlives a call.
"""

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import mujoco


class _NoMujocoWarnings:
    """Silences MuJoCo's warnings, and with them its log file, inside a ``with`` block.

    MuJoCo has one handler for the whole process. Blocks may nest and overlap between
    threads: the handler found by the first is put back by the last.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._handler: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._handler = mujoco.get_mju_user_warning()
                mujoco.set_mju_user_warning(_ignore)
            self._depth += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                mujoco.set_mju_user_warning(self._handler)


def _ignore(message: str) -> None:
    """Drop a warning of MuJoCo's."""


no_mujoco_warnings = _NoMujocoWarnings()
"""The process's one silence: ``with no_mujoco_warnings: …``."""


@contextlib.contextmanager
def no_construction_warnings() -> Iterator[None]:
    """Silence what making an environment says: MuJoCo's compiler and Gymnasium's versions."""
    with no_mujoco_warnings, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(\x1b\[\d+m)?WARN: ")  # Gymnasium's logger
        yield
