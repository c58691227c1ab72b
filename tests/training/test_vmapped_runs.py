"""Runs of VPG: each has the same numbers alone, in company, or interrupted."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixedne import InvalidInputError, load_policy, optimizers
from mixedne.config import Config, configure
from mixedne.errors import TrainingError
from mixedne.metrics import read_metrics
from mixedne.solvers import Controls, mixedne_ld, solve
from mixedne.training.assembly import make_vpg
from mixedne.training.run import Status, check_compatible, train_config, train_runs
from mixedne.training.snapshot import is_finite, tree_tensors
from mixedne.training.streams import Stream, key
from mixedne.training.updates import OnPolicyUpdater, RunInputs

TIMES = ("seconds", "steps_per_second")


@pytest.fixture(scope="module", autouse=True)
def no_key_check() -> Iterator[None]:
    # JAX's checker takes the slicing of stacked keys for a use of them.
    with jax.debug_key_reuse(False):
        yield


def small(seed: int = 0, **settings: Any) -> Config:
    return configure(
        "toy",
        agent="vpg",
        seed=seed,
        **{
            **{"steps": 24, "horizon": 12, "hidden": (4,), "inner_steps": 2, "sigma0": 1e-2},
            **{"metrics_every": 5, "evaluate_every": 10, "evaluate_episodes": 1},
            **{"checkpoint_every": 10},
            **settings,
        },
    )


def content(path: Path) -> tuple[bytes, bytes, list[dict[str, Any]]]:
    """What a run comes to: its policies, and its metrics but for times."""
    lines = [{k: v for k, v in line.items() if k not in TIMES} for line in read_metrics(path)]
    policies = (path / f"{name}.safetensors" for name in ("policy", "adversary"))
    first, second = (file.read_bytes() for file in policies)
    return first, second, lines


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, no_key_check: None) -> Path:
    return train_config(small(3), out=tmp_path_factory.mktemp("run") / "alone").path


def test_what_a_run_leaves(alone: Path) -> None:
    lines = read_metrics(alone)
    logged = [line for line in lines if line["kind"] == "training"]
    assert [line["step"] for line in logged] == [5, 10, 15, 20, 24]
    assert logged[-1]["episodes"] == 24 * 2
    assert logged[-1]["samples"] == 24 * 2 * 12
    assert logged[-1]["noise_scale"] == pytest.approx(1e-2 * (1 - 5e-5) ** 24)
    assert logged[-1]["player_distance"] > 0
    evaluated = [(line["step"], line["rho"]) for line in lines if line["kind"] == "evaluation"]
    assert evaluated == [(step, rho) for step in (10, 20) for rho in (0.0, 0.2, 0.4)]
    policy, adversary = load_policy(alone), load_policy(alone, "adversary")
    assert policy.spec.head == adversary.spec.head == "clipped-gaussian"
    assert policy.is_stochastic
    observation, noise = np.zeros((1, 1)), np.ones((1, 1))
    assert policy(observation) != policy(observation, noise)


def test_company_changes_nothing(alone: Path, tmp_path: Path) -> None:
    """Ten runs: two calls of the program, this run in another lane, beside other η and σ0."""
    others = [small(seed, eta=eta, sigma0=1e-3) for seed, eta in enumerate([1e-3] * 5 + [1e-2] * 4)]
    configs = [*others[:6], small(3), *others[6:]]
    runs = train_runs(configs, [tmp_path / str(i) for i in range(10)])
    assert content(runs[6].path) == content(alone)
    policies = {content(run.path)[0] for run in runs}
    assert len(policies) == 10


def test_interruptions_change_nothing(alone: Path, tmp_path: Path) -> None:
    """Stopped at step 15, then taken up together with a run that has not begun."""

    def stop(status: Status) -> None:
        if status.step == 15:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt, match="saved"):
        train_config(small(3), out=tmp_path / "first", watch=stop)
    assert content(tmp_path / "first") != content(alone)  # a policy is there, of step 15
    outs = [tmp_path / "second", tmp_path / "first"]
    runs = train_runs([small(4), small(3)], outs, resume=True)
    assert content(runs[1].path) == content(alone)
    # And a finished run stays as it is.
    written = (tmp_path / "first/policy.safetensors").stat().st_mtime_ns
    train_config(small(3), out=tmp_path / "first", resume=True)
    assert (tmp_path / "first/policy.safetensors").stat().st_mtime_ns == written


def test_a_run_that_diverges_harms_no_other(alone: Path, tmp_path: Path) -> None:
    configs = [small(3, eta=1e30), small(3)]
    outs = [tmp_path / "bad", tmp_path / "good"]
    with pytest.raises(TrainingError, match=r"bad diverged at step .* no checkpoint yet"):
        train_runs(configs, outs)
    assert content(outs[1]) == content(alone)
    assert not (outs[0] / "policy.json").exists()


def test_evaluations_and_checkpoints_come_when_they_are_due(tmp_path: Path) -> None:
    """However seldom metrics are written; and what is learned is the same."""
    often = {"evaluate_every": 4, "checkpoint_every": 6, "keep_policies": 4}
    rare, plain = (
        train_config(small(3, metrics_every=24, **own), out=tmp_path / name).path
        for name, own in (("rare", often), ("plain", {}))
    )
    lines = read_metrics(rare)
    evaluated = [line["step"] for line in lines if line["kind"] == "evaluation"]
    assert sorted(set(evaluated)) == [4, 8, 12, 16, 20, 24]
    assert [line["step"] for line in lines if line["kind"] == "training"] == [24]
    kept = sorted(int(path.name.removeprefix("step-")) for path in (rare / "policies").iterdir())
    assert kept == [6, 12, 18, 24]
    name = "policy.safetensors"
    assert (rare / name).read_bytes() == (plain / name).read_bytes()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (small(steps=25), "must have the same steps, not 24 and 25"),
        (small(sigma0=0.0), "must have the same sigma0 > 0, not True and False"),
        (configure("toy"), "only runs of vpg can be trained together"),
    ],
)
def test_what_cannot_share_a_program(other: Config, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check_compatible([small(), other])


@pytest.mark.slow
def test_the_lanes_do_what_the_solver_does_alone(no_key_check: None) -> None:
    """Coupled chains; η and σ_k = σ0 (1 − decay)^k reach each lane, call after call."""
    settings: dict[str, Any] = {"thermal_decay": 0.1, "metrics_every": 5}
    configs = [
        small(0, eta=1e-3, sigma0=0.1, **settings),
        small(1, eta=2e-3, sigma0=0.3, **settings),
    ]
    updater = OnPolicyUpdater(configs[0])
    states = [updater.init(config.seed) for config in configs]
    for done, count in ((0, 5), (5, 3)):
        ended = updater.advance(list(map(RunInputs, configs, states)), done, count)
        states = [state for state, _ in ended]
    assert updater._program._cache_size() == 1  # type: ignore[attr-defined]
    agent = make_vpg(configs[0])
    optimizer = optimizers.langevin(1e-3, 0.1, decay=0.99, epsilon=1e-8)
    solver = mixedne_ld(agent.oracle(), optimizer, damping=0.9, inner="coupled")

    @jax.jit
    def alone(key: jax.Array, state: Any, noise_scale: jax.Array, eta: jax.Array) -> Any:
        controls = Controls(jnp.full(8, 2), noise_scale, jnp.full(8, eta))
        return solve(solver, key, state._replace(carry=agent.init_carry()), controls)[0]

    for config, state in zip(configs, states, strict=True):
        sigma = [config.sigma0 * 0.9**k for k in range(1, 9)]
        start, run_key = updater.init(config.seed), key(config.seed, Stream.UPDATE)
        expected = alone(run_key, start, jnp.array(sigma), jnp.float32(config.eta))
        assert is_finite(tree_tensors(expected.players, "players"))
        jax.tree.map(
            lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4),
            state.players,
            expected.players,
        )
