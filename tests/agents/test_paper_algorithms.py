"""The paper's algorithms, written out line by line as printed, against the compiled program.

The printed lines keep the paper's symbols. θ, ω and φ are flat vectors here, so that ∇_θ μ is a
Jacobian matrix and C a vector. Minibatches and noise are given to both sides; nothing else is
shared but JAX's derivative of one network.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from mixedne import Players, agents, optimizers, solvers
from mixedne.agents import Batches, Transition
from mixedne.agents.base import batch_at
from mixedne.optimizers.langevin import normals_from_bits
from mixedne.solvers import Controls, ExtraArgs, Oracle, Solver, SolverState
from mixedne.training.collection import RunningMoments
from mixedne.training.updates import make_program
from probes.games import action_game

S, A, N, CAPACITY = 3, 2, 4, 8
DELTA, GAMMA, TAU = 0.3, 0.9, 0.8
ETA, ALPHA, EPSILON, BETA = 1e-2, 0.95, 1e-6, 0.7
CRITIC_RATE = 1e-2
TARGET_NOISE, TARGET_CLIP = 0.4, 0.5

Array = Any
MakeSolver = Callable[[Oracle, ExtraArgs | None], Solver]


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


# -- what is given to both sides ------------------------------------------------------------------


def make_agent(critics: int, target_noise: float) -> agents.DDPG:
    return agents.DDPG(
        S,
        A,
        game=action_game("nr-mdp", DELTA, S, A),
        hidden=(4,),
        gamma=GAMMA,
        tau=TAU,
        critic_learning_rate=CRITIC_RATE,
        critics=critics,
        target_noise=target_noise,
        target_noise_clip=TARGET_CLIP,
    )


DDPG = make_agent(1, 0.0)
TD3 = make_agent(2, TARGET_NOISE)


def start(agent: agents.DDPG, make_solver: MakeSolver) -> SolverState:
    """Weights of the order of one, and targets of their own: as in the middle of a run."""
    rng = np.random.default_rng(3)
    players, critic = agent.init(jax.random.key(0))

    def fresh(tree: Any) -> Any:
        return jax.tree.map(lambda x: jnp.asarray(0.8 * rng.standard_normal(x.shape)), tree)

    critic = critic._replace(
        critics=fresh(critic.critics),
        target_critics=fresh(critic.target_critics),
        target_players=fresh(players),
    )
    return make_solver(Oracle(lambda *unused: players), None).init(fresh(players), critic)


class Feed(NamedTuple):
    """Minibatches, and standard normals in the shape of the players for each."""

    batches: Batches
    noise: Players | None

    @property
    def transitions(self) -> Transition:
        return self.batches.transitions


def make_feed(agent: agents.DDPG, players: Players, *, noisy: bool) -> Feed:
    rng = np.random.default_rng(4)

    def normal(*shape: int) -> jax.Array:
        return jnp.asarray(rng.standard_normal((CAPACITY, *shape)))

    transitions = Transition(
        observation=normal(N, S),
        action=jnp.tanh(normal(N, A)),
        reward=normal(N),
        terminated=jnp.asarray(rng.random((CAPACITY, N)) < 0.4, float),
        next_observation=normal(N, S),
    )
    count = agent.normals_per_batch
    normals = normal(count, N, A) if count else None
    noise = jax.tree.map(lambda x: normal(*x.shape), players) if noisy else None
    return Feed(Batches(transitions, normals), noise)


def run(
    agent: agents.DDPG,
    make_solver: MakeSolver,
    state: SolverState,
    feed: Feed,
    controls: Sequence[Controls],
) -> list[SolverState]:
    """Our outer steps, compiled: the state after each."""

    def extra_args(carry: Any) -> dict[str, Any]:
        return {"noise": batch_at(feed.noise, carry.batch - 1)}

    solver = make_solver(agent.oracle(feed.batches), extra_args if feed.noise else None)
    step = jax.jit(solver.step)
    states, state = [], state._replace(carry=agent.init_carry(state.carry))
    for now in controls:
        state, _ = step(jax.random.key(0), state, now)
        states.append(state)
    return states


# -- the printed lines ----------------------------------------------------------------------------


def flat(tree: Any) -> Array:
    return ravel_pytree(tree)[0]


def unflatten(vector: Array, sizes: Sequence[int]) -> Any:
    """Per layer, in the order of the names: bias, then weight."""
    layers, at = [], 0
    for rows, columns in itertools.pairwise(sizes):
        bias = vector[at : at + columns]
        weight = vector[at + columns : at + columns * (1 + rows)].reshape(rows, columns)
        layers.append((weight, bias))
        at += columns * (1 + rows)
    return layers


@jax.jit
def policy(theta: Array, s: Array) -> Array:
    """μ_θ(s), and ν_ω(s)."""
    (w, b), (v, c) = unflatten(theta, (S, 4, A))
    return jnp.tanh(jnp.tanh(s @ w + b) @ v + c)


@jax.jit
def q(phi: Array, s: Array, a: Array) -> Array:
    """Q_φ(s, a)."""
    (w, b), (v, c) = unflatten(phi, (S + A, 4, 1))
    return (jnp.tanh(jnp.concatenate([s, a]) @ w + b) @ v + c)[0]


policy_jacobian = jax.jit(jax.jacobian(policy))
q_slope = jax.jit(jax.grad(q, argnums=2))


@jax.jit
@jax.grad
def critic_loss_slope(phi: Array, s: Array, a: Array, y: Array) -> Array:
    """∇_φ of 1/N Σ (y − Q_φ(s, ā))²."""
    return sum((y[i] - q(phi, s[i], a[i])) ** 2 for i in range(N)) / N


@dataclass
class Adam:
    """Kingma and Ba's Adam, as they print it, with the sign of a descent."""

    rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    m: Array = 0.0
    v: Array = 0.0
    t: int = 0

    def step(self, g: Array) -> Array:
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * g**2
        m_hat = self.m / (1 - self.beta1**self.t)
        v_hat = self.v / (1 - self.beta2**self.t)
        return -self.rate * m_hat / (np.sqrt(v_hat) + self.epsilon)


