"""Training of attackers: a policy and its world as a task, and the results of a run."""

import dataclasses
import functools
import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from mixedne.evaluation.attacks import observation_scale
from mixedne.evaluation.handles import PolicyBatch, PolicyHandle
from mixedne.games.attacks import Attack, AttackerEnv, AttackRules
from mixedne.metrics import read_metrics
from mixedne.policies import Policy, load_policy
from mixedne.tasks import Task

STILL = 0.05
"""An attacker was still improving if the last quarter of its training lowered the policy's return
by more than this fraction of the whole decrease, and by more than the standard error."""


def attackers_world(handle: PolicyHandle, task: Task, attack: Attack) -> str:
    """Register an attacker's environment as a Gymnasium task in this process; return its name."""
    rules, scale = AttackRules(task, attack), observation_scale(handle)
    policies = PolicyBatch([handle], [0], [0], task.id, task.action_size, stochastic=False)
    whom = handle.fingerprint or secrets.token_hex(16)  # random if the policy has no hash
    what = json.dumps([whom, task.id, attack.to_json()])
    name = f"attack/{hashlib.sha256(what.encode()).hexdigest()[:16]}-v0"

    def make() -> AttackerEnv:
        act = functools.partial(policies.act, np.arange(1))
        return AttackerEnv(rules, attack.strength, act, scale)

    gym.registry.pop(name, None)  # a function of the user may make a different world now
    creator: Any = make
    gym.register(name, creator, max_episode_steps=task.max_episode_steps)
    return name


def settings(steps: int) -> dict[str, Any]:
    """Settings of an attacker's training: one-player TD3, tuned for few steps."""
    first = min(1_000, steps // 10)
    return {
        "agent": "td3",
        "solver": "gad",
        "delta": 0.0,
        "steps": steps,
        "activation": "relu",
        "critic_hidden": (256, 256),
        "critic_layer_norm": True,
        "normalise_observations": True,
        "scale_rewards": True,
        "critic_learning_rate": 1e-3,
        "rms_bias_correction": True,
        "sigma": 0.2,
        "random_steps": first,
        "update_after": first,
        "metrics_every": max(1, steps // 40),
        "evaluate_every": 0,
        "checkpoint_every": max(1_000, steps // 4),
    }


def trained_attacker(run: Path, attack: Attack, task: Task) -> Policy:
    """The policy of a run as an attacker, with a description of the attack."""
    policy, box = load_policy(run), AttackRules(task, attack).box
    reach = 1.0 if attack.on == "action" else max(attack.strength, 1e-9)
    low, high = (tuple((reach * end).tolist()) for end in box)
    spec = dataclasses.replace(
        policy.spec, action_low=low, action_high=high, task=task.id, attack=attack.to_json()
    )
    return Policy(spec, policy.tensors)


def learning_curve(run: Path) -> list[dict[str, float]]:
    """The policy's return during the attacker's training, with exploration, by training step."""
    lines = (line for line in read_metrics(run) if line.get("return_mean") is not None)
    return [{"step": line["step"], "mean_return": -line["return_mean"]} for line in lines]


def still_improved(curve: Sequence[Mapping[str, float]], taken: float) -> bool | None:
    """Whether returns were much lower in the last quarter of the training than in the third.

    None if too few episodes have ended to decide.
    """
    end = curve[-1]["step"] if curve else 0
    third, last = (
        np.array([line["mean_return"] for line in curve if low < line["step"] / end <= high])
        for low, high in ((0.5, 0.75), (0.75, 1.0))
    )
    if min(len(third), len(last)) < 2:
        return None
    error = np.sqrt(third.var(ddof=1) / len(third) + last.var(ddof=1) / len(last))
    return bool(third.mean() - last.mean() > max(STILL * abs(taken), error))
