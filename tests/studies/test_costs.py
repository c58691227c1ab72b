"""The cost model: numbers that no machine changes, and proportions."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import mixedne
from mixedne.config import configure
from mixedne.config.identity import to_json
from mixedne.evaluation.grids import Grid
from mixedne.metrics import read_metrics
from mixedne.schedules import warmup_steps
from mixedne.studies.costs import UnitCosts, effort, inner_updates, job_seconds
from mixedne.studies.plan import PlannedRun


def run(*grids: Grid, **wishes: Any) -> PlannedRun:
    task = wishes.pop("task", "HalfCheetah")
    return PlannedRun(to_json(configure(task, **wishes)), grids)


def test_inner_updates_are_the_papers() -> None:
    # 0.5 M steps in cycles of 100, of which the first is not yet followed by 50 updates.
    updates = 4999 * 50
    assert inner_updates(run(solver="gad").fields) == updates
    assert inner_updates(run(solver="extra-adam").fields) == 2 * updates
    assert inner_updates(run(delta=0.0).fields) == updates
    chains = warmup_steps(1e-5, 15)(np.arange(1, updates + 1)).sum()
    assert inner_updates(run().fields) == chains
    assert chains > 4 * updates
    assert inner_updates(run(inner_growth=0.0).fields) == updates
    # Chains that have grown are not counted one by one.
    assert inner_updates(run(steps=10**12).fields) > 7 * 10**12


def test_the_benchmarks_figures_come_out() -> None:
    """Steps per second of benchmarks/README.md, one update a step, within a third."""
    cases = [("td3", "gad", 0.0, 1337), ("ddpg", "gad", 0.0, 1600)]
    cases += [("td3", "mixedne-ld", 0.1, 976), ("ddpg", "mixedne-ld", 0.1, 1170)]
    for agent, solver, delta, speed in cases:
        config = run(agent=agent, solver=solver, delta=delta, steps=10**6, evaluate_every=0)
        one_to_one = {"collect_steps": 50, "updates": 50, "inner_max": 1}
        seconds = job_seconds([PlannedRun({**config.fields, **one_to_one})], UnitCosts())
        assert 10**6 / seconds == pytest.approx(speed, rel=1 / 3)


def test_extra_adam_updates_the_players_twice_and_the_critic_once() -> None:
    updates = UnitCosts(acting_seconds=0.0, start_seconds=0.0, step_seconds={"HalfCheetah": 0.0})
    gad, extra = (job_seconds([run(solver=name)], updates) for name in ("gad", "extra-adam"))
    critic, actors = 23 * 64 + 64 * 64 + 64, 2 * (17 * 64 + 64 * 64 + 64 * 6)
    assert extra / gad == pytest.approx((critic + 2 * actors) / (critic + actors))


def test_more_work_costs_more() -> None:
    plain = job_seconds([run()], UnitCosts())
    for other in (
        run(steps=600_000),
        run(hidden=(128, 128)),
        run(task="Humanoid"),
        run(Grid(mass=(0.5, 1.0), episodes=5)),
    ):
        assert job_seconds([other], UnitCosts()) > plain
    whole = effort([run(Grid(mass=(0.5, 1.0), episodes=5)), run(seed=1)], UnitCosts())
    assert (whole.runs, whole.steps, whole.episodes) == (2, 1_000_000, 10)


def test_vpg_is_samples() -> None:
    wishes: dict[str, Any] = {"task": "toy", "agent": "vpg", "steps": 5000}
    assert inner_updates(run(**wishes, delta=0.0).fields) == 50_000  # the table's N_k is 10
    assert inner_updates(run(**wishes, solver="gad").fields) == 5000
    assert inner_updates(run(**wishes, solver="extra-adam").fields) == 10_000
    costs = UnitCosts(sample_seconds=1.0, start_seconds=0.0, step_seconds={"toy": 0.0})
    # The program has eight lanes, however many are in use, and one core.
    for count, jobs in ((1, 1), (8, 1), (9, 2)):
        whole = effort([run(**wishes, seed=seed) for seed in range(count)], costs)
        assert whole.seconds == jobs * 8 * 5000 * 500
        assert whole.longest == 8 * 5000 * 500
    assert whole.elapsed(1, stages=1) == whole.seconds
    assert whole.elapsed(64, stages=1) == whole.longest
    assert whole.elapsed(64, stages=2) == 2 * whole.longest


@pytest.mark.parametrize("inner", ["coupled", "frozen"])
def test_vpgs_samples_are_those_that_are_played(inner: str, tmp_path: Path) -> None:
    """Of frozen chains, players meet each other in the first step, then the other's start."""
    chosen: dict[str, Any] = {"task": "toy", "agent": "vpg", "steps": 6, "inner_steps": 3}
    chosen |= {"delta": 0.1, "inner": inner, "horizon": 5, "trajectories": 2, "evaluate_every": 0}
    with jax.debug_key_reuse(False):  # runs that fill the lanes are copies
        run_of = mixedne.train(**chosen, out=tmp_path / "run")
    played = {"coupled": 18, "frozen": 30}[inner] * 5 * 2
    assert read_metrics(run_of.path)[-1]["samples"] == played
    costs = UnitCosts(sample_seconds=1.0, start_seconds=0.0, step_seconds={"toy": 0.0})
    assert job_seconds([run(**chosen)], costs) == 8 * played


def test_the_toy_task_is_watched_at_its_own_shifts() -> None:
    watched = {"task": "toy", "agent": "vpg", "evaluate_every": 100, "steps": 1000}
    few, many = (run(**watched, evaluate_rhos=rhos) for rhos in ((0.1,), (0.1, 0.2, 0.3)))
    costs = UnitCosts(sample_seconds=0.0, start_seconds=0.0)
    assert job_seconds([many], costs) == pytest.approx(3 * job_seconds([few], costs))
    assert job_seconds([few], costs) > 0
