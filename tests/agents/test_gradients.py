"""Policy gradients against central differences, and against the paper's formula written out."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from mixedne import Players
from mixedne.agents import DDPG, SAC, Batches, Transition
from mixedne.agents.base import CriticCarry
from mixedne.games import Game, make_game
from mixedne.names import FORMULATIONS
from mixedne.tasks import resolve_task
from probes.games import action_game, separate_game

OBSERVATION, ACTION, BATCH, CAPACITY = 3, 2, 5, 2
HIDDEN = (4,)


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """Differences of sixteen digits."""
    with jax.enable_x64(True):
        yield


def make(name: str, delta: float, critics: int = 1) -> DDPG:
    game = action_game(name, delta, OBSERVATION, ACTION)
    return DDPG(OBSERVATION, ACTION, game=game, hidden=HIDDEN, critics=critics)


def randomise(tree: Any, seed: int) -> Any:
    """All weights of the order of one: first weights would make everything nearly linear."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(0.8 * rng.standard_normal(x.shape)), tree)


def make_batches(seed: int = 0, normals: int = 0, observation: int = OBSERVATION) -> Batches:
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> jax.Array:
        return jnp.asarray(rng.standard_normal((CAPACITY, *shape)))

    transitions = Transition(
        normal(BATCH, observation),
        jnp.tanh(normal(BATCH, ACTION)),
        normal(BATCH),
        jnp.zeros((CAPACITY, BATCH)),
        normal(BATCH, observation),
    )
    return Batches(transitions, normal(normals, BATCH, ACTION) if normals else None)


def at_batch(agent: DDPG | SAC, used: int = CAPACITY) -> tuple[Players, CriticCarry]:
    """Random players and a carry in which some minibatches are used; the last is at hand."""
    players, first = jax.jit(agent.init)(jax.random.key(0))
    carry = agent.init_carry(first._replace(critics=randomise(first.critics, 7)))
    return randomise(players, 8), carry._replace(batch=jnp.asarray(used, jnp.int32))


def other(players: Players) -> Players:
    return randomise(players, 9)


def gradients(
    agent: DDPG | SAC,
    batches: Batches,
    carry: CriticCarry,
    own: Players,
    opponent: Players | None,
) -> Players:
    return agent.oracle(batches).gradients(carry, own, opponent)


def central_differences(function: Callable[[Any], Any], at: Any, step: float = 1e-6) -> Any:
    """(f(x + h e) − f(x − h e)) / 2h for every coordinate of a tree."""
    x, unravel = ravel_pytree(at)
    shifts = step * jnp.eye(x.size)
    f = jax.jit(jax.vmap(lambda shift: function(unravel(x + shift))))
    return unravel((f(shifts) - f(-shifts)) / (2 * step))


def close(found: Any, expected: Any, **tolerance: float) -> None:
    largest = max(float(jnp.abs(x).max()) for x in jax.tree.leaves(expected))
    assert largest > 1e-3  # a gradient that vanishes would prove nothing
    jax.tree.map(functools.partial(np.testing.assert_allclose, **tolerance), found, expected)


# -- the networks once more, so that the formula stands on its own --------------------------------


def network(layers: Any, x: Any) -> Any:
    for layer in layers[:-1]:
        x = jnp.tanh(x @ layer["weight"] + layer["bias"])
    return x @ layers[-1]["weight"] + layers[-1]["bias"]


@jax.jit
def policy(layers: Any, s: Any) -> Any:
    return jnp.tanh(network(layers, s))


@jax.jit
def critic(layers: Any, s: Any, a: Any) -> Any:
    return network(layers, jnp.concatenate([s, a]))[0]


@jax.jit
def policy_gradient(actor: Any, phi: Any, s: Any, action: Any) -> Any:
    """∇_θ μ_θ(s) ∇_ā Q_φ(s, ā) at the action given: a Jacobian transposed times a vector."""
    jacobian = jax.jacobian(policy)(actor, s)
    slope = jax.grad(critic, argnums=2)(phi, s, action)
    return jax.tree.map(lambda j: jnp.tensordot(slope, j, axes=1), jacobian)


