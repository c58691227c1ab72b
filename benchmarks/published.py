"""Make the published curves that ship with the package from summaries of their sources.

    python benchmarks/published.py action_robust_rl_mass.csv authors_td3_sac.csv [--out FOLDER]

The first file has a row per task, method and mass factor, with the mean return of each of five
seeds; the second a row per task, configuration, run, shift and factor, with a mean return. Of the
second's TD3 configurations those of the paper's tables are kept (``mixedne.config.presets``).
Written is a row per run, with a column per factor. Curves that the files lack are printed.
"""

import argparse
from pathlib import Path

import polars as pl

from mixedne.config import presets
from mixedne.names import SOLVERS

OUT = Path(__file__).parents[1] / "src" / "mixedne" / "reports" / "inputs" / "published_data"

METHODS = {"nr_mdp_0.1_1": 0.1, "non_robust": 0.0}
"""Of Action Robust RL: δ. Its probabilistic variants are not of this package's solvers."""

KEY = ["task", "agent", "solver", "delta", "sigma0", "sigma", "axis", "run"]


def action_robust(table: pl.DataFrame) -> pl.DataFrame:
    """DDPG against an adversary by gradient steps, and plain DDPG."""
    seeds = [name for name in table.columns if name.startswith("seed")]
    return (
        table.filter(pl.col("method").is_in(list(METHODS)))
        .unpivot(seeds, index=["env", "method", "mass_factor"], variable_name="run")
        .select(
            task="env",
            agent=pl.lit("ddpg"),
            solver=pl.lit("gad"),
            delta=pl.col("method").replace_strict(METHODS, return_dtype=pl.Float64),
            axis=pl.lit("mass"),
            run=pl.col("run").str.strip_prefix("seed").cast(pl.Int64),
            factor="mass_factor",
            value="value",
        )
    )


def authors(table: pl.DataFrame) -> pl.DataFrame:
    """SAC, and TD3 as the paper's tables have it."""
    soft = table.filter(agent="SAC").with_columns(solver=None, delta=0.0)  # it has no adversary
    kept = [soft, *(_configuration(table, row) for row in presets.rows())]
    return pl.concat(kept, how="vertical_relaxed").select(
        pl.col("agent").str.to_lowercase(),
        *("solver", "delta", "sigma0", "sigma", "run", "factor"),
        task="env",
        axis="shift",
        value="mean_return",
    )


def _configuration(table: pl.DataFrame, row: dict[str, object]) -> pl.DataFrame:
    """The runs of one row of the paper's tables: none for agents other than TD3."""
    if row["table"] != "td3-exploration":
        return table.clear()
    solver = str(row["solver"])
    found = table.filter(
        pl.col("env") == f"{row['task']}-v2",
        pl.col("agent") == "TD3",
        pl.col("solver") == SOLVERS[solver],
        pl.col("delta") == row["delta"],
        pl.col("sigma") == row["sigma"],
        pl.col("sigma0").eq_missing(pl.lit(row.get("sigma0"), pl.Float64)),
    )
    for axis in ("mass", "friction"):
        if found.filter(shift=axis).is_empty():
            print("left out, not in the file:", axis, row)
    return found.with_columns(solver=pl.lit(solver))


def write(curves: pl.DataFrame, path: Path) -> None:
    """A row per run, with a column per factor; every run must have all of them."""
    key = [name for name in KEY if name in curves.columns]
    factors = curves["factor"].unique().sort()
    wide = curves.sort("factor").pivot("factor", index=key, values="value").sort(key)
    wide = wide.select(*key, *map(str, factors))
    if wide.select(map(str, factors)).null_count().sum_horizontal().item():
        raise SystemExit(f"{path.name}: a run lacks a factor")
    wide.write_csv(path, float_scientific=False)
    print(f"{path}: {wide.height} runs, {len(factors)} factors, {path.stat().st_size} bytes")


def main() -> None:
    """Read the two summaries, write the two files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action_robust", type=Path)
    parser.add_argument("authors", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    tables = [
        pl.read_csv(p, infer_schema_length=None)
        for p in (arguments.action_robust, arguments.authors)
    ]
    write(action_robust(tables[0]), arguments.out / "action_robust_rl.csv")
    write(authors(tables[1]), arguments.out / "authors_td3_sac.csv")


if __name__ == "__main__":
    main()
