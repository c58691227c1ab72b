"""Attackers in evaluations: what they do to policies, and that without strength they do nothing."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from mixedne import InvalidInputError
from mixedne.evaluation.attacks import AttackedWorlds, Attacker, find_attacker, observation_scale
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.sweep import evaluate
from mixedne.games.attacks import Attack, AttackRules
from mixedne.policies import Policy, PolicySpec, save_policy
from mixedne.shifts import NOMINAL
from mixedne.tasks import Task, make_worlds, resolve_task
from probes.policies import random_policy

ATTACKS = {
    "action": Attack("action", 0.3),
    "force": Attack("force", 5.0, bodies="torso,foot"),
    "parameters": Attack("parameters", 0.1, parameters=("mass[torso]=2:3", "friction=0.5:2")),
    "observation": Attack("observation", 0.1),
}


def attacker_policy(task: Task, attack: Attack) -> Policy:
    """An attacker with random weights."""
    rules = AttackRules(task, attack)
    sizes = {"observation_size": rules.sees, "action_low": (-1.0,) * rules.box.size}
    sizes["action_high"] = (1.0,) * rules.box.size
    return random_policy(task.id, 7, 1.0, **sizes, attack=attack.to_json())


@pytest.fixture(scope="module", params=sorted(ATTACKS))
def attacker(request: pytest.FixtureRequest) -> Attacker:
    """Of every kind, on Hopper."""
    attack = ATTACKS[request.param]
    return Attacker(attack, attacker_policy(resolve_task("Hopper-v5"), attack))


def test_without_strength_the_worlds_are_the_same_to_the_bit(attacker: Attacker) -> None:
    """Also inside the attacked worlds; but parameters whose bounds leave the nominal ones out."""
    task, policy = resolve_task("Hopper-v5"), random_policy("Hopper-v5")
    if attacker.attack.on == "parameters":
        bounds = ("mass[torso]=0.5:3", "friction=0.5:2")
        attack = dataclasses.replace(attacker.attack, parameters=bounds)
        attacker = Attacker(attack, attacker.policy)
    cases = [(NOMINAL, seed) for seed in (3, 4)]
    plain = make_worlds(task, cases, threads=1)
    attacked = AttackedWorlds(task, cases, attacker, np.ones((2, 11)), threads=1)
    seen = plain.reset()
    np.testing.assert_array_equal(attacked.reset(), seen)
    for _ in range(8):
        actions = policy(seen)
        one, other = plain.step(actions), attacked.step(actions)
        for mine, its in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, its)
        seen = one.observations
    plain.close()
    attacked.close()


def test_a_strength_of_zero_scores_as_unattacked(attacker: Attacker) -> None:
    policy = random_policy("Hopper-v5")
    plain = evaluate(policy, episodes=3)
    table = evaluate(policy, attack=attacker, strength="0,0.5", episodes=3, worlds_at_once=4)
    column = f"attack[{attacker.name}]"
    assert table[column].to_list() == [0.0] * 3 + [0.5] * 3
    assert table.head(3).drop(column).equals(plain)
    assert not (table["return"].tail(3) == plain["return"]).any()
    # Strengths and worlds that run beside each other do not matter.
    alone = evaluate(policy, attack=attacker, strength=0.5, episodes=3, worlds_at_once=1)
    assert alone.equals(table.tail(3))


def test_forces_are_those_of_the_attacker() -> None:
    """Against a Gymnasium loop that writes them."""
    task, attack, policy = resolve_task("Hopper-v5"), ATTACKS["force"], random_policy("Hopper-v5")
    pusher = attacker_policy(task, attack)
    (row,) = evaluate(policy, attack=Attacker(attack, pusher), episodes=1).to_dicts()
    env: Any = gym.make("Hopper-v5")
    seen, _ = env.reset(seed=row["episode_seed"])
    places = np.ix_([env.unwrapped.data.body(name).id for name in ("torso", "foot")], [0, 2])
    total, ended = 0.0, False
    while not ended:
        force = (5.0 * pusher.unit(seen).astype(float)).astype(np.float32)
        env.unwrapped.data.xfrc_applied[places] = force.reshape(2, 2)
        seen, reward, *ends, _ = env.step(policy(seen))
        total, ended = total + reward, any(ends)
    assert row["return"] == total


def test_what_is_executed_and_seen() -> None:
    task = resolve_task("InvertedPendulum-v5")  # whose actions are in [−3, 3]
    a, b = np.array([[1.0], [9.0]], np.float32), np.array([[-1.0], [-1.0]])
    on_action = AttackRules(task, Attack("action", 0.25))
    # ¾ · 1 − ¼ · 3 = 0, and ¾ · 3 − ¼ · 3 = 1.5 where the action is clipped first
    np.testing.assert_array_equal(
        on_action.executed(a, b, 0.25), np.array([[0.0], [1.5]], np.float32)
    )
    on_observation = AttackRules(task, Attack("observation", 0.5))
    policy = random_policy("InvertedPendulum-v5", normaliser=True)
    scale = observation_scale(find_policy(policy))
    moved = on_observation.seen(np.zeros((1, 4)), np.ones((1, 4)), 0.5, scale)
    # By half of the unit in which the policy sees it.
    np.testing.assert_allclose(moved[0], 0.5 * policy.tensors["normaliser.scale"])
    assert observation_scale(find_policy(random_policy("InvertedPendulum-v5"))) == 1.0


def test_a_random_attacker_meets_policies_with_the_same_draws() -> None:
    at_random = Attacker(Attack("action", 1.0))  # which leaves nothing of the policy
    policies = {str(seed): random_policy("Hopper-v5", seed) for seed in (0, 1)}
    table = evaluate(policies, attack=at_random, episodes=2)
    first, second = (table.filter(run=name)["return"].to_list() for name in policies)
    assert first == second
    assert first[0] != first[1]


def test_strengths_are_checked_whatever_else_is_shifted() -> None:
    policy, attacker = random_policy("Hopper-v5"), Attacker(ATTACKS["action"])
    table = evaluate(policy, attack=attacker, strength=0, mass=2, episodes=1)
    assert table["mass"].to_list() == [2.0]
    with pytest.raises(InvalidInputError, match="must be at most 1"):
        evaluate(policy, attack=attacker, strength=5, mass=2, episodes=1)


def test_broken_physics_is_no_success() -> None:
    policy, attack = random_policy("HalfCheetah-v5"), Attack("force", 1e6, bodies="torso")
    with pytest.warns(UserWarning, match="the physics diverged"):
        table = evaluate(policy, attack=Attacker(attack), episodes=1)
    assert table["diverged"].all()
    mild = dataclasses.replace(attack, strength=5.0)
    assert not evaluate(policy, attack=Attacker(mild), episodes=1)["diverged"].any()


def test_files(attacker: Attacker, tmp_path: Path) -> None:
    assert attacker.policy is not None
    save_policy(tmp_path, attacker.policy, "attacker")
    policy = random_policy("Hopper-v5")
    save_policy(tmp_path, policy)
    assert "attack" not in json.loads((tmp_path / "policy.json").read_text())
    for path in (tmp_path, tmp_path / "attacker.json", tmp_path / "attacker.safetensors"):
        found = find_attacker(path)
        assert (found.attack, found.name) == (attacker.attack, attacker.name)
    with pytest.raises(InvalidInputError, match="is an attacker and no policy"):
        evaluate(tmp_path / "attacker.json")
    with pytest.raises(InvalidInputError, match="is a policy and no attacker"):
        evaluate(policy, attack=tmp_path / "policy.json")
    with pytest.raises(InvalidInputError, match=r"takes .* observations"):
        evaluate(random_policy("Walker2d-v5"), attack=tmp_path)


@pytest.mark.parametrize(
    "said",
    [{}, {"on": "action"}, {"on": "action", "strength": "much"}, {"on": "fate", "strength": 1.0},
     {"on": "force", "strength": 1.0, "bodies": 3}, {"on": "action", "strength": 0.1, "x": 1},
     {"on": "parameters", "strength": 0.1, "parameters": [["mass"]]},
     {"on": "action", "strength": 1.5}, {"on": "action", "strength": -0.1}],
)  # fmt: skip
def test_files_that_make_no_sense(said: dict[str, Any], tmp_path: Path) -> None:
    save_policy(tmp_path, random_policy("Hopper-v5", attack=said), "attacker")
    with pytest.raises(InvalidInputError):
        find_attacker(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strength": 0.1}, "name an attacker"),
        ({"shifts": {"attack[action]": [0.1]}}, "needs an attacker"),
        ({"attack": 3}, "must be a path"),
        ({"attack": Attacker(ATTACKS["action"]), "strength": "0,2"}, "at most 1"),
        ({"attack": Attacker(ATTACKS["parameters"]), "mass": 2}, "leave out mass"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        evaluate(random_policy("Hopper-v5"), episodes=1, **options)


def test_a_spec_says_its_attack_as_a_table() -> None:
    with pytest.raises(InvalidInputError, match="attack must be a table"):
        PolicySpec(1, (-1.0,), (1.0,), attack="action")  # type: ignore[arg-type]
