"""Two-player VPG: its gradient by hand and in expectation, and the algorithm as printed."""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

from mixedne import optimizers, solvers
from mixedne.agents import VPG
from mixedne.agents.losses import gaussian_log_prob
from mixedne.agents.networks import apply_network
from mixedne.agents.vpg import Trajectories
from mixedne.solvers import Controls, Oracle
from mixedne.tasks.toy import reward
from mixedne.training.assembly import toy_world
from mixedne.types import Players, World
from probes.games import action_game

GAMMA, HORIZON = 0.9, 4


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@functools.cache
def make(delta: float = 0.3, formulation: str = "nr-mdp", **options: Any) -> VPG:
    settings: dict[str, Any] = {"hidden": (5,), "gamma": GAMMA, "horizon": HORIZON, **options}
    return VPG(toy_world(), action_game(formulation, delta), **settings)


@functools.cache
def compiled(agent: VPG) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Episodes and gradients where both players stand: (key, carry, players), (carry, players)."""
    return (
        jax.jit(lambda key, carry, players: agent.begin(key, carry, players, None)),
        jax.jit(lambda carry, players: agent.gradients(carry, players, None)),
    )


def play(agent: VPG, players: Players) -> Any:
    return compiled(agent)[0](jax.random.key(0), agent.init_carry(), players)


def gradients(agent: VPG, carry: Any, players: Players) -> Any:
    return compiled(agent)[1](carry, players)


def far(agent: VPG) -> Players:
    """Players that do something: the first weights of the last layer are small."""
    return jax.tree.map(lambda x: 2 * x, agent.init(jax.random.key(3))[0])


def log_density(network: Any, s: float, a: float) -> float:
    """log N(a; μ(s), softplus(…)), in NumPy."""
    first, last = jax.tree.map(np.asarray, network)
    hidden = np.maximum(np.array([s]) @ first["weight"] + first["bias"], 0)
    mean, spread = hidden @ last["weight"] + last["bias"]
    variance = np.log1p(np.exp(spread))
    return float(-0.5 * ((a - mean) ** 2 / variance + np.log(2 * np.pi * variance)))


def actions(network: Any, s: Any, xi: Any) -> Any:
    """a = μ(s) + σ(s) ξ, in NumPy."""
    first, last = jax.tree.map(np.asarray, network)
    hidden = np.maximum(np.asarray(s) @ first["weight"] + first["bias"], 0)
    mean, spread = np.split(hidden @ last["weight"] + last["bias"], 2, axis=-1)
    return mean + np.sqrt(np.log1p(np.exp(spread))) * np.asarray(xi)


def by_differences(function: Callable[[Any], float], tree: Any, step: float = 1e-6) -> Any:
    """The gradient of a function of a tree, number by number."""
    flat, restore = ravel_pytree(tree)
    numbers = np.asarray(flat)
    slopes = []
    for i in range(len(numbers)):
        aside = step * np.eye(len(numbers))[i]
        slopes.append(function(restore(numbers + aside)) - function(restore(numbers - aside)))
    return restore(jnp.asarray(slopes) / (2 * step))


@pytest.mark.parametrize("trajectories", [1, 3])
def test_the_printed_gradient(trajectories: int) -> None:
    """G = share/n Σ_τ Σ_t γ^t G_t ∇ log π(a_t | s_t), with every sum written out."""
    agent = make(trajectories=trajectories)
    players = far(agent)
    carry = play(agent, players)
    found = gradients(agent, carry, players)
    for network, played, share, gradient in zip(
        players, carry.trajectories, (0.7, 0.3), found, strict=True
    ):
        s, xi, _ = jax.tree.map(np.asarray, played)
        a = actions(network, s, xi)
        assert s.shape == a.shape == (trajectories, HORIZON, 1)

        def objective(network: Any, s: Any = s, a: Any = a, share: float = share) -> float:
            total = 0.0
            for tau, t in itertools.product(range(trajectories), range(HORIZON)):
                to_go = sum(GAMMA**u * reward(s[tau, t + u, 0]) for u in range(HORIZON - t))
                total += GAMMA**t * to_go * log_density(network, s[tau, t, 0], a[tau, t, 0])
            return share / trajectories * total

        expected = by_differences(objective, network)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-6), gradient, expected)
        assert optax.tree.norm(expected) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["nr-mdp", "pr-mdp"])
def test_the_estimate_is_unbiased(formulation: str) -> None:
    """E g = (1 − δ) ∇_θ J and E g' = δ ∇_ω J, J the expected discounted return.

    ∇J along a direction comes from differences of returns that share their noise. Both sides are
    means over episodes, so each has an error bar; the difference must lie within four of them.
    """
    episodes, aside, horizon, delta = 100_000, 0.02, 3, 0.4
    agent = make(delta, formulation, horizon=horizon)
    start, discount = far(agent), GAMMA ** jnp.arange(horizon)

    @jax.jit
    def sample(key: jax.Array, direction: Players, sign: float) -> tuple[jax.Array, Players]:
        """Discounted returns at a point aside, and the gradient's part along the direction."""
        players = optax.tree.add_scale(start, sign * aside, direction)

        def one(key: jax.Array) -> tuple[jax.Array, Players]:
            carry = agent.begin(key, agent.init_carry(), players, None)
            rewards = reward(carry.trajectories.agent.observation[0, :, 0], xp=jnp)
            gradients = agent.gradients(carry, players, None)
            along = Players(
                *(optax.tree.vdot(g, d) for g, d in zip(gradients, direction, strict=True))
            )
            return (discount * rewards).sum(), along

        return jax.vmap(one)(jax.random.split(key, episodes))

    for i, share in ((0, 1 - delta), (1, delta)):
        direction = jax.tree.map(jnp.zeros_like, start)
        direction[i][-1].update(jax.tree.map(jnp.ones_like, start[i][-1]))
        up, down = (sample(jax.random.key(1), direction, sign)[0] for sign in (1.0, -1.0))
        slopes = np.asarray(up - down) / (2 * aside)
        estimates = np.asarray(sample(jax.random.key(2), direction, 0.0)[1][i]) / share
        error = np.hypot(slopes.std(), estimates.std()) / episodes**0.5
        assert abs(slopes.mean()) > 6 * error  # a wrong factor would be seen
        assert abs(slopes.mean() - estimates.mean()) < 4 * error


