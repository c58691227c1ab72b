"""Solvers against sequences worked by hand and against known rates."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mixedne import InvalidInputError, Players, optimizers, solvers
from mixedne.solvers import Controls, Solver, mixedne_ld, solve

BILINEAR = solvers.payoff_oracle(lambda theta, omega: theta * omega)


def start(theta: float, omega: float) -> Players:
    return Players(jnp.asarray(float(theta)), jnp.asarray(float(omega)))


def path(solver: Solver, first: Players, steps: int, inner: int = 1) -> Players:
    """The outer iterates, the start left out."""
    controls = Controls(inner_steps=jnp.full(steps, inner))
    run = functools.partial(solve, solver, record=lambda state, info: state.players)
    recorded: Players = jax.jit(run)(jax.random.key(0), solver.init(first), controls)[1]
    return recorded


def radius(points: Players) -> Any:
    return np.hypot(points.agent, points.adversary)


def test_gad_by_hand() -> None:
    # J = θω, η = ½, from (1, 2). Simultaneous: θ = 1 + ½·2, ω = 2 − ½·1.
    # Alternating: ω answers the new θ = 2: ω = 2 − ½·2.
    together = path(solvers.gad(BILINEAR, optax.sgd(0.5)), start(1, 2), 1)
    in_turn = path(solvers.gad(BILINEAR, optax.sgd(0.5), alternating=True), start(1, 2), 1)
    np.testing.assert_allclose(np.ravel(together), [2, 1.5])
    np.testing.assert_allclose(np.ravel(in_turn), [2, 1])


def test_extra_gradient_by_hand() -> None:
    # J = θω, η = ½, from (1, 2): look ahead to (2, 1.5); step θ = 1 + ½·1.5, ω = 2 − ½·2.
    found = path(solvers.extra_gradient(BILINEAR, optimizers.extra_sgd(0.5)), start(1, 2), 1)
    np.testing.assert_allclose(np.ravel(found), [1.75, 1])


@pytest.mark.parametrize(
    ("inner", "expected"), [("frozen", (13 / 8, 27 / 16)), ("coupled", (25 / 16, 25 / 16))]
)
def test_mixedne_ld_by_hand(inner: str, expected: tuple[float, float]) -> None:
    # J = θω, η = ½, β = ½, K = 2, no noise, from (1, 2).
    # k = 1, both kinds: θ = 1 + ½·2 = 2, ω = 2 − ½·1 = 3/2; θ̄ = 3/2, ω̄ = 7/4.
    # k = 2, frozen:  θ = 2 + ½·2 = 3, ω = 3/2 − ½·1 = 1; θ̄ = 9/4, ω̄ = 11/8.
    # k = 2, coupled: θ = 2 + ½·3/2 = 11/4, ω = 3/2 − ½·2 = 1/2; θ̄ = 17/8, ω̄ = 9/8.
    # Outer step: halfway from (1, 2) to the averages.
    solver = mixedne_ld(BILINEAR, optimizers.sgld(0.5, 0.0), damping=0.5, inner=inner)
    np.testing.assert_allclose(np.ravel(path(solver, start(1, 2), 1, inner=2)), expected)


def test_one_undamped_inner_step_is_plain_langevin(key: jax.Array) -> None:
    optimizer = optimizers.langevin(0.1, 0.3)
    both = start(1.0, -2.0)
    solver = mixedne_ld(BILINEAR, optimizer, damping=1.0)
    state, _ = solver.step(key, solver.init(both))
    # The same step by hand: gradient of −J for θ and of J for ω, noise from (key, t, k).
    noise_key = jax.random.split(jax.random.fold_in(jax.random.fold_in(jax.random.key(0), 0), 0))[1]
    updates, _ = optimizer.update(
        Players(-both.adversary, both.agent), optimizer.init(both), key=noise_key
    )
    expected = optax.apply_updates(both, updates)
    np.testing.assert_array_equal(np.ravel(state.players), np.ravel(expected))


def test_a_single_step_without_noise_is_gad_with_rmsprop() -> None:
    cold = mixedne_ld(BILINEAR, optimizers.langevin(0.01, 0.0), damping=1.0)
    gad = solvers.gad(BILINEAR, optimizers.rmsprop(0.01))
    a, b = (path(solver, start(1.0, -2.0), 50) for solver in (cold, gad))
    # To rounding: the compiler contracts the two programs differently.
    np.testing.assert_allclose(np.ravel(a), np.ravel(b), rtol=1e-5, atol=1e-6)


def test_on_a_bilinear_game_extra_gradient_contracts_where_gad_spirals_out() -> None:
    # One step multiplies the radius by √(1 − η² + η⁴) and by √(1 + η²).
    eta = 0.3
    inwards = radius(
        path(solvers.extra_gradient(BILINEAR, optimizers.extra_sgd(eta)), start(1, 1), 20)
    )
    outwards = radius(path(solvers.gad(BILINEAR, optax.sgd(eta)), start(1, 1), 20))
    np.testing.assert_allclose(inwards[1:] / inwards[:-1], (1 - eta**2 + eta**4) ** 0.5, rtol=1e-5)
    np.testing.assert_allclose(outwards[1:] / outwards[:-1], (1 + eta**2) ** 0.5, rtol=1e-5)


@pytest.mark.parametrize(("b1", "radii"), [(0.0, 2 / 3**0.5), (0.5, 36.6), (0.9, 186.2)])
def test_extra_adam_comes_within_order_eta_on_a_bilinear_game(b1: float, radii: float) -> None:
    # It ends on a cycle whose radius is proportional to η; momentum makes it much wider.
    for eta in (0.03, 0.01):
        solver = solvers.extra_gradient(BILINEAR, optimizers.extra_adam(eta, b1=b1))
        steps = int(400 / eta)
        late = radius(path(solver, start(1.0, -1.0), steps))[-steps // 4 :]
        assert late.max() / eta == pytest.approx(radii, rel=0.02)


def test_frozen_chains_diverge_on_an_unbounded_bilinear_game() -> None:
    optimizer = optimizers.sgld(0.1, 0.01)
    frozen = radius(path(mixedne_ld(BILINEAR, optimizer, damping=0.5), start(1, -1), 100, inner=10))
    coupled = radius(
        path(
            mixedne_ld(BILINEAR, optimizer, damping=0.5, inner="coupled"),
            start(1, -1),
            100,
            inner=10,
        )
    )
    assert frozen[-1] > 1000
    assert coupled[-1] < 0.1


def test_the_noise_scale_may_change_from_step_to_step() -> None:
    still = solvers.Oracle(lambda carry, both, opponent: jax.tree.map(jnp.zeros_like, both))
    solver = mixedne_ld(still, optimizers.sgld(0.5, 7.0), damping=1.0)
    controls = Controls(jnp.array([1, 1]), noise_scale=jnp.array([0.0, 1.0]))
    _, (theta, _) = solve(
        solver,
        jax.random.key(0),
        solver.init(start(1.0, 1.0)),
        controls,
        record=lambda state, info: state.players,
    )
    assert float(theta[0]) == 1.0
    assert float(theta[1]) != 1.0


def test_observations_are_averaged_along_the_chain() -> None:
    # J = θ, η = 1, no noise, K = 4 from 0: inner iterates 1, 2, 3, 4.
    climb = solvers.Oracle(lambda carry, both, opponent: Players(jnp.ones_like(both.agent), None))
    solver = mixedne_ld(climb, optimizers.sgld(1.0, 0.0), observe=lambda both: both.agent**2)
    state = solver.init(Players(jnp.asarray(0.0), None))
    _, info = solver.step(jax.random.key(0), state, Controls(inner_steps=4))
    assert float(info.observed) == pytest.approx((1 + 4 + 9 + 16) / 4)


def test_a_one_phase_optimiser_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="needs a two-phase optimiser"):
        solvers.extra_gradient(BILINEAR, optimizers.descend(0.1)).init(start(1, 1))


@pytest.mark.parametrize("damping", [0.0, -0.5, 1.5, float("nan")])
def test_damping_outside_its_range_is_refused(damping: float) -> None:
    with pytest.raises(InvalidInputError, match="damping must be"):
        mixedne_ld(BILINEAR, optimizers.sgld(0.1, 0.1), damping=damping)


def test_an_unknown_kind_of_chain_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'frozen'"):
        mixedne_ld(BILINEAR, optimizers.sgld(0.1, 0.1), inner="frosen")


def test_an_empty_box_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="low < high"):
        solvers.box(1.0, 1.0)


def test_players_must_be_floating_point() -> None:
    with pytest.raises(InvalidInputError, match="floating-point numbers, not int32"):
        solvers.gad(BILINEAR, optax.sgd(0.1)).init(Players(1, 2))


def counting_oracle() -> solvers.Oracle:
    """J = θω; the carry counts gradient steps begun and ended."""
    return solvers.Oracle(
        BILINEAR.gradients,
        begin=lambda key, carry, both, opponent: (carry[0] + 1, carry[1]),
        end=lambda carry, players: (carry[0], carry[1] + 1),
    )


def test_the_average_of_outer_iterates_by_hand() -> None:
    """d = 0.5: the weights of z_1 … z_t are 2^(s−t) over their sum, and z_0 has none."""
    plain = solvers.gad(BILINEAR, optax.sgd(0.5))
    solver = solvers.averaged(plain, 0.5)
    start = Players(jnp.asarray(100.0), jnp.asarray(-30.0))
    state, alone = solver.init(start), plain.init(start)
    iterates = []
    for t in range(1, 5):
        state, _ = solver.step(jax.random.key(0), state)
        alone, _ = plain.step(jax.random.key(0), alone)
        assert state.players == alone.players  # they move as without it
        iterates.append([float(x) for x in state.players])
        weights = 0.5 ** np.arange(t - 1, -1, -1)
        expected = np.average(iterates, axis=0, weights=weights)
        average: Any = state.average
        np.testing.assert_allclose(np.array([*average]), expected, rtol=1e-5)
    with pytest.raises(InvalidInputError, match="decay must be below 1"):
        solvers.averaged(plain, 1.0)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_delayed_players_rest_while_gradient_steps_begin(every: int) -> None:
    # J = θω, η = ½ from (1, 2): the first move leads to (2, 1.5). K_t = 2 on resting steps.
    oracle = counting_oracle()
    solver = solvers.delayed(solvers.gad(oracle, optax.sgd(0.5)), every)
    state = solver.init(start(1, 2), (jnp.asarray(0), jnp.asarray(0)))
    step = jax.jit(solver.step)
    for t in range(1, every + 1):
        before = state
        state, info = step(jax.random.key(0), state, Controls(inner_steps=jnp.asarray(2)))
        moves = t % every == 0
        expected = [2, 1.5] if moves else np.ravel(before.players)
        np.testing.assert_allclose(np.ravel(state.players), expected)
        assert (float(info.gradient_norm.agent) > 0) == moves
        assert int(state.step) == t
    # every − 1 resting steps that begin two each, and one moving step that begins and ends one
    assert [int(x) for x in state.carry] == [2 * (every - 1) + 1, 1]


def test_a_delay_must_be_a_whole_step() -> None:
    with pytest.raises(InvalidInputError, match="every must be at least 1"):
        solvers.delayed(solvers.gad(BILINEAR, optax.sgd(0.5)), 0)


def test_the_noise_may_come_from_outside() -> None:
    # J = 0, so z moves by the noise alone: √(2η) σ ξ with η = ½ and σ = 0.1, K = 1, β = 1.
    still = solvers.payoff_oracle(lambda theta, omega: 0.0 * theta * omega)
    solver = mixedne_ld(
        still,
        optimizers.sgld(0.5, 0.1),
        damping=1.0,
        extra_args=lambda carry: {"noise": Players(carry, -2 * carry)},
    )
    state = solver.init(start(1, 2), jnp.asarray(3.0))
    state, _ = solver.step(jax.random.key(0), state)
    np.testing.assert_allclose(np.ravel(state.players), [1 + 0.3, 2 - 0.6], rtol=1e-6)


@pytest.mark.parametrize(("inner", "met"), [("frozen", [None, 0]), ("coupled", [None, None])])
def test_whom_the_players_meet(inner: str, met: list[int | None]) -> None:
    """At the first inner step each other; then the outer iterate (frozen), or each other."""
    opponents: list[Players | None] = []

    def gradients(carry: Any, both: Players, opponent: Players | None) -> Players:
        opponents.append(opponent)
        return BILINEAR.gradients(carry, both, opponent)

    first = start(1, 2)
    solver = mixedne_ld(solvers.Oracle(gradients), optimizers.sgld(0.1, 0.0), inner=inner)
    with jax.disable_jit():
        solver.step(jax.random.key(0), solver.init(first), Controls(inner_steps=2))
    assert [o is None for o in opponents] == [o is None for o in met]
    for opponent in opponents:
        if opponent is not None:
            np.testing.assert_array_equal(np.ravel(opponent), np.ravel(first))
