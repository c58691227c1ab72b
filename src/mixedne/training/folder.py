"""The run folder: its files, its lock, and how it is opened for a run.

``config.json``         the full configuration, the command, the versions and the machine
``metrics.jsonl``       a line every ``metrics_every`` steps: see docs/algorithms.md
``policy.*``            the agent at the last checkpoint; ``adversary.*`` likewise; where these are
                        averages, ``policy-iterate.*`` and ``adversary-iterate.*``, too
``best/``               the same files for the best policy by the run's own evaluations
``policies/``           the same files for the last checkpoints, if they are kept
``checkpoint/``         the last two checkpoints, and the replay during training
``evaluation.parquet``  once evaluated
"""

import contextlib
import re
import shutil
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Self

from mixedne.config import Config
from mixedne.config.identity import command, from_json, run_name, to_json
from mixedne.errors import InvalidInputError
from mixedne.evaluation.runs import BEST, KEPT, kept_folders, kept_name, kept_steps
from mixedne.files import digest, read_json, unfinished_files, write_json
from mixedne.policies import NAMES, Policy, finish_saving, load_policy, policy_files, save_policy
from mixedne.versions import machine, versions

try:
    import fcntl
except ImportError:  # Windows: two processes in one folder are not noticed
    fcntl = None  # type: ignore[assignment]

FORMAT_VERSION = 1
"""The format_version of ``config.json``."""

_STEMS = "|".join(["config", "best", *NAMES])
"""Stems of files that are written under a temporary name first, as a regular expression."""

_PACKAGES = ("jax", "jaxlib", "optax", "numpy", "gymnasium", "mujoco")


