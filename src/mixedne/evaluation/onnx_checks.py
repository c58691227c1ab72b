"""Checks of an ONNX file before onnxruntime loads it: it must be a small feed-forward function.

An untrusted file may use any operator, declare any size, contain a program that never ends or
refer to other files; some operators can even crash the process (the smallest integer divided by
−1). So there is a list of what is allowed, and the rest is refused: operators of feed-forward
networks from ONNX's own operator sets; no external files and no subgraphs; static shapes for a
single observation; and a bounded number of elements and multiplications. The batch size of one is
written into the model, so that what runs is what was checked.
"""

import functools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mixedne.errors import InvalidInputError, first_line

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto

MAX_BYTES = 100 * 10**6
"""Maximum size of a file."""

MAX_NODES = 20_000
"""Maximum number of nodes; a thousand layers with layer norm have 12 000."""

MAX_ELEMENTS = 10**6
"""Maximum number of elements of any value that is computed from one observation."""

MAX_RANK = 8
"""Maximum number of dimensions of a tensor."""

MAX_INDICES = 1000
"""Maximum number of elements of an integer tensor that determines shapes."""

MAX_WORK = 10**9
"""Maximum number of operations for one observation, about a second's worth."""

SUBGRAPHS = frozenset(("If", "Loop", "Scan", "SequenceMap"))
"""Operators that contain subgraphs."""

PLUMBING = frozenset((
    "Add", "And", "Cast", "Concat", "Constant", "ConstantOfShape", "Equal", "Expand", "Flatten",
    "Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min",
    "Mul", "Not", "Or", "Reshape", "Shape", "Slice", "Split", "Squeeze", "Sub", "Tile",
    "Transpose", "Unsqueeze", "Where", "Xor",
))  # fmt: skip
"""Operators that are also allowed on integers, for shapes and indices."""

ARITHMETIC = frozenset((
    "Abs", "Ceil", "Celu", "Clip", "Cos", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "Gemm",
    "HardSigmoid", "HardSwish", "IsNaN", "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax",
    "MatMul", "Mean", "Mish", "Neg", "PRelu", "Pow", "Reciprocal", "ReduceL2", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceSum", "ReduceSumSquare", "Relu", "Round", "Selu",
    "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Sum", "Swish", "Tanh",
    "ThresholdedRelu",
))  # fmt: skip
"""Operators that are allowed on floats only: some of them can crash the process on integers."""

FLOATS = {"float": ("float_data", 4), "double": ("double_data", 8)}
TYPES = FLOATS | {"int32": ("int32_data", 4), "int64": ("int64_data", 8), "bool": ("int32_data", 1)}
"""Allowed element types: the field that holds them if ``raw_data`` does not, and their size."""


def check_model(model: "ModelProto") -> tuple[int, int]:
    """Check a model and fix its batch size at one; return the sizes of input and output."""
    import onnx

    graph = model.graph
    if not graph.node:
        raise InvalidInputError("it holds no graph: it is damaged or no ONNX file")
    for domain in {entry.domain for entry in model.opset_import} | {n.domain for n in graph.node}:
        if domain not in ("", "ai.onnx"):
            raise InvalidInputError(
                f"only ONNX's own operators are run, not those of {domain[:40]!r}"
            )
    if model.functions or model.training_info:
        raise InvalidInputError("a policy has neither functions nor training information")
    _check_nodes(graph)
    _check_tensors(graph)
    source, target = _ends(graph)
    observations = _fix_batch(source)
    try:
        onnx.checker.check_model(model)
        del graph.value_info[:]
        target.type.tensor_type.shape.Clear()
        for _ in range(2):  # of unknown size: declared sizes cannot be trusted
            target.type.tensor_type.shape.dim.add()
        values = _infer(model, source)
    except InvalidInputError:
        raise
    except Exception as error:  # a malformed model can make the checker raise anything
        raise InvalidInputError(f"it is no valid ONNX model: {plain(error)}") from None
    _check_work(graph, values)
    kind, shape = values.get(target.name, (0, ()))
    if _type_name(kind) not in FLOATS or len(shape) != 2 or shape[0] != 1:
        raise InvalidInputError(
            "its output must be float or double numbers of the shape (n, actions), "
            f"not {_type_name(kind)} of the shape {shape} for one observation"
        )
    return observations, shape[1]


