"""Who was attacked how: what a table of episodes with attacks comes to."""

from typing import Any

import polars as pl
import pytest

from mixedne.evaluation.estimators import Student
from mixedne.reports.inputs.attacks import attack_returns
from mixedne.reports.style import short_axis
from mixedne.reports.tables import ATTACKS

OWN, AT_RANDOM, OTHERS = (
    f"attack[{name}]" for name in ("action", "action at random", "action by 3f2a9c1b")
)
KNOWN = {
    **{"task": "Hopper-v5", "agent": "ddpg", "label": "GAD", "delta": 0.1, "acting": "mean"},
    **{"mass_mode": "reference", "mass": 1.0, "noise": 0.0, "invalid": 0, "episodes": 5},
    **dict.fromkeys((OWN, AT_RANDOM, OTHERS), 0.0),
}


def run(seed: int, mean: float, **more: Any) -> dict[str, Any]:
    """A row of a run: what it returns under a shift; 100 without one, or 50."""
    own = {"identity": f"{more.get('label')} {seed}", "mean": mean + seed}
    return {**KNOWN, **own, "nominal": (50.0 if "label" in more else 100.0) + seed, **more}


def runs() -> pl.DataFrame:
    """Two seeds of one method under three attackers, and one of a callable under its own."""
    rows = [
        row
        for seed in (0, 10)
        for row in (
            run(seed, 100.0),
            run(seed, 90.0, **{AT_RANDOM: 0.1}),
            run(seed, 40.0, **{OWN: 0.1}),
            run(seed, 20.0, **{OWN: 0.2}),
            run(seed, 60.0, **{OTHERS: 0.1}),
            run(seed, 5.0, **{OWN: 0.1}, mass=2.0),  # heavier as well: not the attack alone
            run(seed, 7.0, **{OWN: 0.1}, acting="stochastic"),
        )
    ]
    alone: dict[str, Any] = {"label": "mine", "agent": None, "delta": None, "acting": None}
    rows += [run(0, 50.0, **alone), run(0, 10.0, **{OWN: 0.1}, **alone)]
    return pl.DataFrame(rows, infer_schema_length=None)


def test_means_over_seeds_by_attack_and_strength() -> None:
    table = attack_returns(runs())
    assert table.schema == ATTACKS
    columns = ("attack", "strength", "method", "none", "random", "attacker", "seeds")
    assert table.select(columns).rows() == [
        ("action", 0.1, "DDPG, GAD, δ = 0.1", 105.0, 95.0, 45.0, 2),
        ("action", 0.1, "mine", 50.0, None, 10.0, 1),
        ("action", 0.2, "DDPG, GAD, δ = 0.1", 105.0, None, 25.0, 2),
        ("action by 3f2a9c1b", 0.1, "DDPG, GAD, δ = 0.1", 105.0, None, 65.0, 2),
    ]
    half = Student().half_width(2) * 50**0.5  # the deviation of two numbers 10 apart
    assert table["attacker_low"][0] == pytest.approx(45 - half)
    assert table["attacker_low"][1] is None


def test_runs_that_were_not_attacked_have_no_row() -> None:
    unattacked = runs().filter(pl.col(OWN) + pl.col(AT_RANDOM) + pl.col(OTHERS) == 0)
    assert attack_returns(unattacked).is_empty()
    assert attack_returns(unattacked.drop(OWN, AT_RANDOM, OTHERS)).is_empty()


def test_the_axis_of_an_attack_in_words() -> None:
    assert short_axis(AT_RANDOM) == "attack on action at random"
