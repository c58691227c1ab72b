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
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from mixedne.agents import Agent, Batches, Transition
from mixedne.agents.critics import batch_at
from mixedne.config import Config
from mixedne.optimizers.langevin import normals_from_bits
from mixedne.solvers import Carry, Controls, ExtraArgs, Oracle, Solver, SolverState
from mixedne.training.assembly import make_solver
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


Metrics = dict[str, jax.Array]
Program = Callable[
    [SolverState, Any, Any, Normaliser, Plan, jax.Array], tuple[SolverState, Metrics]
]


class OffPolicyUpdater:
    """Packs outer steps into calls of the compiled program and feeds them minibatches."""

    max_runs = 1

    def __init__(self, config: Config, agent: Agent, layout: Layout) -> None:
        """Compiles at the first call."""
        self._config = config
        self._agent = agent
        self._make_solver = functools.partial(make_solver, config)
        is_langevin = config.solver == "mixedne-ld"
        self._is_noisy = is_langevin and config.sigma0 > 0
        self._program = make_program(agent, self._make_solver, layout.columns)
        self.policy_head = agent.policy_head
        self.capacity = max(config.updates, config.inner_max if is_langevin else 2)
        """Minibatches that one call can hold."""
        self._rows = np.zeros((self.capacity, config.batch_size, layout.width), np.float32)
        self._bits: NDArray[np.uint32] | None = None

    def init(self, seed: int) -> SolverState:
        """The state before the first update; its carry is the agent's critic state."""
        players, critic = jax.jit(self._agent.init)(key(seed, Stream.NETWORKS))
        without_batches = self._agent.oracle(None)
        state = self._make_solver(without_batches).init(players, critic)
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
            bits = self._noise_bits(call, seed, state.players) if self._is_noisy else None
            call_key = key(seed, Stream.UPDATE, call.first)
            state, found = self._program(
                state, self._rows, bits, run.normaliser, self._plan(call), call_key
            )
            # Waiting for the result also frees rows and bits for the next call.
            metrics.append(_update_metrics(call, found))
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

    def _noise_bits(self, call: Call, seed: int, players: Players) -> NDArray[np.uint32]:
        """Random bits for the Langevin noise of each inner step, a row for each minibatch.

        NumPy draws them: JAX's counter-based generator takes more time for them than the
        program for making normals of them.
        """
        if self._bits is None:
            size = sum(leaf.size for leaf in jax.tree.leaves(players))
            self._bits = np.zeros((self.capacity, size + size % 2), np.uint32)
        used = self._bits[: call.minibatches].view(np.uint64)
        random = generator(seed, Stream.LANGEVIN, call.first).bit_generator
        used[:] = random.random_raw(used.size).reshape(used.shape)
        return self._bits

    def _plan(self, call: Call) -> Plan:
        steps = len(call.inner_steps)
        chain_steps = np.ones(self.capacity, np.int32)
        chain_steps[:steps] = call.inner_steps
        sigma = np.zeros(self.capacity, np.float32)
        sigma[:steps] = noise_scale(self._config, np.arange(call.first, call.first + steps))
        return Plan(np.int32(steps), Controls(chain_steps, sigma))


def make_program(
    agent: Agent,
    make_solver: Callable[[Oracle, ExtraArgs | None], Solver],
    columns: Mapping[str, slice],
) -> Program:
    """Compile (state, rows, bits, normaliser, plan, key) → (state, metrics).

    ``rows`` (capacity, batch, width) are packed transitions whose fields stand in ``columns``.
    ``bits`` (capacity, parameters) become the noise of Langevin steps; None means no noise. The
    state given is used up.
    """

    @functools.partial(jax.jit, donate_argnums=0)
    def program(
        state: SolverState,
        rows: jax.Array,
        bits: jax.Array | None,
        normaliser: Normaliser,
        plan: Plan,
        key: jax.Array,
    ) -> tuple[SolverState, Metrics]:
        normals_key, solver_key = jax.random.split(key)
        transitions = _unpack(rows, columns, normaliser)
        capacity, batch, action_size = transitions.action.shape
        shape = (capacity, agent.normals_per_batch, batch, action_size)
        normals = jax.random.normal(normals_key, shape) if agent.normals_per_batch else None
        batches = Batches(transitions, normals)
        flat, unravel = ravel_pytree(state.players)

        def extra_args(carry: Carry) -> dict[str, Any]:
            own = batch_at(bits, carry.batch - 1)[: flat.size]
            return {"noise": unravel(normals_from_bits(own).astype(flat.dtype))}

        solver = make_solver(agent.oracle(batches), None if bits is None else extra_args)

        def controls_at(i: jax.Array) -> Controls:
            return jax.tree.map(lambda x: x[i], plan.controls)

        return outer_steps(agent, solver, solver_key, state, plan.steps, controls_at, batches)

    return program


def _update_metrics(call: Call, found: Metrics) -> UpdateMetrics:
    counts = {"calls": 1, "minibatches": int(np.sum(call.inner_steps)), "moves": call.moves}
    return {**counts, **{name: float(value) for name, value in jax.device_get(found).items()}}


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