def plain(error: Exception) -> str:
    """An error's message in one line, without control characters, which may come from the file."""
    return "".join(c if c.isprintable() else "?" for c in first_line(error)[:300])


def _check_nodes(graph: "GraphProto") -> None:
    if len(graph.node) > MAX_NODES:
        raise InvalidInputError(f"a policy has at most {MAX_NODES} nodes, not {len(graph.node)}")
    for node in graph.node:
        if node.op_type in SUBGRAPHS:
            raise InvalidInputError(
                f"the operator {node.op_type} is not run: a graph inside of a graph, as in "
                "Loop, Scan and If, could run without end"
            )
        if node.op_type not in PLUMBING | ARITHMETIC:
            raise InvalidInputError(
                f"the operator {node.op_type[:40]!r} is not among those of a feed-forward policy"
            )
        for attribute in node.attribute:
            if attribute.HasField("g") or attribute.graphs:
                raise InvalidInputError("a node must not hold a graph of its own")
            if attribute.HasField("sparse_tensor") or attribute.sparse_tensors:
                raise InvalidInputError("sparse tensors are not supported")
            # Implementations truncate larger numbers differently. Ends of slices may be large.
            numbers = (attribute.i, *attribute.ints)
            if node.op_type not in ("Constant", "Slice") and max(map(abs, numbers)) >= 2**31:
                raise InvalidInputError(f"an attribute of {node.op_type} must be below 2^31")


def _check_tensors(graph: "GraphProto") -> None:
    """Check that the file contains as many numbers as its tensors declare."""
    if graph.sparse_initializer:
        raise InvalidInputError("sparse tensors are not supported")
    for tensor in _tensors(graph):
        if tensor.data_location or tensor.external_data:
            raise InvalidInputError(
                f"the numbers of {tensor.name[:40]!r} are in another file, which is not read"
            )
        _check_type(tensor.name, tensor.data_type)
        declared = _count(tensor.dims)
        field, size = TYPES[_type_name(tensor.data_type)]
        held = len(tensor.raw_data) / size if tensor.raw_data else len(getattr(tensor, field))
        if held != declared:
            raise InvalidInputError(
                f"the tensor {tensor.name[:40]!r} must hold {declared} numbers, not {held:g}"
            )


def _tensors(graph: "GraphProto") -> "Iterator[TensorProto]":
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


def _ends(graph: "GraphProto") -> "tuple[ValueInfoProto, ValueInfoProto]":
    """The single input and the single output; older files also list weights as inputs."""
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise InvalidInputError(
            "a policy has one input and one output, "
            f"not {len(inputs)} {_names(inputs)} and {len(graph.output)} {_names(graph.output)}"
        )
    return inputs[0], graph.output[0]


def _names(values: "Iterable[ValueInfoProto]") -> str:
    names = [value.name[:40] for value in values][:5]
    return repr(tuple(names))


def _fix_batch(value: "ValueInfoProto") -> int:
    """Set the batch size of the input to one; return the size of an observation."""
    tensor = value.type.tensor_type
    dims = [(d.dim_value, d.WhichOneof("value") == "dim_value") for d in tensor.shape.dim]
    if _type_name(tensor.elem_type) not in FLOATS or len(dims) != 2:
        raise InvalidInputError(
            "its input must be float or double numbers of the shape (n, observations), "
            f"not {_type_name(tensor.elem_type)} of {len(dims)} dimensions"
        )
    (batch, fixed), (size, known) = dims
    if fixed and batch != 1:
        raise InvalidInputError(f"its batch must be of any size or 1, not {batch}")
    if not known or not 0 < size <= MAX_ELEMENTS:
        raise InvalidInputError(
            f"its input must say the number of observations, 1 to {MAX_ELEMENTS}, "
            f"not {size if known else 'leave it open'}"
        )
    tensor.shape.dim[0].dim_value = 1
    return size


