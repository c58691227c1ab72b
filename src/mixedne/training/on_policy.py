"""Updates of VPG: eight runs vmapped in one compiled program, so that they share its cost.

Episodes, gradients and solver are all in the program. Runs may share it if they differ in seed, η
and σ0 alone. The number of vmapped runs is fixed, and fewer runs are padded with copies of the
last: XLA's rounding depends on that number, and so would a run's numbers on the company it keeps.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixedne.config import Config
from mixedne.config.identity import LANES
from mixedne.solvers import Controls, SolverState
from mixedne.training.assembly import make_solver, make_vpg
from mixedne.training.streams import Stream, key
from mixedne.training.updates import RunInputs, UpdateMetrics, noise_scale, outer_steps

Metrics = dict[str, jax.Array]


class OwnInputs(NamedTuple):
    """What differs between the runs of a program, beside their states."""

    key: jax.Array
    """From it and the step come all random numbers."""
    eta: Any
    """η."""
    noise_scale: Any
    """σ_k, for every outer step that the call may make."""


class OnPolicyUpdater:
    """Up to ``metrics_every`` outer steps of up to eight runs in one call."""

    max_runs = LANES

    def __init__(self, config: Config) -> None:
        """For runs like this one; compiles at the first call."""
        self._config = config
        self._agent = make_vpg(config)
        self._solver = make_solver(config, self._agent.oracle())
        self._program = jax.jit(self._outer_steps)
        self.policy_head = self._agent.policy_head

    def init(self, seed: int) -> SolverState:
        """The state before the first update."""
        players, critic = self._agent.init(key(seed, Stream.NETWORKS))
        return self._solver.init(players, critic)

    def advance(
        self, runs: Sequence[RunInputs], done: int, count: int
    ) -> list[tuple[SolverState, list[UpdateMetrics]]]:
        """See :class:`~mixedne.training.updates.Updater`; at most ``metrics_every`` steps."""
        most = min(self._config.metrics_every, self._config.steps)
        steps = np.arange(done + 1, done + most + 1)
        given = [
            (
                run.state,
                OwnInputs(
                    key(run.config.seed, Stream.UPDATE),
                    np.float32(run.config.eta),
                    noise_scale(run.config, steps).astype(np.float32),
                ),
            )
            for run in runs
        ]
        padding = [given[-1]] * (LANES - len(given))
        ended = self._program([*given, *padding], np.int32(count))
        return [
            (state, [{"calls": 1, "moves": count, **jax.tree.map(float, jax.device_get(found))}])
            for state, found in ended[: len(runs)]
        ]

    def _outer_steps(
        self, runs: Sequence[tuple[SolverState, OwnInputs]], count: jax.Array
    ) -> list[tuple[SolverState, Metrics]]:
        def one_run(state: SolverState, own: OwnInputs) -> tuple[SolverState, Metrics]:
            def controls_at(i: jax.Array) -> Controls:
                sigma = jax.lax.dynamic_index_in_dim(own.noise_scale, i, keepdims=False)
                return Controls(self._config.inner_steps, sigma, own.eta)

            return outer_steps(self._agent, self._solver, own.key, state, count, controls_at)

        together = jax.tree.map(lambda *parts: jnp.stack(parts), *runs)
        ended = jax.vmap(one_run)(*together)
        return [jax.tree.map(lambda x, i=i: x[i], ended) for i in range(LANES)]
