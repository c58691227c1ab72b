"""Where each solver fails, and what Langevin steps really sample: the tables of docs/solvers.md.

    python examples/solver_limits.py        # about half a minute

Deterministic but for the Langevin noise, which has the seed 0.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from mixedne import Players, optimizers, solvers

GAMES = {
    "θω": lambda x, y: x * y,
    "−½θ² + ½θω + ½ω²": lambda x, y: -(x**2) / 2 + x * y / 2 + y**2 / 2,
    "−½θ² + 2θω + ½ω²": lambda x, y: -(x**2) / 2 + 2 * x * y + y**2 / 2,
}


def radii(solver: solvers.Solver, steps: int, inner_steps: int = 1) -> np.ndarray:
    """Distance from the equilibrium (0, 0) after every outer step, from (1, −1)."""
    state = solver.init(Players(jnp.asarray(1.0), jnp.asarray(-1.0)))
    controls = solvers.Controls(inner_steps=jnp.full(steps, inner_steps))
    run = partial(solvers.solve, solver, record=lambda state, info: state.players)
    _, path = jax.jit(run)(jax.random.key(0), state, controls)
    return np.hypot(path.agent, path.adversary)


def langevin_bias(learning_rate: float, decay: float, chains: int = 40_000) -> float:
    """Excess of the variance over one, on z²/2 at temperature one, m started at one."""
    optimizer = optimizers.langevin(learning_rate, 1.0, decay=decay, initial_second_moment=1.0)

    def step(t: jax.Array, carry: tuple) -> tuple:
        z, state = carry
        update, state = optimizer.update(z, state, key=jax.random.fold_in(jax.random.key(0), t))
        return z + update, state

    z = jnp.zeros(chains)
    steps = int(max(8 / (1 - decay), 8 / learning_rate))
    z, _ = jax.jit(lambda: jax.lax.fori_loop(0, steps, step, (z, optimizer.init(z))))()
    return float(jnp.mean(z**2)) - 1


def main() -> None:
    """Print the three tables."""
    print("Distance from (0, 0) after 100 and 1000 outer steps, η = 0.1")
    for name, payoff in GAMES.items():
        game = solvers.payoff_oracle(payoff)
        cases = {
            "GAD, simultaneous": (solvers.gad(game, optimizers.descend(0.1)), 1),
            "GAD, alternating": (solvers.gad(game, optimizers.descend(0.1), alternating=True), 1),
            "extra-gradient": (solvers.extra_gradient(game, optimizers.extra_sgd(0.1)), 1),
        }
        for inner in ("frozen", "coupled"):
            for damping, steps in ((0.5, 10), (0.5, 50), (0.9, 10)):
                sampler = optimizers.sgld(0.1, 0.01)
                solver = solvers.mixedne_ld(game, sampler, damping=damping, inner=inner)
                cases[f"MixedNE-LD {inner}, β = {damping}, K = {steps}"] = (solver, steps)
        for case, (solver, steps) in cases.items():
            path = radii(solver, 1000, steps)
            print(f"  {name:18s} {case:36s} {path[99]:10.3g} {path[-1]:10.3g}")
    print("Extra-Adam on θω: radius of the last quarter of 400/η steps, over η")
    game = solvers.payoff_oracle(GAMES["θω"])
    for b1 in (0.0, 0.5, 0.9):
        for rate in (0.03, 0.01, 0.003):
            solver = solvers.extra_gradient(game, optimizers.extra_adam(rate, b1=b1))
            late = radii(solver, int(400 / rate))[-int(100 / rate) :]
            print(f"  β1 = {b1}, η = {rate}: {late.max() / rate:.2f}")
    print("Adaptive Langevin: excess of the variance, standard error 0.007")
    for rate in (0.3, 0.1, 0.03, 0.01):
        biases = [f"α = {decay}: {langevin_bias(rate, decay):.2f}" for decay in (0.9, 0.99, 0.999)]
        print(f"  η = {rate}: " + ", ".join(biases))


if __name__ == "__main__":
    main()
