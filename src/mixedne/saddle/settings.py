"""The case study's settings: the paper's, and those of the scripts that drew its figures.

``paper``    the values that the paper prints, its Algorithm 1 (frozen chains) and its alternating
             GAD. It prints no starting points: ours are two of the authors'.
``authors``  what the authors' published scripts do: coupled chains of K = 100 steps, simultaneous
             GAD, smaller steps for GAD and EG, and a start for each objective and figure.

This module needs neither JAX nor a solver.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.saddle.objectives import BOX, OBJECTIVES, Objective

Point: TypeAlias = tuple[float, float]

SOLVERS = {"gad": "GAD", "eg": "EG", "mixedne-ld": "MixedNE-LD"}
"""The case study's solvers with their labels."""

INNERS = ("frozen", "coupled")
"""What an inner chain of MixedNE-LD plays against: the opponent's outer iterate, or its chain."""

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
what their scripts draw with NumPy's seeds 2, 488 and 487."""


@dataclass(frozen=True)
class Settings:
    """How a solver runs; the defaults are the paper's."""

    steps: int = 1000
    """Outer steps T."""
    learning_rate: float = 0.1
    """η."""
    noise_scale: float = 0.01
    """ε of MixedNE-LD: the noise of an inner step is ε √(2η) ξ."""
    inner_steps: int = 50
    """K, the inner steps of MixedNE-LD."""
    damping: float = 0.5
    """β of MixedNE-LD."""
    inner: str = "frozen"
    """What the inner chains of MixedNE-LD play against."""
    alternating: bool = True
    """Whether the adversary of GAD answers the agent's new iterate rather than its old one."""

    def __post_init__(self) -> None:
        check_number("steps", self.steps, at_least=1)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("noise_scale", self.noise_scale, at_least=0)
        check_number("inner_steps", self.inner_steps, at_least=1)
        check_number("damping", self.damping, above=0, at_most=1)
        check_choice("inner", self.inner, INNERS)


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
    """One solver from one start, on objectives that share the start and the settings."""

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

    @property
    def label(self) -> str:
        """The solver's label, with the kind of its chains."""
        return solver_label(self.solver, self.inner)


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

    A case holds as many objectives as agree in start and settings. An inner chain of ``None`` is
    of the kind that the settings have; ``overrides`` are fields of :class:`Settings`.
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
    if not max(abs(theta), abs(omega)) <= BOX:
        raise InvalidInputError(
            f"start must lie in the box [-{BOX:g}, {BOX:g}]², not at ({theta:g}, {omega:g})"
        )
    return theta, omega