def adam() -> Adam:
    return Adam(CRITIC_RATE)


@dataclass
class Paper:
    """What the paper's algorithms hold, one field for each of their symbols."""

    theta: Array
    omega: Array
    phi: list[Array]
    theta_targ: Array
    omega_targ: Array
    phi_targ: list[Array]
    feed: Feed
    m: Array = 0.0
    m_: Array = 0.0
    critic_adam: list[Adam] = field(default_factory=lambda: [adam(), adam()])
    used: int = 0

    @classmethod
    def like(cls, state: SolverState, feed: Feed) -> "Paper":
        players, critic = state.players, state.carry
        return cls(
            flat(players.agent),
            flat(players.adversary),
            [flat(phi) for phi in critic.critics],
            flat(critic.target_players.agent),
            flat(critic.target_players.adversary),
            [flat(phi) for phi in critic.target_critics],
            feed,
        )

    def minibatch(self) -> tuple[Transition, Array | None]:
        """Sample a random minibatch of N transitions; with the smoothing noise for it."""
        self.used += 1
        transitions = jax.tree.map(lambda x: x[self.used - 1], self.feed.transitions)
        normals = (
            None
            if self.feed.batches.normals is None
            else self.feed.batches.normals[self.used - 1, 0]
        )
        return transitions, normals

    def langevin_noise(self) -> tuple[Array, Array]:
        assert self.feed.noise is not None
        xi, xi_ = (jax.tree.map(lambda x: x[self.used - 1], tree) for tree in self.feed.noise)
        return flat(xi), flat(xi_)

    def update_critics(self, batch: Transition, normals: Array | None) -> None:
        y = []
        for i in range(N):
            s_, r, d = batch.next_observation[i], batch.reward[i], batch.terminated[i]
            a = (1 - DELTA) * policy(self.theta_targ, s_) + DELTA * policy(self.omega_targ, s_)
            if normals is not None:
                a = np.clip(a + np.clip(TARGET_NOISE * normals[i], -0.5, 0.5), -1, 1)
            y.append(r + GAMMA * (1 - d) * min(float(q(phi, s_, a)) for phi in self.phi_targ))
        for i, phi in enumerate(self.phi):
            slope = critic_loss_slope(phi, batch.observation, batch.action, jnp.array(y))
            self.phi[i] = phi + self.critic_adam[i].step(slope)

    def agent_gradient(self, batch: Transition, theta: Array, omega_t: Array) -> Array:
        total = 0.0
        for s in batch.observation:
            a = (1 - DELTA) * policy(theta, s) + DELTA * policy(omega_t, s)
            total += policy_jacobian(theta, s).T @ q_slope(self.phi[0], s, a)
        return (1 - DELTA) / N * total

    def adversary_gradient(self, batch: Transition, theta_t: Array, omega: Array) -> Array:
        total = 0.0
        for s in batch.observation:
            a = (1 - DELTA) * policy(theta_t, s) + DELTA * policy(omega, s)
            total += policy_jacobian(omega, s).T @ q_slope(self.phi[0], s, a)
        return DELTA / N * total

    def update_targets(self, theta: Array, omega: Array) -> None:
        for i, phi in enumerate(self.phi):
            self.phi_targ[i] = TAU * self.phi_targ[i] + (1 - TAU) * phi
        self.theta_targ = TAU * self.theta_targ + (1 - TAU) * theta
        self.omega_targ = TAU * self.omega_targ + (1 - TAU) * omega

    # "DDPG with MixedNE-LD"; with two critics and a delay, "TD3 with MixedNE-LD".
    def mixedne_ld(self, t: int, inner: int, sigma_t: float, policy_delay: int = 1) -> None:
        omega_bar = omega_k = omega_t = self.omega
        theta_bar = theta_k = theta_t = self.theta
        for _ in range(inner):
            batch, normals = self.minibatch()
            self.update_critics(batch, normals)
            if t % policy_delay == 0:
                xi, xi_ = self.langevin_noise()
                g = self.agent_gradient(batch, theta_k, omega_t)
                g_ = self.adversary_gradient(batch, theta_t, omega_k)
                self.m = ALPHA * self.m + (1 - ALPHA) * g * g
                c = np.sqrt(self.m + EPSILON)
                theta_k = theta_k + ETA * g / c + np.sqrt(2 * ETA) * sigma_t * c**-0.5 * xi
                self.m_ = ALPHA * self.m_ + (1 - ALPHA) * g_ * g_
                d = np.sqrt(self.m_ + EPSILON)
                omega_k = omega_k - ETA * g_ / d + np.sqrt(2 * ETA) * sigma_t * d**-0.5 * xi_
                omega_bar = (1 - BETA) * omega_bar + BETA * omega_k
                theta_bar = (1 - BETA) * theta_bar + BETA * theta_k
                self.update_targets(theta_k, omega_k)
        self.omega = (1 - BETA) * omega_t + BETA * omega_bar
        self.theta = (1 - BETA) * theta_t + BETA * theta_bar

    # "DDPG with GAD"; with two critics and a delay, "TD3 with GAD".
    def gad(self, t: int, policy_delay: int = 1) -> None:
        batch, normals = self.minibatch()
        self.update_critics(batch, normals)
        if t % policy_delay == 0:
            g = self.agent_gradient(batch, self.theta, self.omega)
            g_ = self.adversary_gradient(batch, self.theta, self.omega)
            self.m = ALPHA * self.m + (1 - ALPHA) * g * g
            self.theta = self.theta + ETA * g / np.sqrt(self.m + EPSILON)
            self.m_ = ALPHA * self.m_ + (1 - ALPHA) * g_ * g_
            self.omega = self.omega - ETA * g_ / np.sqrt(self.m_ + EPSILON)
            self.update_targets(self.theta, self.omega)

    # "… with Extra-Adam": Gidel et al., Algorithm 4; ``players`` are the two players' Adams.
    def extra_adam(self, t: int, players: tuple[Adam, Adam], policy_delay: int = 1) -> None:
        batch, normals = self.minibatch()
        self.update_critics(batch, normals)
        if t % policy_delay == 0:
            # Extrapolate from (θ_t, ω_t); the moments move.
            g = self.agent_gradient(batch, self.theta, self.omega)
            g_ = self.adversary_gradient(batch, self.theta, self.omega)
            theta_half = self.theta + players[0].step(-g)
            omega_half = self.omega + players[1].step(g_)
            # Another minibatch; the step goes from (θ_t, ω_t) again. The critic rests.
            batch, _ = self.minibatch()
            g = self.agent_gradient(batch, theta_half, omega_half)
            g_ = self.adversary_gradient(batch, theta_half, omega_half)
            self.theta = self.theta + players[0].step(-g)
            self.omega = self.omega + players[1].step(g_)
            self.update_targets(self.theta, self.omega)

    def check(self, state: SolverState) -> None:
        """All that there is, to rounding."""
        critic = state.carry.critic
        pairs = {
            "theta": (state.players.agent, self.theta),
            "omega": (state.players.adversary, self.omega),
            "phi": (critic.critics, jnp.concatenate(self.phi)),
            "theta_targ": (critic.target_players.agent, self.theta_targ),
            "omega_targ": (critic.target_players.adversary, self.omega_targ),
            "phi_targ": (critic.target_critics, jnp.concatenate(self.phi_targ)),
        }
        for name, (ours, printed) in pairs.items():
            np.testing.assert_allclose(flat(ours), printed, rtol=1e-9, atol=1e-10, err_msg=name)
        assert int(state.carry.batch) == self.used


