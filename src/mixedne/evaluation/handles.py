"""Policies from run folders, Python callables, ONNX files and Stable-Baselines3 files.

A :class:`PolicyHandle` is a policy to be evaluated, with what is known about its training, which
becomes columns of the table. A :class:`PolicyBatch` runs policies in many worlds, with one call
per policy and step.
"""

import contextlib
import hashlib
import inspect
import json
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from mixedne.errors import InvalidInputError, first_line, optional_import
from mixedne.evaluation.onnx import load_onnx
from mixedne.evaluation.runs import (
    PROVENANCE,
    as_provenance,
    policy_folder,
    read_provenance,
    run_of,
)
from mixedne.files import readable
from mixedne.policies import Policy, load_policy, policy_files
from mixedne.shifts.channels import POLICY, DrawStream, episode_generator
from mixedne.zoo import is_zoo_name, zoo_entry


@dataclass(frozen=True)
class PolicyHandle:
    """A policy to be evaluated."""

    name: str
    """The policy's name, the value of the column ``run``."""
    act: Callable[..., NDArray[np.floating]]
    """observations (n, d) → actions (n, k), in the task's own units."""
    provenance: dict[str, Any] = field(default_factory=dict)
    task: str | None = None
    """The task that the policy was trained for, if known."""
    sizes: tuple[int, int] | None = None
    """Dimensions of observations and actions, if known."""
    fingerprint: str | None = None
    """Hash of the policy's files; None for callables, whose evaluation cannot be resumed."""
    path: Path | None = None
    """The run folder or file that the policy was loaded from."""
    opponent: Policy | None = None
    """The adversary of the policy's run, if the task is a two-player game."""

    @property
    def label(self) -> str | None:
        """The value of the column ``policy``, which changes when a run is trained again."""
        return None if self.fingerprint is None else self.fingerprint[:16]

    def acting(self, *, stochastic: bool) -> str | None:
        """The value of the column ``acting``: how actions are chosen, if known."""
        if isinstance(self.act, Policy):
            return "stochastic" if stochastic and self.act.is_stochastic else "mean"
        return None if self.fingerprint is None else "mean"


def find_policies(
    what: Any, *, at: str | int = "last", trust_pickle: bool = False
) -> list[PolicyHandle]:
    """Handles for one policy, several, or a dictionary of policies by name.

    A policy is a path, a run returned by ``train``, a :class:`Policy`, a Stable-Baselines3 model
    or anything with the same ``predict``, or any callable. ``at`` selects a policy of a run
    folder: the ``"last"``, the ``"best"``, or that of a step. Stable-Baselines3 files contain
    pickles, which can run arbitrary code when loaded; they are refused without ``trust_pickle``.
    """
    many = isinstance(what, Mapping | Sequence) and not isinstance(what, str)
    given = what.values() if isinstance(what, Mapping) else what if many else [what]
    found = [find_policy(policy, at=at, trust_pickle=trust_pickle) for policy in given]
    if not found:
        raise InvalidInputError("there must be at least one policy")
    if isinstance(what, Mapping):
        return [replace(handle, name=str(name)) for name, handle in zip(what, found, strict=True)]
    return _with_distinct_names(found)


def find_policy(what: Any, *, at: str | int = "last", trust_pickle: bool = False) -> PolicyHandle:
    """The handle of one policy; see :func:`find_policies`."""
    if isinstance(what, PolicyHandle) and at == "last":
        return what
    path = what if callable(what) else getattr(what, "path", what)  # train and export return one
    if isinstance(path, str | Path):
        try:
            return _from_path(policy_folder(Path(path), at), trust_pickle)
        except OSError as error:  # as of a name that is too long
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
    if at != "last":
        raise InvalidInputError(f"at={at!r} needs a run folder, not {type(what).__name__}")
    if isinstance(what, Policy):
        task, sizes, fingerprint = what.spec.task, _sizes(what), _hash_policy(what)
        name = f"policy-{fingerprint[:8]}"  # tables tell runs apart by name
        return PolicyHandle(name, what, task=task, sizes=sizes, fingerprint=fingerprint)
    if callable(getattr(what, "predict", None)):
        return _from_model(what)
    if callable(what):
        return PolicyHandle(getattr(what, "__name__", type(what).__name__), what)
    raise InvalidInputError(
        "a policy must be a path, a run, a callable or have a method predict, "
        f"not {type(what).__name__}"
    )


def _with_distinct_names(handles: list[PolicyHandle]) -> list[PolicyHandle]:
    """Make names unique, since ``run`` identifies rows: add folders to equal names, or numbers."""
    given = [handle.name for handle in handles]
    names = list(given)
    for i, handle in enumerate(handles):
        if given.count(handle.name) > 1 and handle.path is not None:
            names[i] = readable("/".join(handle.path.resolve().parts[-2:]))
    for i, name in enumerate(names):
        if name in names[:i]:
            names[i] = f"{name}-{names[: i + 1].count(name)}"
    return [replace(handle, name=name) for handle, name in zip(handles, names, strict=True)]


