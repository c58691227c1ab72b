"""Choose the policies that ship with the package from the runs that are kept with the project.

    python benchmarks/zoo.py [FOLDER …]

Of each task and method the run of the median seed is taken, by the mean return over its mass sweep;
of an even number of seeds the lower of the two in the middle, and of equal ones the lower seed.
Nothing else is looked at. Controls and searches are not among them.
"""

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from mixedne import results
from mixedne.evaluation.statistics import METHOD, SEED, TASK, grid_scores, nominal_returns
from mixedne.shifts import is_nominal

ROOT = Path(__file__).parents[1]
OUT = ROOT / "src/mixedne/zoo"
KEPT = [ROOT / "results" / name for name in ("reproduction", "recipe", "quickstart")]
SHOWN = ("task", *METHOD, SEED, "steps", "seeds", "masses", "lightest", "heaviest", "episodes")
RETURNS = ("nominal_return", "mean_return", "worst_return")
STUDIES = ("reproduce-ddpg", "reproduce-ddpg-one-player", "recipe-results", "quickstart")


def chosen(folders: Sequence[Path]) -> pl.DataFrame:
    """The policies that ship: what is chosen in each study, for its own masses."""
    plans = {path.stem for folder in folders for path in folder.glob("studies/*.json")}
    parts = [choose(results(*folders, study=name)) for name in STUDIES if name in plans]
    return pl.concat(parts, how="diagonal")


def choose(table: pl.DataFrame) -> pl.DataFrame:
    """One row per task and method: its median run, and what it scored."""
    key = [*TASK, *METHOD, SEED]
    sweep = table.filter(pl.col("acting") == "mean", is_nominal(table.columns, but=["mass"]))
    sweep = sweep.filter(pl.col("episode") < 10, pl.col("mass").n_unique().over(*key) > 1)
    runs = sweep.group_by(key).agg(
        pl.col("run", "steps").first(),
        pl.len().alias("episodes"),
        lightest=pl.col("mass").min(),
        heaviest=pl.col("mass").max(),
    )
    scores = grid_scores(sweep).join(runs, on=key, nulls_equal=True)
    nominal = nominal_returns(sweep, key).select(*key, pl.col("mean_return").alias(RETURNS[0]))
    scores = scores.join(nominal, on=key, nulls_equal=True).sort(
        [*TASK, *METHOD, "mean_return", SEED]
    )
    middle = (pl.len() - 1) // 2
    picked = scores.group_by([*TASK, *METHOD], maintain_order=True).agg(
        pl.len().alias("seeds"), pl.exclude(*TASK, *METHOD).get(middle)
    )
    return picked.rename({"shifts": "masses"})


def policy_name(row: dict[str, Any]) -> str:
    """Task, agent and solver; and the game, if it is not NR-MDP with two players."""
    task, game = row["task"].partition("-")[0].lower(), row["formulation"]
    if row["delta"] == 0:
        game = "one-player"
    return "-".join([task, row["agent"], row["solver"], *([game] if game != "nr-mdp" else [])])


def main() -> None:
    """Choose, copy, and write what is known of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="*", default=KEPT)
    arguments = parser.parse_args()
    policies = chosen(arguments.folders)
    for old in [*OUT.glob("*.json"), *OUT.glob("*.safetensors")]:
        old.unlink()
    entries = {}
    for row in policies.iter_rows(named=True):
        name = policy_name(row)
        if name in entries:
            raise ValueError(f"two policies would be called {name}")
        [folder] = [path for out in arguments.folders for path in out.glob(f"runs/{row['run']}")]
        for suffix in ("json", "safetensors"):
            shutil.copyfile(folder / f"policy.{suffix}", OUT / f"{name}.{suffix}")
        rounded = {key: round(row[key], 2) for key in RETURNS}
        entries[name] = {key: row[key] for key in SHOWN} | rounded
    (OUT / "zoo.json").write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n")
    size = sum(path.stat().st_size for path in OUT.iterdir() if path.is_file()) / 2**10
    print(f"{len(entries)} policies, {size:.0f} KiB")


if __name__ == "__main__":
    main()
