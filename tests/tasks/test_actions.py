"""Rescaling."""

import numpy as np

from mixedne.boxes import centre_and_reach
from mixedne.tasks import from_unit


def test_rescaling_reaches_the_edges() -> None:
    low, high = np.array([-3.0, 0.0]), np.array([3.0, 10.0])
    np.testing.assert_array_equal(from_unit(np.array([-1.0, -1.0]), low, high), low)
    np.testing.assert_array_equal(from_unit(np.array([1.0, 1.0]), low, high), high)
    np.testing.assert_array_equal(from_unit(np.zeros(2), low, high), [0.0, 5.0])


def test_a_box_of_one_is_left_exactly_alone() -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (1000, 3))
    one = np.ones(3)
    np.testing.assert_array_equal(from_unit(actions, -one, one), actions)


def test_rounding_never_leads_out_of_a_box() -> None:
    """Of (high + low) / 2 ± (high − low) / 2 in float32, a sixth would."""
    random = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e3):
        ends = np.round(random.uniform(-size, size, (2, 2000)), 4).astype(np.float32)
        low, high = np.sort(ends, axis=0)
        centre, reach = centre_and_reach(low, high)
        assert (centre + reach).dtype == np.float32
        assert (centre + reach <= high).all()
        assert (centre - reach >= low).all()
        np.testing.assert_allclose(
            [centre - reach, centre + reach], [low, high], rtol=1e-6, atol=2e-7 * size
        )