def _from_path(path: Path, trust_pickle: bool) -> PolicyHandle:
    if is_zoo_name(path):
        return _from_zoo(path)
    if not path.exists():
        raise InvalidInputError(f"there is no policy at {path}")
    if path.is_file() and path.suffix == ".zip":
        return _from_stable_baselines(path, trust_pickle)
    if path.is_file() and path.suffix == ".onnx":
        return _from_onnx(path)
    if path.is_file() and path.suffix not in (".json", ".safetensors"):
        kinds = ".json, .safetensors, .onnx or .zip"
        raise InvalidInputError(f"{path} is no policy: its name must end in {kinds}")
    files = [file for file in policy_files(path) if file.is_file()]
    before, policy = _hash_files(files), load_policy(path)
    if policy.spec.attack is not None:
        raise InvalidInputError(f"{path} is an attacker and no policy: pass it as attack=")
    run, name = run_of(path) if path.is_dir() else (None, path.stem)
    opponent = None
    is_game = path.is_dir() and str(policy.spec.task).startswith("pettingzoo:")
    if is_game and (path / "adversary.json").is_file():
        opponent = load_policy(path, "adversary")
        files += policy_files(path, "adversary")
    handle = PolicyHandle(
        name=readable(name),
        act=policy,
        provenance={} if run is None else read_provenance(run, path),
        task=policy.spec.task,
        sizes=_sizes(policy),
        fingerprint=_hash_files(files),
        path=path,
        opponent=opponent,
    )
    if _hash_files(policy_files(path)) == before:
        return handle
    return _from_path(path, trust_pickle)  # a run in training has replaced them in the meantime


def _from_zoo(path: Path) -> PolicyHandle:
    """A policy of the zoo; it has no run folder for results."""
    file, entry = zoo_entry(path)
    own = {name: entry.get(name) for name in PROVENANCE}
    return replace(find_policy(file), provenance=as_provenance(own), path=None)


def _sizes(policy: Policy) -> tuple[int, int]:
    return policy.spec.observation_size, policy.spec.action_size


