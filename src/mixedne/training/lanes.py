"""The compiled part of VPG: eight runs in the lanes of one program, so that they share its cost.

Collection, gradients and solver are all in the program. Runs may share it if they differ in seed,
η and σ0 alone. The number of lanes is fixed, and runs that are fewer fill the others with copies of
the last: XLA's rounding depends on the number of lanes, and so would a run's numbers on the company
it keeps.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixedne.config import Config
from mixedne.config.compatible import LANES
from mixedne.schedules import thermal_noise
from mixedne.solvers import Controls, SolverState
from mixedne.training.assembly import make_vpg, solver_maker
from mixedne.training.streams import Stream, key
from mixedne.types import Players


class Report(NamedTuple):
    """What a call has to tell of one lane."""

    mean_return: jax.Array
    """Of the episodes played: with both players, undiscounted."""
    turns: jax.Array
    """How often episodes were played."""
    gradient_norms: Players
    """Means over outer steps."""


class Inputs(NamedTuple):
    """What is a lane's own, beside its state."""

    key: jax.Array
    """From it and the step come all random numbers."""
    eta: Any
    """η."""
    temperature: Any
    """σ_k, for every outer step that the call may make."""


class Program:
    """Up to ``metrics_every`` outer steps of up to eight runs in one call."""

    def __init__(self, config: Config) -> None:
        """For runs like this one; compiles at the first call."""
        self._config = config
        self._agent = make_vpg(config)
        self._solver = solver_maker(config)(self._agent.oracle)
        self._call = jax.jit(self._outer_steps)
        self.policy_head = self._agent.policy_head

    def init(self, seed: int) -> SolverState:
        """The state of a run before its first step."""
        return self._solver.init(self._agent.init(key(seed, Stream.NETWORKS)))

    def advance(
        self, configs: Sequence[Config], states: Sequence[SolverState], done: int, count: int
    ) -> list[tuple[SolverState, Report]]:
        """Take up to eight runs, which have all done so many steps, ``count`` steps further."""
        most = min(self._config.metrics_every, self._config.steps)
        steps = np.arange(done + 1, done + most + 1)

        def inputs(config: Config) -> Inputs:
            noise = thermal_noise(config.sigma0, config.thermal_decay)(steps)
            run_key = key(config.seed, Stream.UPDATE)
            return Inputs(run_key, np.float32(config.eta), noise.astype(np.float32))

        lanes = list(zip(states, map(inputs, configs), strict=True))
        padding = [lanes[-1]] * (LANES - len(lanes))
        ended = self._call([*lanes, *padding], np.int32(count))
        return [(state, jax.device_get(report)) for state, report in ended[: len(lanes)]]

    def _outer_steps(
        self, lanes: Sequence[tuple[SolverState, Inputs]], count: jax.Array
    ) -> list[tuple[SolverState, Report]]:
        def lane(state: SolverState, given: Inputs) -> tuple[SolverState, Report]:
            def outer_step(i: jax.Array, at: tuple[SolverState, Players]) -> Any:
                state, norms = at
                sigma = jax.lax.dynamic_index_in_dim(given.temperature, i, keepdims=False)
                controls = Controls(self._config.inner_steps, sigma, given.eta)
                state, info = self._solver.step(given.key, state, controls)
                return state, jax.tree.map(jnp.add, norms, info.gradient_norm)

            state = state._replace(carry=self._agent.open_carry())
            none = Players(jnp.zeros([]), jnp.zeros([]))
            state, norms = jax.lax.fori_loop(0, count, outer_step, (state, none))
            played = state.carry
            norms = jax.tree.map(lambda norm: norm / count, norms)
            report = Report(played.returns / played.turns, played.turns, norms)
            return state._replace(carry=None), report

        together = jax.tree.map(lambda *parts: jnp.stack(parts), *lanes)
        ended = jax.vmap(lane)(*together)
        return [jax.tree.map(lambda x, i=i: x[i], ended) for i in range(LANES)]