def test_what_the_world_gets_and_what_the_density_sees() -> None:
    """Actions are clipped before they are mixed, and their density is that of the sample."""
    # A world whose next state is the action that it gets.
    echo = World(jnp.zeros(1), action_size=1, draws=1, step=lambda s, a, draws: (a, a[0]))
    for name, delta in (("nr-mdp", 0.25), ("pr-mdp", 0.25), ("nr-mdp", 0.0)):
        agent = VPG(echo, action_game(name, delta), hidden=(5,), horizon=20)
        players = far(agent)
        s, xi, _ = agent.episode(jax.random.key(1), players)
        drawn = [actions(x, s, xi[:, i]) for i, x in enumerate(players) if x is not None]
        assert min(np.abs(x).max() for x in drawn) > 1
        a, b = (np.clip(x[:-1], -1, 1) for x in (drawn[0], drawn[-1]))
        if name == "nr-mdp":
            np.testing.assert_allclose(s[1:], (1 - delta) * a + delta * b, rtol=1e-9)
        else:
            by_agent, by_adversary = np.isclose(s[1:], a), np.isclose(s[1:], b)
            assert (by_agent | by_adversary).all()
            assert 0 < (by_adversary & ~by_agent).sum() < (by_agent & ~by_adversary).sum()


def test_the_players_share_their_episodes_only_where_both_stand() -> None:
    agent = make()
    own, other = far(agent), agent.init(jax.random.key(8))[0]
    together = play(agent, own)
    for x, y in zip(together.trajectories.agent, together.trajectories.adversary, strict=True):
        assert x.shape == y.shape
    np.testing.assert_array_equal(
        together.trajectories.agent.observation, together.trajectories.adversary.observation
    )
    apart = jax.jit(agent.begin)(jax.random.key(0), agent.init_carry(), own, other)
    first, second = (np.asarray(played.observation) for played in apart.trajectories)
    assert not np.array_equal(first, second)