def mean(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves).mean(0), *trees)


def times(factor: float, tree: Any) -> Any:
    return jax.tree.map(lambda x: factor * x, tree)


def nr_gradients(delta: float, phi: Any, s: Any, own: Players, opponent: Players) -> Players:
    """(1−δ)/N Σ ∇_θ μ ∇_ā Q at (1−δ) μ_θ + δ ν_(ω_t), and δ/N Σ ∇_ω ν ∇_ā Q likewise."""
    agent = [
        policy_gradient(
            own.agent,
            phi,
            one,
            (1 - delta) * policy(own.agent, one) + delta * policy(opponent.adversary, one),
        )
        for one in s
    ]
    adversary = [
        policy_gradient(
            own.adversary,
            phi,
            one,
            (1 - delta) * policy(opponent.agent, one) + delta * policy(own.adversary, one),
        )
        for one in s
    ]
    return Players(times(1 - delta, mean(agent)), times(delta, mean(adversary)))


def pr_gradients(delta: float, phi: Any, s: Any, own: Players) -> Players:
    """(1−δ)/N Σ ∇_θ μ ∇_a Q at μ_θ(s), and δ/N Σ ∇_ω ν ∇_a Q at ν_ω(s)."""
    agent, adversary = (
        mean([policy_gradient(actor, phi, one, policy(actor, one)) for one in s]) for actor in own
    )
    return Players(times(1 - delta, agent), times(delta, adversary))


def pick(players: Players, same: bool) -> Players | None:
    """Whom the players meet: each other, or somebody else."""
    return None if same else other(players)


@pytest.mark.parametrize("same", [True, False], ids=["each other", "frozen opponent"])
@pytest.mark.parametrize("delta", [0.1, 0.4])
def test_nr_mdp_against_the_paper(same: bool, delta: float) -> None:
    agent, batches = make("nr-mdp", delta), make_batches()
    own, carry = at_batch(agent)
    opponent = pick(own, same)
    found = gradients(agent, batches, carry, own, opponent)
    s = batches.transitions.observation[CAPACITY - 1]
    expected = nr_gradients(delta, carry.critic.critics[0], s, own, opponent or own)
    close(found, expected, rtol=1e-9, atol=1e-12)


def test_the_frozen_opponent_matters_where_players_meet() -> None:
    agent, batches = make("nr-mdp", 0.4), make_batches()
    own, carry = at_batch(agent)
    frozen, same = (gradients(agent, batches, carry, own, x) for x in (other(own), None))
    for a, b in zip(frozen, same, strict=True):
        assert float(jnp.abs(ravel_pytree(a)[0] - ravel_pytree(b)[0]).max()) > 1e-3


@pytest.mark.parametrize("same", [True, False], ids=["each other", "frozen opponent"])
def test_pr_mdp_against_its_formula(same: bool) -> None:
    agent, batches = make("pr-mdp", 0.3), make_batches()
    own, carry = at_batch(agent)
    found = gradients(agent, batches, carry, own, pick(own, same))
    s = batches.transitions.observation[CAPACITY - 1]
    expected = pr_gradients(0.3, carry.critic.critics[0], s, own)
    close(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["nr-mdp", "pr-mdp"])
@pytest.mark.parametrize("same", [True, False], ids=["each other", "frozen opponent"])
def test_one_player_is_the_plain_policy_gradient(name: str, same: bool) -> None:
    agent, batches = make(name, 0), make_batches()
    own, carry = at_batch(agent)
    assert own.adversary is None
    found = gradients(agent, batches, carry, own, pick(own, same))
    assert found.adversary is None
    phi, s = carry.critic.critics[0], batches.transitions.observation[CAPACITY - 1]
    expected = mean([policy_gradient(own.agent, phi, x, policy(own.agent, x)) for x in s])
    close(found.agent, expected, rtol=1e-9, atol=1e-12)


