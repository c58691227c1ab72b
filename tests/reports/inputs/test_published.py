"""The published curves: the numbers of the sources, for today's tasks, without a simulator."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hatchling.builders.wheel import WheelBuilder

from mixedne.config import presets
from mixedne.evaluation.grids import NAMED_GRIDS
from mixedne.reports import tables
from mixedne.reports.inputs.published import DATA, SOURCES, published
from mixedne.shifts import PARAMETERS

ROOT = Path(__file__).parents[3]
TASKS = tuple(presets.EXPLORATION["td3"][0.1])


@pytest.fixture(scope="module")
def curves() -> pl.DataFrame:
    return published(f"{task}-v5" for task in TASKS)


def point(curves: pl.DataFrame, **where: object) -> dict[str, object]:
    found = curves.filter(pl.col(name).eq_missing(pl.lit(value)) for name, value in where.items())
    return found.row(0, named=True) if found.height == 1 else {"found": found.height}


def test_schema_is_that_of_the_report(curves: pl.DataFrame) -> None:
    assert curves.schema == pl.Schema(tables.PUBLISHED)
    assert curves.drop("solver", "low", "high").null_count().sum_horizontal().item() == 0
    assert set(curves["axis"]) <= set(PARAMETERS)


def test_every_curve_has_the_factors_of_the_papers_grid_in_order(curves: pl.DataFrame) -> None:
    grid = list(NAMED_GRIDS["paper"]["mass"])
    assert len(grid) == 21
    curve = ["task", "agent", "solver", "delta", "label", "axis", "source"]
    factors = curves.group_by(curve).agg("x")["x"].to_list()
    assert all(found == grid for found in factors)
    # DDPG: 7 tasks, 2 δ, mass; TD3: 8 tasks, 3 δ, 3 solvers, 2 axes; SAC: 8 tasks, 2 axes.
    assert len(factors) == 7 * 2 + 8 * 3 * 3 * 2 + 8 * 2


def test_ddpg_is_the_mean_of_five_seeds(curves: pl.DataFrame) -> None:
    where = {"task": "Ant-v5", "agent": "ddpg", "solver": "gad", "axis": "mass"}
    # Ant-v2,nr_mdp_0.1_1,ou_noise,0.5: seeds 307.6, 382.67, 143.08, 32.52, 602.21.
    # Their mean is 1468.08/5, their standard deviation √(194188.6/4) = 220.334;
    # t(4, 0.975) = 2.776445, so half the interval is 2.776445·220.334/√5 = 273.58.
    row = point(curves, **where, delta=0.1, x=0.5)
    assert row["value"] == pytest.approx(293.616)
    assert row["low"] == pytest.approx(293.616 - 273.58, abs=0.01)
    assert row["high"] == pytest.approx(293.616 + 273.58, abs=0.01)
    assert (row["seeds"], row["label"]) == (5, "GAD, published")
    assert row["source"] == "Tessler et al. 2019, DDPG, Gym v2, 5 seeds"
    # Ant-v2,non_robust,param_noise,1.0: -311.09, -15.51, -16.25, -39.42, -57.35.
    row = point(curves, **where, delta=0.0, x=1.0)
    assert row["value"] == pytest.approx(-439.62 / 5)
    assert row["label"] == "plain DDPG (one player), published"


@pytest.mark.parametrize(
    ("task", "solver", "delta", "axis", "x", "value"),
    [
        # HalfCheetah-v2,TD3,MixedNE-LD,0.1,1e-05,0.1,0,mass,2.0
        ("HalfCheetah-v5", "mixedne-ld", 0.1, "mass", 2.0, 3338.72),
        # HalfCheetah-v2,TD3,Extra-Adam,0.0,,0.001,0,mass,1.0
        ("HalfCheetah-v5", "extra-adam", 0.0, "mass", 1.0, 11265.74),
        # Hopper-v2,TD3,Extra-Adam,0.2,,0.1,0,friction,2.0
        ("Hopper-v5", "extra-adam", 0.2, "friction", 2.0, 283.09),
    ],
)
def test_td3_is_one_run_without_an_interval(
    curves: pl.DataFrame, task: str, solver: str, delta: float, axis: str, x: float, value: float
) -> None:
    row = point(curves, task=task, agent="td3", solver=solver, delta=delta, axis=axis, x=x)
    assert (row["value"], row["low"], row["high"], row["seeds"]) == (value, None, None, 1)
    assert row["source"] == "the paper's authors, TD3, Gym v2, 1 run"


def test_two_runs_have_an_interval(curves: pl.DataFrame) -> None:
    # Walker2d-v2,TD3,GAD,0.0,,0.01,mass,1.0: run 0 4117.21, run 1 4003.03.
    # Half their difference is 57.09 = s/√2; t(1, 0.975) = 12.7062.
    where = {"task": "Walker2d-v5", "agent": "td3", "solver": "gad", "delta": 0.0, "axis": "mass"}
    row = point(curves, **where, x=1.0)
    assert row["value"] == pytest.approx(4060.12)
    assert row["low"] == pytest.approx(4060.12 - 12.7062 * 57.09, abs=0.01)
    assert row["source"] == "the paper's authors, TD3, Gym v2, 2 runs"


def test_sac_has_no_solver_and_no_adversary(curves: pl.DataFrame) -> None:
    # Reacher-v2,SAC,friction,1.5, runs 0 to 4: -3.72, -3.61, -3.87, -3.59, -4.1.
    where = {"agent": "sac", "solver": None, "delta": 0.0}
    row = point(curves, **where, task="Reacher-v5", axis="friction", x=1.5)
    assert row["value"] == pytest.approx(-18.89 / 5)
    assert (row["seeds"], row["label"]) == (5, "SAC, published")
    # HalfCheetah-v2,SAC,0,mass,2.0
    row = point(curves, **where, task="HalfCheetah-v5", axis="mass", x=2.0)
    assert (row["value"], row["low"], row["seeds"]) == (3227.56, None, 1)


def test_td3_is_as_the_papers_tables_have_it() -> None:
    text = (DATA / "authors_td3_sac.csv").read_text()
    runs = pl.read_csv(text.encode()).filter(agent="td3")
    for run in runs.iter_rows(named=True):
        values = presets.table_values("td3", run["task"][:-3], run["delta"], run["solver"])
        assert values is not None
        assert (run["sigma0"], run["sigma"]) == (values.get("sigma0"), values["sigma"])


def test_versions_share_the_numbers(curves: pl.DataFrame) -> None:
    older = published(["HalfCheetah-v4"])
    newer = curves.filter(task="HalfCheetah-v5")
    assert set(older["task"]) == {"HalfCheetah-v4"}
    assert older.drop("task").equals(newer.drop("task"))
    assert published(["HalfCheetah-v4", "HalfCheetah-v5", "HalfCheetah-v4"]).height == (
        2 * newer.height
    )


@pytest.mark.parametrize(
    "tasks", [[], ["toy"], ["Pusher-v5"], ["HalfCheetah"], ["HalfCheetah-v2"], ["-v5"]]
)
def test_other_tasks_have_none(tasks: list[str]) -> None:
    found = published(tasks)
    assert found.is_empty()
    assert found.schema == pl.Schema(tables.PUBLISHED)


def test_the_data_are_in_the_wheel() -> None:
    files = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    folder = "mixedne/reports/inputs/published_data"
    assert {f"{folder}/{name}" for name in (*SOURCES, "README.md")} <= files


def test_reading_needs_no_simulator() -> None:
    code = (
        "import sys; from mixedne.reports.inputs.published import published;"
        "published(['Ant-v5']);"
        "print({'jax', 'optax', 'mujoco', 'gymnasium'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
