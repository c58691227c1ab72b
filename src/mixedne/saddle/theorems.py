"""What Section 4 claims, checked by computation, with the conditions under which it holds.

Every :class:`Check` compares a measured number with the number that the claim implies.
Checks marked ``paper`` test a claim as the paper states it and may fail; the others test
the form in which the claim is true.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mixedne import solvers
from mixedne.optimizers import sgld
from mixedne.saddle.flows import gradient_flow, integrate, newton_flow, within_box
from mixedne.saddle.objectives import (
    CURVE,
    OBJECTIVES,
    Moments,
    Objective,
    distance,
    exploitability,
    payoff,
)
from mixedne.saddle.settings import Point
from mixedne.types import Players


@dataclass(frozen=True)
class Check:
    """One number that a claim implies, and the number that was measured."""

    claim: str
    objective: str
    condition: str
    quantity: str
    expected: float
    measured: float
    tolerance: float
    """For Monte-Carlo estimates four standard errors, otherwise numerical error."""
    paper: bool = False
    """Whether this is the claim as the paper states it."""

    @property
    def holds(self) -> bool:
        """Whether the two numbers agree within the tolerance."""
        return bool(abs(self.measured - self.expected) <= self.tolerance)


def check_claims(samples: int = 1_000_000) -> list[Check]:
    """All checks, for both objectives that have a stationary curve."""
    checks: list[Check] = []
    for objective in OBJECTIVES.values():
        if objective.has_curve:
            checks += check_gradient_flow(objective)
            checks += check_newton_flow(objective)
            checks += check_two_steps(objective, samples)
            checks += check_mixed_equilibria(objective)
    return checks


# Theorem 1, first half: the gradient flow.


def circle(radius: float, degrees: float) -> Point:
    """The point at this radius and angle."""
    return radius * float(np.cos(np.radians(degrees))), radius * float(np.sin(np.radians(degrees)))


def period(radius: float) -> float:
    """Time in which the gradient flow of radius r < 1 goes round once, 2π/√(1 − r⁴).

    In polar coordinates the flow is r' = 0, φ' = ±(1 − r² sin 2φ); the period is the
    integral of dφ/|φ'| over a turn.
    """
    return float(2 * np.pi / np.sqrt(1 - radius**4))


def check_gradient_flow(objective: Objective) -> Iterator[Check]:
    """Radius, trapping, and what happens inside the unit circle and at the box's edge."""
    flow = gradient_flow(objective)
    check = functools.partial(Check, "Theorem 1, flow", objective.name)

    def ends(starts: list[Point], box: bool = False) -> NDArray[np.float64]:
        chosen = within_box(flow) if box else flow
        return np.array([integrate(chosen, start, 60.0)[1] for start in starts])

    at_end = "largest |θω − 0.5| at t = 60"
    starts = [circle(r, a) for r in (1.1, 1.5, 1.9) for a in range(5, 360, 30)]
    paths = ends(starts)
    radius = (paths**2).sum(-1)
    yield check("no box", "largest |r²(t) − r²(0)|", 0.0, np.ptp(radius, axis=1).max(), 1e-8)
    products = np.prod(starts, axis=1)
    off_curve = np.abs(paths[:, -1].prod(-1) - CURVE)
    yield check(
        "θω > 0.5 at the start", at_end, 0.0, off_curve[products > CURVE].max(), 1e-6, paper=True
    )
    yield check(
        "r > 1, θω ≤ 0.5 at the start", at_end, 0.0, off_curve[products <= CURVE].max(), 1e-6
    )
    outside = [circle(2.5, a) for a in (40, 50, 130, 140, 220, 230, 310, 320)]
    off_curve = np.abs(ends(outside, box=True)[:, -1].prod(-1) - CURVE)
    yield check("box, r = 2.5", at_end, 0.0, off_curve.max(), 1e-5)
    near = integrate(flow, circle(0.6, 10), 60.0)[1]
    nearest = np.sqrt((near**2).sum(-1)).min()
    quantity = "smallest distance to (0, 0) up to t = 60"
    yield check("r = 0.6", quantity, 0.0, nearest, 1e-3, paper=True)
    quantity = "distance from the start after 2π/√(1 − r⁴)"
    for r in (0.6, 0.9):
        start = circle(r, 10)
        after_a_turn = integrate(flow, start, period(r))[1][-1]
        moved = float(np.hypot(*(after_a_turn - start)))
        yield check(f"r = {r}, no box", quantity, 0.0, moved, 1e-6)


