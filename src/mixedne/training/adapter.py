# ruff: noqa
"""Stand-in for the common protocol of updaters, until the updaters have it themselves."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from mixedne.agents import Agent
from mixedne.config import Config
from mixedne.config.compatible import LANES
from mixedne.schedules import thermal_noise, warmup_steps
from mixedne.solvers import SolverState
from mixedne.training.lanes import Program
from mixedne.training.program import Normaliser
from mixedne.training.replay import Layout, Replay
from mixedne.training.updates import Updater as Single

UpdateMetrics = dict[str, float]


class RunInputs(NamedTuple):
    config: Config
    state: SolverState
    replay: Replay | None = None
    normaliser: Normaliser | None = None


Ended = list[tuple[SolverState, list[UpdateMetrics]]]


class Updater(Protocol):
    max_runs: int
    policy_head: str

    def init(self, seed: int) -> SolverState: ...

    def advance(self, runs: Sequence[RunInputs], done: int, count: int) -> Ended: ...


class OffPolicyUpdater:
    max_runs = 1

    def __init__(self, config: Config, agent: Agent, layout: Layout) -> None:
        self._single = Single(config, agent, layout)
        self.policy_head = agent.policy_head

    def init(self, seed: int) -> SolverState:
        return self._single.init()

    def advance(self, runs: Sequence[RunInputs], done: int, count: int) -> Ended:
        (run,) = runs
        assert run.replay is not None and run.normaliser is not None
        state, reports = self._single.update(run.state, run.replay, run.normaliser, done)
        metrics = [
            {
                "calls": 1,
                "payoff": float(report.payoff),
                "minibatches": int(np.sum(call.inner_steps)),
                "moves": call.moves,
                **{name: float(value) for name, value in report.sums._asdict().items()},
                "agent_gradient_norm": float(report.gradient_norms.agent),
                "adversary_gradient_norm": float(report.gradient_norms.adversary),
            }
            for call, report in reports
        ]
        return [(state, metrics)]


class OnPolicyUpdater:
    max_runs = LANES

    def __init__(self, config: Config) -> None:
        self._program = Program(config)
        self.policy_head = self._program.policy_head

    def init(self, seed: int) -> SolverState:
        return self._program.init(seed)

    def advance(self, runs: Sequence[RunInputs], done: int, count: int) -> Ended:
        ended = self._program.advance(
            [run.config for run in runs], [run.state for run in runs], done, count
        )
        return [
            (
                state,
                [
                    {
                        "calls": 1,
                        "moves": count,
                        "rollouts": int(report.turns),
                        "returns": float(report.mean_return) * int(report.turns),
                        "agent_gradient_norm": float(report.gradient_norms.agent) * count,
                        "adversary_gradient_norm": float(report.gradient_norms.adversary) * count,
                    }
                ],
            )
            for state, report in ended
        ]


def inner_steps(config: Config, t: Any) -> Any:
    if config.agent == "vpg":
        return np.full_like(t, config.inner_steps, np.int32)
    if config.solver != "mixedne-ld":
        return np.ones_like(t, np.int32)
    return warmup_steps(config.inner_growth, config.inner_max)(t)


def noise_scale(config: Config, t: Any) -> Any:
    if config.solver != "mixedne-ld":
        return np.zeros_like(t, np.float64)
    return thermal_noise(config.sigma0, config.thermal_decay)(t)


def learning_gap(config: Config) -> str | None:
    """What keeps a run from learning in most of its steps, in one sentence; None if nothing."""
    if config.agent == "vpg":
        return None
    if config.steps <= config.update_after:
        return (
            f"the run learns nothing: it has {config.steps} steps, and updates begin after "
            f"{config.update_after} (update_after)"
        )
    if 2 * config.random_steps > config.steps:
        return (
            f"most of the run acts at random: {min(config.random_steps, config.steps)} of its "
            f"{config.steps} steps (random_steps)"
        )
    return None