# -- the solvers in the program -------------------------------------------------------------------

RMS: dict[str, Any] = {"decay": ALPHA, "epsilon": EPSILON}


def with_langevin(every: int = 1) -> MakeSolver:
    def make(oracle: Oracle, extra_args: ExtraArgs | None) -> Solver:
        langevin = optimizers.langevin(ETA, 0.0, **RMS)
        solver = solvers.mixedne_ld(oracle, langevin, damping=BETA, extra_args=extra_args)
        return solvers.delayed(solver, every)

    return make


def with_gad(every: int = 1) -> MakeSolver:
    def make(oracle: Oracle, extra_args: ExtraArgs | None) -> Solver:
        del extra_args
        return solvers.delayed(solvers.gad(oracle, optimizers.rmsprop(ETA, **RMS)), every)

    return make


def with_extra_adam(every: int = 1) -> MakeSolver:
    def make(oracle: Oracle, extra_args: ExtraArgs | None) -> Solver:
        del extra_args
        solver = solvers.extra_gradient(oracle, optimizers.extra_adam(ETA))
        return solvers.delayed(solver, every)

    return make


# -- side by side ---------------------------------------------------------------------------------


def test_ddpg_with_mixedne_ld() -> None:
    """One outer step of three inner ones, then one of two: m, m' and the targets persist."""
    first = start(DDPG, with_langevin())
    feed = make_feed(DDPG, first.players, noisy=True)
    paper = Paper.like(first, feed)
    controls = [Controls(3, 0.05), Controls(2, 0.04)]
    one, two = run(DDPG, with_langevin(), first, feed, controls)
    paper.mixedne_ld(t=1, inner=3, sigma_t=0.05)
    paper.check(one)
    moments = one.optimizer[0].second_moment
    np.testing.assert_allclose(flat(moments.agent), paper.m, rtol=1e-9)
    np.testing.assert_allclose(flat(moments.adversary), paper.m_, rtol=1e-9)
    paper.mixedne_ld(t=2, inner=2, sigma_t=0.04)
    paper.check(two)


