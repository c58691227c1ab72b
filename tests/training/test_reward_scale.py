"""Rewards scaled by the deviation of the discounted return: by hand, in the program, resumed."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from mixedne import InvalidInputError, Players
from mixedne.config import Config, configure, game_of
from mixedne.metrics import read_metrics
from mixedne.tasks import resolve_task
from mixedne.training import collection
from mixedne.training.collection import Experience, RunningMoments, transition_layout
from mixedne.training.replay import Replay
from mixedne.training.run import train_config
from mixedne.training.updates import OffPolicyUpdater, RunInputs
from probes.faulty import Recorder
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"
SMALL: dict[str, Any] = {"hidden": (4,), "batch_size": 4, "updates": 2, "collect_steps": 4}


def experience(config: Config) -> Experience:
    made = Experience(config, resolve_task(PENDULUM), None)
    made.start()
    return made


def players() -> Players:
    return Players(*(random_policy(PENDULUM, seed, scale=0.1) for seed in range(2)))


def test_the_deviation_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """γ = 0.5; rewards 10, 20, … in episodes of 5 steps (truncated) and 3 (terminated)."""
    monkeypatch.setattr(collection, "make_game_env", lambda task, game: Recorder())
    task = dataclasses.replace(resolve_task(PENDULUM), observation_size=2)
    config = configure(PENDULUM, gamma=0.5, scale_rewards=True, delta=0, **SMALL)
    made = Experience(config, task, None)
    made.start()
    agent = random_policy(PENDULUM, 0)
    monkeypatch.setattr(agent, "unit", lambda observation: np.zeros(1, np.float32))
    assert made.reward_scale == 1  # nothing is seen yet
    returns = [10, 25, 42.5, 61.25, 80.625, 10, 25, 42.5, 10, 25]
    ended = []
    for first, last in ((0, 4), (4, 8), (8, 10)):
        ended += made.collect(Players(agent, None), first, last - first)
        assert made.reward_scale == pytest.approx(np.std(returns[:last]), rel=1e-6)
    assert ended == [(150.0, 5), (60.0, 3)]  # as the task pays
    assert made.largest_reward == 50
    assert made.replay is not None
    stored = made.replay.sample(np.random.default_rng(0), (500,))[:, made.layout.columns["reward"]]
    assert {*stored.ravel()} == {10, 20, 30, 40, 50}  # as well


def test_off_there_is_no_scale() -> None:
    made = experience(configure(PENDULUM, **SMALL))
    made.collect(players(), 0, 4)
    assert made.reward_scale is None
    assert not any("returns" in name for name in made.snapshot()[0])
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["ddpg", "td3", "sac"])
def test_the_program_divides_rewards(agent: str) -> None:
    """Rewards four times as large, divided by four, teach the same to the bit."""
    config = configure(PENDULUM, agent=agent, **SMALL)
    task, updater = resolve_task(PENDULUM), OffPolicyUpdater(config)
    layout = transition_layout(game_of(config, task))
    rows = np.random.default_rng(0).uniform(-1, 1, (32, layout.width)).astype(np.float32)
    ends = []
    for factor, scale in ((1, np.float32(1)), (4, np.float32(4)), (4, None)):
        paid = rows.copy()
        paid[:, layout.columns["reward"]] *= factor
        replay = Replay.create(None, layout.width, 32, 0)
        replay.append(paid)
        scaling = RunningMoments.empty(task.observation_size).scaling()
        inputs = RunInputs(config, updater.init(0), replay, scaling, scale)
        [(state, _)] = updater.advance([inputs], 0, 2)
        ends.append(np.asarray(jax.flatten_util.ravel_pytree(state.carry.critics)[0]))
    np.testing.assert_array_equal(ends[0], ends[1])
    assert (ends[0] != ends[2]).any()


def test_a_run_teaches_scaled_rewards_and_reports_the_tasks(tmp_path: Path) -> None:
    """At γ = 0 the targets are the rewards; two runs have the same data until the only updates."""
    lines = []
    for scale in (False, True):
        settings = {**SMALL, "steps": 40, "update_after": 36, "gamma": 0.0, "evaluate_every": 0}
        config = configure(PENDULUM, solver="gad", **settings, scale_rewards=scale)
        run = train_config(config, out=tmp_path / str(scale))
        lines += read_metrics(run.path)
    plain, scaled = lines
    assert scaled["reward_scale"] < 0.9
    assert scaled["target_mean"] == pytest.approx(plain["target_mean"] / scaled["reward_scale"])
    assert scaled["return_mean"] == plain["return_mean"]


def test_a_resumed_run_has_the_same_deviation() -> None:
    """Also where it is left in the middle of an episode, whose G is counted again."""
    config = configure(PENDULUM, scale_rewards=True, steps=1000, **SMALL)
    first, second = experience(config), experience(config)
    step = 0
    while step < 40 or not first.episode.actions:
        first.collect(players(), step, 4)
        step += 4
    tensors, notes = first.snapshot()
    second.restore(step, tensors, notes)
    second.resume(notes["episode"], tensors["episode.actions"])
    assert second.episode.discounted_return == first.episode.discounted_return > 0
    for made in (first, second):
        made.collect(players(), step, 4)
    assert first.return_moments.count == second.return_moments.count == step + 4
    assert first.reward_scale == second.reward_scale
    np.testing.assert_array_equal(first.return_moments.squares, second.return_moments.squares)
    for made in (first, second):
        made.close()


def test_vpg_has_no_critic() -> None:
    with pytest.raises(InvalidInputError, match="scale_rewards has an effect only with agent ddpg"):
        configure("toy", agent="vpg", scale_rewards=True)
