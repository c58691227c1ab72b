"""The run folder: its files, who may write to it, and how it is opened for a run.

``config.json``         the full configuration, the command, the versions and the machine
``metrics.jsonl``       a line every so many steps: see docs/algorithms.md
``policy.*``            the agent, once trained; ``adversary.*`` likewise
``checkpoint/``         the last two checkpoints, and while training the replay
``evaluation.parquet``  once evaluated
"""

import fcntl
import json
import math
import re
import warnings
from pathlib import Path
from typing import IO, Any

from mixedne.config import Config
from mixedne.config.identity import command, from_json, to_json
from mixedne.errors import InvalidInputError
from mixedne.files import write_beside
from mixedne.policies import policy_files, save_policy
from mixedne.types import Players
from mixedne.versions import machine, versions

FORMAT_VERSION = 1
"""Of ``config.json`` and of every line of ``metrics.jsonl``."""

_PACKAGES = ("mixedne", "jax", "jaxlib", "optax", "numpy", "gymnasium", "mujoco")


_UNFINISHED = re.compile(r"\.(config|policy|adversary)-[^.]+\.(json|safetensors)")


class RunFolder:
    """A run's folder, held by one process."""

    def __init__(self, path: Path) -> None:
        """Paths alone; nothing is made yet."""
        self.path = path
        self.config = path / "config.json"
        self.metrics = path / "metrics.jsonl"
        self.checkpoints = path / "checkpoint"
        self.replay = self.checkpoints / "replay.f32"
        self._lock: IO[bytes] | None = None

    def open(self, config: Config, *, resume: bool) -> None:
        """Make the folder, or take up the run in it; no other process may be at it."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInputError(f"the output folder {self.path} is a file")
        exists = self.path.is_dir() and not self._is_bare()
        if exists:
            self._check(config, resume=resume)
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInputError(
                f"the output folder {self.path} cannot be made: {error.strerror}"
            ) from None
        self._hold()
        for path in self._unfinished():
            path.unlink(missing_ok=True)
        if not exists:
            self._write_config(config)

    def close(self) -> None:
        """Let other processes at it."""
        if self._lock is not None:
            self._lock.close()

    def metrics_size(self) -> int:
        """How many bytes of metrics there are."""
        return self.metrics.stat().st_size if self.metrics.is_file() else 0

    def cut_metrics(self, size: int) -> None:
        """Forget the lines of metrics after the first ``size`` bytes."""
        if self.metrics_size() > size:
            with self.metrics.open("ab") as file:
                file.truncate(size)

    def write_metrics(self, *lines: dict[str, Any]) -> int:
        """Add lines of metrics; the size of the file afterwards. What JSON lacks is null."""
        text = "".join(
            json.dumps({"format_version": FORMAT_VERSION, **_finite(line)}) + "\n" for line in lines
        )
        with self.metrics.open("ab") as file:
            file.write(text.encode())
            return file.tell()

    def write_policies(self, policies: Players, *, again: bool) -> None:
        """Write the players that exist; those that are there already only if ``again``."""
        for name, policy in zip(("policy", "adversary"), policies, strict=True):
            is_there = all(file.is_file() for file in policy_files(self.path, name))
            if policy is not None and (again or not is_there):
                save_policy(self.path, policy, name)

    def _is_bare(self) -> bool:
        """Whether it holds nothing, or what is left of a start that was killed at once."""
        left = {self.checkpoints, self.checkpoints / "lock", *self._unfinished()}
        return set(self.path.rglob("*")) <= left

    def _unfinished(self) -> list[Path]:
        """What ``write_beside`` leaves of files whose writer was killed."""
        return [path for path in self.path.iterdir() if _UNFINISHED.fullmatch(path.name)]

    def _check(self, config: Config, *, resume: bool) -> None:
        """Refuse a folder that is not this run's."""
        found = read_config(self.path)
        if not resume:
            raise InvalidInputError(
                f"the folder {self.path} holds a run already: choose another with --out, or go on "
                "with it by --resume"
            )
        began = to_json(from_json(found))
        for name, value in to_json(config).items():
            if began[name] != value:
                raise InvalidInputError(
                    f"the run in {self.path} was started with {name} = {began[name]!r}, "
                    f"not {value!r}: it can only go on as it began"
                )
        if found.get("versions") != versions(*_PACKAGES):
            warnings.warn(
                f"the run in {self.path} began with other versions of its packages: it may not "
                "end with the same numbers as one that was not interrupted",
                stacklevel=2,
            )

    def _hold(self) -> None:
        self._lock = (self.checkpoints / "lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InvalidInputError(
                f"another process is training in {self.path} at this moment"
            ) from None

    def _write_config(self, config: Config) -> None:
        document = {
            "format_version": FORMAT_VERSION,
            **to_json(config),
            "command": command(config),
            "machine": machine(),
            "versions": versions(*_PACKAGES),
        }
        with write_beside(self.config) as temporary:
            temporary.write_text(json.dumps(document, indent=2) + "\n")


def _finite(line: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in line.items()
    }


def read_config(path: Path) -> dict[str, Any]:
    """What a run folder's ``config.json`` says."""
    try:
        found = json.loads((path / "config.json").read_text())
        if found["format_version"] != FORMAT_VERSION:
            raise InvalidInputError(
                f"{path}/config.json has the format_version {found['format_version']!r}, "
                f"not {FORMAT_VERSION}"
            )
    except InvalidInputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InvalidInputError(
            f"the folder {path} is not empty and holds no run: choose another"
        ) from None
    return dict(found)