def game_of(name: str) -> Game:
    """A game of every formulation; PettingZoo's by what sets it apart, that each sees its own."""
    if name == "pettingzoo":
        return dataclasses.replace(separate_game(), unseen_by_adversary=3)
    settings = {"delta": 0.3, "parameters": ("mass=0.5:2", "gravity=0.5:2")}
    return make_game(resolve_task("InvertedPendulum"), name, **settings)


@pytest.mark.parametrize("name", [name for name in FORMULATIONS if name != "m2td3"])
@pytest.mark.parametrize("same", [True, False], ids=["each other", "frozen opponent"])
def test_two_players_against_differences_of_the_payoff(name: str, same: bool) -> None:
    """Each player's gradient is that of the payoff that a run reports."""
    game = game_of(name)
    agent = DDPG(game.observation_size, ACTION, game=game, hidden=HIDDEN)
    batches = make_batches(observation=game.observation_size)
    own, carry = at_batch(agent)
    opponent = pick(own, same)
    met, s = opponent or own, batches.transitions.observation[CAPACITY - 1]

    def payoff(theta: Any, omega: Any) -> Any:
        return agent.payoff(carry.critic, Players(theta, omega), s)

    expected = Players(
        central_differences(lambda theta: payoff(theta, met.adversary), own.agent),
        central_differences(lambda omega: payoff(met.agent, omega), own.adversary),
    )
    found = gradients(agent, batches, carry, own, opponent)
    close(found, expected, rtol=1e-6, atol=1e-8)


def test_the_payoff_is_the_mean_value_of_both_actions() -> None:
    delta, observations = 0.3, make_batches().transitions.observation[0]
    for name in ("nr-mdp", "pr-mdp"):
        agent = make(name, delta)
        (mu, nu), carry = at_batch(agent)
        phi = carry.critic.critics[0]
        values = []
        for s in observations:
            a, b = policy(mu, s), policy(nu, s)
            if name == "nr-mdp":
                values.append(critic(phi, s, (1 - delta) * a + delta * b))
            else:
                values.append((1 - delta) * critic(phi, s, a) + delta * critic(phi, s, b))
        found = agent.payoff(carry.critic, Players(mu, nu), observations)
        assert float(found) == pytest.approx(float(np.mean(values)), rel=1e-12)


def test_separate_actions_stand_side_by_side_before_the_critic() -> None:
    """Q(s, a, b), where the agent sees the first of s alone."""
    game = separate_game()
    agent = DDPG(game.observation_size, ACTION, game=game, hidden=HIDDEN)
    (mu, nu), carry = at_batch(agent)
    observations = make_batches(observation=5).transitions.observation[0]
    values = [
        critic(carry.critic.critics[0], s, jnp.concatenate([policy(mu, s[:3]), policy(nu, s)]))
        for s in observations
    ]
    found = agent.payoff(carry.critic, Players(mu, nu), observations)
    assert float(found) == pytest.approx(float(np.mean(values)), rel=1e-12)


def test_each_player_of_a_game_of_two_sees_its_own() -> None:
    """Q(s, a, b), where the agent sees the first three of s, and the adversary the last two."""
    game = game_of("pettingzoo")
    agent = DDPG(game.observation_size, ACTION, game=game, hidden=HIDDEN)
    (mu, nu), carry = at_batch(agent)
    s = make_batches(observation=5).transitions.observation[0, :1]
    joint = jnp.concatenate([policy(mu, s[0, :3]), policy(nu, s[0, 3:])])
    found = agent.payoff(carry.critic, Players(mu, nu), s)
    assert float(found) == pytest.approx(float(critic(carry.critic.critics[0], s[0], joint)))


def test_the_first_of_two_critics_gives_the_gradient() -> None:
    agent, batches = make("nr-mdp", 0.3, critics=2), make_batches()
    own, carry = at_batch(agent)
    s = batches.transitions.observation[CAPACITY - 1]
    expected = nr_gradients(0.3, carry.critic.critics[0], s, own, own)
    close(gradients(agent, batches, carry, own, None), expected, rtol=1e-9, atol=1e-12)


