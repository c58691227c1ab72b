"""Learning rates that fall in the course of a run: whose, by how much, and to which update."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixedne.agents import DDPG, Batches
from mixedne.agents.base import CriticCarry, batch_at
from mixedne.config import Config, configure, game_of, total_updates
from mixedne.names import SOLVERS
from mixedne.solvers import SolverState
from mixedne.tasks import resolve_task
from mixedne.training.collection import RunningMoments, transition_layout
from mixedne.training.replay import Replay
from mixedne.training.updates import OffPolicyUpdater, OnPolicyUpdater, RunInputs

PENDULUM = "InvertedPendulum-v5"
ONE: dict[str, Any] = {"steps": 10, "collect_steps": 10, "updates": 1, "update_after": 0}
"""One update in all: at t = 1 learning rates have fallen to their last share."""

SMALL: dict[str, Any] = {"hidden": (4,), "batch_size": 4, "policy_delay": 1}
CASES = [(agent, solver) for agent in ("ddpg", "td3") for solver in SOLVERS] + [("sac", None)]


def only_update(agent: str, solver: str | None, share: float) -> tuple[SolverState, SolverState]:
    """The state before and after it."""
    settings = {**ONE, **SMALL, "learning_rate_decay": share}
    if agent == "sac":
        del settings["policy_delay"]
    config = configure(PENDULUM, agent=agent, solver=solver, **settings)
    game, updater = game_of(config, resolve_task(PENDULUM)), OffPolicyUpdater(config)
    layout = transition_layout(game)
    replay = Replay.create(None, layout.width, 64, 0)
    rows = np.random.default_rng(0).uniform(-1, 1, (64, layout.width)).astype(np.float32)
    replay.append(rows)
    scaling = RunningMoments.empty(resolve_task(PENDULUM).observation_size).scaling()
    before = updater.init(0)
    inputs = RunInputs(config, jax.tree.map(jnp.copy, before), replay, scaling)
    [(after, _)] = updater.advance([inputs], 0, 1)
    return before, after


def flat(tree: Any) -> Any:
    return np.asarray(jax.flatten_util.ravel_pytree(tree)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "solver"), CASES)
def test_at_the_share_zero_nothing_learns(agent: str, solver: str | None) -> None:
    before, after = only_update(agent, solver, 0.0)
    assert int(after.step) == 1
    np.testing.assert_allclose(flat(after.players), flat(before.players), atol=1e-7)  # β mixes
    np.testing.assert_array_equal(flat(after.carry.critics), flat(before.carry.critics))
    if agent == "sac":
        assert after.carry.log_alpha == before.carry.log_alpha


@pytest.mark.parametrize(("agent", "solver"), [("td3", "gad"), ("sac", None)])
def test_at_a_half_first_steps_are_half_as_long(agent: str, solver: str | None) -> None:
    """The first step of RMSProp and Adam has a length that does not depend on the gradient's."""
    steps = []
    for share in (1.0, 0.5):
        before, after = only_update(agent, solver, share)
        parts = [(state.players.agent, state.carry.critics) for state in (before, after)]
        steps.append(flat(parts[1]) - flat(parts[0]))
    whole, half = (np.median(np.abs(step)) for step in steps)
    np.testing.assert_allclose(half, whole / 2, rtol=0.01)
    critics = slice(-flat(before.carry.critics).size, None)
    np.testing.assert_allclose(steps[1][critics], steps[0][critics] / 2, atol=1e-6)


def test_vpg_too() -> None:
    def last_player(share: float) -> Any:
        config = configure(
            "toy", agent="vpg", steps=2, horizon=5, hidden=(4,), learning_rate_decay=share
        )
        updater = OnPolicyUpdater(config)
        state = updater.init(0)
        players = [flat(state.players)]
        with jax.debug_key_reuse(False):  # runs that fill the lanes are copies
            for done in range(2):
                [(state, _)] = updater.advance([RunInputs(config, state)], done, 1)
                players.append(flat(state.players))
        return players

    first, second, third = last_player(0.0)
    assert (first != second).any()  # at half the rate
    np.testing.assert_allclose(second, third, atol=1e-7)


@dataclass(frozen=True, eq=False)
class Rates(DDPG):
    """Critics that do not learn, but sum up what is left of their learning rate."""

    def begin(self, batches: Batches, key: Any, carry: CriticCarry, *players: Any) -> CriticCarry:
        rate = batch_at(batches.rate, carry.batch)
        sums = {name: total + rate for name, total in carry.sums.items()}
        return carry._replace(batch=carry.batch + 1, sums=sums)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_minibatch_has_the_rate_of_its_update(solver: str) -> None:
    """Also where an update takes several: chains, and the look-ahead of every second update."""
    chains = {"inner_growth": 1.0, "inner_max": 2} if solver == "mixedne-ld" else {}
    settings: dict[str, Any] = {**ONE, **SMALL, **chains, "updates": 10, "policy_delay": 2}
    config = configure(PENDULUM, solver=solver, learning_rate_decay=0.1, **settings)
    game = game_of(config, resolve_task(PENDULUM))
    updater = OffPolicyUpdater(config, Rates(4, 1, game=game, hidden=(4,)))
    replay = Replay.create(None, transition_layout(game).width, 64, 0)
    replay.append(np.zeros((64, replay.width), np.float32))
    scaling = RunningMoments.empty(4).scaling()
    inputs = RunInputs(config, updater.init(0), replay, scaling)
    [(_, metrics)] = updater.advance([inputs], 0, 10)
    left = 1 - 0.9 * np.arange(1, 11) / 10
    expected = left.sum() * (2 if chains else 1)
    assert sum(call["critic_loss"] for call in metrics) == pytest.approx(expected, rel=1e-5)


def updates_made(config: Config) -> int:
    """By the trainer's rule: a cycle of updates whenever enough is collected."""
    ends = range(config.collect_steps, config.steps + config.collect_steps, config.collect_steps)
    return sum(config.updates for end in ends if min(end, config.steps) > config.update_after)


def test_the_number_of_updates_follows_from_the_configuration() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        steps, collect, updates, after = (int(n) for n in rng.integers(1, [300, 60, 9, 150]))
        config = Config(
            "t", steps=steps, collect_steps=collect, updates=updates, update_after=after
        )
        assert total_updates(vars(config)) == updates_made(config)
    assert total_updates(vars(Config("t", agent="vpg", steps=7))) == 7
