"""The toy MDP M_ρ in JAX: the arithmetic of ``tasks.toy``, for episodes inside a program."""

import jax
import jax.numpy as jnp

from mixedne.tasks import toy
from mixedne.types import World


def world(rho: float = toy.NOMINAL_RHO) -> World:
    """M_ρ as a world: a step takes two uniform numbers, and pays the state that it leaves."""

    def step(state: jax.Array, action: jax.Array, draws: jax.Array) -> tuple[jax.Array, jax.Array]:
        after = toy.transition(state, action, *toy.split_draws(draws), rho, xp=jnp)
        return after, toy.reward(state, xp=jnp)[0]

    return World(start=jnp.zeros(1), action_size=1, draws=2, step=step)
