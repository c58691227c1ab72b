"""The paper's hyperparameter tables, copied a second time, column by column."""

from collections import Counter
from typing import Any

import pytest

from mixedne.config import configure, presets

TASKS = [
    "Walker2d",
    "HalfCheetah",
    "Hopper",
    "Ant",
    "Swimmer",
    "Reacher",
    "Humanoid",
    "InvertedPendulum",
]

# Agent and δ: σ0 and σ of MixedNE-LD, σ of GAD, σ of Extra-Adam, down the tasks.
COLUMNS = {
    ("ddpg", 0.1): (
        "1e-2 1e-2 1e-3 1e-4 1e-5 1e-3 1e-4 1e-3",
        "0.01 0 0.2 0.2 0.4 0.2 0.01 0.01",
        "0 0.2 0.2 0.4 0.4 0.4 0 0.1",
        "0.3 0.01 0.3 0.01 0.4 0.2 0.01 0.01",
    ),
    ("ddpg", 0.0): (
        "1e-2 1e-2 1e-5 1e-2 1e-2 1e-3 1e-2 1e-3",
        "0.1 0.01 0.3 0.4 0.2 0.2 0.1 0",
        "0.01 0.4 0.4 0.4 0.3 0.3 0 0.01",
        "0.2 0.01 0.1 0.01 0.3 0.2 0.01 0.01",
    ),
    ("td3", 0.2): (
        "1e-4 1e-5 1e-4 1e-4 1e-4 1e-2 1e-3 1e-4",
        "0.005 0.005 0.1 0.005 0.005 0.1 0.005 0.01",
        "0.005 0.005 0.01 0.005 0.01 0.005 0.01 0.005",
        "0.005 0.1 0.1 0.1 0.01 0.1 0.01 0.01",
    ),
    ("td3", 0.1): (
        "1e-3 1e-5 1e-4 1e-3 1e-4 1e-4 1e-5 1e-3",
        "0.01 0.1 0.01 0.01 0.005 0.005 0.1 0.01",
        "0.01 0.01 0.01 0.005 0.1 0.005 0.01 0.01",
        "0.01 0.01 0.1 0.005 0.005 0.01 0.01 0.01",
    ),
    ("td3", 0.0): (
        "1e-5 1e-5 1e-4 1e-3 1e-5 1e-4 1e-4 1e-4",
        "0.01 0.01 0.1 0.1 0.01 0.1 0.1 0.01",
        "0.01 0.01 0.1 0.1 0.01 0.1 0.1 0.01",
        "0.1 0.001 0.005 0.1 0.005 0.1 0.005 0.005",
    ),
}

PLACE = {"table", "task", "delta", "solver", "grid"}
NAMES = {"sigma0", "sigma", "eta", "inner_steps", "batch_size", "gamma", "tau", "beta"}
NAMES |= {"critic_learning_rate", "critic_optimizer", "replay_size", "rms_decay", "rms_epsilon"}
NAMES |= {"horizon", "trajectories", "thermal_decay", "inner_growth", "inner_max"}


@pytest.mark.parametrize(("agent", "delta"), COLUMNS)
def test_what_was_chosen_for_robots(agent: str, delta: float) -> None:
    columns = [map(float, column.split()) for column in COLUMNS[agent, delta]]
    one_player: dict[str, float] = {"inner_steps": 1} if delta == 0 else {}
    for task, sigma0, sigma, gad, extra_adam in zip(TASKS, *columns, strict=True):
        expected = {
            "mixedne-ld": {"sigma0": sigma0, "sigma": sigma, **one_player},
            "gad": {"sigma": gad},
            "extra-adam": {"sigma": extra_adam},
        }
        for solver, values in expected.items():
            assert presets.table_values(agent, task, delta, solver) == values, (task, solver)


@pytest.mark.parametrize(
    ("delta", "sigma0", "eta", "inner_steps", "gad", "extra_adam"),
    [(0.1, 1e-5, 1e-3, 1, 1e-4, 1e-4), (0.0, 1e-4, 1e-4, 10, 1e-4, 1e-3)],
)
def test_what_was_chosen_for_the_toy(
    delta: float, sigma0: float, eta: float, inner_steps: int, gad: float, extra_adam: float
) -> None:
    sampled = presets.table_values("vpg", "toy", delta, "mixedne-ld")
    assert sampled == {"sigma0": sigma0, "eta": eta, "inner_steps": inner_steps}
    assert isinstance(sampled["inner_steps"], int)
    assert presets.table_values("vpg", "toy", delta, "gad") == {"eta": gad}
    assert presets.table_values("vpg", "toy", delta, "extra-adam") == {"eta": extra_adam}


def test_common_values() -> None:
    ddpg = {"critic_optimizer": "adam", "critic_learning_rate": 0.001, "tau": 0.999}
    ddpg |= {"batch_size": 128, "gamma": 0.99, "beta": 0.9, "replay_size": 10**6}
    ddpg |= {"rms_decay": 0.999, "rms_epsilon": 1e-8, "eta": 1e-4}
    ddpg |= {"thermal_decay": 5e-5, "inner_growth": 1e-5, "inner_max": 15}
    td3 = {**ddpg, "critic_learning_rate": 0.0003, "tau": 0.995}
    vpg = {"gamma": 0.99, "horizon": 500, "trajectories": 1, "beta": 0.9}
    vpg |= {"rms_decay": 0.99, "rms_epsilon": 1e-8, "thermal_decay": 5e-5}
    assert {"ddpg": ddpg, "td3": td3, "vpg": vpg} == presets.COMMON