def _infer(model: "ModelProto", source: "ValueInfoProto") -> dict[str, tuple[int, tuple[int, ...]]]:
    """Type and shape of every value, node by node.

    ``infer_shapes`` on the whole model may never end if a shape is huge. Here the size of a value
    is checked before it is used.
    """
    from onnx import defs, helper
    from onnx.shape_inference import infer_node_outputs

    version = max((entry.version for entry in model.opset_import), default=0)
    weights = model.graph.initializer
    values = {tensor.name: (tensor.data_type, tuple(tensor.dims)) for tensor in weights}
    known = {tensor.name: tensor for tensor in weights if _count(tensor.dims) <= MAX_INDICES}
    types = {name: helper.make_tensor_type_proto(*value) for name, value in values.items()}
    types[source.name] = source.type
    values[source.name] = _type_and_shape(source.name, source.type)
    for node in model.graph.node:
        schema = defs.get_schema(node.op_type, version, "")
        given = {name: types[name] for name in node.input if name}
        found = infer_node_outputs(
            schema,
            node,
            given,
            known,
            opset_imports=model.opset_import,
            ir_version=model.ir_version,
        )
        for name, kind in found.items():
            values[name], types[name] = _type_and_shape(name, kind), kind
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            known[node.output[0]] = node.attribute[0].t
    return values


def _type_and_shape(name: str, kind: "TypeProto") -> tuple[int, tuple[int, ...]]:
    dims = kind.tensor_type.shape.dim
    is_known = all(dim.WhichOneof("value") == "dim_value" for dim in dims)
    if not is_known or not kind.tensor_type.HasField("shape"):
        raise InvalidInputError(f"the shape of {name[:40]!r} is not known before the policy is run")
    shape = tuple(dim.dim_value for dim in dims)
    _count(shape, MAX_ELEMENTS)
    _check_type(name, kind.tensor_type.elem_type)
    return kind.tensor_type.elem_type, shape


def _check_work(graph: "GraphProto", values: dict[str, tuple[int, tuple[int, ...]]]) -> None:
    work = 0
    for node in graph.node:
        for name in (*node.input, *node.output):
            if name and name not in values:
                raise InvalidInputError(f"nothing is known of {name[:40]!r} before it is run")
            work += _count(values[name][1]) if name else 0
        is_arithmetic = node.op_type in ARITHMETIC
        if is_arithmetic and _type_name(values.get(node.input[0], (0,))[0]) not in FLOATS:
            raise InvalidInputError(f"the operator {node.op_type} is run on floats alone")
        if node.op_type in ("MatMul", "Gemm"):
            contracted = max(values[node.input[0]][1], default=1)
            work += contracted * _count(values[node.output[0]][1])
    if work > MAX_WORK:
        raise InvalidInputError(f"it takes {work:.1g} steps an observation, more than {MAX_WORK:g}")


def _check_type(name: str, number: int) -> None:
    if _type_name(number) not in TYPES:
        names = ", ".join(TYPES)
        raise InvalidInputError(
            f"{name[:40]!r} must hold numbers of one of the types {names}, not {_type_name(number)}"
        )


def _count(shape: Iterable[int], at_most: int = MAX_BYTES) -> int:
    """The number of elements of a shape; raises if there are none, or too many."""
    dims = tuple(shape)
    if len(dims) > MAX_RANK:
        raise InvalidInputError(f"a tensor has at most {MAX_RANK} dimensions, not {len(dims)}")
    if min(dims, default=1) < 1 or math.prod(dims) > at_most:
        raise InvalidInputError(
            f"a tensor must have from 1 to {at_most} elements, not the shape {dims}"
        )
    return math.prod(dims)


@functools.cache
def _type_name(number: int) -> str:
    from onnx import TensorProto

    names = {value: name.lower() for name, value in TensorProto.DataType.items()}
    return names.get(number, f"the type {number}")
