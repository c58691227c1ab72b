"""The critics' targets, written out: TD3's under both formulations, and SAC's."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mixedne.agents import DDPG, SAC, Batches, Transition
from mixedne.types import Players
from probes.games import action_game, separate_game

S, A, N = 3, 2, 6
GAMMA, DELTA, SIGMA, CLIP = 0.9, 0.3, 0.4, 0.5
NOBODY: Players = Players(None, None)


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def make_batches(normals: int) -> Batches:
    rng = np.random.default_rng(0)
    transitions = Transition(
        jnp.asarray(rng.standard_normal((1, N, S))),
        jnp.asarray(rng.uniform(-1, 1, (1, N, A))),
        jnp.asarray(rng.standard_normal((1, N))),
        jnp.array([[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]]),
        jnp.asarray(rng.standard_normal((1, N, S))),
    )
    return Batches(transitions, jnp.asarray(rng.standard_normal((1, normals, N, A))))


def start(agent: DDPG | SAC) -> Any:
    """A critic state all of whose networks differ."""
    rng = np.random.default_rng(4)
    _, state = agent.init(jax.random.key(0))

    def fresh(tree: Any) -> Any:
        return jax.tree.map(lambda x: jnp.asarray(rng.standard_normal(x.shape)), tree)

    parts = ("critics", "target_critics", "target_players", "policy")
    return state._replace(**{p: fresh(getattr(state, p)) for p in parts if hasattr(state, p)})


def network(layers: Any, x: Any) -> Any:
    first, last = jax.tree.map(np.asarray, layers)
    return np.tanh(x @ first["weight"] + first["bias"]) @ last["weight"] + last["bias"]


def critic(layers: Any, s: Any, a: Any) -> float:
    return float(network(layers, np.concatenate([s, a]))[0])


def mean_target(batches: Batches, values: list[float]) -> float:
    """The mean over the minibatch of r + γ (1 − d) V(s')."""
    batch = jax.tree.map(lambda x: np.asarray(x[0]), batches.transitions)
    return float(np.mean(batch.reward + GAMMA * (1 - batch.terminated) * np.array(values)))


@pytest.mark.parametrize("formulation", ["nr-mdp", "pr-mdp", "separate"])
def test_td3(formulation: str) -> None:
    """V(s') = min_i of the lottery's mean of Q_i, with smoothing noise on each branch."""
    games = {"separate": separate_game(S - 1, A - 1, adversary_size=1, unseen=1)}
    agent = DDPG(
        S,
        A,
        game=games.get(formulation) or action_game(formulation, DELTA, S, A),
        hidden=(4,),
        gamma=GAMMA,
        critics=2,
        target_noise=SIGMA,
        target_noise_clip=CLIP,
    )
    assert agent.normals_per_batch == (2 if formulation == "pr-mdp" else 1)
    state, batches = start(agent), make_batches(agent.normals_per_batch)
    mu, nu = state.target_players
    values, second_is_smaller = [], []
    for i, s in enumerate(np.asarray(batches.transitions.next_observation[0])):
        seen = s[:-1] if formulation == "separate" else s
        a, b = np.tanh(network(mu, seen)), np.tanh(network(nu, s))
        branches = [(1 - DELTA, a), (DELTA, b)]
        if formulation == "nr-mdp":
            branches = [(1.0, (1 - DELTA) * a + DELTA * b)]
        elif formulation == "separate":
            branches = [(1.0, np.concatenate([a, b]))]
        sums = [0.0, 0.0]
        for j, (weight, action) in enumerate(branches):
            assert batches.normals is not None
            noise = np.clip(SIGMA * np.asarray(batches.normals[0, j, i]), -CLIP, CLIP)
            smooth = np.clip(action + noise, -1, 1)
            for k, phi in enumerate(state.target_critics):
                sums[k] += weight * critic(phi, s, smooth)
        values.append(min(sums))
        second_is_smaller.append(sums[1] < sums[0])
    assert 0 < sum(second_is_smaller) < N
    carry = agent.oracle(batches).begin(jax.random.key(1), agent.init_carry(state), NOBODY, None)
    assert float(carry.sums["target"]) == pytest.approx(mean_target(batches, values), rel=1e-9)


def test_sac() -> None:
    """V(s') = min_i Q_targ,i(s', a') − α log π(a' | s'), a' of the policy of now."""
    agent = SAC(S, A, hidden=(4,), activation="tanh", gamma=GAMMA, initial_alpha=0.3)
    state, batches = start(agent), make_batches(agent.normals_per_batch)
    assert batches.normals is not None
    values = []
    for i, s in enumerate(np.asarray(batches.transitions.next_observation[0])):
        mean, log_deviation = np.split(network(state.policy, s), 2)
        u = mean + np.exp(log_deviation) * np.asarray(batches.normals[0, 0, i])
        log_normal = stats.norm.logpdf(u, mean, np.exp(log_deviation))
        log_probability = np.sum(log_normal - np.log(1 - np.tanh(u) ** 2))
        smaller = min(critic(phi, s, np.tanh(u)) for phi in state.target_critics)
        values.append(smaller - 0.3 * log_probability)
    carry = agent.oracle(batches).begin(jax.random.key(1), agent.init_carry(state), NOBODY, None)
    # α is kept in float32.
    assert float(carry.sums["target"]) == pytest.approx(mean_target(batches, values), rel=1e-6)
