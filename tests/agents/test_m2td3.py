"""M2TD3: its gradients, which vectors it draws anew, resumption, and a worst world it must find."""

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixedne import Players
from mixedne.agents import M2TD3, Batches, Transition
from mixedne.agents.m2td3 import MEMORY
from mixedne.config import Config, configure, game_of
from mixedne.games import make_game_env
from mixedne.games.game import Game
from mixedne.policies import load_policy
from mixedne.solvers import SolverState
from mixedne.tasks import resolve_task
from mixedne.training.checkpoints import load_checkpoints
from mixedne.training.collection import Experience
from mixedne.training.run import Status, train_config
from mixedne.training.snapshot import restore_tree
from mixedne.training.updates import OffPolicyUpdater
from probes.games import action_game
from probes.policies import random_policy
from probes.runs import results
from probes.transitions import unpack

SEEN, ACTIONS, PARAMETERS, ROWS = 3, 1, 2, 5


@functools.cache
def agent(scale: float = 3.0, **more: Any) -> M2TD3:
    alone = action_game("nr-mdp", 0, SEEN, ACTIONS)
    world = {"observation_size": SEEN + PARAMETERS, "unseen": PARAMETERS, "name": "m2td3"}
    game = Game(**{**vars(alone), **world})
    return M2TD3(SEEN + PARAMETERS, ACTIONS, game=game, hidden=(4,), scale=scale, **more)


@pytest.fixture
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def normal(seed: int, like: Any) -> Any:
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(0.5 * rng.standard_normal(x.shape)), like)


def batches(rng: np.random.Generator) -> Batches:
    sizes = (SEEN + PARAMETERS,), (ACTIONS,), (), (), (SEEN + PARAMETERS,)
    parts = [jnp.asarray(rng.standard_normal((1, ROWS, *size))) for size in sizes]
    return Batches(Transition(*parts), None)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("against", ["each other", "an opponent"])
