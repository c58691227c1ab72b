"""The claims of Section 4: what holds must hold, what fails must be seen to fail."""

import numpy as np
import pytest

from mixedne.saddle import theorems
from mixedne.saddle.objectives import OBJECTIVES, Objective
from mixedne.saddle.theorems import Check

CURVED = [objective for objective in OBJECTIVES.values() if objective.has_curve]


@pytest.fixture(scope="module")
def checks() -> list[Check]:
    return theorems.check_claims(samples=100_000)


def test_every_claim_in_its_true_form_holds(checks: list[Check]) -> None:
    assert [check for check in checks if not check.paper and not check.holds] == []


def test_the_papers_own_wording_holds_only_in_part(checks: list[Check]) -> None:
    said = [check for check in checks if check.paper and check.objective == "x2y2-xy"]
    assert [check.condition for check in said if check.holds] == [
        "θω > 0.5 at the start",
        "θω ≠ 0, before the box's edge",
    ]
    assert [check.condition for check in said if not check.holds] == [
        "r = 0.6",
        "box, start (0.9, 0.9)",
        "η = 0.1, ε = 0.01, formula without ε",
        "η = 0.1, ε = 0.01: distance decreases",
        "θ = ±1 equally likely, ω = 0: (0, 0) is the only one",
    ]


def test_both_objectives_are_checked_alike(checks: list[Check]) -> None:
    first, second = (
        [(c.claim, c.quantity, c.holds) for c in checks if c.objective == objective.name]
        for objective in CURVED
    )
    assert first == second


def test_the_two_step_formula_by_hand() -> None:
    # θ₁ = 1, ω₁ = ½, η = 1/10, ε = 1: 4/100 · (1/10 · 5/4 + 14/100) = 0.0106
    assert theorems.two_step_decrease((1.0, 0.5), 0.1, 1.0) == pytest.approx(0.0106)


@pytest.mark.parametrize("objective", CURVED, ids=lambda o: o.name)
def test_the_exact_expansion_agrees_with_brute_force(objective: Objective) -> None:
    # The same expectation with a million normals drawn by NumPy, no solver involved.
    rng = np.random.default_rng(0)
    eta, epsilon = 0.2, 0.7
    theta, omega = np.full(1_000_000, 1.5), np.full(1_000_000, 1 / 3)
    for _ in range(2):
        by_theta, by_omega = objective.gradient(theta, omega)
        noise = np.sqrt(2 * eta) * epsilon * rng.standard_normal((2, 1_000_000))
        theta, omega = theta + eta * by_theta + noise[0], omega - eta * by_omega + noise[1]
    product, squares = theorems.two_step_exact(objective, (1.5, 1 / 3), eta, epsilon)
    for found, draws in ((product, theta * omega), (squares, theta**2 + omega**2)):
        assert abs(found - draws.mean()) < 4 * draws.std() / 1000


def test_the_period_by_hand() -> None:
    # r → 0 leaves the rotation φ' = 1.
    assert theorems.period(0.0) == pytest.approx(2 * np.pi)
    assert theorems.period(0.5**0.5) == pytest.approx(2 * np.pi / 0.75**0.5)
