"""Runs solvers on the two-number games, all objectives and seeds in one compiled program.

The settings are the paper's (appendix, "Algorithms and Hyperparameters"): η = 0.1 for all;
ε = 0.01, K = 50 and β = 0.5 for MixedNE-LD, without a preconditioner. Double precision.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mixedne import solvers
from mixedne.errors import check_choice
from mixedne.optimizers import descend, extra_sgd, sgld
from mixedne.saddle.objectives import BOX, Moments, Objective, payoff
from mixedne.saddle.settings import SOLVERS, Settings
from mixedne.types import Players, PyTree


@dataclass(frozen=True)
class Run:
    """One solver on one objective from one start, for many seeds."""

    objective: Objective
    solver: str
    inner: str | None
    """Frozen or coupled chains; ``None`` for solvers without chains."""
    start: str
    seeds: NDArray[np.int64]
    theta: NDArray[np.float64]
    """(seeds, steps + 1): the outer iterates, the start included."""
    omega: NDArray[np.float64]
    """(seeds, steps + 1)."""
    chain: Moments
    """(seeds,): moments over every inner iterate of the run. Solvers without chains have
    one inner iterate a step, their new outer one."""


SEEDS_AT_ONCE = 1000
"""Seeds run in blocks of at most this many, so that memory stays bounded. A seed's numbers
do not depend on the block it runs in."""


def make_solver(
    solver: str,
    inner: str | None,
    settings: Settings,
    objective: tuple[jax.typing.ArrayLike, jax.typing.ArrayLike],
) -> solvers.Solver:
    """A solver of the case study for the objective with these coefficients."""
    oracle = solvers.payoff_oracle(functools.partial(payoff, *objective))
    shared: dict[str, Any] = {"project": solvers.box(-BOX, BOX), "observe": _moments}
    check_choice("solver", solver, SOLVERS)
    if solver == "gad":
        return solvers.gad(oracle, descend(settings.learning_rate), alternating=True, **shared)
    if solver == "eg":
        return solvers.extra_gradient(oracle, extra_sgd(settings.learning_rate), **shared)
    return solvers.mixedne_ld(
        oracle,
        sgld(settings.learning_rate, settings.temperature),
        damping=settings.damping,
        inner=inner or "frozen",
        **shared,
    )


def run(
    objectives: list[Objective],
    solver: str,
    inner: str | None,
    start: tuple[str, tuple[float, float]],
    seeds: NDArray[np.int64],
    settings: Settings,
) -> list[Run]:
    """Run one solver on several objectives, all objectives and seeds side by side."""
    name, (theta, omega) = start
    with jax.enable_x64(True):
        coefficients = jnp.array([(o.quartic, o.bilinear) for o in objectives])
        players = Players(jnp.asarray(theta), jnp.asarray(omega))
        controls = solvers.Controls(jnp.full(settings.steps, settings.inner_steps))

        def one(objective: jax.Array, seed: jax.Array) -> tuple[Players, PyTree]:
            machine = make_solver(solver, inner, settings, (objective[0], objective[1]))
            _, (path, moments) = solvers.solve(
                machine,
                jax.random.key(seed),
                machine.init(players),
                controls,
                record=lambda state, info: (state.players, info.observed),
            )
            return path, jax.tree.map(jnp.mean, moments)

        over_seeds = jax.vmap(one, in_axes=(None, 0))
        program = jax.jit(jax.vmap(over_seeds, in_axes=(0, None)))
        blocks = [
            jax.tree.map(np.asarray, program(coefficients, jnp.asarray(block)))
            for block in np.split(seeds, range(SEEDS_AT_ONCE, len(seeds), SEEDS_AT_ONCE))
        ]
    path, moments = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *blocks)

    def with_start(later: NDArray[np.float64], first: float) -> NDArray[np.float64]:
        return np.concatenate([np.full((len(seeds), 1), first), later], axis=1)

    return [
        Run(
            objective=objective,
            solver=solver,
            inner=inner,
            start=name,
            seeds=seeds,
            theta=with_start(path.agent[i], theta),
            omega=with_start(path.adversary[i], omega),
            chain=Moments(*(moment[i] for moment in moments)),
        )
        for i, objective in enumerate(objectives)
    ]


def _moments(players: Players) -> tuple[jax.Array, ...]:
    theta, omega = players
    return theta, theta**2, omega, omega**2
