"""Run solvers on the games, with all objectives and seeds of a case in one program.

The solvers are those that train the robots, with plain gradient steps (GAD), extra-gradient
steps (EG) or Langevin steps without a preconditioner (MixedNE-LD), in double precision.
"""

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mixedne import solvers
from mixedne.errors import check_choice
from mixedne.optimizers import descend, extra_sgd, sgld
from mixedne.saddle.objectives import BOX, SOLVERS, Case, Moments, Settings, payoff
from mixedne.saddle.tables import Run
from mixedne.types import Players, PyTree

SEEDS_AT_ONCE = 1000
"""Maximum number of seeds in a block, so that memory stays bounded. A seed's results do not
depend on its block."""


def make_solver(
    solver: str,
    settings: Settings,
    coefficients: tuple[jax.typing.ArrayLike, jax.typing.ArrayLike],
) -> solvers.Solver:
    """A solver of the case study for the objective with these coefficients."""
    oracle = solvers.payoff_oracle(functools.partial(payoff, *coefficients))
    shared: dict[str, Any] = {
        "project": solvers.box(-BOX, BOX),
        "observe": lambda players: Moments.of_point(*players),
    }
    check_choice("solver", solver, SOLVERS)
    if solver == "gad":
        optimizer = descend(settings.learning_rate)
        return solvers.gad(oracle, optimizer, alternating=settings.alternating, **shared)
    if solver == "eg":
        return solvers.extra_gradient(oracle, extra_sgd(settings.learning_rate), **shared)
    return solvers.mixedne_ld(
        oracle,
        sgld(settings.learning_rate, settings.noise_scale),
        damping=settings.damping,
        inner=settings.inner,
        **shared,
    )


def run(case: Case, seeds: NDArray[np.int64]) -> list[Run]:
    """Run a case for many seeds; one result for each of its objectives."""
    settings = case.settings
    with jax.enable_x64(True):
        coefficients = jnp.array([(o.quartic, o.bilinear) for o in case.objectives])
        players = Players(*map(jnp.asarray, case.point))
        controls = solvers.Controls(jnp.full(settings.steps, settings.inner_steps))

        def run_one(objective: jax.Array, seed: jax.Array) -> tuple[Players, PyTree]:
            solver = make_solver(case.solver, settings, (objective[0], objective[1]))
            _, (path, moments) = solvers.solve(
                solver,
                jax.random.key(seed),
                solver.init(players),
                controls,
                record=lambda state, info: (state.players, info.observed),
            )
            return path, jax.tree.map(jnp.mean, moments)

        over_seeds = jax.vmap(run_one, in_axes=(None, 0))
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
            case=case,
            objective=objective,
            seeds=seeds,
            theta=with_start(path.agent[i], case.point[0]),
            omega=with_start(path.adversary[i], case.point[1]),
            chain=jax.tree.map(operator.itemgetter(i), moments),
        )
        for i, objective in enumerate(case.objectives)
    ]
