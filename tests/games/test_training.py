"""Runs in games whose adversary has actions of its own: what they store, save and resume."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixedne import Players
from mixedne.config import Config, configure
from mixedne.evaluation.handles import find_policy
from mixedne.policies import load_policy
from mixedne.tasks import resolve_task
from mixedne.training.collection import Experience
from probes.policies import random_policy
from probes.runs import results, train_interrupted
from probes.transitions import unpack

SMALL: dict[str, Any] = {
    **{"solver": "gad", "hidden": (8,), "batch_size": 8, "collect_steps": 20, "updates": 5},
    **{"steps": 160, "update_after": 30, "checkpoint_every": 40, "evaluate_every": 0},
}
GAMES: dict[str, dict[str, Any]] = {
    "rarl": {"agent": "td3", "bodies": "pole,cart", "force": 3.0, "random_steps": 20},
    "parameters": {
        **{"parameters": ("mass[pole]=0.5:2", "gravity=0.5:1.5"), "rate": 0.1},
        "preset": "authors",
    },
}


def config_of(name: str) -> Config:
    return configure("InvertedPendulum", formulation=name, **SMALL, **GAMES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_an_interrupted_run_ends_as_the_whole_one(name: str, tmp_path: Path) -> None:
    config = config_of(name)
    whole, left = train_interrupted(config, tmp_path)
    assert results(left) == results(whole)

    agent, adversary = load_policy(whole), load_policy(whole, "adversary")
    assert agent.spec.observation_size == 4
    box = (adversary.spec.action_low, adversary.spec.action_high)
    # Newtons, or the largest changes in a step: a tenth of 1.5 and of 1.
    expected = [(-3, -3), (3, 3)] if name == "rarl" else [(-0.15, -0.1), (0.15, 0.1)]
    np.testing.assert_allclose(box, expected)
    assert adversary.spec.observation_size == (4 if name == "rarl" else 6)
    if name == "parameters":  # what the game shows is scaled already
        np.testing.assert_array_equal(adversary.tensors["normaliser.mean"][4:], [0, 0])
        np.testing.assert_array_equal(adversary.tensors["normaliser.scale"][4:], [1, 1])

    provenance = find_policy(whole).provenance
    assert provenance["formulation"] == name
    assert provenance["delta"] is None
    assert provenance["strength"] == (3.0 if name == "rarl" else 0.1)
    assert json.loads((whole / "config.json").read_text())["delta"] is None


@pytest.mark.parametrize("name", GAMES)
def test_a_stored_transition(name: str) -> None:
    config, task = config_of(name), resolve_task("InvertedPendulum")
    made = Experience(config, task, None)
    made.start()
    its: dict[str, Any] = {"observation_size": 4 if name == "rarl" else 6, "action_low": (-9, -9)}
    adversary = random_policy(task.id, seed=1, **its, action_high=(9, 9))
    players = Players(random_policy(task.id), adversary)
    rows, _ = made.play(players, 30, 0, at_random=False)
    stored = unpack(made.layout, rows)
    assert list(stored) == ["observation", "action", "reward", "terminated", "next_observation"]
    assert stored["action"].shape == (30, 3)
    for observation, action in zip(stored["observation"], stored["action"], strict=True):
        a, b = players.agent.unit(observation[:4]), players.adversary.unit(observation)
        near = np.concatenate([a, b])
        assert np.abs(action - near).max() < 6 * config.sigma  # the rest is exploration
