"""Rescaling."""

import numpy as np

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
