"""A report as large as the paper's study: eight tasks, sixteen methods, all sweeps and maps."""

import itertools
from typing import Any

import numpy as np
import polars as pl

from mixedne.evaluation.grids import NAMED_GRIDS
from mixedne.reports import tables

TASKS = (
    "Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "InvertedPendulum-v5", "Reacher-v5",
    "Swimmer-v5", "Walker2d-v5",
)  # fmt: skip
SOLVERS = {"mixedne-ld": "MixedNE-LD", "gad": "GAD", "extra-adam": "Extra-Adam"}


def large_report() -> tables.Report:
    """Random numbers, which compress worst."""
    generator = np.random.default_rng(0)
    methods = _methods()
    tested = methods.with_columns(
        acting=pl.lit("mean"),
        mass_mode=pl.lit("reference"),
        episodes=pl.lit(500),
        invalid=pl.lit(0),
    ).join(pl.DataFrame({"statistic": list(tables.STATISTICS)}), how="cross")
    sweeps = _over_seeds(tested.join(_sweep_places(), how="cross"), generator)
    curves = methods.join(_progress(), how="cross")
    return tables.Report(
        title="A study of the paper's size",
        sweeps=_shaped(sweeps, tables.SWEEPS),
        maps=_shaped(_over_seeds(tested.join(_map_places(), how="cross"), generator), tables.MAPS),
        summary=_shaped(_summary(sweeps), tables.SUMMARY),
        learning=_shaped(_over_seeds(curves, generator), tables.LEARNING),
        counts={"runs": 640, "tasks": 8, "episodes": 2_592_000},
    )


def _methods() -> pl.DataFrame:
    """Sixteen for each task: two agents, three solvers, two δ, two forms of the game or SAC."""
    kinds = [(agent, solver, delta) for agent, solver, delta in
             itertools.product(("ddpg", "td3"), SOLVERS, (0.1, 0.0))]  # fmt: skip
    rows: list[dict[str, Any]] = [
        {"agent": agent, "solver": solver, "delta": delta, "label": SOLVERS[solver]}
        for agent, solver, delta in kinds
    ]
    for agent, solver in (("ddpg", "gad"), ("ddpg", "mixedne-ld"), ("td3", "gad")):
        label = f"{SOLVERS[solver]}, PR-MDP"
        rows.append({"agent": agent, "solver": solver, "delta": 0.1, "label": label})
    rows.append({"agent": "sac", "solver": None, "delta": 0.0, "label": "SAC"})
    return pl.DataFrame({"task": TASKS}).join(pl.DataFrame(rows), how="cross")


def _sweep_places() -> pl.DataFrame:
    grids = NAMED_GRIDS["paper"]
    places = [("mass", x) for x in grids["mass"]] + [("friction", x) for x in grids["friction"]]
    return pl.DataFrame(places, schema=["axis", "x"], orient="row")


def _map_places() -> pl.DataFrame:
    grids = NAMED_GRIDS["paper-heatmap"]
    pairs = (("noise", "mass"), ("noise", "friction"), ("mass", "friction"))
    places = [(*pair, x, y) for pair in pairs for x in grids[pair[0]] for y in grids[pair[1]]]
    return pl.DataFrame(places, schema=["axis_x", "axis_y", "x", "y"], orient="row")


def _progress() -> pl.DataFrame:
    step = pl.DataFrame({"step": np.linspace(20_000, 1_000_000, 50).astype(int)})
    spent = step.with_columns(updates=pl.col("step") * 4.7, seconds=pl.col("step") / 311)
    return spent.join(pl.DataFrame({"source": ["evaluation", "training"]}), how="cross")


def _over_seeds(table: pl.DataFrame, generator: np.random.Generator) -> pl.DataFrame:
    value = generator.normal(3000, 900, table.height)
    low, high = (value + sign * generator.gamma(4, 60, table.height) for sign in (-1, 1))
    seeds = np.full(table.height, 5)
    return table.with_columns(value=pl.Series(value), low=low, high=high, seeds=seeds)


def _summary(sweeps: pl.DataFrame) -> pl.DataFrame:
    numbers = [pl.col(name).mean() for name in ("value", "low", "high")]
    keys = [*tables.METHOD, "axis", "statistic", "seeds"]
    summed = sweeps.group_by(keys, maintain_order=True).agg(*numbers, shifts=pl.len())
    copies = {"iqm": "value", "iqm_low": "low", "iqm_high": "high"}
    return summed.with_columns(
        **{name: pl.col(other) for name, other in copies.items()},
        baseline=pl.lit("GAD"), improvement=0.5, improvement_low=0.2, improvement_high=0.9,
        overlap=True,
    )  # fmt: skip


def _shaped(table: pl.DataFrame, schema: dict[str, Any]) -> pl.DataFrame:
    return table.select(pl.col(name).cast(kind) for name, kind in schema.items())
