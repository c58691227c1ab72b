"""Numerical checks of the claims of Section 4, with the conditions under which they hold.

Every :class:`Check` compares a measured number with the number implied by the claim. Checks
marked ``paper`` test a claim as the paper states it and may fail; the others test the form in
which the claim is true.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from mixedne import solvers
from mixedne.optimizers import sgld
from mixedne.saddle.objectives import (
    BOX,
    CURVE,
    OBJECTIVES,
    Moments,
    Objective,
    Point,
    distance,
    exploitability,
    payoff,
)
from mixedne.types import Players


@dataclass(frozen=True)
class Check:
    """A number implied by a claim, and the measured number."""

    claim: str
    objective: str
    condition: str
    quantity: str
    expected: float
    measured: float
    tolerance: float
    """Four standard errors for Monte Carlo estimates, otherwise numerical error."""
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


# The continuous-time dynamics.


Flow: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""The velocity at a point (θ, ω)."""


def gradient_flow(objective: Objective, point: NDArray[np.float64]) -> NDArray[np.float64]:
    """θ' = ∇_θ f, ω' = −∇_ω f: the small-step limit of GAD and of extra-gradient alike."""
    by_theta, by_omega = objective.gradient(*point)
    return np.array([by_theta, -by_omega])


def newton_flow(objective: Objective, point: NDArray[np.float64]) -> NDArray[np.float64]:
    """θ' = ∇_θ f / ∇²_θ f, ω' = −∇_ω f / ∇²_ω f; singular where θω = 0."""
    theta, omega = point
    curvature = 2 * objective.quartic * np.array([omega**2, theta**2])
    return gradient_flow(objective, point) / curvature


