"""Policy files: small networks that act with NumPy alone.

A policy consists of two files in a folder. ``policy.json`` describes the network, the
normalisation of observations and the box of actions; ``policy.safetensors`` holds the numbers,
and ``policy.json`` their digest. Loading them runs no code, and acting needs neither JAX nor the
training code.

The network is a multilayer perceptron: normalise, then for every hidden layer

    x ← activation(layer_norm(x W + b))      (the norm only where the file has one)

and a head that gives an action in [−1, 1], which is rescaled to the task's box:

``tanh``              a = tanh(x W + b)
``tanh-gaussian``     a = tanh(μ + σ ξ), log σ from a second output, clipped to [−20, 2]
``clipped-gaussian``  a = clip(μ + σ ξ), σ² = softplus of a second output

ξ is zero unless noise is given, so a policy acts by its mean by default.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mixedne.boxes import MAX_ACTION, centre_and_reach
from mixedne.errors import InvalidInputError, check_choice
from mixedne.files import read_json, sealed_json, unfinished_files, write_beside
from mixedne.names import ACTIVATIONS
from mixedne.types import LAYER_NORM_EPSILON, LOG_DEVIATION_RANGE
from mixedne.zoo import is_zoo_name, zoo_entry

FORMAT_VERSION = 1
"""Version of the two files; other versions are refused."""

NAMES = ("policy", "adversary", "policy-iterate", "adversary-iterate")
"""The policies of a run folder: the two players and, if these are averages, their iterates."""

HEADS = {"tanh": 1, "tanh-gaussian": 2, "clipped-gaussian": 2}
"""Heads of the network, with the number of outputs per action."""

MAX_SIZE = 10**6
"""Maximum size of a layer; files with larger ones are treated as damaged."""

MAX_LAYERS = 1000
"""Maximum number of layers; files with more are treated as damaged."""

Array = NDArray[np.float32]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, np.float32(0)),
}
"""The activation functions of ``names.ACTIVATIONS``."""


@dataclass(frozen=True)
class PolicySpec:
    """The content of ``policy.json``: what is needed to check ``policy.safetensors`` and to act."""

    observation_size: int
    action_low: tuple[float, ...]
    """Lower bounds of the box that actions in [−1, 1] are scaled to: the task's, the agent's share
    of it, or an adversary's own, in its units."""
    action_high: tuple[float, ...]
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "tanh"
    head: str = "tanh"
    layer_norm: bool = False
    normaliser: bool = False
    """Whether observations are normalised, by the mean and scale in the file."""
    task: str | None = None
    """The task that the policy was trained for, e.g. ``Hopper-v5``."""
    attack: Mapping[str, Any] | None = None
    """For an attacker, the fields of its ``games.attacks.Attack``."""

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("head", self.head, HEADS)
        if len(self.hidden) > MAX_LAYERS:
            raise InvalidInputError(f"a policy has at most {MAX_LAYERS} layers")
        sizes = (self.observation_size, *self.hidden, len(self.action_low))
        if not all(type(size) is int and 0 < size <= MAX_SIZE for size in sizes):
            raise InvalidInputError(
                f"sizes of layers must be whole numbers from 1 to {MAX_SIZE}, not {sizes}"
            )
        flags = (self.layer_norm, self.normaliser)
        if not all(isinstance(flag, bool) for flag in flags):
            raise InvalidInputError(f"layer_norm and normaliser must be true or false, not {flags}")
        low, high = np.array(self.action_low, float), np.array(self.action_high, float)
        if low.ndim != 1 or low.shape != high.shape or not (low < high).all():
            raise InvalidInputError("action_low must be below action_high in every component")
        if not np.abs([low, high]).max() <= MAX_ACTION:
            raise InvalidInputError(f"the action box must lie within ±{MAX_ACTION:g}")
        if not (self.task is None or isinstance(self.task, str)):
            raise InvalidInputError(f"the policy's task must be a name, not {self.task!r}")
        if not (self.attack is None or isinstance(self.attack, Mapping)):
            raise InvalidInputError(f"the policy's attack must be a table, not {self.attack!r}")

    @property
    def action_size(self) -> int:
        """Dimension of the actions."""
        return len(self.action_low)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of all tensors."""
        sizes = (self.observation_size, *self.hidden, HEADS[self.head] * self.action_size)
        shapes: dict[str, tuple[int, ...]] = {}
        for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
            shapes[f"layers.{i}.weight"] = (fan_in, fan_out)
            shapes[f"layers.{i}.bias"] = (fan_out,)
            if self.layer_norm and i < len(self.hidden):
                shapes[f"layers.{i}.norm_scale"] = (fan_out,)
                shapes[f"layers.{i}.norm_offset"] = (fan_out,)
        if self.normaliser:
            shapes["normaliser.mean"] = shapes["normaliser.scale"] = (self.observation_size,)
        return shapes


class Policy:
    """A network that acts: ``policy(observations) -> actions``, batched or not.

    Observations have the shape (d,) or (n, d); actions are in the task's own units. Every row is
    computed separately, so an action does not depend, bit for bit, on the rest of the batch:
    matrix products of whole batches differ in the last bits with the batch size and the position
    in the batch, and chaotic dynamics would amplify this.
    """

    def __init__(self, spec: PolicySpec, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Check the tensors against the specification and store them."""
        expected = spec.shapes()
        for name in sorted({*expected, *tensors}):
            found = tuple(tensors[name].shape) if name in tensors else None
            if found != expected.get(name):
                raise InvalidInputError(
                    f"the policy's tensor {name} must have the shape {expected.get(name)}, "
                    f"not {found}"
                )
        for name, tensor in tensors.items():
            if tensor.dtype.kind != "f":
                raise InvalidInputError(f"the policy's tensor {name} must hold floats")
        self.spec = spec
        self.tensors = {name: np.asarray(value, np.float32) for name, value in tensors.items()}
        if not all(np.isfinite(tensor).all() for tensor in self.tensors.values()):
            raise InvalidInputError("the policy holds numbers that are not finite")
        if spec.normaliser and not (self.tensors["normaliser.scale"] > 0).all():
            raise InvalidInputError("the policy's normaliser.scale must be above 0")
        low, high = (np.array(x, np.float32) for x in (spec.action_low, spec.action_high))
        self.centre, self.reach = centre_and_reach(low, high)
        """Centre and half-width of the box: actions are ``centre + reach * unit(observations)``."""

    def __call__(self, observations: ArrayLike, noise: ArrayLike | None = None) -> Array:
        """Actions for these observations; ``noise`` is ξ and has the shape of the actions."""
        actions = self.centre + self.reach * self.unit(observations, noise)
        return np.asarray(actions, np.float32)

    def unit(self, observations: ArrayLike, noise: ArrayLike | None = None) -> Any:
        """The same actions in [−1, 1], before they are scaled to the task's box."""
        tensors, spec, shape = self.tensors, self.spec, np.shape(observations)
        if len(shape) not in (1, 2) or shape[-1] != spec.observation_size:
            raise InvalidInputError(
                f"the policy takes observations of size {spec.observation_size}, "
                f"not of the shape {shape}"
            )
        # Rows (n, 1, d), for a stack of single-row matrix products.
        x: Any = np.asarray(observations, np.float32).reshape(-1, 1, spec.observation_size)
        if spec.normaliser:
            x = (x - tensors["normaliser.mean"]) / tensors["normaliser.scale"]
        activate = FUNCTIONS[spec.activation]
        for i in range(len(spec.hidden)):
            x = x @ tensors[f"layers.{i}.weight"] + tensors[f"layers.{i}.bias"]
            if spec.layer_norm:
                scale, offset = (tensors[f"layers.{i}.norm_{part}"] for part in ("scale", "offset"))
                x = _layer_norm(x) * scale + offset
            x = activate(x)
        last = len(spec.hidden)
        x = (x @ tensors[f"layers.{last}.weight"] + tensors[f"layers.{last}.bias"])[:, 0]
        mean, spread = x[:, : spec.action_size], x[:, spec.action_size :]
        if noise is not None and self.is_stochastic:
            if spec.head == "tanh-gaussian":
                deviation = np.exp(np.clip(spread, *LOG_DEVIATION_RANGE))
            else:
                deviation = np.sqrt(np.logaddexp(spread, np.float32(0)))
            mean = mean + deviation * np.asarray(noise, np.float32).reshape(mean.shape)
        unit = np.clip(mean, -1, 1) if spec.head == "clipped-gaussian" else np.tanh(mean)
        return unit.reshape(*shape[:-1], spec.action_size)

    @property
    def is_stochastic(self) -> bool:
        """Whether actions depend on ``noise``."""
        return HEADS[self.spec.head] > 1