def test_one_player_has_no_adversary() -> None:
    agent = make(delta=0.0)
    players, _ = agent.init(jax.random.key(0))
    carry = play(agent, players)
    assert (players.adversary, carry.trajectories.adversary) == (None, None)
    assert gradients(agent, carry, players).adversary is None


def test_returns_that_are_counted() -> None:
    """The mean undiscounted return of the episodes, summed over rollouts."""
    agent = make(trajectories=3)
    players = far(agent)
    once = play(agent, players)
    rewards = reward(np.asarray(once.trajectories.agent.observation[..., 0]))
    assert float(once.returns) == pytest.approx(rewards.sum(axis=1).mean(), rel=1e-12)
    twice = compiled(agent)[0](jax.random.key(1), once, players)
    assert int(twice.rollouts) == 2
    assert float(twice.returns) > float(once.returns)


def test_normalised_returns() -> None:
    """γ^t (G_t − mean) / deviation, over all steps of all episodes of a rollout."""
    plain, scaled = (make(trajectories=3, normalise_returns=on) for on in (False, True))
    players = far(plain)
    discount = GAMMA ** np.arange(HORIZON)
    weights = [
        np.asarray(play(agent, players).trajectories.agent.weight) for agent in (plain, scaled)
    ]
    to_go = weights[0] / discount
    expected = discount * (to_go - to_go.mean()) / to_go.std()
    np.testing.assert_allclose(weights[1], expected, atol=1e-6)
    myopic = make(gamma=0.0, normalise_returns=True)  # γ^t is zero from the second step on
    assert np.isfinite(play(myopic, players).trajectories.agent.weight).all()


def test_clipped_gradients() -> None:
    """Each player's norm by itself; what is short enough stays."""
    players = far(make())
    carry = play(make(), players)
    free = gradients(make(), carry, players)
    norms = [float(optax.tree.norm(gradient)) for gradient in free]
    largest = sum(norms) / 2
    clipped = gradients(make(clip_gradient=largest), carry, players)
    for before, after, norm in zip(free, clipped, norms, strict=True):
        expected = optax.tree.scale(min(1.0, largest / norm), before)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-9), after, expected)


