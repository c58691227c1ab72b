"""Two remarks of the paper's Section 4 on gradient methods, for docs/case-study.md.

    python benchmarks/case_study.py    # writes the page's tables, in some minutes

``noise``        do runs leave the curve θω = ½, whose points are 1 or more from the equilibrium, if
                 every gradient has Gaussian noise?
``directions``   from how many random starts do extra-gradient and coupled chains of MixedNE-LD find
                 the equilibrium of a sum of d separate games?

The game is θ²ω² − θω, and with d directions the sum of it over the entries of θ and ω. Settings are
the paper's; each cell has 1000 runs and a 95 % Wilson interval.
"""

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from tables import Tables, markdown, write

from mixedne import Players, optimizers, solvers
from mixedne.optimizers.descent import descend
from mixedne.saddle.objectives import BOX, FAR, OBJECTIVES, Settings
from mixedne.saddle.tables import wilson_interval

PAGE = Path(__file__).parents[1] / "docs" / "case-study.md"
GAME, SETTINGS, RUNS = OBJECTIVES["x2y2-xy"], Settings(), 1000

NOISES = (0.03, 0.1, 0.3, 1.0)
DISTANCES = (1.0, 0.5)
"""From the equilibrium, below which a noisy run counts."""

DIRECTIONS = (1, 2, 3, 4)
FOUND = 0.15
"""Largest entry of θ and ω at an equilibrium that was found; coupled chains end 0.04 from it."""


def noisy_oracle(deviation: float) -> solvers.Oracle:
    """Exact gradients plus Gaussian noise, drawn anew for every gradient."""
    exact = solvers.payoff_oracle(lambda theta, omega: GAME.value(theta, omega).sum())

    def draw(key: jax.Array, carry: Any, players: Players, opponent: Players | None) -> Players:
        del carry, opponent
        keys = Players(*jax.random.split(key))
        return jax.tree.map(lambda k, x: deviation * jax.random.normal(k, x.shape), keys, players)

    def gradients(noise: Players, players: Players, opponent: Players | None) -> Players:
        return jax.tree.map(jnp.add, exact.gradients(None, players, opponent), noise)

    return solvers.Oracle(gradients, begin=draw, resample=draw)


def last_iterates(solver: str, deviation: float, starts: Players) -> Players:
    """The last iterates of the runs from these starts."""
    oracle, box = noisy_oracle(deviation), solvers.box(-BOX, BOX)
    eta, beta = SETTINGS.learning_rate, SETTINGS.damping
    langevin = optimizers.sgld(eta, SETTINGS.noise_scale)
    made = {
        "GAD": solvers.gad(oracle, descend(eta), alternating=True, project=box),
        "EG": solvers.extra_gradient(oracle, optimizers.extra_sgd(eta), project=box),
        "MixedNE-LD": solvers.mixedne_ld(
            oracle, langevin, damping=beta, inner="coupled", project=box
        ),
    }[solver]

    def run(key: jax.Array, start: Players) -> Players:
        state = made.init(start, jax.tree.map(jnp.zeros_like, start))
        controls = solvers.Controls(jnp.full(SETTINGS.steps, SETTINGS.inner_steps))
        state, _ = solvers.solve(made, key, state, controls)
        return state.players

    return jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), RUNS), starts)


def percent(hits: jax.Array) -> str:
    """The share of runs, with its Wilson interval."""
    share = float(hits.mean())
    low, high = wilson_interval(share, len(hits))
    return f"{100 * share:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def noise() -> str:
    """The share of runs from far that end near the equilibrium."""
    starts = Players(*(jnp.full((RUNS, 1), x) for x in FAR))
    header, rows = ["deviation of the noise"], []
    for deviation in NOISES:
        rows.append([f"{deviation:g}"])
        for solver in ("GAD", "EG"):
            distance = jnp.hypot(*last_iterates(solver, deviation, starts))[:, 0]
            rows[-1] += [percent(distance < limit) for limit in DISTANCES]
    header += [f"{solver}: within {limit:g}" for solver in ("GAD", "EG") for limit in DISTANCES]
    return markdown(header, rows)


def directions() -> str:
    """The share of random starts from which a method ends at the equilibrium."""
    methods, rows = ("EG", "MixedNE-LD"), []
    for count in DIRECTIONS:
        keys, shape = jax.random.split(jax.random.key(count)), (RUNS, count)
        starts = Players(*(jax.random.uniform(k, shape, minval=-BOX, maxval=BOX) for k in keys))
        ends = [jnp.stack(last_iterates(method, 0.0, starts)) for method in methods]
        found = [(jnp.abs(end) < FOUND).all((0, 2)) for end in ends]
        rows.append([str(count), *map(percent, found)])
    return markdown(["directions d", *(f"{method} finds (0, 0)" for method in methods)], rows)


TABLES: Tables = {"noise": noise, "directions": directions}


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    sys.exit(write(PAGE, TABLES, check=False))
