"""Lists of shifts."""

import numpy as np
import pytest

from mixedne import InvalidInputError
from mixedne.evaluation.grids import grid_values


def test_numbers_and_ranges() -> None:
    assert grid_values("mass", "0.5,1,2") == (0.5, 1, 2)
    assert grid_values("mass", "0.5:2:4") == (0.5, 1, 1.5, 2)
    assert grid_values("noise", "0:0.5:1") == (0,)


@pytest.mark.parametrize(
    ("text", "first", "step"),
    [("0.1:2:20", 0.1, 0.1), ("0.5:2:16", 0.5, 0.1), ("0:0.5:11", 0, 0.05)],
)
def test_ranges_hold_what_one_would_write(text: str, first: float, step: float) -> None:
    """So that the nominal world, and what another list has too, are found in them."""
    values = grid_values("noise" if first == 0 else "mass", text)
    assert values == tuple(round(first + step * i, 2) for i in range(len(values)))


def test_what_a_caller_may_give() -> None:
    assert grid_values("mass", 2) == (2.0,)
    assert grid_values("mass", np.array([0.5, 1], np.float32)) == (0.5, 1.0)
    assert grid_values("mass", "0.5,1") == (0.5, 1.0)
    with pytest.raises(InvalidInputError, match="mass must be numbers, not"):
        grid_values("mass", [None])  # type: ignore[list-item]


def test_the_papers_grids() -> None:
    paper = grid_values("mass", "paper")
    assert len(paper) == 21
    np.testing.assert_allclose(paper[:11], np.arange(0.5, 1.01, 0.05))
    np.testing.assert_allclose(paper[10:], np.arange(1.0, 2.01, 0.1))
    assert grid_values("friction", "paper") == paper
    heatmap = grid_values("mass", "paper-heatmap")
    np.testing.assert_allclose(heatmap, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0])
    np.testing.assert_allclose(grid_values("noise", "paper-heatmap"), np.arange(0, 0.51, 0.05))
    rho = grid_values("rho", "paper")
    assert (len(rho), rho[0], rho[-1]) == (20, 0.0, 0.4)


@pytest.mark.parametrize(
    ("axis", "text", "message"),
    [
        ("mass", "0,1", "mass must be above 0, not 0.0"),
        ("friction", "-1", "friction must be above 0"),
        ("noise", "1.5", "noise must be at most 1"),
        ("rho", "nan", "rho must be finite"),
        ("mass", "light", "mass must be numbers as in 0.5,1,2"),
        ("mass", "1:2", "mass must be numbers as in"),
        ("mass", "1:2:0", "the count of mass must be at least 1"),
        ("mass", "1,1", "must not hold a value twice"),
        ("mass", "", "mass must be numbers as in"),
        ("rho", "paper-heatmap", "the grid paper-heatmap has no axis rho"),
    ],
)
def test_bad_lists_are_refused(axis: str, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        grid_values(axis, text)