# Theorem 2: Newton's flow.


def check_newton_flow(objective: Objective) -> Iterator[Check]:
    """The product θω, until the path meets the box's edge and beyond."""
    flow = newton_flow(objective)
    check = functools.partial(Check, "Theorem 2, Newton's flow", objective.name)
    starts = [(0.9, 0.9), (0.3, 0.4), (-0.5, 0.8), (1.0, 0.5)]
    drift = 0.0
    for start in starts:
        points = integrate(flow, start, 3.0, edges=True)[1]
        drift = max(drift, float(np.ptp(points.prod(-1))))
    yield check(
        "θω ≠ 0, before the box's edge", "largest change of θω", 0.0, drift, 1e-8, paper=True
    )
    times, points = integrate(flow, (0.9, 0.9), 10.0, samples=100_001, edges=True)
    # θω = c is constant, so θ' = (1 − 1/(2c)) θ: θ grows until it meets the edge.
    expected = np.log(2 / 0.9) / (1 - 1 / (2 * 0.81))
    yield check("start (0.9, 0.9)", "time at which the edge is met", expected, times[-1], 2e-4)
    points = integrate(within_box(flow), (0.9, 0.9), 30.0)[1]
    yield check("box, start (0.9, 0.9)", "θω at t = 30", 0.81, points[-1].prod(), 1e-3, paper=True)
    yield check("box, start (0.9, 0.9)", "θω at t = 30", CURVE, points[-1].prod(), 1e-5)


# Theorem 1, second half: two steps of MixedNE-LD from a stationary point.


def two_step_decrease(point: Point, learning_rate: float, noise_scale: float) -> float:
    """θ₁ω₁ − E[θ₃ω₃] from a point on θω = 0.5, for any noise scale.

    4η²(ηε²r² + 14η²ε⁴) with r² = θ₁² + ω₁²; the paper prints it for ε = 1.
    """
    heat = learning_rate * noise_scale**2
    return 4 * learning_rate**2 * (heat * float(np.dot(point, point)) + 14 * heat**2)


