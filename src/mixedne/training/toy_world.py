"""The toy MDP M_ρ as pure JAX functions: same arithmetic as ``toy``, noise from a key."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from mixedne.tasks import toy
from mixedne.types import World


class Noise(NamedTuple):
    """What chance decides in one step."""

    uniform: jax.Array
    """u from [0, 1): below ρ, the random action replaces the one given."""
    random_action: jax.Array
    """a' from [-1, 1]."""


def draw_noise(key: jax.Array) -> Noise:
    """The noise of one step."""
    return Noise(*toy.split_draws(jax.random.uniform(key, (2,))))


def transition(
    state: jax.Array,
    action: jax.Array,
    uniform: jax.Array,
    random_action: jax.Array,
    rho: jax.Array | float,
) -> jax.Array:
    """The next state, given the noise; see ``toy.transition``."""
    moved: jax.Array = toy.transition(state, action, uniform, random_action, rho, xp=jnp)
    return moved


def reward(state: jax.Array) -> jax.Array:
    """R(s)."""
    paid: jax.Array = toy.reward(state, xp=jnp)
    return paid


def step(
    key: jax.Array, state: jax.Array, action: jax.Array, rho: jax.Array | float
) -> tuple[jax.Array, jax.Array]:
    """(next state, reward of the state left), for a scalar state; batch it with ``vmap``."""
    noise = draw_noise(key)
    return transition(state, action, *noise, rho), reward(state)


def world(rho: float = toy.NOMINAL_RHO) -> World:
    """M_ρ for agents that play whole episodes inside a program."""

    def advance(
        state: jax.Array, action: jax.Array, draws: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        return transition(state, action, *toy.split_draws(draws), rho), reward(state)[0]

    return World(start=jnp.zeros(1), action_size=1, draws=2, step=advance)