def test_the_gradient_is_on_the_minibatch_of_its_step() -> None:
    """That is the one which the critic has just learned from, or the next after ``resample``."""
    agent, batches = make("nr-mdp", 0.3), make_batches()
    own, carry = at_batch(agent, used=0)
    oracle = agent.oracle(batches)
    begun = oracle.begin(jax.random.key(1), carry, own, None)
    resampled = oracle.resample(jax.random.key(2), begun, own, None)
    for i, now in enumerate((begun, resampled)):
        phi, s = begun.critic.critics[0], batches.transitions.observation[i]
        expected = nr_gradients(0.3, phi, s, own, own)
        close(gradients(agent, batches, now, own, None), expected, rtol=1e-9, atol=1e-12)


# -- SAC ------------------------------------------------------------------------------------------


def test_sac_against_differences_of_the_soft_value() -> None:
    """1/N Σ min_i Q_i(s, a) − α log π(a | s), a = tanh(μ + σ ξ) with ξ held."""
    agent = SAC(OBSERVATION, ACTION, hidden=HIDDEN, activation="tanh", initial_alpha=0.3)
    batches = make_batches(normals=agent.normals_per_batch)
    own, carry = at_batch(agent)
    s = batches.transitions.observation[CAPACITY - 1]
    assert batches.normals is not None
    normals = batches.normals[CAPACITY - 1, 1]

    def soft_value(layers: Any) -> tuple[Any, Any]:
        values, differences = [], []
        for one, xi in zip(s, normals, strict=True):
            mean, log_deviation = jnp.split(network(layers, one), 2)
            deviation = jnp.exp(log_deviation)
            u = mean + deviation * xi
            density = jnp.exp(-0.5 * ((u - mean) / deviation) ** 2) / (
                deviation * jnp.sqrt(2 * jnp.pi)
            )
            log_probability = jnp.sum(jnp.log(density / (1 - jnp.tanh(u) ** 2)))
            first, second = (critic(phi, one, jnp.tanh(u)) for phi in carry.critic.critics)
            differences.append(first - second)
            values.append(jnp.minimum(first, second) - 0.3 * log_probability)
        return jnp.stack(values).mean(), jnp.stack(differences)

    differences = jax.jit(soft_value)(own.agent)[1]
    assert float(differences.min()) < 0 < float(differences.max())  # each is somewhere smaller
    expected = central_differences(lambda layers: soft_value(layers)[0], own.agent)
    found = gradients(agent, batches, carry, own, None)
    assert found.adversary is None
    close(found.agent, expected, rtol=1e-5, atol=1e-7)


def test_sac_weighs_entropy_more_where_it_lacks() -> None:
    # The gradient of log α is −(mean log π + H̄). With H̄ far above the policy's entropy it is
    # negative, so the first step of Adam raises log α by the learning rate; and the reverse.
    for target_entropy, sign in ((50.0, 1), (-50.0, -1)):
        agent = SAC(
            OBSERVATION,
            ACTION,
            hidden=HIDDEN,
            activation="tanh",
            initial_alpha=1.0,
            alpha_learning_rate=1e-2,
            target_entropy=target_entropy,
        )
        own, carry = at_batch(agent, used=0)
        begin = agent.oracle(make_batches(normals=2)).begin
        after = begin(jax.random.key(1), carry, own, None)
        assert float(after.critic.log_alpha) == pytest.approx(sign * 1e-2, rel=1e-5)


def test_a_fixed_alpha_stays() -> None:
    agent = SAC(OBSERVATION, ACTION, hidden=HIDDEN, activation="tanh", fixed_alpha=0.2)
    own, carry = at_batch(agent, used=0)
    begin = agent.oracle(make_batches(normals=2)).begin
    after = begin(jax.random.key(1), carry, own, None)
    assert float(after.critic.log_alpha) == pytest.approx(np.log(0.2), rel=1e-6)
    assert after.critic.alpha_optimizer is None
    # The critics learned all the same.
    moved = ravel_pytree(after.critic.critics)[0] - ravel_pytree(carry.critic.critics)[0]
    assert float(jnp.abs(moved).max()) > 1e-5
