"""One battery for every solver."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mixedne import Players, optimizers, solvers
from mixedne.solvers import Controls, Oracle, Solver, solve

Make = Callable[..., Solver]

SOLVERS: dict[str, Make] = {
    "gad": lambda oracle, rate=0.1, **more: solvers.gad(oracle, optimizers.descend(rate), **more),
    "gad-rmsprop": lambda oracle, rate=0.05, **more: solvers.gad(
        oracle, optimizers.rmsprop(rate), **more
    ),
    "gad-alternating": lambda oracle, rate=0.1, **more: solvers.gad(
        oracle, optax.sgd(rate), alternating=True, **more
    ),
    "gad-alternating-noisy": lambda oracle, rate=0.1, **more: solvers.gad(
        oracle, optimizers.sgld(rate, 0.01), alternating=True, **more
    ),
    "extra-gradient": lambda oracle, rate=0.1, **more: solvers.extra_gradient(
        oracle, optimizers.extra_sgd(rate), **more
    ),
    "extra-adam": lambda oracle, rate=0.05, **more: solvers.extra_gradient(
        oracle, optimizers.extra_adam(rate), **more
    ),
    "mixedne-ld": lambda oracle, rate=0.05, **more: solvers.mixedne_ld(
        oracle, optimizers.langevin(rate, 0.01), **more
    ),
    "mixedne-ld-coupled": lambda oracle, rate=0.1, **more: solvers.mixedne_ld(
        oracle, optimizers.sgld(rate, 0.01), inner="coupled", **more
    ),
}
STOCHASTIC = {"gad-alternating-noisy", "mixedne-ld", "mixedne-ld-coupled"}


@pytest.fixture(params=sorted(SOLVERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(name: str) -> Make:
    return SOLVERS[name]


def players(dtype: Any = jnp.float32) -> Players:
    """Trees of different shapes: nothing may assume that the players look alike."""
    return Players(
        {"w": jnp.full((2, 3), 0.5, dtype), "b": jnp.asarray(-1.0, dtype)},
        (jnp.full((4,), 0.7, dtype),),
    )


def payoff(theta: Any, omega: Any) -> Any:
    """Concave in θ, convex in ω, coupled; the equilibrium is zero."""
    coupling = (jnp.sum(theta["w"]) + theta["b"]) * jnp.sum(omega[0])
    return -jnp.sum(theta["w"] ** 2) - theta["b"] ** 2 + jnp.sum(omega[0] ** 2) + coupling / 5


def controls(steps: int, inner: int = 3) -> Controls:
    return Controls(inner_steps=jnp.full(steps, inner))


def run(solver: Solver, steps: int, seed: int = 0, start: Players | None = None) -> Any:
    state = solver.init(start or players())
    return jax.jit(functools.partial(solve, solver))(jax.random.key(seed), state, controls(steps))


def size(tree: Any) -> float:
    return float(optax.tree.norm(tree))


def test_finds_the_equilibrium(make: Make) -> None:
    state, info = run(make(solvers.payoff_oracle(payoff)), 300)
    assert size(state.players) < 0.1 < size(players())
    assert info.gradient_norm.agent.shape == (300,)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_tree_in_is_tree_out(make: Make, dtype: Any, key: jax.Array) -> None:
    solver = make(solvers.payoff_oracle(payoff))
    first = solver.init(players(dtype))
    after, _ = solver.step(key, first, Controls(inner_steps=2))
    shapes = [jax.tree.map(lambda x: (x.shape, x.dtype), state) for state in (first, after)]
    assert shapes[0] == shapes[1]


def test_compiles_once_whatever_the_controls(make: Make, key: jax.Array) -> None:
    solver, traces = make(solvers.payoff_oracle(payoff)), []

    @jax.jit
    def step(state: Any, now: Controls) -> Any:
        traces.append(1)
        return solver.step(key, state, now)[0]

    state = solver.init(players())
    for t in range(1, 5):
        state = step(state, Controls(jnp.asarray(t), jnp.asarray(0.1 / t), jnp.asarray(0.1 / t)))
    assert len(traces) == 1
    assert int(state.step) == 4


def test_deterministic_by_key(name: str, make: Make) -> None:
    solver = make(solvers.payoff_oracle(payoff))
    first, again, other = (run(solver, 5, seed)[0].players for seed in (1, 1, 2))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    differs = size(jax.tree.map(jnp.subtract, first, other)) > 0
    assert differs == (name in STOCHASTIC)


def test_a_run_can_be_cut_anywhere(make: Make) -> None:
    solver = make(solvers.payoff_oracle(payoff))
    whole, _ = run(solver, 7)
    part, _ = run(solver, 3)
    rest, _ = jax.jit(functools.partial(solve, solver))(jax.random.key(0), part, controls(4))
    jax.tree.map(np.testing.assert_array_equal, whole.players, rest.players)


def test_vmap_over_seeds_and_learning_rates(make: Make) -> None:
    def end(seed: Any, rate: Any) -> Players:
        solver = make(solvers.payoff_oracle(payoff), rate)
        key = jax.random.key(seed)
        return solve(solver, key, solver.init(players()), controls(5))[0].players

    seeds, rates = jnp.array([3, 4]), jnp.array([0.01, 0.05])
    together = jax.jit(jax.vmap(end))(seeds, rates)
    for i in range(2):
        alone = jax.jit(end)(seeds[i], rates[i])
        jax.tree.map(
            lambda a, b, i=i: np.testing.assert_allclose(a[i], b, rtol=2e-4, atol=1e-6),
            together,
            alone,
        )


def test_one_player_needs_no_adversary(make: Make) -> None:
    def gradients(carry: Any, own: Players, opponent: Players) -> Players:
        return Players(jax.tree.map(lambda x: -2 * x, own.agent), None)

    start = Players(players().agent, None)
    state, _ = run(make(Oracle(gradients)), 200, start=start)
    assert state.players.adversary is None
    assert size(state.players) < 0.1


def test_iterates_stay_in_the_box(make: Make) -> None:
    solver = make(
        solvers.payoff_oracle(lambda theta, omega: 10 * theta["b"] + jnp.sum(omega[0])),
        project=solvers.box(-0.9, 0.75),
        observe=lambda both: (both.agent["b"], jnp.max(both.adversary[0])),
    )
    start = players()
    start.agent["b"] = jnp.asarray(0.0)
    state, info = run(solver, 200, start=start)
    assert float(state.players.agent["b"]) == pytest.approx(0.75, abs=0.02)
    assert float(jnp.max(info.observed[0])) <= 0.75
    assert float(jnp.min(state.players.adversary[0])) >= -0.9


def test_the_oracles_turns(name: str, make: Make, key: jax.Array) -> None:
    """A critic is stepped once a turn, and targets see settled players only."""

    def gradients(carry: Any, own: Players, opponent: Players) -> Players:
        return jax.tree.map(jnp.ones_like, own)

    oracle = Oracle(
        gradients,
        prepare=lambda key, carry, *places: {**carry, "prepared": carry["prepared"] + 1},
        redraw=lambda key, carry, *places: {**carry, "redrawn": carry["redrawn"] + 1},
        commit=lambda carry, both: {
            **carry,
            "target": both.agent["b"],
            "committed": carry["committed"] + 1,
        },
    )
    counts = {"prepared": 0, "redrawn": 0, "committed": 0, "target": 0.0}
    solver = make(oracle)
    state = solver.init(players(), jax.tree.map(jnp.asarray, counts))
    state, _ = solver.step(key, state, Controls(inner_steps=5))
    turns = 5 if name.startswith("mixedne") else 1
    assert int(state.carry["prepared"]) == int(state.carry["committed"]) == turns
    assert int(state.carry["redrawn"]) == (1 if name.startswith("extra") else 0)
    if not name.startswith("mixedne"):  # there, targets follow the inner iterate
        assert float(state.carry["target"]) == float(state.players.agent["b"])


def test_every_turn_has_keys_of_its_own(make: Make) -> None:
    def draw(key: jax.Array, carry: Any, *places: Players) -> Any:
        return {"seen": jnp.roll(carry["seen"], 1).at[0].set(jax.random.uniform(key))}

    oracle = Oracle(
        lambda carry, own, opponent: jax.tree.map(jnp.zeros_like, own), prepare=draw, redraw=draw
    )
    solver = make(oracle)
    state = solver.init(players(), {"seen": jnp.zeros(6)})
    state, _ = solve(solver, jax.random.key(0), state, controls(6, inner=2))
    assert len(set(np.asarray(state.carry["seen"]).tolist())) == 6


def test_a_turn_opens_where_its_gradient_is_taken(name: str, make: Make, key: jax.Array) -> None:
    """Whoever plays episodes to estimate a gradient must play them with those players."""

    def stand(key: jax.Array, carry: Any, own: Players, opponent: Players) -> Any:
        del key
        return {**carry, "here": (own, opponent)}

    def gradients(carry: Any, own: Players, opponent: Players) -> Players:
        apart = optax.tree.norm(optax.tree.sub(carry["here"], (own, opponent)))
        return jax.tree.map(lambda x: jnp.where(apart > 0, jnp.nan, jnp.ones_like(x)), own)

    solver = make(Oracle(gradients, prepare=stand, redraw=stand))
    state = solver.init(players(), {"here": (players(), players())})
    state, _ = solver.step(key, state, Controls(inner_steps=4))
    agent, adversary = state.players
    assert np.isfinite(float(optax.tree.norm(agent)))
    if "alternating" not in name:  # there, the adversary answers the agent's move at once
        assert np.isfinite(float(optax.tree.norm(adversary)))
