"""How the tables about uncertainty sets are made from the published runs."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks" / "sets.py"))


def test_worst_case_and_average_are_plain_arithmetic(script: dict[str, Any]) -> None:
    """M2TD3 on Hopper: of each run the lowest and the mean of 100 means, then over the seeds."""
    table = script["episodes"]().filter(task="Hopper-v5", method="M2TD3")
    worst, average = [], []
    for seed in sorted(set(table["train_seed"])):
        points: dict[tuple[float, float], list[float]] = {}
        for row in table.filter(train_seed=seed).to_dicts():
            if row["mass[torso]:abs"] is not None:
                place = row["mass[torso]:abs"], row["sliding-friction[floor]:abs"]
                points.setdefault(place, []).append(row["return"])
        assert len(points) == 100
        assert {len(returns) for returns in points.values()} == {5}
        means = [sum(returns) / 5 for returns in points.values()]
        worst.append(min(means))
        average.append(sum(means) / 100)
    [found] = script["scores"]().filter(task="Hopper-v5", method="TD3, GAD, M2TD3").to_dicts()
    assert found["seeds"] == len(worst)
    assert found["worst"] == pytest.approx(sum(worst) / len(worst), rel=1e-12)
    assert found["mean"] == pytest.approx(sum(average) / len(average), rel=1e-12)