def test_grids() -> None:
    grids = {row["table"]: row["grid"] for row in presets.rows() if row["task"] is None}
    sigma0 = [0.01, 0.001, 0.0001, 0.00001]
    assert grids == {
        "ddpg-common": {"sigma0": sigma0, "sigma": [0, 0.01, 0.1, 0.2, 0.3, 0.4]},
        "td3-common": {"sigma0": sigma0, "sigma": [0.005, 0.01, 0.1]},
        "vpg-common": {"eta": [0.001, 0.0001, 0.00001]},
    }


def test_rows_list_every_table() -> None:
    rows = presets.rows()
    assert Counter(row["table"] for row in rows) == {
        "ddpg-common": 1,
        "ddpg-exploration": 8 * 3 * 2,
        "td3-common": 1,
        "td3-exploration": 8 * 3 * 3,
        "vpg-common": 1,
        "vpg-exploration": 3 * 2,
    }
    places = {(row["table"], row["task"], row["delta"], row["solver"]) for row in rows}
    assert len(places) == len(rows)
    for row in rows:
        agent, kind = row["table"].split("-")
        assert PLACE <= set(row) <= PLACE | NAMES
        if kind == "common":
            assert row["task"] is row["delta"] is row["solver"] is None
            assert values_of(row) == presets.COMMON[agent]
        else:
            place = (agent, row["task"], row["delta"], row["solver"])
            assert values_of(row) == presets.table_values(*place)


def test_one_choice_alone_lies_outside_its_grid() -> None:
    outside = []
    for row in presets.rows():
        if row["task"] is None:
            continue
        searched = set(values_of(row)) - {"inner_steps"}
        if row["table"] == "vpg-exploration":
            searched -= {"sigma0"}  # no grid is printed
        assert set(row["grid"]) == searched
        outside += [
            (row["table"], row["task"], row["delta"], row["solver"], row[name])
            for name, grid in row["grid"].items()
            if row[name] not in grid
        ]
    assert outside == [("td3-exploration", "HalfCheetah", 0.0, "extra-adam", 0.001)]


@pytest.mark.parametrize(
    ("agent", "task", "delta", "solver"),
    [
        ("sac", "Hopper", 0.1, "gad"),
        ("ddpg", "Hopper-v5", 0.1, "gad"),
        ("ddpg", "toy", 0.1, "gad"),
        ("vpg", "Hopper", 0.1, "gad"),
        ("ddpg", "Hopper", 0.2, "gad"),
        ("ddpg", "Hopper", 0.1 + 1e-8, "gad"),
        ("ddpg", "Hopper", float("nan"), "gad"),
        ("ddpg", "Hopper", 0.1, "eg"),
    ],
)
def test_outside_the_tables_there_is_nothing(
    agent: str, task: str, delta: float, solver: str
) -> None:
    assert presets.table_values(agent, task, delta, solver) is None


def test_rounding_in_delta_does_no_harm() -> None:
    assert presets.table_values("td3", "Hopper", 0.3 - 0.2, "gad") == {"sigma": 0.01}
    one_player = presets.table_values("td3", "Hopper", 1e-12, "mixedne-ld")
    assert one_player == {"sigma0": 1e-4, "sigma": 0.1, "inner_steps": 1}


def test_what_is_handed_out_is_a_copy() -> None:
    before = presets.rows()
    for row in presets.rows():
        for grid in row["grid"].values():
            grid.clear()
        row.clear()
    chosen = presets.table_values("ddpg", "Hopper", 0.1, "gad")
    assert chosen is not None
    chosen.clear()
    assert presets.rows() == before


def values_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in PLACE}


def test_a_preset_can_set_values_by_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all agents, then of one; in each, the task's own win, and none reaches another task."""
    tables = {
        **presets._TABLES,
        "authors": {"gamma": 0.98, "tau": 0.9, "tasks": {"Swimmer": {"gamma": 0.9999}}},
        "td3": {
            **presets._TABLES["td3"],
            "authors": {"tau": 0.8, "tasks": {"Swimmer": {"tau": 0.7, "hidden": [8]}}},
        },
    }
    monkeypatch.setattr(presets, "_TABLES", tables)

    def found(agent: str, task: str) -> tuple[Any, ...]:
        config = configure(task, agent=agent, preset="authors")
        return config.gamma, config.tau, config.hidden

    assert found("td3", "Swimmer-v5") == (0.9999, 0.7, (8,))
    assert found("td3", "Hopper-v5") == (0.98, 0.8, (64, 64))
    assert found("ddpg", "Swimmer-v5") == (0.9999, 0.9, (64, 64))
    assert configure("Swimmer-v5", agent="td3", preset="authors", gamma=0.5).gamma == 0.5
    assert configure("Swimmer-v5", agent="td3").gamma == 0.99  # another preset
