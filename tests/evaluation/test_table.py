"""Tables with a column for each shift, older tables, and joining them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from mixedne.evaluation.grids import Grid
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.sweep import evaluate
from mixedne.evaluation.table import SCHEMA, concat_tables, has_evaluation, join_tables, read_table
from mixedne.files import write_table
from mixedne.policies import save_policy
from mixedne.tasks import resolve_task
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_policy(tmp_path / "run", random_policy(PENDULUM))
    return tmp_path / "run"


def test_every_axis_used_has_a_column(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.parquet"
    table = evaluate(
        run, shifts={"gravity": [0.5, 1], "mass[pole]:abs": [3.0]}, out=out, episodes=1
    )
    assert [name for name in table.columns if name not in SCHEMA] == ["mass[pole]:abs", "gravity"]
    assert table["gravity"].to_list() == [0.5, 1.0]
    assert table["mass[pole]:abs"].to_list() == [3.0, 3.0]
    assert table["mass"].to_list() == [1.0, 1.0]
    assert read_table(out).equals(table)


def test_joined_tables_have_all_columns(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "evaluation.parquet"
    options: dict[str, Any] = {"episodes": 1, "out": out, "join": True}
    evaluate(run, mass=[1.0, 2.0], **options)
    evaluate(run, shifts={"gravity": [0.5, 1.0]}, **options)
    evaluate(run, shifts={"mass[pole]:abs": 3.0}, **options)
    table = read_table(out)
    # The nominal episode is there once, whether gravity was named or not.
    keys = ["mass", "mass[pole]:abs", "gravity"]
    assert sorted(table.select(keys).rows(), key=str) == [
        (1.0, 3.0, 1.0),
        (1.0, None, 0.5),
        (1.0, None, 1.0),
        (2.0, None, 1.0),
    ]
    policy, axes = find_policy(run), resolve_task(PENDULUM).axes
    grids = [Grid(mass=[1, 2]), Grid({"gravity": [0.5, 1]}), Grid({"mass[pole]:abs": 3.0})]
    lacking = [Grid(mass=3), Grid({"gravity": 0.7}), Grid({"mass[cart]": 2.0}), Grid(episodes=2)]
    for grid, there in [*((g, True) for g in grids), *((g, False) for g in lacking)]:
        asked = Grid(grid.axes, episodes=2 if grid.episodes == 2 else 1)
        assert has_evaluation(table, policy, asked, axes) == there


def test_an_older_table_is_read_and_joined(run: Path, tmp_path: Path) -> None:
    """Until now, single bodies and geoms were texts such as cart=3.0,pole=2.0."""
    out = tmp_path / "evaluation.parquet"
    new = evaluate(run, mass=[1.0, 2.0, 3.0], episodes=1)
    texts = [None, "cart=3.0,pole=2.0", None]
    old = new.with_columns(
        pl.Series("body_masses", texts, pl.String),
        pl.Series("geom_frictions", [None, None, "rail=0.5"], pl.String),
    )
    write_table(old, out)
    read = read_table(out)
    assert read["mass[cart]"].to_list() == [1.0, 3.0, 1.0]
    assert read["mass[pole]"].to_list() == [1.0, 2.0, 1.0]
    assert read["friction[rail]"].to_list() == [1.0, 1.0, 0.5]
    assert read.select(list(SCHEMA)).equals(new)
    assert join_tables(read, new.head(1)).height == 3
    assert has_evaluation(read, find_policy(run), Grid(mass=1, episodes=1), ["mass"])
    assert not has_evaluation(read, find_policy(run), Grid(mass=2, episodes=1), ["mass"])


def test_tables_without_an_axis_are_nominal_along_it(run: Path) -> None:
    first = evaluate(run, shifts={"action-delay": 2}, episodes=1)
    second = evaluate(run, shifts={"mass[pole]:abs": 2.0}, episodes=1)
    whole = concat_tables([first, second])
    assert whole["action-delay"].to_list() == [2.0, 0.0]
    assert whole["mass[pole]:abs"].to_list() == [None, 2.0]


def test_a_grid_of_old_axes_is_stored_as_ever() -> None:
    """The hash of an evaluation in a study is made from this text."""
    grid = Grid(mass=(0.5, 1.0), episodes=2, seed=7)
    assert json.dumps(grid.to_json(), sort_keys=True) == (
        '{"body_masses": [], "episodes": 2, "friction": [1.0], "geom_frictions": [], '
        '"mass": [0.5, 1.0], "mass_mode": "reference", "noise": [0.0], "rho": null, "seed": 7, '
        '"stochastic": false}'
    )


@pytest.mark.parametrize(
    "grid",
    [
        Grid(),
        Grid(rho=[0.2]),
        Grid(mass="paper", mass_mode="consistent", stochastic=True),
        Grid({"mass[torso]": [0.5, 2], "gravity:abs": 1.62, "action-delay": [0, 3]}, noise=0.1),
    ],
    ids=str,
)
def test_a_grid_survives_json(grid: Grid) -> None:
    assert Grid.from_json(json.loads(json.dumps(grid.to_json()))) == grid


def test_a_grid_stored_with_single_bodies_is_read() -> None:
    stored = {**Grid().to_json(), "body_masses": [["torso", 2.0]]}
    assert Grid.from_json(stored) == Grid({"mass[torso]": 2.0})
