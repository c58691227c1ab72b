"""Agents trained from scratch on environments whose answer is known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from mixedne import Players
from mixedne.config import configure
from mixedne.metrics import read_metrics
from mixedne.policies import Policy, load_policy
from mixedne.tasks import resolve_task
from mixedne.training.assembly import make_agent
from mixedne.training.checkpoints import load_checkpoints
from mixedne.training.run import train_config
from mixedne.training.snapshot import restore_tree
from mixedne.training.updates import OffPolicyUpdater
from probes.environments import two_player_reward
from probes.games import action_game

GAMMA, DELTA = 0.5, 0.1
SIGNS = np.array([[-1.0], [1.0]], np.float32)

SETTINGS: dict[str, Any] = {
    "hidden": (16,),
    "activation": "tanh",
    "batch_size": 32,
    "gamma": GAMMA,
    "tau": 0.95,
    "critic_learning_rate": 5e-3,
    "eta": 3e-3,
    "collect_steps": 20,
    "updates": 20,
    "random_steps": 300,
    "update_after": 100,
    "evaluate_every": 0,
    "checkpoint_every": 10_000,
}


class Trained:
    """What a run folder holds, and its critics."""

    def __init__(self, out: Path, probe: str, agent: str, **choices: Any) -> None:
        own = {"td3": {"target_noise": 0.1}, "sac": {"initial_temperature": 0.01}}.get(agent, {})
        config = configure(
            f"probes.environments:{probe}-v0", agent=agent, **{**SETTINGS, **own, **choices}
        )
        train_config(config, out=out)
        self._agent = make_agent(config, resolve_task(config.task))
        template = OffPolicyUpdater(config).init(config.seed)
        checkpoint = next(load_checkpoints(out / "checkpoint"))
        assert checkpoint.step == config.steps
        self._state = restore_tree(template, checkpoint.tensors, "state")
        self.policies: Players[Policy | None] = Players(
            load_policy(out), load_policy(out, "adversary") if config.delta != 0 else None
        )

    def values(self, *shown: float) -> Any:
        """What the critic makes of both players' actions, where −1 and where +1 is seen.

        ``shown``: what the game shows beside them at the first step.
        """
        state = self._state
        seen = jnp.asarray([[*sign, *shown] for sign in SIGNS])
        return np.array([self._agent.payoff(state.carry, state.players, s[None]) for s in seen])

    def actions(self, *shown: float) -> Players[Any]:
        """What each player does there."""
        agent, adversary = self.policies
        seen = np.array([[*sign, *shown] for sign in SIGNS])
        its = None if adversary is None else adversary(seen)[:, 0]
        return Players(None if agent is None else agent(SIGNS)[:, 0], its)


Train = Callable[..., Trained]


@pytest.fixture(params=["ddpg", "td3", "sac"])
def train(request: pytest.FixtureRequest, tmp_path: Path) -> Train:
    """Each agent, alone."""
    agent = request.param

    def run(probe: str, **more: Any) -> Trained:
        alone = {} if agent == "sac" else {"delta": 0.0}
        return Trained(tmp_path / "run", probe, agent, **alone, **more)

    return run


def test_value(train: Train) -> None:
    np.testing.assert_allclose(train("Value", steps=1000).values(), [1, 1], atol=0.05)


@pytest.mark.slow
def test_observation_use(train: Train) -> None:
    np.testing.assert_allclose(train("ObservationUse", steps=1000).values(), [-1, 1], atol=0.1)


@pytest.mark.slow
def test_discount(train: Train) -> None:
    np.testing.assert_allclose(train("Discount", steps=1500).values(), [GAMMA, 1], atol=0.07)


@pytest.mark.slow
def test_time_limit(train: Train) -> None:
    # 1 / (1 − ½) = 2
    np.testing.assert_allclose(train("TimeLimit", steps=1500).values(), [2, 2], atol=0.15)


@pytest.mark.slow
def test_action(train: Train) -> None:
    trained = train("Action", steps=2000)
    np.testing.assert_allclose(trained.actions().agent, [-0.5, 0.5], atol=0.15)
    np.testing.assert_allclose(trained.values(), [1, 1], atol=0.1)


NASH = {"nr-mdp": (1 - DELTA) ** 2, "pr-mdp": 1 - DELTA}


@pytest.mark.parametrize("formulation", sorted(NASH))
def test_the_nash_value_is_as_derived(formulation: str) -> None:
    """By brute force over a grid of actions: max-min and min-max are the value stated."""
    grid = np.linspace(-1, 1, 41)
    branches = action_game(formulation, DELTA).branches
    game = np.array(
        [[sum(w * two_player_reward(x) for w, x in branches(a, b)) for b in grid] for a in grid]
    )
    assert game.min(axis=1).max() == pytest.approx(NASH[formulation], abs=1e-12)
    assert game.max(axis=0).min() == pytest.approx(NASH[formulation], abs=1e-12)
    assert grid[game.min(axis=1).argmax()] == 1
    assert grid[game.max(axis=0).argmin()] == -1


def solves_the_game(out: Path, agent: str, solver: str, formulation: str) -> None:
    langevin = {"inner_growth": 1e-3, "inner_max": 3} if solver == "mixedne-ld" else {}
    trained = Trained(
        out,
        "TwoPlayer",
        agent,
        solver=solver,
        formulation=formulation,
        delta=DELTA,
        steps=2000,
        metrics_every=500,
        **langevin,
    )
    mine, its = trained.actions()
    assert (mine * SIGNS[:, 0]).min() > 0.9
    assert (its * SIGNS[:, 0]).max() < -0.7
    # The critic is the same for both players, and knows what the adversary costs.
    np.testing.assert_allclose(trained.values(), 2 * [NASH[formulation]], atol=0.05)
    # Both act in the world: its returns are no better (the agent alone gets 0.96 with this noise).
    assert read_metrics(out)[-1]["return_mean"] < NASH[formulation] + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["ddpg", "td3"])
@pytest.mark.parametrize("solver", ["mixedne-ld", "gad", "extra-adam"])
def test_the_noisy_game(agent: str, solver: str, tmp_path: Path) -> None:
    solves_the_game(tmp_path / "run", agent, solver, "nr-mdp")


@pytest.mark.slow
def test_the_probabilistic_game(tmp_path: Path) -> None:
    solves_the_game(tmp_path / "run", "ddpg", "mixedne-ld", "pr-mdp")


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["ddpg", "td3"])
@pytest.mark.parametrize("solver", ["mixedne-ld", "gad", "extra-adam"])
def test_the_probabilistic_game_with_every_solver(agent: str, solver: str, tmp_path: Path) -> None:
    solves_the_game(tmp_path / "run", agent, solver, "pr-mdp")


@pytest.mark.slow
def test_the_game_of_forces(tmp_path: Path) -> None:
    """RARL against the law of motion: see the probe."""
    settings = {"formulation": "rarl", "bodies": "block", "force": 2.5, "steps": 2000}
    trained = Trained(tmp_path / "run", "Slider", "td3", solver="gad", **settings)
    mine, its = trained.actions()
    assert (mine * SIGNS[:, 0]).min() > 0.9
    assert (its * SIGNS[:, 0]).max() < -0.9 * 2.5  # in newtons
    np.testing.assert_allclose(trained.values(), [0.75, 0.75], atol=0.05)


@pytest.mark.slow
def test_the_game_of_parameters(tmp_path: Path) -> None:
    """The adversary makes the body heavy: see the probe."""
    settings = {"formulation": "parameters", "parameters": ["mass[block]=0.5:2"], "steps": 2500}
    trained = Trained(tmp_path / "run", "Slider", "ddpg", solver="gad", **settings)
    shown = (2 * (1 - 0.5) / 1.5 - 1, 1.0)  # the nominal mass in the range, and: to be set
    mine, its = trained.actions(*shown)
    assert (mine * SIGNS[:, 0]).min() > 0.9
    assert its.min() > 1.8  # of at most 2
    np.testing.assert_allclose(trained.values(*shown), [0.5, 0.5], atol=0.06)
