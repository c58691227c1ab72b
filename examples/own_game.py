"""Two games of your own: one solved by sampling, one by extra-gradient."""

from functools import partial

import jax
import jax.numpy as jnp

from mixedne import Players, optimizers, solvers


def play(solver: solvers.Solver, steps: int) -> Players:
    """The players after many outer steps, in one compiled program."""
    state = solver.init(Players(agent=jnp.asarray(1.0), adversary=jnp.asarray(-1.0)))
    controls = solvers.Controls(inner_steps=jnp.full(steps, 10))
    return jax.jit(partial(solvers.solve, solver))(jax.random.key(0), state, controls)[0].players


quadratic = solvers.payoff_oracle(lambda x, y: -(x**2) / 2 + x * y / 2 + y**2 / 2)
bilinear = solvers.payoff_oracle(lambda x, y: x * y)
sampled = play(solvers.mixedne_ld(quadratic, optimizers.sgld(0.1, noise_scale=0.01)), 200)
found = play(solvers.extra_gradient(bilinear, optimizers.extra_sgd(0.3)), 200)
print(f"MixedNE-LD on −½θ² + ½θω + ½ω²: θ = {sampled.agent:.3f}, ω = {sampled.adversary:.3f}")
print(f"extra-gradient on θω: θ = {found.agent:.1e}, ω = {found.adversary:.1e}")
