"""``mixedne.export``: write a run's policy as a file for other programs, and verify it.

The ONNX model is the network of :mod:`mixedne.policies`, operator by operator: normaliser, layers,
layer norms, activation, head and the scaling to the task's box, in float32, for batches of any
size. Its input is ``observation`` (n, d), its output ``action`` (n, k) in the task's own units.
Stochastic heads act by their mean, as in ``mixedne evaluate``; outputs for the standard deviation
are left out. The metadata contains the task, how the policy was trained, the version of this
package and the digest of the policy's safetensors file.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_choice
from mixedne.evaluation.handles import PolicyHandle, find_policy
from mixedne.evaluation.onnx import (
    FORMAT,
    FORMAT_VERSION,
    TASK,
    TRAINING,
    make_session,
    require_onnx,
)
from mixedne.files import check_new_file, digest, write_beside
from mixedne.policies import Policy, policy_files
from mixedne.types import LAYER_NORM_EPSILON
from mixedne.versions import versions
from mixedne.zoo import is_zoo_name, zoo_entry

if TYPE_CHECKING:
    from onnx import ModelProto

FORMATS = ("onnx",)

OPSET, IR_VERSION = 11, 6
"""The oldest operator set in which all operators used have their current form; its IR version."""

OBSERVATIONS = 10_000
"""Number of observations on which the file is compared with the policy."""

TOLERANCE = 1e-4
"""The largest difference allowed, as a fraction of the action's range: sums in another order differ
by some 2·10⁻⁵ in policies whose last layer has large outputs."""


@dataclass(frozen=True)
class Export:
    """An exported file."""

    path: Path
    task: str | None
    largest_difference: float
    """The largest difference from the policy's own actions, as a fraction of the action's range."""
    policy_sha256: str | None
    """SHA-256 of ``policy.safetensors``; None for a policy that was not loaded from a file."""


def export(run: Any, out: str | Path, *, format: str = "onnx", overwrite: bool = False) -> Export:
    """Export a run's policy for use in other programs.

    Before the file is kept, it is compared with the policy on 10 000 observations, drawn with a
    fixed seed from the normal distribution with the normaliser's mean and standard deviation
    (without a normaliser, the standard normal). Raises if an action differs by more than 10⁻⁴ of
    its range.

    Args:
      run: a run returned by :func:`mixedne.train`, a run folder, a policy file of this package, or
        a :class:`~mixedne.policies.Policy`.
      out: the ``.onnx`` file to write.
      format: file format, ``onnx``; needs ``mixedne[onnx]``.
      overwrite: replace ``out`` if it exists.

    Returns:
      The file's ``path``, and the largest difference between its actions and the policy's.

    Examples:
      >>> import mixedne
      >>> run = mixedne.train("InvertedPendulum-v5", steps=200, hidden=(8,), out="exported")
      >>> made = mixedne.export(run, "policy.onnx")
      >>> made.largest_difference < 1e-5
      True
    """
    check_choice("format", format, FORMATS)
    path = check_new_file(Path(out), "the ONNX file", ".onnx", overwrite=overwrite)
    handle = find_policy(run)
    if not isinstance(handle.act, Policy):
        raise InvalidInputError(f"only this package's policies can be exported, not {handle.name}")
    require_onnx()
    file = zoo_entry(run)[0] if is_zoo_name(run) else handle.path
    source = None if file is None else digest(policy_files(file)[1])
    model = make_model(handle.act, _metadata(handle, source))
    difference = largest_difference(handle.act, model)
    if not difference <= TOLERANCE:
        raise InvalidInputError(
            f"the policy {handle.name} cannot be exported: actions of the ONNX model differ by "
            f"{difference:.1e} of their range, more than {TOLERANCE:g}"
        )
    with write_beside(path) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))
    return Export(path, handle.task, difference, source)


def largest_difference(policy: Policy, model: "ModelProto") -> float:
    """Largest difference between a policy's and its model's actions, as a fraction of the range."""
    x = np.random.default_rng(0).standard_normal((OBSERVATIONS, policy.spec.observation_size))
    if policy.spec.normaliser:
        x = policy.tensors["normaliser.mean"] + policy.tensors["normaliser.scale"] * x
    observations = x.astype(np.float32)
    (actions,) = make_session(model).run(["action"], {"observation": observations})
    return float((np.abs(actions - policy(observations)) / (2 * policy.reach)).max())


def make_model(policy: Policy, metadata: dict[str, str]) -> "ModelProto":
    """The ONNX model of a policy."""
    from onnx import TensorProto, helper

    spec, tensors = policy.spec, policy.tensors
    graph = _Graph()
    x = "observation"
    if spec.normaliser:
        x = graph.add("Sub", x, tensors["normaliser.mean"])
        x = graph.add("Div", x, tensors["normaliser.scale"])
    for i in range(len(spec.hidden)):
        x = graph.add("Gemm", x, tensors[f"layers.{i}.weight"], tensors[f"layers.{i}.bias"])
        if spec.layer_norm:
            x = _add_layer_norm(graph, x)
            x = graph.add("Mul", x, tensors[f"layers.{i}.norm_scale"])
            x = graph.add("Add", x, tensors[f"layers.{i}.norm_offset"])
        x = graph.add({"tanh": "Tanh", "relu": "Relu"}[spec.activation], x)
    last, k = len(spec.hidden), spec.action_size  # the first k outputs are the mean
    weight, bias = tensors[f"layers.{last}.weight"], tensors[f"layers.{last}.bias"]
    x = graph.add("Gemm", x, weight[:, :k], bias[:k])
    if spec.head == "clipped-gaussian":
        x = graph.add("Clip", x, np.float32(-1), np.float32(1))
    else:
        x = graph.add("Tanh", x)
    x = graph.add("Mul", x, policy.reach)
    graph.add("Add", x, policy.centre, output="action")

    ends = {"observation": spec.observation_size, "action": spec.action_size}
    source, target = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
        for name, size in ends.items()
    )
    made = helper.make_model(
        helper.make_graph(graph.nodes, "policy", [source], [target], graph.tensors),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="mixedne",
        producer_version=versions()["mixedne"],
    )
    helper.set_model_props(made, metadata)
    return made


class _Graph:
    """The nodes and tensors of an ONNX graph, in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def add(
        self,
        operator: str,
        *inputs: str | NDArray[np.floating] | np.float32,
        output: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node, whose inputs are names of values, or numbers; return its output's name."""
        from onnx import helper, numpy_helper

        names = []
        for value in inputs:
            if not isinstance(value, str):
                tensor = numpy_helper.from_array(
                    np.array(value, np.float32), f"tensor{len(self.tensors)}"
                )
                self.tensors.append(tensor)
            names.append(value if isinstance(value, str) else tensor.name)
        name = output or f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [name], **attributes))
        return name


def _add_layer_norm(graph: _Graph, x: str) -> str:
    """Layer norm from elementary operators: LayerNormalization was added in operator set 17."""
    mean = graph.add("ReduceMean", x, axes=[-1], keepdims=1)
    centred = graph.add("Sub", x, mean)
    squares = graph.add("Mul", centred, centred)
    variance = graph.add("ReduceMean", squares, axes=[-1], keepdims=1)
    above_zero = graph.add("Add", variance, np.float32(LAYER_NORM_EPSILON))
    return graph.add("Div", centred, graph.add("Sqrt", above_zero))


def _metadata(handle: PolicyHandle, policy_sha256: str | None) -> dict[str, str]:
    known = {name: value for name, value in handle.provenance.items() if value is not None}
    said = {
        FORMAT: FORMAT_VERSION,
        TASK: handle.task,
        TRAINING: json.dumps(known),
        "mixedne.version": versions()["mixedne"],
        "mixedne.policy_sha256": policy_sha256,
    }
    return {name: value for name, value in said.items() if value is not None}