def _hash_policy(policy: Policy) -> str:
    """A fingerprint of a policy in memory."""
    parts = [json.dumps(asdict(policy.spec), sort_keys=True).encode()]
    for name, tensor in sorted(policy.tensors.items()):
        parts += [name.encode(), tensor.tobytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _hash_files(files: Iterable[Path]) -> str:
    whole = ((file.suffix, file.read_bytes()) for file in files if file.is_file())
    # Trailing white space in the description, as editors leave it, does not change the policy.
    told = (text.rstrip() + b"\n" if kind == ".json" else text for kind, text in whole)
    return hashlib.sha256(b"".join(told)).hexdigest()


def _from_onnx(path: Path) -> PolicyHandle:
    """An ONNX policy; files exported by this package include their task and training."""
    policy = load_onnx(path)
    try:
        provenance = as_provenance(policy.training)
    except (ValueError, TypeError, OverflowError):
        raise InvalidInputError(f"{path} is damaged: it misstates its training") from None
    return PolicyHandle(
        name=readable(path.stem),
        act=policy,
        provenance=provenance,
        task=policy.task,
        sizes=policy.sizes,
        fingerprint=policy.fingerprint,
        path=path,
    )


def _from_stable_baselines(path: Path, trust_pickle: bool) -> PolicyHandle:
    """A Stable-Baselines3 policy, deterministic and one observation at a time, as there."""
    if not trust_pickle:
        raise InvalidInputError(
            f"{path} is a Stable-Baselines3 file, which can run any code when it is loaded: "
            "pass trust_pickle=True if you trust its maker"
        )
    algorithm = _stable_baselines_algorithm(path)
    words = "Stable-Baselines3 files need the extra: pip install 'mixedne[sb3]'"
    stable_baselines3 = optional_import("stable_baselines3", words)
    try:
        model = getattr(stable_baselines3, algorithm).load(path, device="cpu")
    except Exception as error:  # a malformed file can make the loader raise anything
        raise InvalidInputError(f"{path} cannot be loaded: {first_line(error)}") from None
    fingerprint = _hash_files([path])
    return replace(_from_model(model), name=readable(path.stem), fingerprint=fingerprint, path=path)


def _from_model(model: Any) -> PolicyHandle:
    """A Stable-Baselines3 model, or anything with its ``predict``, acting deterministically."""
    kind = type(model)
    spaces = [getattr(model, f"{name}_space", None) for name in ("observation", "action")]
    shapes: list[Any] = [getattr(space, "shape", None) for space in spaces]
    # A space of several parts has no shape; a model without spaces may fit.
    flat = [shape is not None and len(shape) == 1 for shape in shapes]
    if not all(is_flat or space is None for is_flat, space in zip(flat, spaces, strict=True)):
        raise InvalidInputError(
            f"the policy {kind.__name__} has observations or actions that are not flat"
        )
    predict, options = model.predict, {}
    with contextlib.suppress(TypeError, ValueError):  # no signature to look at
        if "deterministic" in inspect.signature(predict).parameters:
            options = {"deterministic": True}
    normaliser = getattr(model, "get_vec_normalize_env", lambda: None)()

    def act_once(observation: NDArray[np.float64]) -> Any:
        seen = observation if normaliser is None else normaliser.normalize_obs(observation)
        given = predict(seen, **options)
        action, state = (*given, None)[:2] if isinstance(given, tuple) else (given, None)
        if state is not None:
            raise InvalidInputError(
                f"the policy {kind.__name__} is recurrent, which is not supported: "
                "its state would be forgotten in every step"
            )
        return action

    def act(observations: NDArray[np.float64]) -> NDArray[np.floating]:
        # Row by row: a batch would differ in the last bits from what Stable-Baselines3 does.
        # One thread: several would only wait for each other over a product this small.
        torch = sys.modules.get("torch")
        threads = None if torch is None else torch.get_num_threads()
        try:
            if torch is not None:
                torch.set_num_threads(1)
            return np.stack([act_once(row) for row in observations])
        finally:
            if torch is not None:
                torch.set_num_threads(threads)

    is_stable_baselines = kind.__module__.startswith("stable_baselines3.")
    return PolicyHandle(
        name=kind.__name__,
        act=act,
        provenance={"agent": f"sb3-{kind.__name__.lower()}"} if is_stable_baselines else {},
        sizes=None if None in shapes else (shapes[0][0], shapes[1][0]),
    )


def _stable_baselines_algorithm(path: Path) -> str:
    """The algorithm whose ``load`` reads the file, determined from plain text in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
        module = str(data["policy_class"]["__module__"])
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, RecursionError):
        raise InvalidInputError(f"{path} is damaged or no Stable-Baselines3 file") from None
    package, _, rest = module.partition(".")
    on_policy = "PPO" if "clip_range" in data else "A2C"
    algorithms = {"sac": "SAC", "td3": "TD3", "common": on_policy}  # DDPG's policies are TD3's
    found = algorithms.get(rest.partition(".")[0]) if package == "stable_baselines3" else None
    if found is None:
        raise InvalidInputError(f"{path} holds a policy of {module}, which is not supported")
    return found


def one_blas_thread(handles: Sequence[PolicyHandle]) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread while external policies act.

    Their matrix products are small, and BLAS threads would busy-wait for each other on cores that
    the physics needs. For this package's own policies it makes no difference.
    """
    if all(isinstance(handle.act, Policy) for handle in handles):
        return nullcontext()
    return ThreadpoolController().limit(limits=1, user_api="blas")


class PolicyBatch:
    """The policies of a chunk; each is called once per step, with all of its worlds."""

    def __init__(
        self,
        handles: Sequence[PolicyHandle],
        of_world: Sequence[int],
        seeds: Sequence[int],
        task: str,
        action_size: int,
        stochastic: bool,
    ) -> None:
        """``of_world`` and ``seeds`` hold each world's policy index and episode seed."""
        self._handles, self._of_world = handles, np.asarray(of_world)
        self._task, self._action_size = task, action_size
        # Each world has its own normals, which depend only on its episode's seed and the step.
        generators = [episode_generator(seed, POLICY) for seed in seeds if stochastic]
        normal = np.random.Generator.standard_normal
        self._stream = DrawStream(generators, action_size, normal) if stochastic else None

    def act(
        self, active: NDArray[np.intp], observations: NDArray[np.float64]
    ) -> NDArray[np.floating]:
        """Actions for the active worlds; must be called once per step."""
        noise = None if self._stream is None else self._stream.draw(active)
        if len(self._handles) == 1:
            return self._ask(self._handles[0], observations, noise)
        owner, parts = self._of_world[active], {}
        for number in np.unique(owner):
            mine = owner == number
            own_noise = None if noise is None else noise[mine]
            parts[number] = self._ask(self._handles[number], observations[mine], own_noise)
        actions = np.empty((len(active), self._action_size), np.result_type(*parts.values()))
        for number, part in parts.items():
            actions[owner == number] = part
        return actions

    def _ask(
        self,
        handle: PolicyHandle,
        observations: NDArray[np.float64],
        noise: NDArray[np.float64] | None,
    ) -> NDArray[np.floating]:
        policy = handle.act
        if noise is not None and isinstance(policy, Policy) and policy.is_stochastic:
            given = policy(observations, noise)
        else:
            given = policy(observations)
        try:
            actions = np.asarray(given)
        except ValueError:  # ragged lists have no valid shape
            actions = np.empty(0, object)
        expected = (len(observations), self._action_size)
        if actions.shape != expected or actions.dtype.kind not in "fiu":
            raise InvalidInputError(
                f"the policy {handle.name} must give actions of the shape {expected} for "
                f"{self._task}, not {actions.shape} of {actions.dtype}"
            )
        if not np.isfinite(actions).all():
            raise InvalidInputError(f"the policy {handle.name} gave NaN or infinity as an action")
        return actions