def test_td3_with_mixedne_ld() -> None:
    """At t = 1 the critics alone take three steps; t = 2 moves; t = 3 rests again."""
    first = start(TD3, with_langevin(2))
    feed = make_feed(TD3, first.players, noisy=True)
    paper = Paper.like(first, feed)
    controls = [Controls(3, 0.05), Controls(3, 0.05), Controls(2, 0.04)]
    one, two, three = run(TD3, with_langevin(2), first, feed, controls)
    paper.mixedne_ld(t=1, inner=3, sigma_t=0.05, policy_delay=2)
    paper.check(one)
    paper.mixedne_ld(t=2, inner=3, sigma_t=0.05, policy_delay=2)
    paper.check(two)
    paper.mixedne_ld(t=3, inner=2, sigma_t=0.04, policy_delay=2)
    paper.check(three)

    # What rests, rests to the last bit: players, moments and targets.
    before, after = first.carry, one.carry.critic
    still = [
        (first.players, one.players),
        (first.optimizer[0].second_moment, one.optimizer[0].second_moment),
        (first.optimizer[0].count, one.optimizer[0].count),
        (before.target_players, after.target_players),
        (before.target_critics, after.target_critics),
    ]
    for old, new in still:
        jax.tree.map(np.testing.assert_array_equal, old, new)
    for old, new in zip(before.critics, after.critics, strict=True):
        assert float(jnp.abs(flat(old) - flat(new)).max()) > 1e-3


