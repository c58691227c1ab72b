"""The games and their measures, against brute force and known equilibria."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedne import InvalidInputError
from mixedne.saddle.objectives import (
    BOX,
    OBJECTIVES,
    Moments,
    Objective,
    distance,
    exploitability,
    parse_objectives,
)

numbers = st.floats(-BOX, BOX).map(lambda x: round(x, 4))
samples = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5)
objectives = st.sampled_from(list(OBJECTIVES.values()))


@given(objectives, numbers, numbers)
def test_gradients_are_the_values_derivatives(
    objective: Objective, theta: float, omega: float
) -> None:
    found = objective.gradient(theta, omega)
    expected = jax.grad(objective.value, argnums=(0, 1))(jnp.asarray(theta), jnp.asarray(omega))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@given(objectives, samples)
def test_exploitability_equals_brute_force(
    objective: Objective, points: list[tuple[float, float]]
) -> None:
    theta, omega = np.array(points).T
    grid = np.linspace(-BOX, BOX, 4001)
    gain = objective.value(grid[:, None], omega).mean(1).max()
    loss = objective.value(theta, grid[:, None]).mean(1).min()
    found = exploitability(objective, Moments.of_samples(theta, omega))
    assert found >= -1e-12
    np.testing.assert_allclose(found, gain - loss, atol=1e-4)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES.keys())
def test_equilibria_cannot_be_exploited_and_the_curve_can(objective: Objective) -> None:
    assert exploitability(objective, Moments.of_point(0.0, 0.0)) == 0
    on_curve = exploitability(objective, Moments.of_point(1.0, 0.5))
    assert on_curve > 0.5


def test_a_mixed_equilibrium_far_from_the_origin() -> None:
    # θ = ±1 with equal chances and ω = 0 is an equilibrium of θ²ω² − θω, at distance one.
    spread = Moments.of_samples(np.array([-1.0, 1.0]), np.zeros(2))
    objective = OBJECTIVES["x2y2-xy"]
    assert exploitability(objective, spread) == 0
    assert distance(objective, spread) == 1


def test_distance_is_to_the_nearest_equilibrium() -> None:
    point = Moments.of_point(3.0, 4.0)
    assert distance(OBJECTIVES["x2y2-xy"], point) == 5
    assert distance(OBJECTIVES["x2y2"], point) == 4


def test_objectives_by_name() -> None:
    assert [o.name for o in parse_objectives("all")] == ["x2y2-xy", "xy-x2y2", "x2y2"]
    assert parse_objectives("x2y2")[0].label == "θ²ω²"
    with pytest.raises(InvalidInputError, match="did you mean 'x2y2-xy'"):
        parse_objectives("x2y2_xy")