def test_mixedne_ld_as_the_paper_prints_it() -> None:
    """Algorithm "VPG with MixedNE-LD", line by line, with its misprints mended.

    N_k inner steps, trajectories from both inner iterates, one optimiser for each player, the
    adversary's step along g'.
    """
    eta, sigma, beta, alpha, epsilon, inner, outer = 1e-2, 0.1, 0.9, 0.99, 1e-8, 3, 2
    agent = make()
    start = far(agent)
    rng = np.random.default_rng(0)
    rollouts = inner * outer
    xi = jax.tree.map(lambda x: jnp.asarray(rng.standard_normal((rollouts, *x.shape))), start)
    keys = jax.random.key_data(jax.random.split(jax.random.key(5), rollouts))

    def begin(key: jax.Array, carry: Any, players: Players, opponent: Players | None) -> Any:
        own_key = jax.random.wrap_key_data(keys[carry.rollouts.astype(int)])
        return agent.begin(own_key, carry, players, opponent)

    def extra_args(carry: Any) -> dict[str, Players]:
        return {"noise": jax.tree.map(lambda x: x[carry.rollouts.astype(int) - 1], xi)}

    oracle = Oracle(agent.gradients, begin)
    optimizer = optimizers.langevin(eta, sigma, decay=alpha, epsilon=epsilon)
    solver = solvers.mixedne_ld(
        oracle, optimizer, damping=beta, inner="coupled", extra_args=extra_args
    )
    state = solver.init(start, agent.init_carry())
    step_once = jax.jit(solver.step)
    for _ in range(outer):
        state, _ = step_once(jax.random.key(0), state, Controls(inner_steps=inner))

    theta, omega = start
    m = jax.tree.map(np.zeros_like, start)
    carry, turn = agent.init_carry(), 0
    for _ in range(outer):
        theta_n, omega_n, theta_bar, omega_bar = theta, omega, theta, omega
        for _ in range(inner):
            here = Players(theta_n, omega_n)
            carry = compiled(agent)[0](jax.random.wrap_key_data(keys[turn]), carry, here)
            g = gradients(agent, carry, here)
            m = jax.tree.map(lambda m, g: alpha * m + (1 - alpha) * g * g, m, g)
            scale = jax.tree.map(lambda m: np.sqrt(np.asarray(m) + epsilon), m)

            def step(sign: int, z: Any, g: Any, c: Any, xi: Any, turn: int = turn) -> Any:
                kick = np.sqrt(2 * eta) * sigma * c**-0.5 * np.asarray(xi[turn])
                return np.asarray(z) + sign * eta * np.asarray(g) / c + kick

            theta_n = jax.tree.map(
                functools.partial(step, 1), theta_n, g.agent, scale.agent, xi.agent
            )
            omega_n = jax.tree.map(
                functools.partial(step, -1), omega_n, g.adversary, scale.adversary, xi.adversary
            )
            theta_bar, omega_bar = (
                jax.tree.map(lambda bar, new: (1 - beta) * bar + beta * new, bar, new)
                for bar, new in ((theta_bar, theta_n), (omega_bar, omega_n))
            )
            turn += 1
        theta, omega = (
            jax.tree.map(lambda old, bar: (1 - beta) * old + beta * bar, old, bar)
            for old, bar in ((theta, theta_bar), (omega, omega_bar))
        )
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12),
        state.players,
        Players(theta, omega),
    )


def test_trajectories_hold_what_their_fields_say() -> None:
    carry = play(make(), far(make()))
    assert isinstance(carry.trajectories.agent, Trajectories)
    rewards = reward(np.asarray(carry.trajectories.agent.observation[0, :, 0]))
    # γ^t G_t for γ = 0.9 and four rewards, from the last to the first
    last = 0.729 * rewards[3]
    third = 0.81 * rewards[2] + last
    second = 0.9 * rewards[1] + third
    expected = [rewards[0] + second, second, third, last]
    np.testing.assert_allclose(carry.trajectories.agent.weight[0], expected, rtol=1e-12)


@pytest.mark.parametrize("gamma_weights", [True, False])
@pytest.mark.parametrize("share_factors", [True, False])
def test_the_factors_can_be_left_out(gamma_weights: bool, share_factors: bool) -> None:
    """Step t weighs γ^t G_t or G_t; gradients have the factors 1 − δ = 0.7 and δ = 0.3 or none."""
    agent = make(gamma_weights=gamma_weights, share_factors=share_factors)
    players = far(make())
    printed, found = (play(a, players) for a in (make(), agent))
    discount = GAMMA ** np.arange(HORIZON)
    weight = np.asarray(printed.trajectories.agent.weight)
    expected = weight if gamma_weights else weight / discount
    np.testing.assert_allclose(found.trajectories.agent.weight, expected, rtol=1e-12)
    with_factors = gradients(make(gamma_weights=gamma_weights), found, players)
    for one, other, share in zip(
        with_factors, gradients(agent, found, players), (0.7, 0.3), strict=True
    ):
        factor = 1.0 if share_factors else 1 / share
        jax.tree.map(
            lambda x, y, f=factor: np.testing.assert_allclose(f * x, y, rtol=1e-9, atol=1e-15),
            one,
            other,
        )


def test_one_hidden_layer_and_no_normalisation_as_the_authors_have_it() -> None:
    agent = make(hidden=(16,), gamma_weights=False, share_factors=False, clip_gradient=40.0)
    players = far(agent)
    found = gradients(agent, play(agent, players), players)
    assert all(0 < float(optax.tree.norm(g)) <= 40 * (1 + 1e-9) for g in found)