@pytest.mark.parametrize("every", [1, 2], ids=["ddpg", "td3"])
def test_gad(every: int) -> None:
    agent = DDPG if every == 1 else TD3
    first = start(agent, with_gad(every))
    feed = make_feed(agent, first.players, noisy=False)
    paper = Paper.like(first, feed)
    for t in (1, 2, 3):
        paper.gad(t, every)
    paper.check(run(agent, with_gad(every), first, feed, 3 * [Controls()])[-1])


@pytest.mark.parametrize("every", [1, 2], ids=["ddpg", "td3"])
def test_extra_adam(every: int) -> None:
    """One critic step each, another minibatch for the second half, targets after θ_(t+1)."""
    agent = DDPG if every == 1 else TD3
    first = start(agent, with_extra_adam(every))
    feed = make_feed(agent, first.players, noisy=False)
    paper, players = Paper.like(first, feed), (Adam(ETA), Adam(ETA))
    for t in (1, 2, 3):
        paper.extra_adam(t, players, every)
    paper.check(run(agent, with_extra_adam(every), first, feed, 3 * [Controls()])[-1])
    moves = 3 // every
    assert players[0].t == 2 * moves
    assert paper.used == 3 + moves


# -- the program around the solver ----------------------------------------------------------------


def test_the_program_makes_the_papers_steps() -> None:
    """It unpacks rows, draws the noise and counts minibatches; padding is not used."""
    agent, make_solver = TD3, with_langevin(2)
    first = start(agent, make_solver)
    given = make_feed(agent, first.players, noisy=True)
    fields = given.transitions._asdict()
    columns, parts, at = {}, [], 0
    for name, array in fields.items():
        part = array.reshape(CAPACITY, N, -1)
        columns[name] = slice(at, at + part.shape[-1])
        parts.append(part)
        at += part.shape[-1]
    rows = jnp.concatenate(parts, axis=-1)

    key = jax.random.key(5)
    normals_key, _ = jax.random.split(jax.random.clone(key))
    normals = jax.random.normal(normals_key, (CAPACITY, agent.normals_per_batch, N, A))
    flat, unravel = ravel_pytree(first.players)
    bits = jax.random.bits(jax.random.key(6), (CAPACITY, flat.size + 1), jnp.uint32)
    noise = jax.vmap(unravel)(normals_from_bits(bits[:, :-1]).astype(flat.dtype))
    feed = Feed(Batches(given.transitions, normals), noise)
    controls = [Controls(2, 0.05), Controls(3, 0.04), Controls(1, 0.03)]
    paper = Paper.like(first, feed)
    for t, (inner, sigma_t, _) in enumerate(controls, start=1):
        assert isinstance(inner, int)
        assert isinstance(sigma_t, float)
        paper.mixedne_ld(t, inner, sigma_t, policy_delay=2)

    padded = Controls(
        jnp.array([2, 3, 1, *5 * [1]], jnp.int32), jnp.array([0.05, 0.04, 0.03, *5 * [0.0]])
    )
    update = make_program(agent, make_solver, columns)
    steps = jnp.asarray(3, jnp.int32)
    state, metrics = update(
        first, rows, bits, RunningMoments.empty(S).scaling(), steps, padded, key
    )
    expected = agent.payoff(state.carry, state.players, given.transitions.observation[5])
    assert float(metrics["payoff"]) == pytest.approx(float(expected), rel=1e-9)
    carry = agent.init_carry(state.carry)._replace(batch=jnp.asarray(2 + 3 + 1))
    paper.check(state._replace(carry=carry))
