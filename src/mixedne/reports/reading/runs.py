"""Every run's return at every shift: the frame that all other numbers of a report come from."""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.handles import PROVENANCE
from mixedne.evaluation.statistics import SHIFT, TASK
from mixedne.evaluation.table import SCHEMA, read_table
from mixedne.reports.frames import LEVEL, NOMINAL
from mixedne.reports.reading import methods
from mixedne.reports.reading.found import Found
from mixedne.shifts import is_nominal, shift_axes

KEY = ("run", "policy", *TASK, *PROVENANCE)
"""The columns that are the same in all rows of one run."""

RUNS: dict[str, Any] = {
    "identity": pl.String,
    **{name: SCHEMA[name] for name in (*KEY, *SHIFT)},
    "versions": pl.String,
    "episodes": pl.Int64,
    "invalid": pl.Int64,  # episodes whose return is no number
    "mean": pl.Float64,
    "worst": pl.Float64,
    "cvar": pl.Float64,
    "label": pl.String,
}
"""One row per run and shift; mean, worst and cvar are of its episodes."""


def read_runs(found: Found) -> pl.DataFrame:
    """The returns of all runs but those that searches compare; a run and shift counts once."""
    frames = []
    identities: dict[str, str] = {}  # of policies that lie in run folders
    for run in found.reported:
        means = _read(run.path / "evaluation.parquet", found)
        if means is not None:
            own = methods.identity(run.config)
            identities |= dict.fromkeys(means["policy"].drop_nulls(), own)
            frames.append(means.with_columns(identity=pl.lit(own)))
    for path in found.tables:
        means = _read(path, found)
        if means is not None:
            frames.append(means.with_columns(_identities(means, identities, found)))
    if not frames:
        return pl.DataFrame(schema=RUNS)
    runs = _one_policy_each(pl.concat(frames), found)
    runs = runs.unique(["identity", *TASK, *SHIFT], keep="first", maintain_order=True)
    named = labels(found, runs)
    words = pl.Series("label", [named[each] for each in runs["identity"]], pl.String)
    return _one_run_each_seed(runs.with_columns(words), found).select(list(RUNS))


def labels(found: Found, runs: pl.DataFrame) -> dict[str, str]:
    """A label for every run, by identity: those with a folder, and those in tables alone."""
    configs: dict[str, Mapping[str, Any]] = {
        methods.identity(run.config): run.config for run in found.reported
    }
    for row in runs.unique("identity", maintain_order=True).iter_rows(named=True):
        known = {name: row[name] for name in (*methods.CASE, "run", "steps")}
        configs.setdefault(row["identity"], known)
    return methods.labels(configs)


def episode_means(table: pl.DataFrame) -> pl.DataFrame:
    """Mean, worst and CVaR of each run's episodes at each shift.

    With an episode whose return is no number, all three are NaN.
    """
    returns, count = pl.col("return").sort(), pl.len()
    share = LEVEL * count
    whole = share.floor().cast(pl.Int64)
    tail = returns.head(whole).sum() + (share - whole) * returns.get(whole)
    finite = pl.col("return").is_finite().fill_null(False)
    means = table.group_by([*KEY, *SHIFT], maintain_order=True).agg(
        pl.col("versions").first(),
        count.cast(pl.Int64).alias("episodes"),
        (~finite).sum().cast(pl.Int64).alias("invalid"),
        pl.col("return").mean().alias("mean"),
        pl.col("return").min().alias("worst"),
        (tail / share).alias("cvar"),
    )
    sound = pl.col("invalid") == 0
    return means.with_columns(
        pl.when(sound).then(pl.col(name)).otherwise(math.nan).alias(name)
        for name in ("mean", "worst", "cvar")
    )


def _read(path: Path, found: Found) -> pl.DataFrame | None:
    """A table's means; rows that do not say which run and world they are of are left out."""
    if not path.is_file():
        return None
    place = f"{path.resolve().parent.name}/{path.name}"
    try:
        table = read_table(path)
    except InvalidInputError:
        found.problems.append(f"{place} is damaged or no evaluation table and is left out.")
        return None
    shifted = (pl.col(axis).is_null() | pl.col(axis).is_finite() for axis in NOMINAL)
    sound = table.filter(pl.col("run").is_not_null(), pl.col("task").is_not_null(), *shifted)
    if sound.height < table.height:
        left_out = table.height - sound.height
        found.problems.append(f"{left_out} rows of {place} name no run, task or shift.")
    others = [str(axis) for axis in shift_axes(table.columns) if str(axis) not in NOMINAL]
    return episode_means(sound.filter(is_nominal(others)))


def _identities(means: pl.DataFrame, identities: Mapping[str, str], found: Found) -> pl.Series:
    """Which run each row of a table is of: known by its policy, or by the name of its folder."""
    times = Counter(run.name for run in found.runs.values())
    configs = {run.name: run.config for run in found.runs.values() if times[run.name] == 1}

    def identity(row: Mapping[str, Any]) -> str:
        config = configs.get(row["run"], {})
        if row["policy"] in identities:
            return identities[row["policy"]]
        if config and all(config.get(ours) == row[theirs] for ours, theirs in _PROVENANCE):
            return methods.identity(config)
        return f"{row['run']}/{row['policy']}"

    return pl.Series("identity", map(identity, means.iter_rows(named=True)), pl.String)


_PROVENANCE = (*((name, name) for name in ("agent", "solver", "delta")), ("seed", "train_seed"))


def _one_policy_each(runs: pl.DataFrame, found: Found) -> pl.DataFrame:
    """Of a run that lies there with several policies, the rows of the first."""
    first = pl.col("policy").first().over("identity")
    own = pl.col("policy").eq_missing(first)
    others = runs.filter(~own)
    if others.height:
        names = ", ".join(others["run"].unique(maintain_order=True).head(5))
        found.problems.append(
            f"The same run lies there with different policies: the first is taken, not {names}."
        )
    return runs.filter(own)


def _one_run_each_seed(runs: pl.DataFrame, found: Found) -> pl.DataFrame:
    """Of several runs of one method with the same seed, the first: seeds are the repetitions."""
    key = [*TASK, "agent", "label", "delta", "train_seed"]
    known = pl.col("agent").is_not_null() & pl.col("train_seed").is_not_null()
    own = ~known | (pl.col("identity") == pl.col("identity").first().over(key))
    others = runs.filter(~own)
    if others.height:
        names = ", ".join(others["run"].unique(maintain_order=True).head(5))
        found.problems.append(
            f"A training seed must stand for one run of a method: left out, as others have the "
            f"same: {names}."
        )
    return runs.filter(own)