def integrate(
    flow: Flow, start: Point, duration: float, *, samples: int = 400, at_edge: str = "ignore"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and points (samples, 2) along the flow, by SciPy.

    At an edge of the box the flow can ``slide``, without its outward component, or ``stop``, which
    it then also does on an axis, and the path is shorter.
    """

    def velocity(time: float, point: NDArray[np.float64]) -> NDArray[np.float64]:
        if at_edge != "slide":
            return flow(point)
        inside = flow(np.clip(point, -BOX, BOX))
        outwards = (np.abs(point) >= BOX) & (inside * point > 0)
        return np.where(outwards, 0.0, inside)

    def to_edge(time: float, point: NDArray[np.float64]) -> float:
        return float(BOX - np.abs(point).max())

    def to_axis(time: float, point: NDArray[np.float64]) -> float:
        return float(np.abs(point).min() - 1e-6)

    for event in (to_edge, to_axis):
        event.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        velocity,
        (0.0, duration),
        start,
        method="DOP853",
        t_eval=np.linspace(0, duration, samples),
        events=[to_edge, to_axis] if at_edge == "stop" else None,
        rtol=1e-11,
        atol=1e-12,
    )
    if not solution.success:
        raise RuntimeError(f"the flow from {start} could not be integrated: {solution.message}")
    return solution.t, solution.y.T


# Theorem 1, first half: the gradient flow.


def circle(radius: float, degrees: float) -> Point:
    """The point at this radius and angle."""
    return radius * float(np.cos(np.radians(degrees))), radius * float(np.sin(np.radians(degrees)))


def period(radius: float) -> float:
    """Period of the gradient flow at radius r < 1, 2π/√(1 − r⁴).

    In polar coordinates the flow is r' = 0, φ' = ±(1 − r² sin 2φ); the period is the
    integral of dφ/|φ'| over one turn.
    """
    return float(2 * np.pi / np.sqrt(1 - radius**4))


def check_gradient_flow(objective: Objective) -> Iterator[Check]:
    """Radius, trapping, and what happens inside the unit circle and at the box's edge."""
    flow = functools.partial(gradient_flow, objective)
    check = functools.partial(Check, "Theorem 1, flow", objective.name)
    starts = [circle(r, a) for r in (1.1, 1.5, 1.9) for a in range(5, 360, 30)]
    paths = np.array([integrate(flow, start, 60.0)[1] for start in starts])
    change = np.ptp((paths**2).sum(-1), axis=1).max()
    yield check("no box", "largest |r²(t) − r²(0)|", 0.0, change, 1e-8)
    at_end = "largest |θω − 0.5| at t = 60"
    off_curve = np.abs(paths[:, -1].prod(-1) - CURVE)
    above = np.prod(starts, axis=1) > CURVE
    where = "θω > 0.5 at the start"
    yield check(where, at_end, 0.0, off_curve[above].max(), 1e-6, paper=True)
    yield check("r > 1, θω ≤ 0.5 at the start", at_end, 0.0, off_curve[~above].max(), 1e-6)
    outside = [circle(2.5, a) for a in (40, 50, 130, 140, 220, 230, 310, 320)]
    ends = [integrate(flow, start, 60.0, at_edge="slide")[1][-1] for start in outside]
    yield check("box, r = 2.5", at_end, 0.0, np.abs(np.prod(ends, axis=1) - CURVE).max(), 1e-5)
    near = integrate(flow, circle(0.6, 10), 60.0)[1]
    quantity = "smallest distance to (0, 0) up to t = 60"
    yield check("r = 0.6", quantity, 0.0, np.sqrt((near**2).sum(-1)).min(), 1e-3, paper=True)
    for r in (0.6, 0.9):
        start = circle(r, 10)
        moved = float(np.hypot(*(integrate(flow, start, period(r))[1][-1] - start)))
        quantity = "distance from the start after 2π/√(1 − r⁴)"
        yield check(f"r = {r}, no box", quantity, 0.0, moved, 1e-6)


# Theorem 2: Newton's flow.


def check_newton_flow(objective: Objective) -> Iterator[Check]:
    """The product θω, until the path reaches the box's edge and beyond."""
    flow = functools.partial(newton_flow, objective)
    check = functools.partial(Check, "Theorem 2, Newton's flow", objective.name)
    starts = [(0.9, 0.9), (0.3, 0.4), (-0.5, 0.8), (1.0, 0.5)]
    paths = [integrate(flow, start, 3.0, at_edge="stop")[1] for start in starts]
    drift = max(float(np.ptp(points.prod(-1))) for points in paths)
    where = "θω ≠ 0, before the box's edge"
    yield check(where, "largest change of θω", 0.0, drift, 1e-8, paper=True)
    times, _ = integrate(flow, (0.9, 0.9), 10.0, samples=100_001, at_edge="stop")
    # θω = c is constant, so θ' = (1 − 1/(2c)) θ: θ grows until it meets the edge.
    expected = np.log(2 / 0.9) / (1 - 1 / (2 * 0.81))
    yield check("start (0.9, 0.9)", "time at which the edge is met", expected, times[-1], 2e-4)
    product = integrate(flow, (0.9, 0.9), 30.0, at_edge="slide")[1][-1].prod()
    yield check("box, start (0.9, 0.9)", "θω at t = 30", 0.81, product, 1e-3, paper=True)
    yield check("box, start (0.9, 0.9)", "θω at t = 30", CURVE, product, 1e-5)


# Theorem 1, second half: two steps of MixedNE-LD from a stationary point.


def two_step_decrease(point: Point, learning_rate: float, noise_scale: float) -> float:
    """θ₁ω₁ − E[θ₃ω₃] from a point on θω = 0.5, for any noise scale.

    4η²(ηε²r² + 14η²ε⁴) with r² = θ₁² + ω₁²; the paper has it for ε = 1.
    """
    heat = learning_rate * noise_scale**2
    return 4 * learning_rate**2 * (heat * float(np.dot(point, point)) + 14 * heat**2)


def two_step_exact(
    objective: Objective, point: Point, learning_rate: float, noise_scale: float
) -> tuple[float, float]:
    """E[θ₃ω₃] and E[θ₃² + ω₃²] by Gauss–Hermite quadrature.

    Given the first step, the second step's noise enters only through its variance; what
    remains is a polynomial of degree six in each of two normals, for which ten nodes are
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
    """(0, 0) is an equilibrium, but so is a spread-out mixed strategy far from (0, 0)."""
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
