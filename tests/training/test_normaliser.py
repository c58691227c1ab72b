"""Running moments, against NumPy over all the data at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedne.training.collection import SMALLEST_SCALE, RunningMoments


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.integers(0, 2**32 - 1),
    st.floats(-1e4, 1e4),
)
def test_the_splits_do_not_matter(sizes: list[int], seed: int, centre: float) -> None:
    scales = np.array([10.0, 1.0, 0.02])
    data = (centre + scales * np.random.default_rng(seed).standard_normal((sum(sizes), 3))).astype(
        np.float32
    )
    moments = RunningMoments.empty(3)
    for part in np.split(data, np.cumsum(sizes)[:-1]):
        moments = moments.update(part)
    exact = data.astype(np.float64)
    assert moments.count == len(data)
    np.testing.assert_allclose(moments.mean, exact.mean(0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        moments.squares, np.square(exact - exact.mean(0)).sum(0), rtol=1e-7, atol=1e-9
    )
    mean, scale = moments.scaling()
    assert mean.dtype == scale.dtype == np.float32
    np.testing.assert_allclose(mean, exact.mean(0), rtol=1e-6)
    np.testing.assert_allclose(scale, np.maximum(exact.std(0), SMALLEST_SCALE), rtol=1e-5)


def test_by_hand() -> None:
    moments = RunningMoments.empty(2).update(np.array([[1.0, 5.0]]))
    moments = moments.update(np.array([[3.0, 5.0], [8.0, 5.0]]))
    # 1, 3, 8: mean 4, squares 9 + 1 + 16 = 26. Each column by itself: 5, 5, 5 has none.
    assert moments.mean.tolist() == [4.0, 5.0]
    assert moments.squares.tolist() == pytest.approx([26.0, 0.0])
    assert moments.scaling()[1].tolist() == pytest.approx([np.sqrt(26 / 3), SMALLEST_SCALE])


def test_before_anything_is_seen_nothing_is_scaled() -> None:
    mean, scale = RunningMoments.empty(3).scaling()
    assert mean.tolist() == [0, 0, 0]
    assert scale.tolist() == [1, 1, 1]


def test_the_moments_before_are_left_alone() -> None:
    before = RunningMoments.empty(1).update(np.array([[1.0], [2.0]]))
    before.update(np.array([[100.0]]))
    assert (before.count, before.mean.tolist(), before.squares.tolist()) == (2, [1.5], [0.5])


def test_a_million_observations_far_from_zero_keep_their_deviation() -> None:
    # The sum of squares less the squared sum would be 1e16 − 1e16 and lose it.
    moments = RunningMoments.empty(1)
    random = np.random.default_rng(0)
    for _ in range(1000):
        moments = moments.update(1e5 + random.standard_normal((1000, 1)))
    assert moments.scaling()[1][0] == pytest.approx(1, rel=0.005)
