"""The compiled part of training: many turns of a solver in one program.

One call takes the minibatches of up to ``turns`` turns and makes as many outer steps as the host
has packed into them. Its shapes never change, so K_t may: it is compiled once.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixedne.agents.actor_critic import Agent, Feed, Sums, Transition, open_carry
from mixedne.optimizers.langevin import standard_normal_like
from mixedne.solvers import Controls, Oracle, Solver, SolverState
from mixedne.types import Players


class Normaliser(NamedTuple):
    """What observations are normalised by: (s − mean) / scale."""

    mean: Any
    scale: Any


class Report(NamedTuple):
    """What a call has to tell."""

    sums: Sums
    """Over its turns."""
    gradient_norms: Players
    """Sums over its outer steps."""
    payoff: jax.Array
    """Mean value of both players' actions on the last minibatch, after the last step."""


class Plan(NamedTuple):
    """The outer steps of one call."""

    steps: Any
    """How many; the entries of ``controls`` after these are padding."""
    controls: Controls
    """K_t and σ_t, one entry per turn."""


Update = Callable[[SolverState, Any, Normaliser, Plan, jax.Array], tuple[SolverState, Report]]


def make_update(
    agent: Agent,
    make_solver: Callable[[Oracle], Solver],
    columns: Mapping[str, slice],
    *,
    noisy: bool,
) -> Update:
    """Compile (state, rows, normaliser, plan, key) → (state, report).

    ``rows`` (turns, batch, width) are packed transitions whose fields stand in ``columns``. The
    state's carry is the agent's learner. ``noisy``: draw the noise of Langevin steps. The state
    given is used up.
    """

    @functools.partial(jax.jit, donate_argnums=0)
    def update(
        state: SolverState, rows: jax.Array, normaliser: Normaliser, plan: Plan, key: jax.Array
    ) -> tuple[SolverState, Report]:
        normals_key, noise_key = jax.random.split(key)
        transitions = _unpack(rows, columns, normaliser)
        turns, batch, action_size = transitions.action.shape
        normals = (
            jax.random.normal(normals_key, (turns, agent.draws, batch, action_size))
            if agent.draws
            else None
        )
        noise = _noise(noise_key, state.players, turns) if noisy else None
        solver = make_solver(agent.oracle(Feed(transitions, normals, noise)))
        state = state._replace(carry=open_carry(state.carry))

        def outer_step(i: jax.Array, at: tuple[SolverState, Players]) -> tuple[Any, Players]:
            state, norms = at
            now = jax.tree.map(lambda x: x[i], plan.controls)
            state, info = solver.step(jax.random.key(0), state, now)
            return state, jax.tree.map(jnp.add, norms, info.gradient_norm)

        norms = Players(jnp.zeros([]), jnp.zeros([]))
        state, norms = jax.lax.fori_loop(0, plan.steps, outer_step, (state, norms))
        learner, turn, sums = state.carry
        last = jax.tree.map(lambda x: x[turn - 1], transitions)
        report = Report(sums, norms, agent.payoff(learner, state.players, last))
        return state._replace(carry=learner), report

    return update


def _unpack(rows: jax.Array, columns: Mapping[str, slice], normaliser: Normaliser) -> Transition:
    def normalised(name: str) -> jax.Array:
        x = rows[..., columns[name]]
        mean, scale = (jnp.reshape(part, (1, 1, -1)) for part in normaliser)
        return (x - mean) / scale

    return Transition(
        observation=normalised("observation"),
        action=rows[..., columns["action"]],
        reward=rows[..., columns["reward"].start],
        terminated=rows[..., columns["terminated"].start],
        next_observation=normalised("next_observation"),
    )


def _noise(key: jax.Array, players: Players, turns: int) -> Players:
    """Standard normals in the shape of the players for every turn."""
    return standard_normal_like(
        key,
        jax.tree.map(lambda x: jax.ShapeDtypeStruct((turns, *x.shape), x.dtype), players),
    )


def no_normaliser(size: int) -> Normaliser:
    """Leaves observations as they are."""
    return Normaliser(np.zeros(size, np.float32), np.ones(size, np.float32))
