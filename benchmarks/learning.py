"""What is learned: the commands behind docs/results.md, and its tables.

    python benchmarks/learning.py commands [--seeds 5] > commands.txt
    xargs -a commands.txt -P 2 -L 1 mixedne
    python benchmarks/learning.py tables

The first prints one ``mixedne train`` a line (into ``learning/``; those that are done or under way
go on by ``--resume``). The last evaluates every finished run at a few masses, ten episodes each,
the agent alone and without noise, and prints means over seeds with the lowest and the highest.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from mixedne import names
from mixedne.evaluation.sweep import evaluate

FOLDER = Path("learning")
SOLVERS = tuple(names.SOLVERS)
MASSES = (0.5, 1.0, 2.0)
EPISODES = 10
SOLVED = 1000.0
"""The most that InvertedPendulum pays."""


def runs(seed: int) -> Iterator[tuple[str, str]]:
    """Name and arguments of every run with this seed."""
    pendulum = "InvertedPendulum-v5 --steps 100000 --evaluate-every 5000"
    for solver in SOLVERS:
        yield f"ip-ddpg-{solver}-authors", f"{pendulum} --solver {solver} --preset authors"
        yield f"ip-td3-{solver}-paper", f"{pendulum} --agent td3 --solver {solver}"
    yield "ip-ddpg-mixedne-ld-1to1", f"{pendulum} --preset authors --updates 100"
    yield "ip-sac", f"{pendulum} --agent sac --hidden 64 64 --batch-size 128"
    for short, task in (("hc", "HalfCheetah"), ("hopper", "Hopper"), ("swimmer", "Swimmer")):
        for solver in SOLVERS[:2]:
            for preset in ("authors", "paper"):
                arguments = f"{task}-v5 --steps 200000 --solver {solver} --preset {preset}"
                yield f"{short}-ddpg-{solver}-{preset}", arguments
    for solver in SOLVERS[:2]:
        arguments = f"HalfCheetah-v5 --steps 200000 --solver {solver} --preset authors"
        yield f"hc-ddpg-{solver}-nodecay", f"{arguments} --critic-weight-decay 0"
    yield "hc-td3-mixedne-ld-paper", "HalfCheetah-v5 --steps 200000 --agent td3"


def commands(seeds: int) -> None:
    """One line for each run, seed by seed, so that an early end has some of each kind."""
    for seed in range(seeds):
        for name, arguments in runs(seed):
            out = FOLDER / f"{name}-s{seed}"
            print(f"train {arguments} --seed {seed} --out {out} --resume")


def tables(folder: Path) -> None:
    """Print a table for each task."""
    kinds: dict[str, list[Path]] = defaultdict(list)
    for policy in sorted(folder.glob("*/policy.safetensors")):
        kinds[policy.parent.name.rpartition("-s")[0]].append(policy.parent)
    by_task: dict[str, list[str]] = defaultdict(list)
    for paths in kinds.values():
        config = json.loads((paths[0] / "config.json").read_text())
        by_task[config["task"]].append(_row(config, paths))
    for task, rows in by_task.items():
        masses = " | ".join(f"mass × {mass:g}" for mass in MASSES)
        print(f"\n### {task}\n\n| agent | solver | δ | preset | steps | seeds | {masses} | curve |")
        print("| --- " * (7 + len(MASSES)) + "|")
        print("\n".join(rows))


def _row(config: dict[str, Any], paths: list[Path]) -> str:
    table = evaluate(paths, mass=MASSES, episodes=EPISODES)
    cells = []
    for mass in MASSES:
        means = (
            table.filter(table["mass"] == mass)
            .group_by("run", maintain_order=True)
            .agg(pl.col("return").mean())["return"]
            .to_numpy()
        )
        spread = f" ({means.min():.0f} to {means.max():.0f})" if len(means) > 1 else ""
        cells.append(f"{means.mean():.0f}{spread}")
    first = [config["agent"], config["solver"] or "–", f"{config['delta']:g}"]
    words = [*first, _settings(config), str(config["steps"]), str(len(paths))]
    return f"| {' | '.join([*words, *cells, _curve(config, paths)])} |"


def _settings(config: dict[str, Any]) -> str:
    """The preset, and what was set otherwise."""
    words = [config["preset"]]
    if config["agent"] == "sac":
        words.append("(64, 64), batch 128")
    if config["agent"] == "ddpg" and config["updates"] != 50:
        words.append(f"{config['updates']} updates a cycle")
    if (config["agent"], config["preset"], config["critic_weight_decay"]) == ("ddpg", "authors", 0):
        words.append("no weight decay")
    return ", ".join(words)


def _curve(config: dict[str, Any], paths: list[Path]) -> str:
    """When the pendulum was first solved in a periodic evaluation; elsewhere, the best of them."""
    said = []
    for path in paths:
        lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
        points = [
            (line["step"], line["return_mean"])
            for line in lines
            if line["kind"] == "evaluation" and line["mass"] == 1.0
        ]
        if config["task"].startswith("InvertedPendulum"):
            solved = [step for step, value in points if value >= SOLVED]
            said.append(f"{solved[0] // 1000}k" if solved else "never")
        else:
            said.append(f"{max(value for _, value in points):.0f}")
    what = "first solved at" if config["task"].startswith("InvertedPendulum") else "best"
    return f"{what} {', '.join(said)}"


def main() -> None:
    """Print commands or tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["commands", "tables"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    if arguments.what == "commands":
        commands(arguments.seeds)
    else:
        tables(arguments.folder)


if __name__ == "__main__":
    main()