class RunFolder:
    """A run's folder, which one process can lock."""

    def __init__(self, path: Path) -> None:
        """Set the paths; nothing is created yet."""
        self.path = path
        self.config = path / "config.json"
        self.metrics = path / "metrics.jsonl"
        self.checkpoints = path / "checkpoint"
        self.replay = self.checkpoints / "replay.f32"
        self._lock: IO[bytes] | None = None
        self._is_new_run = self._is_new_folder = False

    @classmethod
    def default(cls, config: Config, *, resume: bool) -> Self:
        """A new folder ``runs/NAME``, ``runs/NAME-2``, …; with ``resume``, the newest of these."""
        first = Path("runs") / run_name(vars(config))
        numbered = re.compile(re.escape(first.name) + r"(?:-([2-9]|[1-9]\d+))?")
        matches = [numbered.fullmatch(path.name) for path in first.parent.glob("*")]
        newest = max((int(match[1] or 1) for match in matches if match), default=0)

        def path(number: int) -> Path:
            return first if number == 1 else first.with_name(f"{first.name}-{number}")

        if resume:
            return cls(path(max(newest, 1)))
        while True:  # until no other process has taken the number
            newest += 1
            folder = cls(path(newest))
            with contextlib.suppress(FileExistsError):
                folder._make(folder.path, exist_ok=False)
                folder._is_new_folder = True
                return folder

    def open(self, config: Config, *, resume: bool) -> None:
        """Create the folder, or continue its run; raises if another process is training there."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInputError(f"the output folder {self.path} is a file")
        is_new_run = not self.path.is_dir() or self._is_bare()
        if not is_new_run:
            self._check(config, resume=resume)
        self._is_new_folder |= not self.path.exists()
        self._make(self.checkpoints, exist_ok=True)
        self._take_lock()
        self._is_new_run = is_new_run
        self._clear_up()
        if is_new_run:
            document = {"format_version": FORMAT_VERSION, **to_json(config)}
            document |= {"command": command(config), "machine": machine()}
            write_json(self.config, {**document, "versions": versions(*_PACKAGES)})

    def close(self, *, discard: bool = False) -> None:
        """Unlock the folder; ``discard`` removes what a failed start has created."""
        if discard and self._is_new_run:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
            shutil.rmtree(self.path / "tensorboard", ignore_errors=True)
            for path in (self.config, self.metrics):
                path.unlink(missing_ok=True)
        if discard and self._is_new_folder:
            with contextlib.suppress(OSError):  # it contains other files, too
                self.path.rmdir()
        if self._lock is not None:
            self._lock.close()

    def has_policies(self, names: Iterable[str]) -> bool:
        """Whether there is an undamaged policy under each of these names."""
        try:
            for name in names:
                load_policy(self.path, name)
        except InvalidInputError:
            return False
        return True

    def write_policies(self, policies: Mapping[str, Policy], step: int, place: str = "") -> None:
        """Write the policies of a step under their names, into the folder or a subfolder."""
        for name, policy in policies.items():
            save_policy(self.path / place, policy, name, step)

    @property
    def has_best(self) -> bool:
        """Whether an evaluation has selected a best policy; its files may have been lost."""
        return (self.path / BEST).is_dir()

    def write_best(self, policies: Mapping[str, Policy], step: int, mean_return: float) -> None:
        """Write the policies that are the best so far."""
        self.write_policies(policies, step, BEST)
        document: dict[str, Any] = {"step": step, "mean_return": mean_return}
        document["format_version"] = FORMAT_VERSION
        document["safetensors_sha256"] = digest(self.path / BEST / "policy.safetensors")
        write_json(self.path / BEST / "best.json", document)

    def keep_policies(self, policies: Mapping[str, Policy], step: int, count: int) -> None:
        """Keep the policies of this step and of the latest before it, ``count`` in all."""
        if count == 0:
            return
        self.write_policies(policies, step, f"{KEPT}/{kept_name(step)}")
        # Those of later steps are from before the run was set back; it will reach them again.
        oldest = [earlier for earlier in kept_steps(self.path) if earlier <= step][-count:][0]
        folders = kept_folders(self.path).items()  # including half-removed ones
        for path in (path for earlier, path in folders if earlier < oldest):
            for file in (file for name in NAMES for file in policy_files(path, name)):
                file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # results of an evaluation stay
                path.rmdir()

    def _clear_up(self) -> None:
        """Remove leftovers of killed processes; complete what can be completed."""
        for place in (self.path, self.path / BEST, *kept_folders(self.path).values()):
            for name in NAMES:
                finish_saving(place, name)
            for path in unfinished_files(place, _STEMS):
                path.unlink(missing_ok=True)
        for path in unfinished_files(self.checkpoints, ".+"):
            path.unlink(missing_ok=True)

    def _make(self, path: Path, *, exist_ok: bool) -> None:
        try:
            path.mkdir(parents=True, exist_ok=exist_ok)
        except FileExistsError:
            raise
        except OSError as error:
            raise InvalidInputError(
                f"the output folder {self.path} cannot be made: {error.strerror}"
            ) from None

    def _is_bare(self) -> bool:
        """Whether it is empty, or contains only leftovers of a start that was killed at once."""
        left = {self.checkpoints, self.checkpoints / "lock", *unfinished_files(self.path, _STEMS)}
        return all(path in left for path in self.path.rglob("*"))

    def _check(self, config: Config, *, resume: bool) -> None:
        """Raise if the folder does not contain this run."""
        begun, its_versions = _read_config(self.config)
        if not resume:
            raise InvalidInputError(
                f"the folder {self.path} holds a run already: choose another with out=, or "
                "continue that run with resume=True"
            )
        for name, value in to_json(config).items():
            if begun[name] != value:
                raise InvalidInputError(
                    f"the run in {self.path} was started with {name} = {begun[name]!r}, "
                    f"not {value!r}: it can only continue as it began"
                )
        if its_versions != versions(*_PACKAGES):
            warnings.warn(
                f"the run in {self.path} began with other versions of its packages: it may not "
                "end with the same numbers as one that was not interrupted",
                stacklevel=2,
            )

    def _take_lock(self) -> None:
        if fcntl is None:
            return
        self._lock = (self.checkpoints / "lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            message = f"another process is training in {self.path} at this moment"
            raise InvalidInputError(message) from None
        except OSError:  # the file system has no locks
            return


def _read_config(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration in a run's ``config.json``, and its versions."""
    if not path.is_file():
        raise InvalidInputError(
            f"the folder {path.parent} is not empty and holds no run: choose another"
        )
    found = read_json(path)
    try:
        version = found["format_version"]
        # Fields that the version of that time did not have get their defaults.
        if version == FORMAT_VERSION:
            return to_json(from_json(found)), found["versions"]
    except (KeyError, TypeError, AttributeError, OverflowError):
        raise InvalidInputError(f"{path} is no run's configuration") from None
    raise InvalidInputError(f"{path} has the format_version {version!r}, not {FORMAT_VERSION}")
