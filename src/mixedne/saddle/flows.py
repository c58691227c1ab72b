"""The continuous-time dynamics of Theorems 1 and 2, integrated with SciPy.

Gradient flow (Theorem 1), the small-step limit of GAD and of extra-gradient alike:

    θ' = ∇_θ f,   ω' = −∇_ω f

Newton's flow (Theorem 2), each player's gradient divided by its own second derivative:

    θ' = ∇_θ f / ∇²_θ f,   ω' = −∇_ω f / ∇²_ω f
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from mixedne.saddle.objectives import BOX, Objective
from mixedne.saddle.settings import Point

Flow: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""The velocity at a point (θ, ω)."""


def gradient_flow(objective: Objective) -> Flow:
    """The gradient flow of an objective."""

    def flow(point: NDArray[np.float64]) -> NDArray[np.float64]:
        by_theta, by_omega = objective.gradient(*point)
        return np.array([by_theta, -by_omega])

    return flow


def newton_flow(objective: Objective) -> Flow:
    """Newton's flow of an objective; singular where θω = 0."""

    def flow(point: NDArray[np.float64]) -> NDArray[np.float64]:
        theta, omega = point
        by_theta, by_omega = objective.gradient(theta, omega)
        curvature = 2 * objective.quartic
        return np.array([by_theta / (curvature * omega**2), -by_omega / (curvature * theta**2)])

    return flow


def within_box(flow: Flow) -> Flow:
    """The projected flow: at an edge of the box, no motion outwards."""

    def projected(point: NDArray[np.float64]) -> NDArray[np.float64]:
        velocity = flow(np.clip(point, -BOX, BOX))
        outwards = (np.abs(point) >= BOX) & (velocity * point > 0)
        return np.where(outwards, 0.0, velocity)

    return projected


def integrate(
    flow: Flow, start: Point, duration: float, *, samples: int = 400, edges: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and points (samples, 2) along the flow; shorter if an edge of the box is met.

    With ``edges`` the integration stops where the path leaves the box or crosses an axis.
    """

    def at_edge(time: float, point: NDArray[np.float64]) -> float:
        return float(BOX - np.abs(point).max())

    def at_axis(time: float, point: NDArray[np.float64]) -> float:
        return float(np.abs(point).min() - 1e-6)

    for event in (at_edge, at_axis):
        event.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        lambda time, point: flow(point),
        (0.0, duration),
        start,
        method="DOP853",
        t_eval=np.linspace(0, duration, samples),
        events=[at_edge, at_axis] if edges else None,
        rtol=1e-11,
        atol=1e-12,
    )
    if not solution.success:
        raise RuntimeError(f"the flow from {start} could not be integrated: {solution.message}")
    return solution.t, solution.y.T
