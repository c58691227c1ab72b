"""Policies on uncertainty sets."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import mixedne
from mixedne import InvalidInputError, evaluate
from mixedne.cli.main import main
from mixedne.evaluation import grid_scores, grid_summary, normalise_to_baseline
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.sets import SetWarning, add_set
from mixedne.shifts import Axis
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"


def test_a_set_is_a_grid_of_shifts() -> None:
    policy = random_policy(PENDULUM)
    table = evaluate(policy, set="rrls-2d", points=3, episodes=2)
    axes = {"mass[pole]:abs": [1.0, 11.0, 21.0], "mass[cart]:abs": np.arange(1, 11, 10 / 3)[:3]}
    same = evaluate(policy, shifts=axes, episodes=2)
    assert table.height == 3 * 3 * 2
    assert table.equals(same)


def test_the_set_says_how_its_grid_is_laid() -> None:
    for name, last in (("rrls-1d", 28.0), ("m2td3-1d", 31.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SetWarning)
            grid = add_set(Grid(noise=[0, 0.1]), name, PENDULUM)
        values = dict(grid.axes)
        assert len(values[Axis.parse("mass[pole]:abs")]) == 10
        assert values[Axis.parse("mass[pole]:abs")][-1] == last
        assert values[Axis.parse("noise")] == (0.0, 0.1)
        assert len(grid.shifts()) == 20


def test_what_must_be_known_is_said() -> None:
    with pytest.warns(SetWarning) as said:
        add_set(Grid(), "rrls-3d", "Hopper", points=4)
    sentences = [str(warning.message) for warning in said]
    assert sentences == [
        "rrls-3d, Hopper-v5: the set leaves out the task's own mass[torso]:abs 3.67 and "
        "mass[thigh]:abs 4.06",
        "rrls-3d, Hopper-v5: 3 of 4 values of sliding-friction[floor]:abs give the same contact "
        "of foot_geom: MuJoCo takes the larger friction of two geoms",
    ]


def test_it_is_said_in_training_and_attacks_too(tmp_path: Path) -> None:
    small: dict[str, Any] = {"hidden": (4,), "steps": 100, "evaluate_every": 0}
    small |= {"random_steps": 10, "update_after": 50, "out": tmp_path / "run"}
    with pytest.warns(SetWarning) as trained:
        run = mixedne.train("Hopper-v5", agent="td3", delta=0, randomise=["rrls-2d"], **small)
    with pytest.warns(SetWarning) as attacked:
        mixedne.attack(
            run, on="parameters", parameters="rrls-2d", points=2, episodes=1, out=tmp_path / "a"
        )
    for said in (trained, attacked):
        assert "leaves out the task's own mass[torso]:abs" in str(said[0].message)


def test_it_is_said_of_ones_own_file_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    bounds = '"mass[torso]:abs" = [4, 8]\n"sliding-friction[floor]:abs" = [0.1, 3]'
    file.write_text(f'[tasks.Hopper]\n{bounds}\nnotes = ["made up"]')
    faults = ["made up", "the set leaves out the task's own mass[torso]:abs 3.67", "6 of 10 values"]
    small: dict[str, Any] = {"hidden": (4,), "steps": 100, "evaluate_every": 0}
    small |= {"random_steps": 10, "update_after": 50, "out": tmp_path / "run"}
    with pytest.warns(SetWarning) as trained:
        run = mixedne.train("Hopper-v5", agent="td3", delta=0, randomise=str(file), **small)
    with pytest.warns(SetWarning) as attacked:
        mixedne.attack(
            run, on="parameters", parameters=str(file), points=2, episodes=1, out=tmp_path / "a"
        )
    for said in (trained, attacked):
        for warning, fault in zip(said, faults, strict=True):
            assert str(warning.message).startswith(f"mine, Hopper-v5: {fault}")
    command = ["train", "Hopper-v5", "--agent", "td3", "--delta", "0", "--randomise", str(file)]
    command += ["--hidden", "4", "--steps", "100", "--update-after", "50", "--evaluate-every", "0"]
    assert main([*command, "--no-cache", "--out", str(tmp_path / "other")]) == 0
    noted = capsys.readouterr().err
    assert [noted.count(f"mixedne: mine, Hopper-v5: {fault}") for fault in faults] == [1, 1, 1]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"set": "rrls-2d", "shifts": {"mass[pole]": 2.0}}, "leave out mass[pole]"),
        ({"set": "rrls-2d", "shifts": {"mass[cart]:abs": 2.0}}, "leave out mass[cart]:abs"),
        ({"set": "rrls-2d", "shifts": {"mass[#1]:abs": 2.0}}, "are the same body"),
        ({"set": "rrls-3d"}, "has no task InvertedPendulum-v5: it has Ant, HalfCheetah, Hopper"),
        ({"set": "rrls-1d", "points": 0}, "points with ends lower must be at least 1, not 0"),
        ({"set": "rrls-1d", "points": 1, "ends": "both"}, "must be at least 2, not 1"),
        ({"set": "rrls-1d", "points": 2.5}, "points must be a whole number, not 2.5"),
        ({"set": "rrls-1d", "ends": "upper"}, "ends must be one of lower, both, not 'upper'"),
        ({"points": 3}, "points and ends are those of an uncertainty set: name a set"),
        ({"set": "rrls-2d", "points": 10_000}, "the number of episodes in all must be at most"),
    ],
)
def test_what_does_not_fit_is_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        evaluate(random_policy(PENDULUM), **keywords, episodes=1)
    assert message in str(error.value)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "heavy.toml"
    file.write_text(f'points = 2\n[tasks.{PENDULUM}]\n"mass[pole]" = [1.0, 2.0]\nnoise = 0.1')
    table = evaluate(random_policy(PENDULUM), set=file, episodes=1)
    assert table["mass[pole]"].to_list() == [1.0, 2.0]
    assert table["noise"].unique().to_list() == [0.1]


def scores_of(returns: dict[int, list[list[float]]]) -> pl.DataFrame:
    """A table: by training seed, by grid point, the returns of its episodes."""
    rows = [
        {
            "task": "Hopper-v5",
            "task_version": "v5",
            **dict.fromkeys(["agent", "solver", "formulation", "preset"], "x"),
            "delta": 0.1,
            "strength": 0.1,
            "train_seed": seed,
            "run": f"run{seed}",
            "steps": 10,
            "mass[torso]:abs": float(point),
            "return": value,
        }
        for seed, points in returns.items()
        for point, values in enumerate(points, 1)
        for value in values
    ]
    return pl.DataFrame(rows)


def test_worst_and_average_worked_by_hand() -> None:
    """Seed 0: means 2, 5, 8, so worst 2 and average 5; seed 1: 4, 1, 7, so 1 and 4."""
    table = scores_of({0: [[1, 3], [5, 5], [7, 9]], 1: [[4, 4], [0, 2], [7, 7]]})
    scores = grid_scores(table).sort("train_seed")
    assert scores["worst_return"].to_list() == [2, 1]  # of means: the worst episode has 0
    assert scores["mean_return"].to_list() == [5, 4]
    summary = grid_summary(table).row(0, named=True)
    assert (summary["worst_return"], summary["mean_return"]) == (1.5, 4.5)
    half = 12.706204736 * 0.5  # Student, one degree of freedom; deviation √½ over √2
    assert summary["worst_return_low"] == pytest.approx(1.5 - half)
    assert summary["mean_return_high"] == pytest.approx(4.5 + half)


def test_scores_beside_published_references() -> None:
    """(v − TD3) / |M2TD3 − TD3|: (3 − 1) / 4, and where M2TD3 is the worse one (3 − 6) / 4."""
    rows = pl.DataFrame({"task": ["a", "b"], "worst_return": [3.0, 3.0]})
    found = normalise_to_baseline(rows, {"a": (1, 5), "b": (6, 2)})
    assert found["score"].to_list() == [0.5, -0.75]
    for references in ({}, {"a": (1, 1), "b": (0, 1)}, {"a": (0, float("inf")), "b": (0, 1)}):
        with pytest.raises(InvalidInputError, match="references"):
            normalise_to_baseline(rows, references)