def test_gradients_are_those_of_the_worst_vectors_value(against: str) -> None:
    """Against central differences of min_k mean_s Q(s, ω_k, μ(s)), the networks written out."""
    its, made = batches(np.random.default_rng(0)), agent()
    players, critic = jax.jit(made.init)(jax.random.key(0))
    critic = critic._replace(critics=normal(1, critic.critics))
    own, other = (normal(seed, players) for seed in (2, 3))
    other = other if against == "an opponent" else own
    carry = made.init_carry(critic)._replace(batch=jnp.asarray(1, jnp.int32))
    s, phi = its.transitions.observation[0, :, :SEEN], critic.critics[0]

    def network(layers: Any, x: Any) -> Any:
        for layer in layers[:-1]:
            x = jnp.tanh(x @ layer["weight"] + layer["bias"])
        return x @ layers[-1]["weight"] + layers[-1]["bias"]

    def payoff(theta: Any, z: Any) -> Any:
        def value(s: Any, vector: Any) -> Any:
            parts = s, made.scale * vector, jnp.tanh(network(theta, s))
            return network(phi, jnp.concatenate(parts))[0]

        return jnp.stack([jax.vmap(value, (0, None))(s, vector).mean() for vector in z]).min()

    given = None if against == "each other" else other
    found = jax.jit(made.oracle(its).gradients)(carry, own, given)
    z, h = own.adversary, 1e-6
    at = jax.jit(functools.partial(payoff, other.agent))
    slopes = [
        (at(z + h * e) - at(z - h * e)) / (2 * h) for e in np.eye(z.size).reshape(-1, *z.shape)
    ]
    np.testing.assert_allclose(found.adversary.ravel(), slopes, rtol=1e-6, atol=1e-9)
    moved = np.abs(found.adversary).max(axis=1)
    assert (moved > 1e-3).sum() == 1  # the worst one alone
    expected = jax.grad(payoff)(own.agent, other.adversary)
    for one, two in zip(*map(jax.tree.leaves, (found.agent, expected)), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_the_share_of_the_worst_grows_and_the_box_holds() -> None:
    made = agent()
    players, critic = jax.jit(made.init)(jax.random.key(0))
    carry = made.init_carry(critic)._replace(batch=jnp.asarray(1, jnp.int32))
    its = jax.tree.map(lambda x: x.astype(jnp.float32), batches(np.random.default_rng(0)))
    worst = int(made.worst(critic, players, its.transitions.observation[0]))
    shares = made.oracle(its).end(carry, players).critic.shares
    expected = np.full(5, 0.2 * (1 - 1 / MEMORY))
    expected[worst] += 1 / MEMORY
    np.testing.assert_allclose(shares, expected, rtol=1e-5)
    out = made.project(players._replace(adversary=jnp.array([[0.5, -9.0]])))
    np.testing.assert_allclose(out.adversary, [[1 / 3, -1 / 3]])  # ω = 3 z in [−1, 1]


def test_near_and_idle_vectors_are_drawn_anew() -> None:
    made = agent(scale=2.0)
    omega = jnp.array([[0.5, 0.5], [-0.5, 0.0], [0.45, 0.46], [1.0, 1.0], [-1.0, 1.0]])
    shares = jnp.array([0.3, 0.3, 0.3, 0.04, 0.06])
    critic = jax.eval_shape(made.init, jax.random.key(0))[1]._replace(shares=shares)
    state = SolverState(Players(None, omega / 2), None, critic, jnp.zeros([]))
    found, after = made.worlds(made.renew(jax.random.key(1), state))
    same = (found == np.asarray(omega)).all(axis=1)
    np.testing.assert_array_equal(same, [False, True, True, False, True])
    assert (np.abs(found) <= 1).all()
    np.testing.assert_allclose(after, np.array([0.2, 0.3, 0.3, 0.2, 0.06]) / 1.06, rtol=1e-5)


def test_many_vectors_are_not_drawn_anew_at_once() -> None:
    made = dataclasses.replace(agent(), parameter_vectors=25)
    omega = jnp.array(list(itertools.product(np.linspace(-1, 1, 5), repeat=2)))
    critic = jax.eval_shape(made.init, jax.random.key(0))[1]._replace(shares=jnp.ones(25) / 25)
    state = SolverState(Players(None, omega / made.scale), None, critic, jnp.zeros([]))
    found, _ = made.worlds(made.renew(jax.random.key(1), state))
    np.testing.assert_allclose(found, omega)


SMALL: dict[str, Any] = {
    **{"agent": "td3", "solver": "gad", "formulation": "m2td3", "parameters": "rrls-2d"},
    **{"hidden": (8,), "batch_size": 8, "collect_steps": 20, "updates": 6, "steps": 160},
    **{"update_after": 30, "checkpoint_every": 40, "evaluate_every": 0, "random_steps": 20},
}


def small(**more: Any) -> Config:
    return configure("InvertedPendulum", **SMALL, **more)


def test_what_is_stored() -> None:
    """The world's parameters stand in the observations, and in the model."""
    config, task = small(parameter_noise=0.0), resolve_task("InvertedPendulum")
    made = Experience(config, task, None)
    made.start()
    first = made.episode.number
    vectors = np.array([[-1.0, 1.0], [0.5, 0.0]], np.float32)
    made.worlds = vectors, np.array([0.25, 0.75])
    rows, _ = made.play(Players(random_policy(task.id), None), 400, 0, at_random=False)
    stored = unpack(made.layout, rows)
    assert stored["action"].shape == (400, 1)
    shown = stored["observation"][:, 4:]
    np.testing.assert_array_equal(shown, stored["next_observation"][:, 4:])
    begun = np.flatnonzero(np.append(False, (shown[1:] != shown[:-1]).any(1)))[0]
    assert first == 0  # which was drawn
    ours = [(shown[begun:] == vector).all(1) for vector in vectors]
    assert (ours[0] | ours[1]).all()
    assert 0 < ours[0].mean() < ours[1].mean()
    env = make_game_env(task, game_of(config, task))
    start, _ = env.reset(seed=0, options={"parameters": vectors[1]})
    np.testing.assert_array_equal(start[4:], vectors[1])
    masses = [env.unwrapped.model.body(name).mass[0] for name in ("pole", "cart")]  # type: ignore[attr-defined]
    np.testing.assert_allclose(masses, [23.5, 6])  # of 1–31 and 1–11


@pytest.mark.slow
def test_an_interrupted_run_ends_as_the_whole_one(tmp_path: Path) -> None:
    whole, left = tmp_path / "whole", tmp_path / "left"
    train_config(small(), out=whole)

    def leave(status: Status) -> None:
        if status.step == 100:  # in the middle of an episode, after a checkpoint at 80
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        train_config(small(), out=left, watch=leave)
    assert "episode.world" in next(load_checkpoints(left / "checkpoint")).tensors
    train_config(small(), out=left, resume=True)
    assert results(left) == results(whole)
    assert load_policy(whole).spec.observation_size == 4
    assert not (whole / "adversary.json").exists()


PROBE: dict[str, Any] = {
    **{"hidden": (32,), "activation": "tanh", "batch_size": 32, "gamma": 0.5, "tau": 0.95},
    **{"critic_learning_rate": 5e-3, "eta": 3e-3, "collect_steps": 20, "updates": 20},
    **{"random_steps": 500, "update_after": 100, "evaluate_every": 0, "steps": 3000},
    **{"parameters": ["mass[block]=1:2", "actuator-strength=0.5:1"]},
    **{"formulation": "m2td3", "parameter_learning_rate": 3e-3},
}


@pytest.mark.slow
@pytest.mark.parametrize(("agent_name", "solver"), [("td3", "gad"), ("ddpg", "mixedne-ld")])
def test_it_finds_the_worst_world(agent_name: str, solver: str, tmp_path: Path) -> None:
    """A heavy body and a weak motor: s · 10 a · 0.1 · 0.5 / 2 = 0.25 at a = s (see the probe)."""
    name = "probes.environments:Slider-v0"
    config = configure(name, agent=agent_name, solver=solver, **PROBE)
    train_config(config, out=tmp_path / "run")
    updater = OffPolicyUpdater(config)
    checkpoint = next(load_checkpoints(tmp_path / "run" / "checkpoint"))
    state = restore_tree(updater.init(config.seed), checkpoint.tensors, "state")
    made: Any = updater.agent
    vectors, shares = made.worlds(state)
    np.testing.assert_allclose(vectors[shares.argmax()], [1, -1], atol=0.05)
    assert shares.max() > 0.4  # an even share is 0.2
    signs = np.array([[-1.0], [1.0]], np.float32)
    assert (load_policy(tmp_path / "run")(signs) * signs).min() > 0.8
    seen = jnp.asarray(np.hstack([signs, np.zeros((2, 2), np.float32)]))
    value = jax.jit(made.payoff)(state.carry, state.players, seen)
    np.testing.assert_allclose(value, 0.25, atol=0.06)
