"""A report with something of every kind, made up from formulas: value = f(place)."""

import itertools
from typing import Any

import numpy as np
import polars as pl

from mixedne.reports import tables

TASKS = ("HalfCheetah-v5", "Hopper-v5")
SOLVERS = {"mixedne-ld": "MixedNE-LD", "gad": "GAD", "extra-adam": "Extra-Adam"}
MASSES = (0.5, 0.75, 1.0, 1.5, 2.0)
NOISES = (0.0, 0.1, 0.2)


def kinds() -> list[dict[str, Any]]:
    """Methods: DDPG and TD3 by three solvers with δ = 0.1 and 0, and SAC."""
    crossed = itertools.product(TASKS, ("ddpg", "td3"), (0.1, 0.0), SOLVERS)
    found = [
        {"task": task, "agent": agent, "solver": solver, "delta": delta, "label": SOLVERS[solver]}
        for task, agent, delta, solver in crossed
    ]
    sac = {"agent": "sac", "solver": None, "delta": 0.0, "label": "SAC"}
    return [*found, *({"task": task, **sac} for task in TASKS)]


def level(kind: dict[str, Any]) -> float:
    """How good a method is made out to be."""
    place = [*SOLVERS, None].index(kind["solver"])
    return 3000 - 500 * place + 2000 * kind["delta"] + 400 * (kind["agent"] != "ddpg")


def sweep_value(kind: dict[str, Any], axis: str, x: float, statistic: str) -> float:
    """The number at a place of a sweep."""
    away = abs(np.log2(x)) if axis != "noise" else 2 * x
    return float(level(kind) * (1 - 0.4 * away) - 300 * list(tables.STATISTICS).index(statistic))


def map_value(kind: dict[str, Any], x: float, y: float) -> float:
    """The number at a place of a map."""
    return float(level(kind) * (1 - 0.3 * abs(np.log2(y)) - 1.5 * x))


def rows(table: pl.DataFrame, **wanted: Any) -> pl.DataFrame:
    """The rows in which every column named has the value given."""
    conditions = [pl.col(name).eq_missing(pl.lit(value)) for name, value in wanted.items()]
    return table.filter(pl.all_horizontal(conditions))


def sample_report() -> tables.Report:
    """The report."""
    tested = {"acting": "mean", "mass_mode": "reference"}
    sweeps, maps, summary, learning = [], [], [], []
    for kind in kinds():
        for axis, statistic in itertools.product(("mass", "friction"), tables.STATISTICS):
            for x in MASSES:
                value = sweep_value(kind, axis, x, statistic)
                over = {"value": value, "low": value - 150, "high": value + 150, "seeds": 5}
                place = {"axis": axis, "x": x, "statistic": statistic}
                sweeps.append({**kind, **tested, **place, **over, "episodes": 50, "invalid": 0})
            value = float(np.mean([sweep_value(kind, axis, x, statistic) for x in MASSES]))
            compared = kind["solver"] not in ("gad", None)
            summary.append(
                {
                    **kind, **tested, "axis": axis, "statistic": statistic,
                    "value": value, "low": value - 200, "high": value + 200, "seeds": 5,
                    "iqm": value + 10, "iqm_low": value - 100, "iqm_high": value + 120,
                    "shifts": len(MASSES), "baseline": "GAD" if compared else None,
                    "improvement": 0.88 if compared else None,
                    "improvement_low": 0.6 if compared else None,
                    "improvement_high": 1.0 if compared else None,
                    "overlap": (kind["solver"] == "extra-adam") if compared else None,
                }
            )  # fmt: skip
        for x, y in itertools.product(NOISES, MASSES):
            for statistic in tables.STATISTICS:
                value = map_value(kind, x, y) - 100 * list(tables.STATISTICS).index(statistic)
                over = {"value": value, "low": value - 90, "high": value + 90, "seeds": 5}
                place = {"axis_x": "noise", "axis_y": "mass", "x": x, "y": y}
                maps.append(
                    {**kind, **tested, **place, "statistic": statistic, **over}
                    | {"episodes": 50, "invalid": 0}
                )
        for source, step in itertools.product(
            ("evaluation", "training"), range(0, 100_001, 20_000)
        ):
            value = level(kind) * step / 100_000
            over = {"value": value, "low": value - 80, "high": value + 80, "seeds": 5}
            spent = {"step": step, "updates": 1.7 * step, "seconds": step / 500}
            learning.append({**kind, "source": source, **spent, **over})
    return tables.Report(
        title="A made-up study",
        sweeps=pl.DataFrame(sweeps, schema=tables.SWEEPS),
        maps=pl.DataFrame(maps, schema=tables.MAPS),
        summary=pl.DataFrame(summary, schema=tables.SUMMARY),
        learning=pl.DataFrame(learning, schema=tables.LEARNING),
        searches=pl.DataFrame(_searches(), schema=tables.SEARCHES),
        published=pl.DataFrame(_published(), schema=tables.PUBLISHED),
        sets=pl.DataFrame(_sets(), schema=tables.SETS),
        attacks=pl.DataFrame(_attacks(), schema=tables.ATTACKS),
        saddle=_saddle(),
        runs=pl.DataFrame({"run": ["a", "b"], "mass": [1.0, 1.0], "mean_return": [1.5, 2.5]}),
        provenance=tables.Provenance(
            commands=("mixedne study paper-ddpg --out studies",),
            versions=("python 3.11.7, mixedne 0.1.0, jax 0.10.2",),
            machines=("Linux, 2 cores",),
            seeds=(("DDPG, MixedNE-LD, δ = 0.1", "0 to 4"),),
            sources=("studies",),
        ),
        missing=("2 of 50 planned runs are not finished.",),
        counts={"runs": 48, "episodes": 9600, "tasks": 2},
    )


