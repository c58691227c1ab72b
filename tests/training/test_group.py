"""Runs of VPG: each has the same numbers alone, in company, or interrupted."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from mixedne import InvalidInputError, load_policy
from mixedne.errors import TrainingError
from mixedne.training.config import Config, configure
from mixedne.training.group import check_alike
from mixedne.training.loop import Status
from mixedne.training.metrics import read_metrics
from mixedne.training.run import train_config, train_group
from probes.compilation import compiled_once

TIMES = ("seconds", "steps_per_second")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # JAX's checker takes the slicing of stacked keys for a use of them.
    with jax.debug_key_reuse(False), compiled_once(tmp_path_factory.mktemp("compiled")):
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
def alone(tmp_path_factory: pytest.TempPathFactory, cache: None) -> Path:
    return train_config(small(3), out=tmp_path_factory.mktemp("run") / "alone").path


def test_what_a_run_leaves(alone: Path) -> None:
    lines = read_metrics(alone)
    told = [line for line in lines if line["kind"] == "training"]
    assert [line["step"] for line in told] == [5, 10, 15, 20, 24]
    assert told[-1]["episodes"] == 24 * 2
    assert told[-1]["samples"] == 24 * 2 * 12
    assert told[-1]["temperature"] == pytest.approx(1e-2 * (1 - 5e-5) ** 24)
    assert told[-1]["player_distance"] > 0
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
    runs = train_group(configs, [tmp_path / str(i) for i in range(10)])
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
    assert not (tmp_path / "first/policy.json").exists()
    outs = [tmp_path / "second", tmp_path / "first"]
    runs = train_group([small(4), small(3)], outs, resume=True)
    assert content(runs[1].path) == content(alone)
    # And a finished run stays as it is.
    written = (tmp_path / "first/policy.safetensors").stat().st_mtime_ns
    train_config(small(3), out=tmp_path / "first", resume=True)
    assert (tmp_path / "first/policy.safetensors").stat().st_mtime_ns == written


def test_a_run_that_diverges_harms_no_other(alone: Path, tmp_path: Path) -> None:
    configs = [small(3, eta=1e30), small(3)]
    outs = [tmp_path / "bad", tmp_path / "good"]
    with pytest.raises(TrainingError, match=r"training diverged by step .* no checkpoint yet"):
        train_group(configs, outs)
    assert content(outs[1]) == content(alone)
    assert not (outs[0] / "policy.json").exists()


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
        check_alike([small(), other])
