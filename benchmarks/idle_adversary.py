"""Let published policies that were trained in NR-MDP act by their share of the action.

    python benchmarks/idle_adversary.py      # adds what is new to results/idle-adversary.parquet

In training the world executes (1 − δ) μ(s) + δ ν(s). A policy that acts alone executes μ(s), as in
the paper, or with ``idle_adversary`` (1 − δ) μ(s). The first is in the evaluation tables of the
published runs; this plays the same episodes of the task's own world with the second. Controls are
left out. A row is an episode: the run's ``identifier``, ``episode`` and ``share_return``.
"""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from mixedne import evaluate, results
from mixedne.config import configure, game_of
from mixedne.evaluation.statistics import SEED
from mixedne.files import write_beside
from mixedne.policies import Policy, load_policy
from mixedne.shifts import is_nominal
from mixedne.studies.results import run_folders
from mixedne.tasks import resolve_task

ROOT = Path(__file__).parents[1] / "results"
OUT = ROOT / "idle-adversary.parquet"
FOLDERS = ("recipe", "reproduction", "sets")

SCHEMA = {"identifier": pl.String, "episode": pl.Int64, "share_return": pl.Float64}


def at_its_share(policy: Policy, task: str, delta: float) -> Policy:
    """The policy as ``idle_adversary`` would have saved it."""
    game = game_of(configure(task, delta=delta), resolve_task(task))
    assert game.boxes.agent is not None
    low, high = (tuple(end.tolist()) for end in game.boxes.agent.shrunk(game.agent_share))
    spec = dataclasses.replace(policy.spec, action_low=low, action_high=high)
    return Policy(spec, policy.tensors)


def own_world(folder: Path) -> pl.DataFrame:
    """A run's episodes in the task's own world, each once."""
    table = results(folder, settings=["idle_adversary", "alone_episodes"])
    return table.filter(is_nominal(table.columns)).unique("episode").sort("episode")


def played(known: set[str]) -> Iterator[pl.DataFrame]:
    """The episodes of each run that is not known, again with its share of the action."""
    for folder in (run for name in FOLDERS for run in run_folders(ROOT / name)):
        table = own_world(folder)
        run = table.row(0, named=True)
        has_share = run["formulation"] == "nr-mdp" and run["delta"] > 0
        is_mended = run["idle_adversary"] or run["alone_episodes"]
        if run["identifier"] in known or is_mended or not has_share:
            continue
        policy = at_its_share(load_policy(folder), run["task"], run["delta"])
        again = evaluate(policy, run["task"], episodes=len(table))
        if again["episode_seed"].to_list() != table["episode_seed"].to_list():
            raise ValueError(f"{folder.name} was tested in other episodes")
        print(f"{run['task']}, {run['solver']}, seed {run[SEED]}", flush=True)
        yield table.select("identifier", "episode").with_columns(share_return=again["return"])


def main() -> None:
    """Play, and write all episodes."""
    before = pl.read_parquet(OUT) if OUT.is_file() else pl.DataFrame(schema=SCHEMA)
    plan = json.loads((ROOT / "reproduction/studies/reproduce-ddpg-controls.json").read_text())
    left_out = {run["identifier"] for run in plan["runs"]}  # settings of no table
    known = left_out.union(before["identifier"])
    new = [frame.cast(SCHEMA) for frame in played(known)]  # type: ignore[arg-type]
    with write_beside(OUT) as temporary:
        pl.concat([before, *new]).write_parquet(temporary)


if __name__ == "__main__":
    main()
