"""The three objectives on [−2, 2]², all of the form f(θ, ω) = q θ²ω² + b θω.

The agent θ maximises f, the adversary ω minimises it. The formulas are plain arithmetic
and serve NumPy and JAX arrays alike; this module needs neither JAX nor a solver.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixedne.errors import check_choice

BOX = 2.0
"""Both numbers live in [−BOX, BOX]."""

CURVE = 0.5
"""Where the bilinear term is present, all points with θω = CURVE are stationary, but they are no
equilibria."""


@dataclass(frozen=True)
class Objective:
    """f(θ, ω) = quartic · θ²ω² + bilinear · θω."""

    name: str
    label: str
    quartic: float
    bilinear: float

    def value(self, theta: Any, omega: Any) -> Any:
        """f(θ, ω)."""
        return payoff(self.quartic, self.bilinear, theta, omega)

    def gradient(self, theta: Any, omega: Any) -> tuple[Any, Any]:
        """(∂f/∂θ, ∂f/∂ω)."""
        slope = 2 * self.quartic * theta * omega + self.bilinear
        return omega * slope, theta * slope

    @property
    def has_curve(self) -> bool:
        """Whether θω = 0.5 is a curve of stationary points that are no equilibria."""
        return self.bilinear != 0


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("x2y2-xy", "θ²ω² − θω", 1.0, -1.0),
        Objective("xy-x2y2", "θω − θ²ω²", -1.0, 1.0),
        Objective("x2y2", "θ²ω²", 1.0, 0.0),
    )
}
"""By name, in the paper's order."""


def payoff(quartic: Any, bilinear: Any, theta: Any, omega: Any) -> Any:
    """f(θ, ω) for coefficients that may be traced."""
    product = theta * omega
    return (quartic * product + bilinear) * product


@dataclass(frozen=True)
class Moments:
    """First and second moments of a mixed strategy pair (p, q), which is all that f sees."""

    theta: NDArray[np.float64]
    theta_squared: NDArray[np.float64]
    omega: NDArray[np.float64]
    omega_squared: NDArray[np.float64]

    @classmethod
    def of_point(cls, theta: ArrayLike, omega: ArrayLike) -> "Moments":
        """Moments of the pure strategies θ and ω."""
        theta, omega = np.asarray(theta, float), np.asarray(omega, float)
        return cls(theta, theta**2, omega, omega**2)

    @classmethod
    def of_samples(cls, theta: NDArray[np.float64], omega: NDArray[np.float64]) -> "Moments":
        """Moments of the empirical distributions along the last axis."""
        return cls(*(x.mean(-1) for x in (theta, theta**2, omega, omega**2)))


def distance(objective: Objective, moments: Moments) -> NDArray[np.float64]:
    """How far the strategies lie from the equilibria that the paper names.

    To (0, 0), or to the line ω = 0 for θ²ω². Of a distribution, the root of the mean
    squared distance (its Wasserstein-2 distance to (0, 0), or to the line).
    """
    along_theta = moments.theta_squared if objective.has_curve else 0.0
    return np.asarray(np.sqrt(along_theta + moments.omega_squared))


def exploitability(objective: Objective, moments: Moments) -> NDArray[np.float64]:
    """Max over θ of E_q f(θ, ω) minus min over ω of E_p f(θ, ω); zero at equilibria only.

    In closed form: for fixed opponents f is a quadratic in the player's own number.
    """
    q, b = objective.quartic, objective.bilinear
    best_agent = _largest_on_box(q * moments.omega_squared, b * moments.omega)
    best_adversary = _largest_on_box(-q * moments.theta_squared, -b * moments.theta)
    return best_agent + best_adversary


def _largest_on_box(
    square: NDArray[np.float64], linear: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The largest value of square · x² + linear · x for x in [−BOX, BOX]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.nan_to_num(-linear / (2 * square), nan=0.0)
    candidates = (-BOX, BOX, np.clip(vertex, -BOX, BOX))
    return np.asarray(np.max([square * x**2 + linear * x for x in candidates], axis=0))


def parse_objectives(text: str) -> list[Objective]:
    """The objective of that name, or all three."""
    if text == "all":
        return list(OBJECTIVES.values())
    return [OBJECTIVES[check_choice("objective", text, [*OBJECTIVES, "all"])]]