def save_policy(
    folder: Path, policy: Policy, name: str = "policy", step: int | None = None
) -> None:
    """Write ``NAME.safetensors`` and ``NAME.json``, which holds its digest.

    ``step`` is the number of training steps after which the policy is saved.
    """
    content = save(dict(policy.tensors), {"format_version": str(FORMAT_VERSION)})
    described = dataclasses.asdict(policy.spec)
    if policy.spec.attack is None:  # only attackers have one
        described.pop("attack")
    document = {
        "format_version": FORMAT_VERSION,
        **described,
        **({} if step is None else {"step": step}),
        "safetensors_sha256": hashlib.sha256(content).hexdigest(),
    }
    # Both are written completely before either is renamed; see _description.
    with write_beside(folder / f"{name}.json") as description:
        description.write_text(sealed_json(document))
        with write_beside(folder / f"{name}.safetensors") as tensors:
            tensors.write_bytes(content)


def finish_saving(folder: Path, name: str) -> None:
    """Complete a ``save_policy`` that was killed between renaming its two files."""
    described, stored = policy_files(folder, name)
    if stored.is_file():
        found = _description(described, stored.read_bytes())
        if found != described:
            found.replace(described)


def _description(described: Path, content: bytes) -> Path:
    """``described``, or the file about to replace it, whichever belongs to these tensors."""
    digest = hashlib.sha256(content).hexdigest()
    for path in unfinished_files(described.parent, re.escape(described.stem)):
        with contextlib.suppress(InvalidInputError):
            if read_json(path, warn=False).get("safetensors_sha256") == digest:
                return path
    return described


