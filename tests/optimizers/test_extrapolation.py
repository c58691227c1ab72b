"""Extra-gradient methods, worked by hand."""

from math import sqrt
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mixedne.optimizers import extra_adam, extra_sgd, extrapolate


def half_steps(optimizer: Any, z: Any, gradient: Any, count: int) -> list[Any]:
    """The points after each half-step, starting from z."""
    state, points = optimizer.init(z), []
    for _ in range(count):
        update, state = optimizer.update(gradient(z), state, z)
        z = optax.apply_updates(z, update)
        points.append(np.asarray(z))
    return points


def test_extra_gradient_by_hand() -> None:
    # loss z², η = 0.25, z = 1: look ahead 1 − ¼·2·1 = ½; step from 1 with slope 2·½: ¾.
    # From ¾: look ahead ¾ − ¼·2·¾ = 3/8; step ¾ − ¼·2·3/8 = 9/16.
    points = half_steps(extra_sgd(0.25), jnp.asarray(1.0), lambda z: 2 * z, 4)
    np.testing.assert_allclose(points, [1 / 2, 3 / 4, 3 / 8, 9 / 16])


def test_extra_adam_by_hand() -> None:
    # Gidel et al., Algorithm 4, on loss z²/2 (slope z), η = 0.1, β1 = 0.5, β2 = 0.75,
    # from z = 2. Adam's moments m, v move at every half-step i and are corrected by
    # 1 − β1^i and 1 − β2^i; every step starts from the base.
    m1, v1 = 0.5 * 2.0, 0.25 * 2.0**2
    ahead1 = 2.0 - 0.1 * (m1 / 0.5) / sqrt(v1 / 0.25)  # first correction: 1−½, 1−¾
    m2, v2 = 0.5 * m1 + 0.5 * ahead1, 0.75 * v1 + 0.25 * ahead1**2
    base1 = 2.0 - 0.1 * (m2 / 0.75) / sqrt(v2 / 0.4375)  # 1−½², 1−¾²
    m3, v3 = 0.5 * m2 + 0.5 * base1, 0.75 * v2 + 0.25 * base1**2
    ahead2 = base1 - 0.1 * (m3 / 0.875) / sqrt(v3 / 0.578125)  # 1−½³, 1−¾³
    m4, v4 = 0.5 * m3 + 0.5 * ahead2, 0.75 * v3 + 0.25 * ahead2**2
    base2 = base1 - 0.1 * (m4 / 0.9375) / sqrt(v4 / 0.68359375)  # 1−½⁴, 1−¾⁴
    assert ahead1 == pytest.approx(1.9)  # Adam's first step has length η
    points = half_steps(
        extra_adam(0.1, b1=0.5, b2=0.75, epsilon=0.0), jnp.asarray(2.0), lambda z: z, 4
    )
    np.testing.assert_allclose(points, [ahead1, base1, ahead2, base2], rtol=1e-6)


def test_the_look_ahead_is_undone() -> None:
    # A gradient that is zero at the look-ahead point must bring z back to its base.
    points = half_steps(extra_sgd(0.5), jnp.asarray(1.0), lambda z: jnp.where(z == 1, 1.0, 0.0), 2)
    np.testing.assert_array_equal(points, [0.5, 1.0])


def test_any_optimiser_can_be_extrapolated() -> None:
    points = half_steps(extrapolate(optax.sgd(0.25)), jnp.asarray(1.0), lambda z: 2 * z, 2)
    np.testing.assert_allclose(points, [1 / 2, 3 / 4])


def test_the_parameters_are_needed() -> None:
    optimizer = extra_sgd(0.1)
    with pytest.raises(ValueError, match="pass params"):
        optimizer.update(jnp.ones(2), optimizer.init(jnp.ones(2)))


@pytest.mark.parametrize("name", ["b1", "b2"])
def test_senseless_decays_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be below 1, not 1.0"):
        extra_adam(0.1, **{name: 1.0})
