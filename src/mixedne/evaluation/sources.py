"""Policies from anywhere: run folders, Python callables, Stable-Baselines3 files.

What is evaluated is a :class:`Source`: something that acts, with what is known of its
training, which becomes columns of the table.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.policies import Policy, load_policy

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
class Source:
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
    folder: Path | None = None
    """The run folder, if it came from one."""


def find_source(what: Any, *, trust_pickle: bool = False) -> Source:
    """A source from a path, a :class:`Policy` or any callable.

    Stable-Baselines3 files hold pickles, which run code of their maker's choice when loaded;
    they are refused without ``trust_pickle``.
    """
    if isinstance(what, Source):
        return what
    if isinstance(what, str | Path):
        return _from_path(Path(what), trust_pickle)
    if isinstance(what, Policy):
        return Source("policy", what, task=what.spec.task, sizes=_sizes(what))
    if callable(what):
        return Source(getattr(what, "__name__", type(what).__name__), what)
    raise InvalidInputError(f"a policy must be a path or a callable, not {type(what).__name__}")


def _from_path(path: Path, trust_pickle: bool) -> Source:
    if not path.exists():
        raise InvalidInputError(f"there is no policy at {path}")
    if path.is_file() and path.suffix == ".zip":
        return _from_stable_baselines(path, trust_pickle)
    policy = load_policy(path)
    folder = path if path.is_dir() else path.parent
    files = [folder / "policy.json", folder / "policy.safetensors"]
    if path.is_file():
        files = [path.with_suffix(".json"), path.with_suffix(".safetensors")]
    config = folder / "config.json"
    provenance: dict[str, Any] = {}
    if path.is_dir() and config.is_file():
        provenance = _read_provenance(config)
    return Source(
        name=path.resolve().name if path.is_dir() else path.stem,
        act=policy,
        provenance=provenance,
        task=policy.spec.task,
        sizes=_sizes(policy),
        fingerprint=_hash_files(files),
        folder=path if path.is_dir() else None,
    )


def _read_provenance(config: Path) -> dict[str, Any]:
    """What a run's configuration says of its training."""
    try:
        said = json.loads(config.read_text())
        said = {**said, "train_seed": said.get("seed")}
        return {
            name: None if said.get(name) is None else kind(said[name])
            for name, kind in PROVENANCE.items()
        }
    except (json.JSONDecodeError, UnicodeDecodeError, ValueError, TypeError, AttributeError):
        raise InvalidInputError(f"{config} is damaged: it is no run's configuration") from None


def _from_stable_baselines(path: Path, trust_pickle: bool) -> Source:
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
    model = getattr(stable_baselines3, algorithm).load(path, device="cpu")

    def act(observations: NDArray[np.float64]) -> NDArray[np.floating]:
        # Row by row: a batch would differ in the last bits from what Stable-Baselines3 does.
        # One thread: several would only wait for each other over a product this small.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return np.stack([model.predict(row, deterministic=True)[0] for row in observations])
        finally:
            torch.set_num_threads(threads)

    return Source(
        name=path.stem,
        act=act,
        provenance={"agent": f"sb3-{algorithm.lower()}"},
        sizes=(model.observation_space.shape[0], model.action_space.shape[0]),
        fingerprint=_hash_files([path]),
    )


def _stable_baselines_algorithm(path: Path) -> str:
    """Which algorithm's ``load`` reads the file; told from plain text in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
        module = data["policy_class"]["__module__"]
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError, TypeError, OSError):
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


def _hash_files(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