def load_policy(path: str | Path, name: str = "policy") -> Policy:
    """Load a policy from a run folder, or from its ``.json`` or ``.safetensors`` file.

    This also works while the run is training, or after it was killed.

    Args:
      path: a run folder, its ``best`` folder, a policy's file, or ``zoo:NAME``.
      name: which policy of the folder: ``"policy"``, or ``"adversary"`` if there is one; if these
        are averages, also ``"policy-iterate"`` and ``"adversary-iterate"``.

    Returns:
      A function ``policy(observations) -> actions``, batched or not, in the task's own units.

    Examples:
      >>> import mixedne
      >>> run = mixedne.train("InvertedPendulum-v5", steps=200, hidden=(8,), out="own")
      >>> policy = mixedne.load_policy("own")
      >>> policy([0.0, 0.1, 0.0, 0.0]).shape
      (1,)
    """
    described, stored = policy_files(path, name)
    if name not in ("policy", stored.stem):
        raise InvalidInputError(f"{path} is a single policy and has no {name}")
    for _ in range(2):  # try again if they were just being replaced
        document, content = _read_files(path, described, stored)
        written = document.pop("safetensors_sha256", None)
        if written in (None, hashlib.sha256(content).hexdigest()):
            break
    else:
        raise InvalidInputError(
            f"{stored} is damaged: its digest is not the one that {described.name} holds"
        )
    try:
        document.pop("step", None)
        spec = _read_spec(document)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InvalidInputError(f"{described} is no policy description: {error}") from None
    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(f"{stored} is damaged or no safetensors file: {error}") from None
    return Policy(spec, tensors)


def saved_step(path: str | Path) -> int | None:
    """The number of training steps after which a policy was saved; None if it is not stored."""
    step = _read_files(path, *policy_files(path))[0].get("step")
    return step if type(step) is int else None


def _read_files(path: str | Path, described: Path, stored: Path) -> tuple[dict[str, Any], bytes]:
    """The contents of a policy's two files."""
    try:
        content = stored.read_bytes()
    except FileNotFoundError:
        raise InvalidInputError(f"there is no policy at {path}: {stored.name} is missing") from None
    except OSError as error:
        raise InvalidInputError(f"{stored} cannot be read: {error.strerror}") from None
    description = _description(described, content)
    if not description.is_file():
        raise InvalidInputError(f"there is no policy at {path}: {described.name} is missing")
    return read_json(description), content


def policy_files(path: str | Path, name: str = "policy") -> tuple[Path, Path]:
    """Paths of a policy's ``.json`` and ``.safetensors``, from its folder or one of the two."""
    path = zoo_entry(path)[0] if is_zoo_name(path) else Path(path)
    if path.is_file() and path.suffix in (".json", ".safetensors"):
        return path.with_suffix(".json"), path.with_suffix(".safetensors")
    return path / f"{name}.json", path / f"{name}.safetensors"


def _read_spec(meta: Any) -> PolicySpec:
    version = meta.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise InvalidInputError(
            f"the policy's format_version must be {FORMAT_VERSION}, not {version!r}"
        )
    fields = {field.name for field in dataclasses.fields(PolicySpec)}
    given = {name: value for name, value in meta.items() if name != "format_version"}
    for name in given:
        check_choice("a field of policy.json", name, fields)
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return PolicySpec(**{**given, **lists})


def _layer_norm(x: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(LAYER_NORM_EPSILON))