def _searches() -> list[dict[str, Any]]:
    rows = []
    for task, (solver, delta) in itertools.product(TASKS, itertools.product(SOLVERS, (0.1, 0.0))):
        searched = itertools.product((1e-3, 1e-4), (0.0, 0.1, 0.2)) if solver == "mixedne-ld" else (
            (None, sigma) for sigma in (0.0, 0.1, 0.2)
        )  # fmt: skip
        for sigma0, sigma in searched:
            value = 1000 + 3000 * sigma - (0 if sigma0 is None else 1e5 * sigma0)
            rows.append(
                {
                    "study": "paper-search-ddpg", "task": task, "agent": "ddpg", "solver": solver,
                    "delta": delta, "fixed": "", "setting_x": "sigma",
                    "setting_y": None if sigma0 is None else "sigma0", "x": sigma, "y": sigma0,
                    "value": value, "low": value - 50, "high": value + 50, "seeds": 3,
                    "chosen": sigma == 0.2 and sigma0 in (None, 1e-4),
                    "paper": sigma == 0.1 and sigma0 in (None, 1e-3),
                }
            )  # fmt: skip
    return rows


def _published() -> list[dict[str, Any]]:
    return [
        {
            "task": "HalfCheetah-v5", "agent": "ddpg", "solver": "gad", "delta": 0.1,
            "label": "GAD, published", "axis": "mass", "x": mass, "value": 400 - 100 * mass,
            "low": 100.0, "high": 700.0, "seeds": 5, "source": "Tessler et al. 2019, Gym v2",
        }
        for mass in MASSES
    ]  # fmt: skip


def _sets() -> list[dict[str, Any]]:
    own = {"task": "Hopper-v5", "set": "rrls-2d", "points": 100, "seeds": 3}
    worst = {"worst": 300.5, "worst_low": 250.0, "worst_high": 351.0, "worst_score": 0.25}
    mean = {"mean": 800.0, "mean_low": 700.0, "mean_high": 900.0, "mean_score": -1.5}
    theirs = {"worst": 533.0, "worst_spread": 28.0, "mean": None, "mean_spread": None, "seeds": 10}
    return [
        {**own, "method": "TD3, GAD, δ = 0", **worst, **mean},
        {**own, "method": "M2TD3", **theirs, "source": "arXiv:2410.06212 App. K"},
    ]


def _attacks() -> list[dict[str, Any]]:
    own = {"task": "Hopper-v5", "attack": "force torso", "strength": 3.0, "seeds": 3}
    none = {"none": 800.0, "none_low": 700.0, "none_high": 900.0}
    hit = {"attacker": 200.5, "attacker_low": 150.0, "attacker_high": 251.0}
    return [
        {**own, "method": "TD3, GAD, δ = 0", **none, "random": 790.0, **hit},
        {**own, "method": "mine", "none": 50.0, "attacker": -5.0, "seeds": 1},
        {**own, "method": "helped", "none": 40.0, "random": 45.0, "attacker": 60.0, "seeds": 1},
        {
            **own,
            "attack": "force torso by 3f2a9c1b",
            "method": "mine",
            "none": 50.0,
            "attacker": 40.0,
        },
    ]


def _saddle() -> pl.DataFrame:
    """Circles of two solvers, and a noisy third, in the form of ``mixedne saddle``."""
    turn = np.linspace(0, 6, 50)
    rows = []
    for start, solver in itertools.product(("far", "near"), ("gad", "eg", "mixedne-ld")):
        for seed in range(3 if solver == "mixedne-ld" else 1):
            radius = {"gad": 1.0, "eg": 0.8, "mixedne-ld": 0.3 + 0.1 * seed}[solver]
            theta, omega = radius * np.cos(turn), radius * np.sin(turn)
            rows.append(
                {
                    "objective": "x2y2-xy", "start": start, "start_theta": theta[0],
                    "start_omega": omega[0], "solver": solver,
                    "inner": "frozen" if solver == "mixedne-ld" else None, "steps": 49,
                    "seed": seed, "theta": theta.tolist(), "omega": omega.tolist(),
                }
            )  # fmt: skip
    return pl.DataFrame(rows)