def two_step_exact(
    objective: Objective, point: Point, learning_rate: float, noise_scale: float
) -> tuple[float, float]:
    """E[θ₃ω₃] and E[θ₃² + ω₃²] by Gauss–Hermite quadrature.

    Given the first step, the second step's noise enters through its variance alone; what
    is left is a polynomial of degree six in each of two normals, for which ten nodes are
    exact.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(10)
    weight = np.outer(weights, weights) / weights.sum() ** 2
    noise = np.sqrt(2 * learning_rate) * noise_scale
    by_theta, by_omega = objective.gradient(*point)
    theta = point[0] + learning_rate * by_theta + noise * nodes[:, None]
    omega = point[1] - learning_rate * by_omega + noise * nodes[None, :]
    by_theta, by_omega = objective.gradient(theta, omega)
    theta, omega = theta + learning_rate * by_theta, omega - learning_rate * by_omega
    product = float((weight * theta * omega).sum())
    squares = float((weight * (theta**2 + omega**2)).sum()) + 2 * noise**2
    return product, squares


def two_step_samples(
    objective: Objective,
    point: Point,
    learning_rate: float,
    noise_scale: float,
    samples: int,
    seed: int = 0,
) -> NDArray[np.float64]:
    """(samples, 2): (θ₃, ω₃) from the solver itself, with K = 1, β = 1 and no box."""
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed), samples)
        numbers = (objective.quartic, objective.bilinear, *point, learning_rate, noise_scale)
        return np.stack(_two_steps(keys, tuple(map(jnp.asarray, numbers))), axis=1)


@jax.jit
def _two_steps(keys: jax.Array, numbers: tuple[jax.Array, ...]) -> Players:
    quartic, bilinear, theta, omega, learning_rate, noise_scale = numbers
    solver = solvers.mixedne_ld(
        solvers.payoff_oracle(functools.partial(payoff, quartic, bilinear)),
        sgld(learning_rate, noise_scale),
        damping=1.0,
    )
    state = solver.init(Players(theta, omega))
    controls = solvers.Controls(inner_steps=jnp.ones(2, jnp.int32))
    return jax.vmap(lambda key: solvers.solve(solver, key, state, controls)[0].players)(keys)


def check_two_steps(objective: Objective, samples: int) -> Iterator[Check]:
    """The two-step formula at several points, step sizes and noise scales."""
    check = functools.partial(Check, "Theorem 1, two steps", objective.name)
    scales = ((0.1, 1.0), (0.3, 1.0), (0.2, 0.7), (0.3, 0.5), (0.1, 0.01))
    cases = itertools.product((0.5, CURVE**0.5, 1.5), scales)
    for seed, (theta, (eta, epsilon)) in enumerate(cases):
        point = (theta, CURVE / theta)
        where = f"θ₁ = {theta:.3g}, η = {eta}, ε = {epsilon}"
        decrease = two_step_decrease(point, eta, epsilon)
        exact = CURVE - two_step_exact(objective, point, eta, epsilon)[0]
        yield check(where, "decrease of E[θω], exact", decrease, exact, 1e-12)
        if epsilon < 0.1:  # too small for this many samples to see
            continue
        ends = two_step_samples(objective, point, eta, epsilon, samples, seed)
        fall = CURVE - ends.prod(-1)
        error = 4 * fall.std() / np.sqrt(samples)
        yield check(where, "decrease of E[θω], Monte Carlo", decrease, fall.mean(), error)
    point = (CURVE**0.5, CURVE**0.5)
    product, squares = two_step_exact(objective, point, 0.1, 0.01)
    growth, printed = squares - 1.0, two_step_decrease(point, 0.1, 1.0)
    where, quantity = "η = 0.1, ε = 0.01, formula without ε", "decrease of E[θω], exact"
    yield check(where, quantity, printed, CURVE - product, 1e-3 * printed, paper=True)
    where, quantity = "η = 0.1, ε = 0.01", "growth of E[θ² + ω²] over 8ηε²"
    yield check(where, quantity, 1.0, growth / (8 * 0.1 * 0.01**2), 0.02)
    where, quantity = f"{where}: distance decreases", "positive part of the growth of E[θ² + ω²]"
    yield check(where, quantity, 0.0, max(growth, 0.0), 1e-9, paper=True)


# The equilibria themselves.


def check_mixed_equilibria(objective: Objective) -> Iterator[Check]:
    """(0, 0) is an equilibrium, but a spread-out player is one too, far from (0, 0)."""
    check = functools.partial(Check, "Mixed equilibria", objective.name)
    both, none = np.array([-1.0, 1.0]), np.zeros(2)
    agent_spreads = objective.quartic > 0
    spread = Moments.of_samples(*((both, none) if agent_spreads else (none, both)))
    who = "θ = ±1 equally likely, ω = 0" if agent_spreads else "θ = 0, ω = ±1 equally likely"
    origin = Moments.of_point(0.0, 0.0)
    yield check("(0, 0)", "exploitability", 0.0, float(exploitability(objective, origin)), 0.0)
    yield check(who, "exploitability", 0.0, float(exploitability(objective, spread)), 0.0)
    where, far = f"{who}: (0, 0) is the only one", float(distance(objective, spread))
    yield check(where, "distance to (0, 0)", 0.0, far, 1e-9, paper=True)
