"""Updates: one protocol by which the trainer drives every agent.

``off_policy``   DDPG, TD3 and SAC: minibatches from a replay, one run at a time
``on_policy``    VPG: episodes inside the compiled program, up to eight runs vmapped

An update is an outer step t of the solver. Everything random in it comes from the run's seed and t.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from mixedne.agents import Agent, Batches
from mixedne.config import Config
from mixedne.schedules import thermal_noise, warmup_steps
from mixedne.solvers import Controls, Solver, SolverState
from mixedne.training.normaliser import Normaliser
from mixedne.training.replay import Replay
from mixedne.types import Players

UpdateMetrics: TypeAlias = dict[str, float]
"""Sums over one call of the compiled program, and the counts that make means of them.

Counts: ``calls`` (one), ``moves`` (outer steps that moved the players), ``minibatches`` (critic
steps) or ``rollouts`` (sets of episodes). Sums over moves: ``agent_gradient_norm``,
``adversary_gradient_norm``. Over calls: ``payoff``. Over minibatches: ``critic_loss``, ``value``,
``target``. Over rollouts: ``returns``, the episodes' mean undiscounted return.
"""


class RunInputs(NamedTuple):
    """What an updater needs of one run."""

    config: Config
    state: SolverState
    """Used up by the update."""
    replay: Replay | None = None
    """For off-policy agents."""
    normaliser: Normaliser | None = None
    """For off-policy agents."""


class Updater(Protocol):
    """Makes outer steps of the runs that share its compiled program."""

    max_runs: int
    """How many runs one call of ``advance`` takes."""
    policy_head: str
    """How the policy file makes actions of the network's outputs."""

    def init(self, seed: int) -> SolverState:
        """The state before the first update."""

    def advance(
        self, runs: Sequence[RunInputs], done: int, count: int
    ) -> list[tuple[SolverState, list[UpdateMetrics]]]:
        """Make the outer steps done + 1 … done + count of each run.

        For each run: its new state, and the metrics of every call of the compiled program.
        """


def inner_steps(config: Config, t: Any) -> Any:
    """K_t; one for solvers without chains."""
    if config.agent == "vpg":
        return np.full_like(t, config.inner_steps, np.int32)
    if config.solver != "mixedne-ld":
        return np.ones_like(t, np.int32)
    return warmup_steps(config.inner_growth, config.inner_max)(t)


def noise_scale(config: Config, t: Any) -> Any:
    """σ_t; zero for solvers without thermal noise."""
    if config.solver != "mixedne-ld":
        return np.zeros_like(t, np.float64)
    return thermal_noise(config.sigma0, config.thermal_decay)(t)


def outer_steps(
    agent: Agent,
    solver: Solver,
    key: jax.Array,
    state: SolverState,
    count: Any,
    controls_at: Callable[[jax.Array], Controls],
    batches: Batches | None = None,
) -> tuple[SolverState, dict[str, jax.Array]]:
    """What every compiled program does: ``count`` outer steps, and their metrics.

    Between programs the state's carry is the agent's critic state.
    """

    def step(i: jax.Array, at: tuple[SolverState, Players]) -> tuple[SolverState, Players]:
        state, norms = at
        state, info = solver.step(key, state, controls_at(i))
        return state, jax.tree.map(jnp.add, norms, info.gradient_norm)

    state = state._replace(carry=agent.init_carry(state.carry))
    none = Players(jnp.zeros([]), jnp.zeros([]))
    state, norms = jax.lax.fori_loop(0, count, step, (state, none))
    critic, metrics = agent.finish(state.carry, state.players, batches)
    for player, norm in norms._asdict().items():
        metrics[f"{player}_gradient_norm"] = norm
    return state._replace(carry=critic), metrics
