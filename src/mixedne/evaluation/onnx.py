"""ONNX policies: models that map observations (n, d) to actions (n, k).

The file is checked first (:mod:`~mixedne.evaluation.onnx_checks`); then onnxruntime runs it on one
thread, one observation at a time, so that an action does not depend, bit for bit, on the rest of
the batch. A file exported by this package (:mod:`mixedne.exports`) also has metadata, under the
names below, about its task and how it was trained.
"""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, optional_import, parse_json
from mixedne.evaluation.onnx_checks import MAX_BYTES, check_model, plain

if TYPE_CHECKING:
    from onnx import ModelProto

FORMAT, TASK, TRAINING = "mixedne.format_version", "mixedne.task", "mixedne.training"
"""Metadata keys: its version, the task's name, and a JSON object about the training."""

FORMAT_VERSION = "1"
"""Version of the metadata; other versions are refused."""


class OnnxPolicy:
    """An ONNX model as a policy: ``policy(observations (n, d)) -> actions (n, k)``."""

    def __init__(self, content: bytes) -> None:
        """Check and load a file's content; errors are phrased as statements about the file."""
        self.fingerprint = hashlib.sha256(content).hexdigest()
        model = _parse(content)
        self.sizes = check_model(model)
        """Dimensions of observations and actions."""
        self.task, self.training = _read_metadata(model)
        del model.metadata_props[:]
        try:
            self._session = make_session(model)
        except Exception as error:  # onnxruntime's errors have no common class
            raise InvalidInputError(f"onnxruntime cannot run it: {plain(error)}") from None
        self._input = self._session.get_inputs()[0]
        given = self(np.zeros((1, self.sizes[0]))).shape
        if given != (1, self.sizes[1]):
            raise InvalidInputError(f"it gives actions of the shape {given}, and declares another")

    def __call__(self, observations: NDArray[np.floating]) -> NDArray[np.floating]:
        """Actions in the task's own units."""
        kind = {"tensor(float)": np.float32, "tensor(double)": np.float64}[self._input.type]
        rows = np.asarray(observations, kind)
        try:
            found = [self._session.run(None, {self._input.name: row[None]})[0][0] for row in rows]
        except Exception as error:  # as above
            raise InvalidInputError(f"the ONNX policy fails: {plain(error)}") from None
        return np.stack(found)


def load_onnx(path: Path) -> OnnxPolicy:
    """Load the policy in a file; raises ``InvalidInputError`` if anything is wrong with it."""
    require_onnx()
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InvalidInputError(f"it must have at most {MAX_BYTES} bytes, not {size}")
        return OnnxPolicy(path.read_bytes())
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
    except InvalidInputError as error:
        raise InvalidInputError(f"the ONNX policy {path} is refused: {error}") from None


def require_onnx() -> None:
    """Raise unless the packages for ONNX files are installed."""
    for name in ("onnx", "onnxruntime"):
        optional_import(name, "ONNX files need the extra: pip install 'mixedne[onnx]'")


def make_session(model: "ModelProto") -> Any:
    """An onnxruntime session on one CPU thread, without warnings."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)


def _parse(content: bytes) -> "ModelProto":
    import onnx

    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
        model.DiscardUnknownFields()
    except Exception as error:  # protobuf's errors differ between its implementations
        raise InvalidInputError(f"it is damaged or no ONNX file: {plain(error)}") from None
    return model


def _read_metadata(model: "ModelProto") -> tuple[str | None, dict[str, Any]]:
    """Task and training of a policy that this package exported; empty for others."""
    said: dict[str, Any] = {entry.key: entry.value for entry in model.metadata_props}
    version, task = said.get(FORMAT, FORMAT_VERSION), said.get(TASK)
    if version != FORMAT_VERSION:
        raise InvalidInputError(f"its {FORMAT} must be {FORMAT_VERSION}, not {version[:40]!r}")
    if not isinstance(task, str | None):  # protobuf returns bytes if they are not valid text
        raise InvalidInputError(f"its {TASK} must be text, not {task!r}")
    try:
        training = parse_json(said.get(TRAINING, "{}"))
    except ValueError:
        training = None
    if not isinstance(training, dict):
        raise InvalidInputError(f"its {TRAINING} must be a JSON object")
    return task, training
