"""ONNX policies from elsewhere: those that run, and files that must not."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixedne import InvalidInputError
from mixedne.cli.main import main
from mixedne.evaluation import onnx_checks
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.onnx import OnnxPolicy, load_onnx
from mixedne.evaluation.sweep import evaluate
from mixedne.exports import make_model
from probes.policies import random_policy

onnx = pytest.importorskip("onnx", reason="ONNX is not installed: make extras")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: make extras")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PENDULUM = "InvertedPendulum-v5"
FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64


def model(
    *nodes: Any,
    inputs: tuple[Any, ...] = (("x", FLOAT, ["n", 4]),),
    outputs: tuple[Any, ...] = (("y", FLOAT, ["n", 1]),),
    opset: int = 17,
    **tensors: Any,
) -> Any:
    """A model of these nodes; with none, the linear policy x w."""
    tensors = tensors or {"w": np.full((4, 1), 0.5, np.float32)}
    graph = helper.make_graph(
        list(nodes) or [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "policy",
        [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(*one) for one in outputs],
        [numpy_helper.from_array(np.array(value), name) for name, value in tensors.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node(operator: str, inputs: str = "x", output: str = "y", **attributes: Any) -> Any:
    return helper.make_node(operator, inputs.split(), [output], **attributes)


@pytest.mark.parametrize("kind", [FLOAT, DOUBLE])
@pytest.mark.parametrize("batch", ["n", 1, None])
def test_a_policy_from_elsewhere_runs(kind: int, batch: Any, tmp_path: Path) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    weight = np.array([[0.1], [-0.5], [2], [0.3]], dtype)
    path = tmp_path / "linear.onnx"
    onnx.save(
        model(inputs=(("x", kind, [batch, 4]),), outputs=(("y", kind, [batch, 1]),), w=weight), path
    )
    handle = find_policy(path)
    assert (handle.name, handle.task, handle.sizes) == ("linear", None, (4, 1))
    x = np.random.default_rng(0).standard_normal((5, 4))
    np.testing.assert_allclose(handle.act(x), x @ weight, rtol=1e-5, atol=1e-6)
    table = evaluate(path, PENDULUM, mass=[1, 2], episodes=2)
    other = evaluate(lambda x: x.astype(dtype) @ weight, PENDULUM, mass=[1, 2], episodes=2)
    assert table["return"].to_list() == pytest.approx(other["return"].to_list(), rel=1e-4)
    with pytest.raises(InvalidInputError, match="does not say its task: pass task="):
        evaluate(path, episodes=1)
    with pytest.raises(InvalidInputError, match="takes 4 observations and gives 1 actions, but"):
        evaluate(path, "Hopper-v5", episodes=1)


def test_weights_may_be_listed_as_inputs() -> None:
    inputs = ("x", FLOAT, ["n", 4]), ("w", FLOAT, [4, 1])
    assert OnnxPolicy(model(inputs=inputs).SerializeToString()).sizes == (4, 1)


def test_shapes_may_be_constants_of_the_model() -> None:
    found = model(
        node("Constant", "", "s", value=numpy_helper.from_array(np.array([-1, 2, 2]))),
        node("Reshape", "x s", "r"),
        node("ReduceMean", "r", "m", axes=[2], keepdims=0),
        node("Slice", "m a b c", "y"),
        outputs=(("y", FLOAT, ["n", 1]),),
        a=[0], b=[1], c=[1],
    )  # fmt: skip
    policy = OnnxPolicy(found.SerializeToString())
    assert policy(np.array([[1.0, 3, 5, 7]])).tolist() == [[2.0]]


def external(found: Any) -> Any:
    onnx.external_data_helper.set_external_data(found.graph.initializer[0], "/etc/passwd")
    found.graph.initializer[0].ClearField("raw_data")
    return found


def altered(found: Any, change: Callable[[Any], Any]) -> Any:
    change(found)
    return found


def subgraph() -> Any:
    return helper.make_graph(
        [node("Identity", "x", "z")], "g", [], [helper.make_tensor_value_info("z", FLOAT, None)]
    )


def function() -> Any:
    imports = [helper.make_opsetid("", 17)]
    return helper.make_function("own", "F", ["x"], ["y"], [node("Tanh")], imports)


BIG = onnx_checks.MAX_ELEMENTS
HOSTILE: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: b"", "holds no graph"),
    "text": (lambda: b"#!/bin/sh\nrm -rf\n", "no ONNX file"),
    "truncated": (lambda: model().SerializeToString()[:60], "no ONNX file"),
    "nested": (lambda: b"\x3a\x80\x01" * 10**5, "no ONNX file"),
    "external": (lambda: external(model()), "are in another file"),
    "domain": (
        lambda: model(helper.make_node("Tanh", ["x"], ["y"], domain="com.microsoft")),
        "only ONNX's own operators are run, not those of 'com.microsoft'",
    ),
    "import": (
        lambda: altered(
            model(), lambda m: m.opset_import.append(helper.make_opsetid("evil\x1b[2J", 1))
        ),
        r"not those of 'evil\\x1b\[2J'",
    ),
    "function": (lambda: altered(model(), lambda m: m.functions.append(function())), "functions"),
    "if": (
        lambda: model(node("If", "c", then_branch=subgraph(), else_branch=subgraph()), c=True),
        "If is not run.*Loop, Scan and If, could run without end",
    ),
    "loop": (lambda: model(node("Loop", "m c x", body=subgraph()), m=2**62, c=True), "without end"),
    "scan": (lambda: model(node("Scan", body=subgraph(), num_scan_inputs=1)), "without end"),
    "hidden": (lambda: model(node("Tanh", body=subgraph())), "a graph of its own"),
    "operator": (lambda: model(node("RandomNormalLike")), "'RandomNormalLike' is not among those"),
    "inputs": (
        lambda: model(inputs=(("x", FLOAT, ["n", 4]), ("z", FLOAT, ["n", 4]))),
        r"one input and one output, not 2 \('x', 'z'\) and 1",
    ),
    "outputs": (
        lambda: model(outputs=(("y", FLOAT, ["n", 1]), ("x", FLOAT, ["n", 4]))),
        "one input and one output",
    ),
    "type": (
        lambda: model(node("Cast", to=FLOAT), inputs=(("x", INT64, ["n", 4]),)),
        "input must be float or double .* not int64 of 2 dimensions",
    ),
    "rank": (
        lambda: model(node("Tanh"), inputs=(("x", FLOAT, ["n", 2, 2]),)),
        "not float of 3 dimensions",
    ),
    "batch": (lambda: model(inputs=(("x", FLOAT, [8, 4]),)), "any size or 1, not 8"),
    "open": (lambda: model(node("Tanh"), inputs=(("x", FLOAT, ["n", "d"]),)), "leave it open"),
    "input": (lambda: model(node("Tanh"), inputs=(("x", FLOAT, [1, 2**40]),)), "1 to 1000000"),
    "output": (
        lambda: model(node("Cast", to=INT64), outputs=(("y", INT64, ["n", 4]),)),
        "output must be float or double .* not int64",
    ),
    "flat": (
        lambda: model(node("Reshape", "x s"), outputs=(("y", FLOAT, [4]),), s=[-1]),
        r"not float of the shape \(4,\)",
    ),
    "declared": (
        lambda: altered(model(), lambda m: m.graph.initializer[0].dims.__setitem__(0, 10**7)),
        "must hold 10000000 numbers, not 4",
    ),
    "absurd": (
        lambda: altered(model(), lambda m: m.graph.initializer[0].dims.extend([2**62] * 2)),
        "from 1 to 100000000 elements",
    ),
    "dimensions": (
        lambda: altered(model(), lambda m: m.graph.initializer[0].dims.extend([1] * 10**6)),
        "at most 8 dimensions",
    ),
    "computed": (
        lambda: model(node("ConstantOfShape", "s"), s=[1, 2**40]),
        r"1 to 1000000 elements, not the shape \(1, 1099511627776\)",
    ),
    "outer": (
        lambda: model(
            node("Mul", "a b", "c"), node("ReduceMean", "c"),
            a=np.ones((1, 2000), np.float32), b=np.ones((2000, 1), np.float32),
        ),
        r"not the shape \(2000, 2000\)",
    ),
    "unknown": (
        lambda: model(node("Slice", "x a b a", "p"), node("Cast", "p", "s", to=INT64),
            node("Squeeze", "s a", "t"), node("Expand", "w t"),
            a=[0], b=[2], w=np.ones((1, 1), np.float32)),
        "the shape of 'y' is not known before the policy is run",
    ),
    "endless": (
        lambda: model(
            node("Reshape", "w s", "r"), node("Cast", "r", "f", to=FLOAT), node("Reshape", "f t"),
            w=np.ones((1, 4), np.float32), s=[[2**63 - 1]], t=[1, -1],
        ),
        "from 1 to 1000000 elements",
    ),
    "work": (
        lambda: model(
            *(node("MatMul", "a a", f"b{i}") for i in range(4)), node("Tanh"),
            a=np.ones((700, 700), np.float32),
        ),
        "steps an observation, more than 1e\\+09",
    ),
    "division": (  # ends the process in onnxruntime
        lambda: model(
            node("Div", "a b", "c"), node("Cast", "c", "d", to=FLOAT), node("Add", "d d"),
            a=[[-(2**63)]], b=[[-1]],
        ),
        "Div is run on floats alone",
    ),
    "attribute": (lambda: model(node("Flatten", axis=2**40)), "must be below 2\\^31"),
    "strings": (
        lambda: altered(
            model(), lambda m: m.graph.initializer.append(helper.make_tensor("s", 8, [1], [b"x"]))
        ),
        "of one of the types float, double, int32, int64, bool, not string",
    ),
    "sparse": (
        lambda: altered(model(), lambda m: m.graph.sparse_initializer.add()),
        "sparse tensors are not supported",
    ),
    "cycle": (lambda: model(node("Add", "x z"), node("Tanh", "y", "z")), "no valid ONNX model"),
    "names": (lambda: model(node("Tanh", "x", "x"), node("Tanh")), "no valid ONNX model"),
    "version": (
        lambda: altered(
            model(), lambda m: helper.set_model_props(m, {"mixedne.format_version": "2"})
        ),
        "format_version must be 1, not '2'",
    ),
    "training": (
        lambda: altered(model(), lambda m: helper.set_model_props(m, {"mixedne.training": "[1]"})),
        "must be a JSON object",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused(case: str, tmp_path: Path) -> None:
    make, message = HOSTILE[case]
    made = make()
    path = tmp_path / "hostile.onnx"
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    with pytest.raises(InvalidInputError, match=message) as caught:
        find_policy(path)
    said = str(caught.value)
    assert said.startswith(f"the ONNX policy {path} is refused: ")
    assert said.isprintable()
    assert len(said) < 600


def test_metadata_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hostile.onnx"
    said = {"mixedne.training": json.dumps({"steps": [1]}), "mixedne.task": "evil:Task-v0"}
    found = model()
    helper.set_model_props(found, said)
    onnx.save(found, path)
    with pytest.raises(InvalidInputError, match="it misstates its training"):
        find_policy(path)
    helper.set_model_props(found, {**said, "mixedne.training": "{}"})
    onnx.save(found, path)
    with pytest.raises(InvalidInputError, match="names a module: pass task= to allow it"):
        evaluate(path, episodes=1)


def test_large_files_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.truncate(10**12)  # a hole: it takes no room
    with pytest.raises(InvalidInputError, match="at most 100000000 bytes, not 1000000000000"):
        load_onnx(path)


def test_many_nodes_are_refused() -> None:
    chain = [node("Tanh", f"x{i}", f"x{i + 1}") for i in range(onnx_checks.MAX_NODES + 1)]
    with pytest.raises(InvalidInputError, match="at most 20000 nodes, not 20001"):
        OnnxPolicy(model(*chain).SerializeToString())


def test_a_policy_that_fails_as_it_runs_is_told_in_one_sentence() -> None:
    """An index out of range, which depends on the observation."""
    found = model(
        node("Slice", "x a b c", "first"), node("Cast", "first", "i", to=INT64),
        node("Squeeze", "i c", "j"), node("Gather", "w j"),
        a=[0], b=[1], c=[1], w=np.ones((3, 1), np.float32),
    )  # fmt: skip
    policy = OnnxPolicy(found.SerializeToString())
    assert policy(np.array([[2.0, 0, 0, 0]])).tolist() == [[1.0]]
    with pytest.raises(InvalidInputError, match=r"the ONNX policy fails: .*indices"):
        policy(np.array([[1e6, 0, 0, 0]]))


@pytest.mark.parametrize("head", ["tanh", "clipped-gaussian"])
def test_damaged_files_are_refused_or_act(head: str) -> None:
    """Flipped bits, other bytes, cuts: an error of ours or a policy, and nothing else."""
    policy = random_policy(PENDULUM, hidden=(32, 16), normaliser=True, layer_norm=True, head=head)
    whole = make_model(policy, {"mixedne.task": PENDULUM}).SerializeToString()
    chance, refused, acted = random.Random(0), 0, 0
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 1, 3))):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        if chance.random() < 0.2:
            del content[chance.randrange(len(content)) :]
        try:
            damaged = OnnxPolicy(bytes(content))
            assert damaged(np.ones((2, damaged.sizes[0]))).shape == (2, damaged.sizes[1])
            acted += 1
        except InvalidInputError:
            refused += 1
    assert min(refused, acted) > 10  # of 150: both have been tried


def test_the_command_refuses_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "junk.onnx"
    path.write_bytes(b"junk")
    assert main(["evaluate", str(path), "--task", PENDULUM]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mixedne: the ONNX policy {path} is refused: it is damaged or no ONNX")
    assert said.count("\n") == 1


def test_onnx_is_imported_only_when_needed() -> None:
    code = (
        "import sys, mixedne.exports, mixedne.evaluation.handles; "
        "print({'onnx', 'onnxruntime'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_without_the_extra_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "policy.onnx"
    onnx.save(model(), path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InvalidInputError, match=r"need the extra: pip install 'mixedne\[onnx\]'"):
        find_policy(path)
