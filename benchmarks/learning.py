"""Which preset of DDPG learns more: the runs behind the table in docs/algorithms.md.

    python benchmarks/learning.py commands [--seeds 5] [--steps 200000] > commands.txt
    xargs -a commands.txt -P 2 -L 1 mixedne
    python benchmarks/learning.py table

The first prints one ``mixedne train`` a line (into ``learning/``; those that are done or under way
go on by ``--resume``). The last evaluates every finished run without shifts, ten episodes each, the
agent alone and without noise, and prints means over seeds with the lowest and the highest.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from tables import markdown

from mixedne.evaluation.sweep import evaluate
from mixedne.names import SOLVERS

FOLDER = Path("learning")
TASKS = ("HalfCheetah-v5", "Hopper-v5", "Swimmer-v5")
SETTINGS = {
    "paper": "--preset paper",
    "authors": "--preset authors",
    "authors, no penalty": "--preset authors --critic-weight-decay 0",
}
EPISODES = 10


def runs() -> Iterator[tuple[str, str, str]]:
    """Task, solver and settings of each row and column of the table."""
    for task in TASKS:
        for solver in ("mixedne-ld", "gad"):
            for settings in SETTINGS if task == TASKS[0] else list(SETTINGS)[:2]:
                yield task, solver, settings


def folder(task: str, solver: str, settings: str, seed: int | str) -> str:
    """Where a run is kept."""
    return f"{task}-{solver}-{settings.replace(', ', '-').replace(' ', '-')}-s{seed}"


def commands(seeds: int, steps: int) -> None:
    """One line for each run, seed by seed, so that an early end has some of each kind."""
    for seed in range(seeds):
        for task, solver, settings in runs():
            out = FOLDER / folder(task, solver, settings, seed)
            options = f"--solver {solver} {SETTINGS[settings]} --steps {steps} --seed {seed}"
            print(f"train {task} {options} --out {out} --resume")


def table() -> str:
    """A row for each task, solver and settings."""
    rows = []
    for task, solver, settings in runs():
        own = sorted(FOLDER.glob(f"{folder(task, solver, settings, '*')}/policy.safetensors"))
        if own:
            episodes = evaluate([policy.parent for policy in own], episodes=EPISODES)
            means = episodes.group_by("run").agg(pl.col("return").mean())["return"].to_numpy()
            spread = f"{means.mean():.0f} ({means.min():.0f} to {means.max():.0f})"
            rows.append([task, str(SOLVERS[solver]), settings, str(len(own)), spread])
    return markdown(["task", "solver", "preset", "seeds", "nominal"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["commands", "table"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200_000)
    arguments = parser.parse_args()
    if arguments.what == "commands":
        commands(arguments.seeds, arguments.steps)
    else:
        print(table())
