"""Learning for real: minutes, not seconds."""

from pathlib import Path

import pytest

import mixedne
from mixedne.metrics import read_metrics

SEEDS = 5


@pytest.mark.slow
def test_mixedne_ld_solves_the_pendulum(tmp_path: Path) -> None:
    """Return 1000 at nominal mass within 100 000 steps, on at least four of five seeds."""
    solved = 0
    for seed in range(SEEDS):
        run = mixedne.train(
            "InvertedPendulum-v5",
            agent="ddpg",
            solver="mixedne-ld",
            delta=0.1,
            preset="authors",
            updates=100,
            steps=100_000,
            evaluate_every=5_000,
            evaluate_masses=[1.0],
            seed=seed,
            out=tmp_path / str(seed),
        )
        lines = read_metrics(run.path)
        solved += any(line["return_mean"] >= 1000 for line in lines if line["kind"] == "evaluation")
    assert solved >= 4
