"""The case study: what Section 4 shows, what it does not say, and the tables."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mixedne import InvalidInputError
from mixedne.saddle import experiment, tables
from mixedne.saddle.objectives import (
    OBJECTIVES,
    Case,
    Moments,
    Settings,
    exploitability,
    plan_cases,
)
from mixedne.saddle.tables import Run

ALL = list(OBJECTIVES.values())


def run(solver: str, inner: str | None, start: str, seeds: int = 20, **settings: Any) -> list[Run]:
    """The three objectives with the paper's settings, but for those given."""
    (case,) = plan_cases(ALL, [solver], [start], [inner], overrides=settings)
    return experiment.run(case, np.arange(seeds))


@pytest.mark.parametrize("solver", ["gad", "eg"])
def test_gradient_methods_are_trapped_from_far(solver: str) -> None:
    first, second, third = run(solver, None, "far", seeds=1)
    for trapped in (first, second):
        assert trapped.theta[0, -1] * trapped.omega[0, -1] == pytest.approx(0.5, abs=1e-6)
    assert abs(third.omega[0, -1]) < 1e-6  # every stationary point of θ²ω² reached is good


def test_from_near_extra_gradient_converges_and_gad_circles() -> None:
    gad, eg = (run(solver, None, "near", seeds=1)[0] for solver in ("gad", "eg"))
    radius = np.hypot(gad.theta, gad.omega)[0]
    assert 0.55 < radius[-200:].min() < radius[-200:].max() < 0.7  # the start has 0.63
    assert np.hypot(eg.theta, eg.omega)[0, -1] < 0.01


@pytest.mark.slow
def test_frozen_chains_escape_and_coupled_ones_often_do_not() -> None:
    frozen = tables.results(run("mixedne-ld", "frozen", "far", seeds=100))
    coupled = tables.results(run("mixedne-ld", "coupled", "far", seeds=100))
    shares = [np.mean(table["escaped"][:100].to_numpy()) for table in (frozen, coupled)]
    assert shares[0] > 0.95
    assert 0.2 < shares[1] < 0.65


@pytest.mark.slow
def test_from_near_coupled_chains_settle_and_frozen_ones_do_not() -> None:
    frozen, coupled = (
        np.median(tables.results(run("mixedne-ld", inner, "near"))["distance"][:20].to_numpy())
        for inner in ("frozen", "coupled")
    )
    assert frozen > 0.8
    assert coupled < 0.1


@pytest.mark.slow
def test_a_seed_gives_the_same_numbers_whatever_runs_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = run("mixedne-ld", "frozen", "far", seeds=7, steps=50)
    monkeypatch.setattr(experiment, "SEEDS_AT_ONCE", 3)
    in_blocks = run("mixedne-ld", "frozen", "far", seeds=7, steps=50)
    (case,) = plan_cases(ALL[1:2], ["mixedne-ld"], ["far"], overrides={"steps": 50})
    (alone,) = experiment.run(case, np.array([5]))
    np.testing.assert_array_equal(many[1].theta, in_blocks[1].theta)
    np.testing.assert_array_equal(many[1].omega[5:6], alone.omega)
    np.testing.assert_array_equal(many[1].chain.theta[5:6], alone.chain.theta)


def test_without_noise_the_chain_is_deterministic() -> None:
    cold = run("mixedne-ld", "frozen", "far", seeds=2, steps=5, noise_scale=0.0)[0]
    np.testing.assert_array_equal(cold.theta[0], cold.theta[1])


def test_the_chain_of_a_gradient_method_is_its_path() -> None:
    gad = run("gad", None, "near", seeds=1, steps=30)[0]
    later = Moments.of_samples(gad.theta[:, 1:], gad.omega[:, 1:])
    np.testing.assert_allclose(gad.chain.theta_squared, later.theta_squared, rtol=1e-12)
    np.testing.assert_allclose(
        exploitability(gad.objective, gad.chain), exploitability(gad.objective, later), rtol=1e-12
    )


def fake_run(products: list[float]) -> Run:
    """One seed whose θω takes these values."""
    theta = np.array([products])
    omega = np.ones_like(theta)
    case = Case((ALL[0],), "mixedne-ld", "far", (products[0], 1.0), Settings())
    return Run(case, ALL[0], np.array([7]), theta, omega, Moments.of_samples(theta, omega))


@pytest.mark.parametrize(
    ("products", "escaped", "reached", "left"),
    [
        ([0.9, 0.7, 0.5, 0.5], False, 2, None),  # trapped
        ([0.9, 0.5, 0.7, 0.52, 0.2, 0.1], True, 1, 4),  # left for good after step 3
        ([0.9, 0.1, 0.0], True, None, None),  # never on the curve
        ([0.5, 0.46, 0.44], True, 0, 2),
    ],
)
def test_escape(products: list[float], escaped: bool, reached: Any, left: Any) -> None:
    row = tables.results([fake_run(products)]).row(0, named=True)
    assert (row["escaped"], row["reached_step"], row["escape_step"]) == (escaped, reached, left)


def test_escape_says_nothing_where_there_is_no_curve() -> None:
    row = tables.results([replace(fake_run([0.5, 0.5]), objective=ALL[2])]).row(0, named=True)
    assert row["escaped"] is row["reached_step"] is row["escape_step"] is None


def test_measures_of_a_known_path() -> None:
    row = tables.results([fake_run([1.0, -1.0])]).row(0, named=True)
    # θ = 1 then −1, ω = 1: the end (−1, 1), the average (0, 1), the chain both.
    assert row["value"] == 2
    assert row["distance"] == pytest.approx(2**0.5)
    assert row["average_distance"] == 1
    assert row["chain_distance"] == pytest.approx(2**0.5)
    # Against ω = 1 the best θ is −2: 4 + 2. Against θ = −1 the best ω is −1/2: 1/4 − 1/2.
    assert row["end_exploitability"] == pytest.approx(6 + 1 / 4)
    # Against θ = 0 every ω gives 0; against θ = ±1 (mean 0, square 1) the best is 0.
    assert row["average_exploitability"] == row["exploitability"] == pytest.approx(6)


def test_summary_counts_and_spreads() -> None:
    runs = [replace(fake_run(p), seeds=np.array([i])) for i, p in enumerate(([0.5], [0.1], [0.2]))]
    row = tables.summary(tables.results(runs)).row(0, named=True)
    assert row["seeds"] == 3
    assert row["escaped"] == pytest.approx(2 / 3)
    # Wilson, 95 %, 2 of 3: 0.2077 to 0.9385
    assert (row["escaped_low"], row["escaped_high"]) == pytest.approx((0.2077, 0.9385), abs=1e-4)
    ends = np.hypot([0.5, 0.1, 0.2], 1)
    assert row["distance"] == pytest.approx(np.median(ends))
    assert row["distance_low"] == pytest.approx(np.quantile(ends, 0.05))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("inner_steps", 0),
        ("noise_scale", -0.1),
        ("damping", 0.0),
        ("damping", 1.1),
        ("learning_rate", 0.0),
        ("inner", "thawed"),
    ],
)
def test_bad_settings_are_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"{field} must be"):
        Settings(**{field: value})
