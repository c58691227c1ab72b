"""Random streams: every draw depends only on (run seed, stream, counter).

So a run can be resumed anywhere, without saving the state of a generator.
"""

import enum

import jax
import numpy as np


class Stream(enum.IntEnum):
    """What the numbers are used for; all results depend on the values, so they never change."""

    NETWORKS = 0  # first weights
    EPISODE = 1  # the seed of an episode, by its number
    EXPLORATION = 2  # action noise, by cycle
    MINIBATCH = 3  # which transitions, by update
    UPDATE = 4  # smoothing noise, sampled actions, by update; VPG's Langevin noise, too
    LANGEVIN = 5  # Langevin noise of off-policy agents, by update
    WORLD = 6  # the world that an episode of M2TD3 is played in, by its number
    ALONE = 7  # whether the agent plays an episode alone, by its number


def generator(seed: int, stream: Stream, counter: int) -> np.random.Generator:
    """The NumPy generator of a stream at a counter."""
    return np.random.default_rng([seed, stream, counter])


def episode_seed(seed: int, episode: int) -> int:
    """The seed with which the environment is reset for an episode."""
    return int(np.random.SeedSequence([seed, Stream.EPISODE, episode]).generate_state(1)[0])


def key(seed: int, stream: Stream, counter: int = 0) -> jax.Array:
    """The JAX key of a stream at a counter."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), stream), counter)
