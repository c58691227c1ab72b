"""Updates of DDPG, TD3 and SAC: many minibatch steps of a solver in one compiled program.

One call takes up to ``capacity`` minibatches and makes as many outer steps as the host has packed
into them. Its shapes never change, so K_t may: it is compiled once.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixedne.agents import Agent
from mixedne.agents.actor_critic import Feed, Sums, Transition, open_carry
from mixedne.config import Config
from mixedne.optimizers.langevin import standard_normal_like
from mixedne.solvers import Controls, Oracle, Solver, SolverState
from mixedne.training.assembly import solver_maker
from mixedne.training.normaliser import Normaliser
from mixedne.training.replay import Layout
from mixedne.training.streams import Stream, generator, key
from mixedne.training.updates import (
    RunInputs,
    UpdateMetrics,
    inner_steps,
    noise_scale,
    outer_steps,
)
from mixedne.types import Players


class Call(NamedTuple):
    """The outer steps first … first + len(inner_steps) − 1, made by one call of the program."""

    first: int
    """t of the first, from one on."""
    inner_steps: Any
    """K_t of each."""
    moves: int
    """How many of them move the players."""
    minibatches: int
    """How many minibatches they take together."""


class Plan(NamedTuple):
    """The outer steps of one call, for the program."""

    steps: Any
    """How many; the entries of ``controls`` after these are padding."""
    controls: Controls
    """K_t and σ_t, ``capacity`` entries each."""


class CallMetrics(NamedTuple):
    """What the program returns beside the state."""

    sums: Sums
    """Over its minibatches."""
    gradient_norms: Players
    """Sums over its outer steps."""
    payoff: jax.Array
    """Mean value of both players' actions on the last minibatch, after the last step."""


Program = Callable[[SolverState, Any, Normaliser, Plan, jax.Array], tuple[SolverState, CallMetrics]]


class OffPolicyUpdater:
    """Packs outer steps into calls of the compiled program and feeds them minibatches."""

    max_runs = 1

    def __init__(self, config: Config, agent: Agent, layout: Layout) -> None:
        """Compiles at the first call."""
        self._config = config
        self._agent = agent
        self._make_solver = solver_maker(config)
        is_langevin = config.solver == "mixedne-ld"
        noisy = is_langevin and config.sigma0 > 0
        self._program = make_program(agent, self._make_solver, layout.columns, noisy=noisy)
        self.policy_head = agent.policy_head
        self.capacity = max(config.updates, config.inner_max if is_langevin else 2)
        """Minibatches that one call can hold."""
        self._rows = np.zeros((self.capacity, config.batch_size, layout.width), np.float32)

    def init(self, seed: int) -> SolverState:
        """The state before the first update; its carry is the agent's critic state."""
        players, learner = jax.jit(self._agent.init)(key(seed, Stream.NETWORKS))
        unused = Oracle(lambda carry, own, opponent: own)
        state = self._make_solver(unused).init(players, learner)
        return jax.tree.map(jnp.copy, state)  # buffers of its own for every leaf

    def advance(
        self, runs: Sequence[RunInputs], done: int, count: int
    ) -> list[tuple[SolverState, list[UpdateMetrics]]]:
        """See :class:`~mixedne.training.updates.Updater`; takes one run."""
        (run,) = runs
        if run.replay is None or run.normaliser is None:
            raise ValueError("an off-policy update needs a replay and a normaliser")
        state, seed, metrics = run.state, run.config.seed, []
        for call in self.calls(done + 1, count):
            random = generator(seed, Stream.MINIBATCH, call.first)
            shape = (call.minibatches, self._config.batch_size)
            run.replay.sample(random, shape, out=self._rows[: call.minibatches])
            call_key = key(seed, Stream.UPDATE, call.first)
            state, found = self._program(
                state, self._rows, run.normaliser, self._plan(call), call_key
            )
            # Waiting for the result also frees the rows for the next call.
            metrics.append(_update_metrics(call, jax.device_get(found)))
        return [(state, metrics)]

    def calls(self, first: int, count: int) -> Iterator[Call]:
        """Pack so many outer steps into as few calls as hold their minibatches."""
        t = np.arange(first, first + count)
        chain_steps = inner_steps(self._config, t)
        moves = t % self._config.policy_delay == 0
        # Extra-Adam's second half takes a minibatch of its own, where the players move.
        needed = chain_steps + (moves if self._config.solver == "extra-adam" else 0)
        start = 0
        while start < count:
            fits = np.searchsorted(np.cumsum(needed[start:]), self.capacity, side="right")
            part = slice(start, start + int(fits))
            yield Call(
                int(t[start]), chain_steps[part], int(moves[part].sum()), int(needed[part].sum())
            )
            start = part.stop

    def _plan(self, call: Call) -> Plan:
        steps = len(call.inner_steps)
        chain_steps = np.ones(self.capacity, np.int32)
        chain_steps[:steps] = call.inner_steps
        sigma = np.zeros(self.capacity, np.float32)
        sigma[:steps] = noise_scale(self._config, np.arange(call.first, call.first + steps))
        return Plan(np.int32(steps), Controls(chain_steps, sigma))


def make_program(
    agent: Agent,
    make_solver: Callable[[Oracle], Solver],
    columns: Mapping[str, slice],
    *,
    noisy: bool,
) -> Program:
    """Compile (state, rows, normaliser, plan, key) → (state, metrics).

    ``rows`` (capacity, batch, width) are packed transitions whose fields stand in ``columns``. The
    state's carry is the agent's critic state. ``noisy``: draw the noise of Langevin steps. The
    state given is used up.
    """

    @functools.partial(jax.jit, donate_argnums=0)
    def program(
        state: SolverState, rows: jax.Array, normaliser: Normaliser, plan: Plan, key: jax.Array
    ) -> tuple[SolverState, CallMetrics]:
        normals_key, noise_key, solver_key = jax.random.split(key, 3)
        transitions = _unpack(rows, columns, normaliser)
        capacity, batch, action_size = transitions.action.shape
        normals = (
            jax.random.normal(normals_key, (capacity, agent.draws, batch, action_size))
            if agent.draws
            else None
        )
        noise = _noise(noise_key, state.players, capacity) if noisy else None
        solver = make_solver(agent.oracle(Feed(transitions, normals, noise)))
        state = state._replace(carry=open_carry(state.carry))
        state, norms = outer_steps(
            solver,
            solver_key,
            state,
            plan.steps,
            lambda i: jax.tree.map(lambda x: x[i], plan.controls),
        )
        learner, turn, sums = state.carry
        last = jax.tree.map(lambda x: x[turn - 1], transitions)
        metrics = CallMetrics(sums, norms, agent.payoff(learner, state.players, last))
        return state._replace(carry=learner), metrics

    return program


def _update_metrics(call: Call, found: CallMetrics) -> UpdateMetrics:
    return {
        "calls": 1,
        "payoff": float(found.payoff),
        "minibatches": int(np.sum(call.inner_steps)),
        "moves": call.moves,
        **{name: float(value) for name, value in found.sums._asdict().items()},
        "agent_gradient_norm": float(found.gradient_norms.agent),
        "adversary_gradient_norm": float(found.gradient_norms.adversary),
    }


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


def _noise(key: jax.Array, players: Players, capacity: int) -> Players:
    """Standard normals in the shape of the players for every minibatch."""
    return standard_normal_like(
        key,
        jax.tree.map(lambda x: jax.ShapeDtypeStruct((capacity, *x.shape), x.dtype), players),
    )
