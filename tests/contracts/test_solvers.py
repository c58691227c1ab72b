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
SOLVERS |= {
    f"{name}-averaged": lambda *given, make=make, **more: solvers.averaged(
        make(*given, **more), 0.9
    )
    for name, make in SOLVERS.items()
    if name in ("gad", "extra-adam", "mixedne-ld")
}
STOCHASTIC = {"gad-alternating-noisy", "mixedne-ld", "mixedne-ld-coupled", "mixedne-ld-averaged"}


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
    def gradients(carry: Any, both: Players, opponent: Players | None) -> Players:
        return Players(jax.tree.map(lambda x: -2 * x, both.agent), None)

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


def test_the_oracles_steps(name: str, make: Make, key: jax.Array) -> None:
    """A critic is stepped once for each, and targets see settled players only."""

    def gradients(carry: Any, both: Players, opponent: Players | None) -> Players:
        return jax.tree.map(jnp.ones_like, both)

    oracle = Oracle(
        gradients,
        begin=lambda key, carry, *places: {**carry, "begun": carry["begun"] + 1},
        resample=lambda key, carry, *places: {**carry, "resampled": carry["resampled"] + 1},
        end=lambda carry, both: {
            **carry,
            "target": both.agent["b"],
            "ended": carry["ended"] + 1,
        },
    )
    counts = {"begun": 0, "resampled": 0, "ended": 0, "target": 0.0}
    solver = make(oracle)
    state = solver.init(players(), jax.tree.map(jnp.asarray, counts))
    state, _ = solver.step(key, state, Controls(inner_steps=5))
    steps = 5 if name.startswith("mixedne") else 1
    assert int(state.carry["begun"]) == int(state.carry["ended"]) == steps
    assert int(state.carry["resampled"]) == (1 if name.startswith("extra") else 0)
    if not name.startswith("mixedne"):  # there, targets follow the inner iterate
        assert float(state.carry["target"]) == float(state.players.agent["b"])


def test_every_gradient_step_has_keys_of_its_own(make: Make) -> None:
    def draw(key: jax.Array, carry: Any, *places: Any) -> Any:
        return {"seen": jnp.roll(carry["seen"], 1).at[0].set(jax.random.uniform(key))}

    oracle = Oracle(
        lambda carry, both, opponent: jax.tree.map(jnp.zeros_like, both), begin=draw, resample=draw
    )
    solver = make(oracle)
    state = solver.init(players(), {"seen": jnp.zeros(6)})
    state, _ = solve(solver, jax.random.key(0), state, controls(6, inner=2))
    assert len(set(np.asarray(state.carry["seen"]).tolist())) == 6


def test_a_step_begins_where_its_gradient_is_taken(name: str, make: Make, key: jax.Array) -> None:
    """Whoever plays episodes to estimate a gradient must play them with those players."""

    def stand(key: jax.Array, carry: Any, both: Players, opponent: Players | None) -> Any:
        del key
        return {**carry, "here": (both, opponent or both)}

    def gradients(carry: Any, both: Players, opponent: Players | None) -> Players:
        apart = optax.tree.norm(optax.tree.sub(carry["here"], (both, opponent or both)))
        return jax.tree.map(lambda x: jnp.where(apart > 0, jnp.nan, jnp.ones_like(x)), both)

    solver = make(Oracle(gradients, begin=stand, resample=stand))
    state = solver.init(players(), {"here": (players(), players())})
    state, _ = solver.step(key, state, Controls(inner_steps=4))
    agent, adversary = state.players
    assert np.isfinite(float(optax.tree.norm(agent)))
    if "alternating" not in name:  # there, the adversary answers the agent's move at once
        assert np.isfinite(float(optax.tree.norm(adversary)))


def test_copies_of_the_players_change_nothing(make: Make) -> None:
    """Whom the players meet is an argument; which object holds them means nothing."""
    plain = solvers.payoff_oracle(payoff)

    def copied(carry: Any, both: Players, opponent: Players | None) -> Players:
        both, opponent = jax.tree.map(jnp.array, (both, opponent))
        return plain.gradients(carry, both, opponent)

    one, other = (run(make(oracle), 5)[0].players for oracle in (plain, Oracle(copied)))
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-7), one, other)


def test_the_oracles_keys_follow_the_solvers_key(make: Make) -> None:
    """An oracle that draws from its key gets other numbers for another seed, and for another t."""

    def draw(key: jax.Array, carry: Any, *places: Any) -> Any:
        return {"drawn": jax.random.uniform(key)}

    oracle = Oracle(lambda carry, both, opponent: jax.tree.map(jnp.zeros_like, both), begin=draw)
    solver = make(oracle)
    first = solver.init(players(), {"drawn": jnp.zeros([])})
    drawn = set()
    for seed in (0, 1):
        state = first
        for _ in range(2):
            state, _ = solver.step(jax.random.key(seed), state, Controls(inner_steps=2))
            drawn.add(float(state.carry["drawn"]))
    assert len(drawn) == 4


def test_the_delayed_solver_asks_its_own_oracle(make: Make, key: jax.Array) -> None:
    counting = Oracle(
        lambda carry, both, opponent: jax.tree.map(jnp.ones_like, both),
        begin=lambda key, carry, both, opponent: carry + 1,
    )
    solver = solvers.delayed(make(counting), 3)
    state = solver.init(players(), jnp.asarray(0))
    state, _ = solver.step(key, state, Controls(inner_steps=4))
    assert int(state.carry) == 4
    jax.tree.map(np.testing.assert_array_equal, state.players, players())
