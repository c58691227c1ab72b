"""Policies with random weights, for tests that need one."""

from typing import Any

import numpy as np

from mixedne.policies import Policy, PolicySpec
from mixedne.tasks import resolve_task


def random_policy(task: str, seed: int = 0, scale: float = 0.3, **spec: Any) -> Policy:
    found = resolve_task(task)
    rng = np.random.default_rng(seed)
    own = {
        "observation_size": found.observation_size,
        "action_low": tuple(found.action_low.tolist()),
        "action_high": tuple(found.action_high.tolist()),
        "task": found.id,
    }
    described = PolicySpec(**{**own, **spec})
    tensors = {
        name: scale * rng.standard_normal(shape) for name, shape in described.shapes().items()
    }
    if described.normaliser:
        tensors["normaliser.scale"] = np.abs(tensors["normaliser.scale"]) + 0.5
    return Policy(described, tensors)
