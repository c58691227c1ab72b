"""Run folders with made-up evaluation tables: the real formats, without training or physics."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mixedne.config import configure
from mixedne.evaluation.runs import PROVENANCE
from mixedne.evaluation.sweep import evaluate
from mixedne.evaluation.table import SCHEMA, write_table
from mixedne.training.folder import RunFolder
from mixedne.training.metrics import MetricsWriter

VERSIONS = json.dumps({"python": "3.11.7", "mujoco": "3.17.0"})


def shifts(**axes: Sequence[float]) -> list[dict[str, float]]:
    """All values of the axes, crossed."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def pretend_table(
    run: str,
    provenance: dict[str, Any],
    places: Sequence[dict[str, float]],
    *,
    task: str = "HalfCheetah-v5",
    episodes: int = 5,
    noise_seed: int = 0,
    acting: str = "mean",
) -> pl.DataFrame:
    """An evaluation table whose returns are drawn at random."""
    random = np.random.default_rng([noise_seed, provenance.get("train_seed") or 0])
    rho = 0.2 if task == "toy" else None
    rows = [
        {
            "run": run,
            "policy": f"{run}-policy",
            "task": task,
            "task_version": None if task == "toy" else task[-2:],
            **{name: provenance.get(name) for name in PROVENANCE},
            "mass_mode": "reference",
            **{"mass": 1.0, "friction": 1.0, "noise": 0.0, "rho": rho, **place},
            "acting": acting,
            "episode": episode,
            "episode_seed": 1000 + episode,
            "return": float(random.normal(1000, 200)),
            "length": 1000,
            "terminated": False,
            "diverged": False,
            "versions": VERSIONS,
        }
        for place in places
        for episode in range(episodes)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def pretend_evaluated(
    folder: Path,
    places: Sequence[dict[str, float]],
    *,
    task: str = "HalfCheetah-v5",
    seed: int = 0,
    episodes: int = 5,
    acting: str = "mean",
    **wishes: Any,
) -> pl.DataFrame:
    """A run folder as training and evaluation leave it, but for its policy; its table."""
    config = configure(task, seed=seed, **{"steps": 1000, **wishes})
    held = RunFolder(folder)
    held.open(config, resume=False)
    held.close()
    lines = [
        {"kind": "training", "step": step, "updates": step, "inner_steps": 2,
         "samples": 500 * step if config.agent == "vpg" else None, "seconds": step / 100,
         "return_mean": 10.0 * seed + step}
        for step in range(100, 1001, 100)
    ] + [
        {"kind": "evaluation", "step": step, "mass": mass, "return_mean": step * mass + seed}
        for step in (500, 1000) for mass in (0.5, 1.0)
    ]  # fmt: skip
    MetricsWriter(held.metrics).write(*lines)
    known = {name: getattr(config, name, None) for name in PROVENANCE}
    table = pretend_table(
        folder.name, {**known, "train_seed": seed}, places,
        task=config.task, episodes=episodes, acting=acting, noise_seed=hash_of(folder.name),
    )  # fmt: skip
    write_table(table, folder / "evaluation.parquet")
    return table


def config_of(folder: Path) -> dict[str, Any]:
    """What a run's ``config.json`` says, without the digest of its content."""
    config = json.loads((folder / "config.json").read_text())
    return {name: value for name, value in config.items() if name != "sha256"}


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """Write a ``config.json`` as an older version would, without a digest."""
    (folder / "config.json").write_text(json.dumps(config))


def hash_of(name: str) -> int:
    """A number for a name, the same in every process."""
    return sum(ord(letter) * (place + 1) for place, letter in enumerate(name))


def evaluate_a_hundred_times(run: Path, folder: Path, masses: list[float], both: Any) -> None:
    """In a process of its own, in step with another: a hundred tables that both write into."""
    for pair in range(100):
        both.wait()
        evaluate(run, mass=masses, episodes=1, out=folder / f"{pair}.parquet", join=True, threads=1)
