"""Policies from anywhere: run folders, Python callables, Stable-Baselines3 files.

What is evaluated is a :class:`PolicyHandle`: something that acts, with what is known of its
training, which becomes columns of the table.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, parse_json
from mixedne.policies import Policy, load_policy, policy_files

PROVENANCE = {
    "agent": str,
    "solver": str,
    "formulation": str,
    "delta": float,
    "preset": str,
    "train_seed": int,
    "steps": int,
}
"""Columns that say how a policy was trained; null where it is not known."""

Act = Callable[..., NDArray[np.floating]]


@dataclass(frozen=True)
class PolicyHandle:
    """A policy to be evaluated."""

    name: str
    """The column ``run``."""
    act: Act
    """observations (n, d) → actions (n, k), in the task's own units."""
    provenance: dict[str, Any] = field(default_factory=dict)
    task: str | None = None
    """The task that it was trained for, where that is known."""
    sizes: tuple[int, int] | None = None
    """Numbers of observations and actions, where they are known."""
    fingerprint: str | None = None
    """Hash of the files; None for callables, whose evaluation cannot be resumed."""
    path: Path | None = None
    """The run folder or file that it came from."""

    @property
    def label(self) -> str | None:
        """The column ``policy``: tells a run's policies apart after it was trained anew."""
        return None if self.fingerprint is None else self.fingerprint[:16]

    def acting(self, *, stochastic: bool) -> str | None:
        """The column ``acting``: what acts, where that is known."""
        if isinstance(self.act, Policy):
            return "stochastic" if stochastic and self.act.is_stochastic else "mean"
        return None if self.fingerprint is None else "mean"


def find_policies(what: Any, *, trust_pickle: bool = False) -> list[PolicyHandle]:
    """Sources from one policy, several, or a dictionary of them by name.

    A policy is a path, a :class:`Policy`, or any callable. Stable-Baselines3 files hold
    pickles, which run code of their maker's choice when loaded; they are refused without
    ``trust_pickle``.
    """
    if isinstance(what, Mapping):
        found = [find_policy(policy, trust_pickle=trust_pickle) for policy in what.values()]
        return [replace(handle, name=str(name)) for name, handle in zip(what, found, strict=True)]
    many = isinstance(what, Sequence) and not isinstance(what, str)
    found = [find_policy(x, trust_pickle=trust_pickle) for x in (what if many else [what])]
    if not found:
        raise InvalidInputError("there must be at least one policy")
    return _with_distinct_names(found)


def find_policy(what: Any, *, trust_pickle: bool = False) -> PolicyHandle:
    """The handle of one policy; see :func:`find_policies`."""
    if isinstance(what, PolicyHandle):
        return what
    if isinstance(what, str | Path):
        return _from_path(Path(what), trust_pickle)
    if isinstance(what, Policy):
        return PolicyHandle("policy", what, task=what.spec.task, sizes=_sizes(what))
    if callable(what):
        return PolicyHandle(getattr(what, "__name__", type(what).__name__), what)
    raise InvalidInputError(f"a policy must be a path or a callable, not {type(what).__name__}")


def _with_distinct_names(handles: list[PolicyHandle]) -> list[PolicyHandle]:
    """Rows are told apart by ``run``: lengthen equal names by their folders, or number them."""
    given = [handle.name for handle in handles]
    names = list(given)
    for i, handle in enumerate(handles):
        if given.count(handle.name) > 1 and handle.path is not None:
            names[i] = _readable("/".join(handle.path.resolve().parts[-2:]))
    for i, name in enumerate(names):
        if name in names[:i]:
            names[i] = f"{name}-{names[: i + 1].count(name)}"
    return [replace(handle, name=name) for handle, name in zip(handles, names, strict=True)]


def _from_path(path: Path, trust_pickle: bool) -> PolicyHandle:
    if not path.exists():
        raise InvalidInputError(f"there is no policy at {path}")
    if path.is_file() and path.suffix == ".zip":
        return _from_stable_baselines(path, trust_pickle)
    policy = load_policy(path)
    config = path / "config.json"
    return PolicyHandle(
        name=_readable(path.resolve().name if path.is_dir() else path.stem),
        act=policy,
        provenance=_read_provenance(config) if config.is_file() else {},
        task=policy.spec.task,
        sizes=_sizes(policy),
        fingerprint=_hash_files(policy_files(path)),
        path=path,
    )


def _readable(name: str) -> str:
    """A file's name as proper text, whatever bytes it is made of."""
    return os.fsencode(name).decode("utf-8", "replace")


def _read_provenance(config: Path) -> dict[str, Any]:
    """What a run's configuration says of its training."""
    try:
        said = parse_json(config.read_text())
        said = {**said, "train_seed": said.get("seed")}
        return {
            name: None if said.get(name) is None else kind(said[name])
            for name, kind in PROVENANCE.items()
        }
    except (ValueError, TypeError, AttributeError):
        raise InvalidInputError(f"{config} is damaged: it is no run's configuration") from None


def _from_stable_baselines(path: Path, trust_pickle: bool) -> PolicyHandle:
    """A Stable-Baselines3 policy; its mean acts, one observation at a time, as there."""
    if not trust_pickle:
        raise InvalidInputError(
            f"{path} is a Stable-Baselines3 file, which can run any code when it is loaded: "
            "pass --trust-pickle if you trust its maker"
        )
    algorithm = _stable_baselines_algorithm(path)
    try:
        import stable_baselines3
        import torch
    except ImportError:
        raise InvalidInputError(
            "Stable-Baselines3 files need the extra: pip install 'mixedne[sb3]'"
        ) from None
    try:
        model = getattr(stable_baselines3, algorithm).load(path, device="cpu")
    except Exception as error:  # whatever a strange file makes the loader raise
        reason = str(error).strip().split("\n")[0]
        raise InvalidInputError(f"{path} cannot be loaded: {reason or type(error)}") from None
    spaces = (model.observation_space, model.action_space)
    shapes: list[Any] = [getattr(space, "shape", None) or () for space in spaces]
    if not all(len(shape) == 1 for shape in shapes):
        raise InvalidInputError(f"{path} holds a policy whose observations or actions are not flat")

    def act(observations: NDArray[np.float64]) -> NDArray[np.floating]:
        # Row by row: a batch would differ in the last bits from what Stable-Baselines3 does.
        # One thread: several would only wait for each other over a product this small.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return np.stack([model.predict(row, deterministic=True)[0] for row in observations])
        finally:
            torch.set_num_threads(threads)

    return PolicyHandle(
        name=_readable(path.stem),
        act=act,
        provenance={"agent": f"sb3-{algorithm.lower()}"},
        sizes=(shapes[0][0], shapes[1][0]),
        fingerprint=_hash_files([path]),
        path=path,
    )


def _stable_baselines_algorithm(path: Path) -> str:
    """Which algorithm's ``load`` reads the file; told from plain text in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
        module = str(data["policy_class"]["__module__"])
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, RecursionError):
        raise InvalidInputError(f"{path} is damaged or no Stable-Baselines3 file") from None
    if module.startswith("stable_baselines3.sac"):
        return "SAC"
    if module.startswith("stable_baselines3.td3"):  # DDPG's policies are TD3's
        return "TD3"
    if module.startswith("stable_baselines3.common"):
        return "PPO" if "clip_range" in data else "A2C"
    raise InvalidInputError(f"{path} holds a policy of {module}, which is not supported")


def _sizes(policy: Policy) -> tuple[int, int]:
    return policy.spec.observation_size, policy.spec.action_size


def _hash_files(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
