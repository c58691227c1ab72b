"""Updates: packs outer steps into calls of the compiled program and feeds them minibatches."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixedne.agents import Agent
from mixedne.config import Config
from mixedne.schedules import thermal_noise, warmup_steps
from mixedne.solvers import Controls, Oracle, SolverState
from mixedne.training.assembly import solver_maker
from mixedne.training.program import Normaliser, Plan, Report, make_update
from mixedne.training.replay import Layout, Replay
from mixedne.training.streams import Stream, generator, key


class Call(NamedTuple):
    """The outer steps first … first + len(inner_steps) − 1 of one call."""

    first: int
    """t of the first, from one on."""
    inner_steps: Any
    """K_t of each."""
    moves: int
    """How many of them move the players."""
    entries: int
    """Minibatches that they take together."""


class Updater:
    """Makes outer steps. Everything random in them comes from the run's seed and t."""

    def __init__(self, config: Config, agent: Agent, layout: Layout) -> None:
        """Compiles at the first call."""
        self._config = config
        self._agent = agent
        self._make_solver = solver_maker(config)
        self._is_langevin = config.solver == "mixedne-ld"
        noisy = self._is_langevin and config.sigma0 > 0
        self._program = make_update(agent, self._make_solver, layout.columns, noisy=noisy)
        self.turns = max(config.updates, config.inner_max if self._is_langevin else 2)
        """Minibatches that one call can hold."""
        self._rows = np.zeros((self.turns, config.batch_size, layout.width), np.float32)
        self._inner_steps = warmup_steps(config.inner_growth, config.inner_max)
        self._temperature = thermal_noise(config.sigma0, config.thermal_decay)

    def init(self) -> SolverState:
        """The state before the first update; its carry is the agent's learner."""
        players, learner = jax.jit(self._agent.init)(key(self._config.seed, Stream.NETWORKS))
        unused = Oracle(lambda carry, own, opponent: own)
        state = self._make_solver(unused).init(players, learner)
        return jax.tree.map(jnp.copy, state)  # buffers of its own for every leaf

    def inner_steps(self, t: Any) -> Any:
        """K_t; one for solvers without chains."""
        return self._inner_steps(t) if self._is_langevin else np.ones_like(t, np.int32)

    def temperature(self, t: Any) -> Any:
        """σ_t; zero for solvers without thermal noise."""
        return self._temperature(t) if self._is_langevin else np.zeros_like(t, np.float64)

    def update(
        self, state: SolverState, replay: Replay, normaliser: Normaliser, done: int
    ) -> tuple[SolverState, list[tuple[Call, Report]]]:
        """One cycle's outer steps after the first ``done`` ones; ``state`` is used up."""
        reports = []
        for call in self.calls(done + 1, self._config.updates):
            random = generator(self._config.seed, Stream.MINIBATCH, call.first)
            shape = (call.entries, self._config.batch_size)
            replay.sample(random, shape, out=self._rows[: call.entries])
            state, report = self._program(
                state,
                self._rows,
                normaliser,
                self._plan(call),
                key(self._config.seed, Stream.UPDATE, call.first),
            )
            reports.append((call, jax.device_get(report)))  # waits: the rows are free again
        return state, reports

    def calls(self, first: int, count: int) -> Iterator[Call]:
        """Pack so many outer steps into as few calls as hold their minibatches."""
        t = np.arange(first, first + count)
        inner_steps = self.inner_steps(t)
        moves = t % self._config.policy_delay == 0
        # Extra-Adam's second half takes a minibatch of its own, where the players move.
        entries = inner_steps + (moves if self._config.solver == "extra-adam" else 0)
        start = 0
        while start < count:
            fits = np.searchsorted(np.cumsum(entries[start:]), self.turns, side="right")
            stop = start + int(fits)
            part = slice(start, stop)
            yield Call(
                int(t[start]), inner_steps[part], int(moves[part].sum()), int(entries[part].sum())
            )
            start = stop

    def _plan(self, call: Call) -> Plan:
        steps = len(call.inner_steps)
        inner_steps = np.ones(self.turns, np.int32)
        inner_steps[:steps] = call.inner_steps
        temperature = np.zeros(self.turns, np.float32)
        temperature[:steps] = self.temperature(np.arange(call.first, call.first + steps))
        return Plan(np.int32(steps), Controls(inner_steps, temperature))
