"""Scores on uncertainty sets: whose points they are, what they come to, and what was published."""

import itertools
import json
from typing import Any

import polars as pl
import pytest

from mixedne.evaluation.estimators import Student
from mixedne.reports.inputs.sets import set_scores
from mixedne.reports.tables import SETS
from mixedne.shifts.sets import find_set

AXES = ("sliding-friction[floor]:abs", "mass[torso]:abs")
KNOWN = {
    **{"task": "Hopper-v5", "agent": "td3", "acting": "mean", "mass_mode": "reference"},
    **{"mass": 1.0, "noise": 0.0, "invalid": 0, "episodes": 5},
}
KINDS: dict[str, dict[str, Any]] = {
    "GAD": {"solver": "gad", "formulation": "nr-mdp", "delta": 0.0},
    "GAD, randomise": {"solver": "gad", "formulation": "nr-mdp", "delta": 0.0},
    "GAD, M2TD3": {"solver": "gad", "formulation": "m2td3", "delta": None},
}
LEVELS = {"GAD": 100.0, "GAD, randomise": 350.0, "GAD, M2TD3": 300.0}


def runs(name: str = "rrls-2d", points: int = 3, **more: Any) -> pl.DataFrame:
    """Two seeds of each kind; the point number n of a run returns its level, its seed, plus n."""
    (first, xs), (second, ys) = find_set(name).grid("Hopper-v5", points)
    assert (str(first), str(second)) == AXES
    return pl.DataFrame(
        {
            **KNOWN,
            **kind,
            **dict(zip(AXES, place, strict=True)),
            "label": label,
            "mean": LEVELS[label] + 10 * seed + n,
            "identity": json.dumps({"label": label, "seed": seed, **drawn}),
            **more,
        }
        for (label, kind), seed in itertools.product(KINDS.items(), (0, 1))
        for drawn in [{"randomise": ["rrls-2d"]} if "randomise" in label else {}]
        for n, place in enumerate(itertools.product(xs, ys))
    )


def test_worst_case_and_average_over_seeds_and_normalised() -> None:
    table = set_scores(runs())
    assert table.schema == SETS
    own = table.filter(pl.col("source").is_null())
    assert own.select("task", "set", "points", "seeds").unique().rows() == [
        ("Hopper-v5", "rrls-2d", 9, 2)
    ]
    # The worst of seeds 0 and 1 are L and L + 10; averages are higher by (0 + … + 8) / 9 = 4.
    assert own.select("method", "worst", "mean").rows() == [
        ("TD3, GAD, δ = 0", 105.0, 109.0),
        ("TD3, GAD, randomise, δ = 0", 355.0, 359.0),
        ("TD3, GAD, M2TD3", 305.0, 309.0),
    ]
    half = Student().half_width(2) * 50**0.5  # the deviation of two numbers 10 apart
    assert own["worst_low"][0] == pytest.approx(105 - half)
    assert own["mean_high"][2] == pytest.approx(309 + half)
    # TD3 is 0, M2TD3 is 1, and domain randomisation (355 − 105) / (305 − 105).
    assert own["worst_score"].to_list() == pytest.approx([0, 1.25, 1])
    assert own["mean_score"].to_list() == pytest.approx([0, 1.25, 1])


def test_without_td3_and_m2td3_nothing_is_normalised() -> None:
    table = set_scores(runs().filter(pl.col("formulation") != "m2td3"))
    assert table["worst_score"].null_count() == table.height


def test_published_scores_stand_beside() -> None:
    table = set_scores(runs()).filter(pl.col("source").is_not_null())
    methods = ["M2TD3", "SoftM2TD3", "M3DDPG", "RARL", "DR-TD3"]
    assert {*methods} <= {*table["method"]}
    row = table.row(by_predicate=pl.col("method") == "M2TD3", named=True)
    assert (row["worst"], row["worst_spread"], row["seeds"]) == (533.0, 28.0, 10)
    assert row["source"].startswith("arXiv:2410.06212")
    assert row["worst_score"] is None


@pytest.mark.parametrize(("name", "points"), [("m2td3-2d", 3), ("rrls-2d", 10)])
def test_the_set_is_known_by_its_points(name: str, points: int) -> None:
    own = set_scores(runs(name, points)).filter(pl.col("source").is_null())
    assert own.select("set", "points").unique().rows() == [(name, points**2)]


def test_other_points_of_its_axes_hide_no_set() -> None:
    both = pl.concat([runs(points=10), runs("m2td3-2d", 10)])
    both = both.unique([*AXES, "identity"], maintain_order=True)
    own = set_scores(both).filter(pl.col("source").is_null())
    assert set(own["set"]) == {"rrls-2d", "m2td3-2d"}
    more = runs(points=10)[:1].with_columns(pl.col(AXES[0]) + 0.01)
    assert set(set_scores(pl.concat([runs(points=10), more]))["set"]) == {"rrls-2d"}


def test_what_is_no_set_has_no_scores() -> None:
    whole = runs()
    assert set_scores(whole.filter(pl.col(AXES[0]) == 0.1)).is_empty()
    assert set_scores(whole.with_columns(noise=pl.lit(0.1))).is_empty()
    assert set_scores(whole.with_columns(pl.col(AXES[1]) + 0.01)).is_empty()
    assert set_scores(runs(task="Reacher-v5")).is_empty()
    lacking = set_scores(whole[1:])  # the first run lacks a point
    assert lacking.filter(pl.col("method") == "TD3, GAD, δ = 0")["seeds"].to_list() == [1]