def test_float32_gradients_where_the_deviation_is_small_beside_the_mean() -> None:
    """μ = 5 and σ = e⁻¹²: a stored float32 action has lost all digits of a − μ, ξ has not.

    The slopes of log π at a = μ + σ ξ are ξ/σ for μ and (ξ² − 1)/σ for σ.
    """
    xi = np.random.default_rng(0).standard_normal(200)
    mean, deviation = 5.0, float(np.exp(-12.0))
    expected = xi / deviation, (xi**2 - 1) / deviation

    def slopes(log_prob: Callable[..., Any], given: Any) -> tuple[Any, ...]:
        numbers = (jnp.full(200, x, jnp.float32) for x in (mean, deviation))
        return jax.vmap(jax.grad(log_prob, (0, 1)))(*numbers, given)

    def from_the_action(mean: Any, deviation: Any, action: Any) -> Any:
        return -0.5 * jnp.square((action - mean) / deviation) - jnp.log(deviation)

    normal = jnp.asarray(xi, jnp.float32)
    found = slopes(lambda m, d, x: gaussian_log_prob(m[None], d[None], x[None]), normal)
    stored = jnp.float32(mean) + jnp.float32(deviation) * normal
    lossy = slopes(from_the_action, stored)
    for exact, ours, old in zip(expected, found, lossy, strict=True):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours, exact, rtol=1e-5, atol=1e-5 * np.abs(exact).max())
        # What a stored action would give is wrong by more than a percent of the largest slope.
        assert np.abs(np.asarray(old) - exact).max() > 1e-2 * np.abs(exact).max()


def test_the_agents_float32_gradient_in_that_regime() -> None:
    """Large mean, small variance: the whole estimate agrees with float64 on the same episodes."""
    agent = make(delta=0.0, trajectories=4)
    players = jax.tree.map(lambda x: x.astype(jnp.float32), far(agent))
    players.agent[-1]["bias"] = jnp.array([20.0, -24.0], jnp.float32)  # σ = √softplus(−24)
    carry = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), play(agent, players))
    narrow = gradients(agent, carry, players).agent
    wide = gradients(
        agent, *(jax.tree.map(lambda x: x.astype(jnp.float64), x) for x in (carry, players))
    ).agent
    for x, y in zip(jax.tree.leaves(narrow), jax.tree.leaves(wide), strict=True):
        assert x.dtype == jnp.float32
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4 * float(jnp.abs(y).max()))


SOLVERS: dict[str, Callable[[Oracle, float], solvers.Solver]] = {
    "mixedne-ld": lambda oracle, eta: solvers.mixedne_ld(
        oracle, optimizers.langevin(eta, 1e-4, decay=0.99), inner="coupled"
    ),
    "gad": lambda oracle, eta: solvers.gad(oracle, optimizers.rmsprop(eta, decay=0.99)),
    "extra-adam": lambda oracle, eta: solvers.extra_gradient(oracle, optimizers.extra_adam(eta)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "formulation"),
    [("mixedne-ld", "nr-mdp"), ("gad", "pr-mdp"), ("extra-adam", "nr-mdp")],
)
def test_a_game_whose_equilibrium_is_known(solver: str, formulation: str) -> None:
    """The action is the next state, and the state pays itself: (1, −1) is the equilibrium.

    Also the contract of an agent: the same key gives the same course.
    """
    world = World(jnp.zeros(1), 1, 0, lambda s, action, draws: (action, s[0]))
    settings: dict[str, Any] = {"hidden": (4,), "horizon": 2, "trajectories": 32, "gamma": 1.0}
    agent = VPG(world, action_game(formulation, 0.3), **settings)
    made = SOLVERS[solver](agent.oracle(), 2e-2)
    state = made.init(agent.init(jax.random.key(0))[0], agent.init_carry())
    controls = Controls(inner_steps=jnp.full(150, 2))
    run = jax.jit(lambda key, state: solvers.solve(made, key, state, controls)[0])
    ended, again = (run(jax.random.key(1), state) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, ended.players, again.players)
    means = [float(apply_network(net, world.start, "relu")[0]) for net in ended.players]
    assert means[0] > 0.8
    assert means[1] < -0.8
