"""The case study's games, and its settings: the paper's, and those of the authors' scripts.

All three objectives, on [−2, 2]², are of the form f(θ, ω) = q θ²ω² + b θω. The agent θ maximises f,
the adversary ω minimises it. The formulas are plain arithmetic and work with NumPy and JAX
arrays; this module needs neither JAX nor a solver. The settings:

``paper``    the values in the paper, its Algorithm 1 (frozen chains) and its alternating GAD. The
             paper has no starting points: ours are two of the authors'.
``authors``  what the authors' published scripts do: coupled chains of K = 100 steps, simultaneous
             GAD, smaller steps for GAD and EG, and a start for each objective and figure.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.names import INNER_CHAINS

Point: TypeAlias = tuple[float, float]

BOX = 2.0
"""Both numbers are in [−BOX, BOX]."""

MAX_STEPS = 10**6
"""Maximum number of outer steps, and of inner steps of one of them."""

CURVE = 0.5
"""With a bilinear term, all points with θω = CURVE are stationary, but they are not equilibria."""


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
        """Whether θω = 0.5 is a curve of stationary points that are not equilibria."""
        return self.bilinear != 0


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("x2y2-xy", "θ²ω² − θω", 1.0, -1.0),
        Objective("xy-x2y2", "θω − θ²ω²", -1.0, 1.0),
        Objective("x2y2", "θ²ω²", 1.0, 0.0),
    )
}
"""The objectives by name, in the paper's order."""


def payoff(quartic: Any, bilinear: Any, theta: Any, omega: Any) -> Any:
    """f(θ, ω) for coefficients that may be traced."""
    product = theta * omega
    return (quartic * product + bilinear) * product


class Moments(NamedTuple):
    """First and second moments of a mixed strategy pair (p, q); E f depends only on these."""

    theta: Any
    theta_squared: Any
    omega: Any
    omega_squared: Any

    @classmethod
    def of_point(cls, theta: Any, omega: Any) -> Self:
        """Moments of the pure strategies θ and ω, arrays of NumPy or JAX."""
        return cls(theta, theta**2, omega, omega**2)

    @classmethod
    def of_samples(cls, theta: NDArray[np.float64], omega: NDArray[np.float64]) -> Self:
        """Moments of the empirical distributions along the last axis."""
        return cls(*(moment.mean(-1) for moment in cls.of_point(theta, omega)))


def distance(objective: Objective, moments: Moments) -> NDArray[np.float64]:
    """The distance of the strategies from the equilibria that the paper names.

    It is the distance to (0, 0), or to the line ω = 0 for θ²ω². For a distribution, it is the root
    mean square distance (its Wasserstein-2 distance to (0, 0), or to the line).
    """
    along_theta = moments.theta_squared if objective.has_curve else 0.0
    return np.asarray(np.sqrt(along_theta + moments.omega_squared))


def exploitability(objective: Objective, moments: Moments) -> NDArray[np.float64]:
    """Max over θ of E_q f(θ, ω) minus min over ω of E_p f(θ, ω); zero only at equilibria.

    It has a closed form: for fixed opponents f is quadratic in the player's own number.
    """
    q, b = objective.quartic, objective.bilinear
    best_agent = _largest_on_box(q * moments.omega_squared, b * moments.omega)
    best_adversary = _largest_on_box(-q * moments.theta_squared, -b * moments.theta)
    return best_agent + best_adversary


def _largest_on_box(square: ArrayLike, linear: ArrayLike) -> NDArray[np.float64]:
    """The largest value of square · x² + linear · x for x in [−BOX, BOX]."""
    a, b = np.asarray(square), np.asarray(linear)
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.nan_to_num(-b / (2 * a), nan=0.0)
    candidates = (-BOX, BOX, np.clip(vertex, -BOX, BOX))
    return np.asarray(np.max([a * x**2 + b * x for x in candidates], axis=0))


def parse_objectives(text: str) -> list[Objective]:
    """The objective of that name, or all three."""
    if text == "all":
        return list(OBJECTIVES.values())
    return [OBJECTIVES[check_choice("objective", text, [*OBJECTIVES, "all"])]]


# The settings.

SOLVERS = {"gad": "GAD", "eg": "EG", "mixedne-ld": "MixedNE-LD"}
"""The case study's solvers with their labels."""

FAR: Point = (0.92628269, 0.94097207)

