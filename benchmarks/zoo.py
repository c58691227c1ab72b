"""Choose the policies that ship with the package from the runs that are kept with the project.

    python benchmarks/zoo.py results/reproduction [FOLDER …]

Of each task and method the run of the median seed is taken, by the mean return over its mass sweep;
of an even number of seeds the lower of the two in the middle, and of equal ones the lower seed.
Nothing else is looked at. Controls are not among them.
"""

import argparse
import json
import shutil
from pathlib import Path

import polars as pl

from mixedne import results
from mixedne.evaluation.statistics import METHOD, SEED, TASK, grid_scores, nominal_returns
from mixedne.shifts import is_nominal

OUT = Path(__file__).parents[1] / "src/mixedne/zoo"
SHOWN = ("task", *METHOD, "train_seed", "steps", "seeds", "masses", "episodes")
RETURNS = ("nominal_return", "mean_return", "worst_return")
STUDIES = ("reproduce-ddpg", "reproduce-ddpg-one-player")


def published(*folders: Path) -> pl.DataFrame:
    """The results of the studies that policies are chosen from."""
    plans = {path.stem for folder in folders for path in folder.glob("studies/*.json")}
    parts = [results(*folders, study=name) for name in STUDIES if name in plans]
    return pl.concat(parts, how="diagonal")


def choose(table: pl.DataFrame) -> pl.DataFrame:
    """One row per task and method: its median run, and what it scored."""
    key = [*TASK, *METHOD, SEED]
    sweep = table.filter(pl.col("acting") == "mean", is_nominal(table.columns, but=["mass"]))
    sweep = sweep.filter(pl.col("episode") < 10, pl.col("mass").n_unique().over(*key) > 1)
    runs = sweep.group_by(key).agg(
        pl.col("run").first(), pl.col("steps").first(), pl.len().alias("episodes")
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


def main() -> None:
    """Choose, copy, and write what is known of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    arguments = parser.parse_args()
    chosen = choose(published(*arguments.folders))
    for old in [*OUT.glob("*.json"), *OUT.glob("*.safetensors")]:
        old.unlink()
    entries = {}
    for row in chosen.iter_rows(named=True):
        task, players = row["task"].partition("-")[0].lower(), "" if row["delta"] else "-one-player"
        name = f"{task}-{row['agent']}-{row['solver']}{players}"
        if name in entries:
            raise ValueError(f"two policies would be called {name}")
        [folder] = [path for out in arguments.folders for path in out.glob(f"runs/{row['run']}")]
        for suffix in ("json", "safetensors"):
            shutil.copyfile(folder / f"policy.{suffix}", OUT / f"{name}.{suffix}")
        rounded = {key: round(row[key], 2) for key in RETURNS}
        entries[name] = {key: row[key] for key in SHOWN} | rounded
    (OUT / "zoo.json").write_text(json.dumps(entries, indent=1) + "\n")
    size = sum(path.stat().st_size for path in OUT.iterdir() if path.is_file()) / 2**10
    print(f"{len(entries)} policies, {size:.0f} KiB")


if __name__ == "__main__":
    main()