STARTS: dict[str, dict[str, dict[str, Point]]] = {
    "paper": {name: {"far": FAR, "near": (-0.2, -0.6)} for name in OBJECTIVES},
    "authors": {
        "x2y2-xy": {"far": FAR, "near": (-0.2820025489289981, 0.5129631159139456)},
        "xy-x2y2": {"far": FAR, "near": (-0.2, -0.6)},
        "x2y2": {
            "far": (0.7326445747618937, 0.7679675697789952),
            "near": (-0.32307222556153337, 0.623966235697371),
        },
    },
}
"""Starting points by settings, objective and name. The authors' points with sixteen digits are
those that their scripts draw with the NumPy seeds 2, 488 and 487."""


@dataclass(frozen=True)
class Settings:
    """Settings of a solver; the defaults are the paper's."""

    steps: int = 1000
    """Outer steps T."""
    learning_rate: float = 0.1
    """Step size η."""
    noise_scale: float = 0.01
    """ε of MixedNE-LD: the noise of an inner step is ε √(2η) ξ."""
    inner_steps: int = 50
    """K, the inner steps of MixedNE-LD."""
    damping: float = 0.5
    """Damping factor β of MixedNE-LD."""
    inner: str = "frozen"
    """What the inner chains of MixedNE-LD play against."""
    alternating: bool = True
    """Whether the adversary of GAD steps against the agent's new iterate instead of its old one."""

    def __post_init__(self) -> None:
        check_number("steps", self.steps, at_least=1, at_most=MAX_STEPS)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("noise_scale", self.noise_scale, at_least=0)
        check_number("inner_steps", self.inner_steps, at_least=1, at_most=MAX_STEPS)
        check_number("damping", self.damping, above=0, at_most=1)
        check_choice("inner", self.inner, INNER_CHAINS)


def named_settings(name: str, solver: str, objective: str) -> Settings:
    """The settings ``paper`` or ``authors`` of a solver on an objective."""
    check_choice("settings", name, STARTS)
    if name == "paper":
        return Settings()
    smaller_steps = solver == "gad" or (solver == "eg" and objective != "x2y2")
    return Settings(
        learning_rate=0.05 if smaller_steps else 0.1,
        inner_steps=100,
        inner="coupled",
        alternating=False,
    )


@dataclass(frozen=True)
class Case:
    """One solver from one starting point, on objectives that share it and the settings."""

    objectives: tuple[Objective, ...]
    solver: str
    start: str
    """The start as the user named it."""
    point: Point
    settings: Settings

    @property
    def inner(self) -> str | None:
        """Frozen or coupled chains; ``None`` for solvers without chains."""
        return self.settings.inner if self.solver == "mixedne-ld" else None


def solver_label(solver: str, inner: str | None) -> str:
    """For example ``MixedNE-LD coupled``."""
    return f"{SOLVERS[solver]} {inner}" if inner else SOLVERS[solver]


def plan_cases(
    objectives: Sequence[Objective],
    solvers: Iterable[str],
    starts: Iterable[str],
    inners: Iterable[str | None] = (None,),
    settings: str = "paper",
    overrides: Mapping[str, Any] | None = None,
) -> list[Case]:
    """Every start, solver and kind of chain, in this order.

    Objectives with the same start and settings share a case. For ``None`` in ``inners``, the kind
    of chain is that of the settings; ``overrides`` are fields of :class:`Settings`.
    """
    cases = []
    for start, solver in itertools.product(starts, solvers):
        check_choice("solver", solver, SOLVERS)
        for inner in inners if solver == "mixedne-ld" else (None,):
            changes = {**(overrides or {}), **({"inner": inner} if inner else {})}
            groups: dict[tuple[Point, Settings], list[Objective]] = {}
            for objective in objectives:
                own = replace(named_settings(settings, solver, objective.name), **changes)
                point = parse_start(start, STARTS[settings][objective.name])
                groups.setdefault((point, own), []).append(objective)
            cases += [Case(tuple(group), solver, start, *key) for key, group in groups.items()]
    return cases


def parse_start(text: str, named: Mapping[str, Point]) -> Point:
    """A starting point from one of its names or from ``X,Y``."""
    if text in named:
        return named[text]
    try:
        theta, omega = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInputError(
            f"start must be far, near, both or two numbers as in --start=-0.2,-0.6, not {text!r}"
        ) from None
    if not (abs(theta) <= BOX and abs(omega) <= BOX):  # nor is nan
        raise InvalidInputError(
            f"start must lie in the box [-{BOX:g}, {BOX:g}]², not at ({theta:g}, {omega:g})"
        )
    return theta, omega
