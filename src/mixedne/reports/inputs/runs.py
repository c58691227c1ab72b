"""Every run's return at every shift: the frame that all other numbers of a report come from."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.handles import PROVENANCE
from mixedne.evaluation.statistics import TASK, fill_nominal, over_episodes, shift_columns
from mixedne.evaluation.table import SCHEMA, read_table
from mixedne.names import CHOICES
from mixedne.reports.inputs import methods
from mixedne.reports.inputs.files import Inputs
from mixedne.reports.names import list_words
from mixedne.shifts import shift_axes

KEY = ("run", "policy", *TASK, *PROVENANCE)
"""The columns that are the same in all rows of one run."""

STATISTICS = {f"{name}_return": name for name in ("mean", "worst", "cvar")}


def read_runs(inputs: Inputs) -> pl.DataFrame:
    """One row per run and shift, without the runs that searches compare; none counts twice.

    ``mean``, ``worst`` and ``cvar`` are of its episodes, and NaN if one of them is invalid.
    """
    tables = []
    identities: dict[str, str] = {}  # of policies that lie in run folders
    for run in inputs.reported:
        means = _read(run.path / "evaluation.parquet", inputs)
        if means is not None:
            own = methods.identity(run.config)
            identities |= dict.fromkeys(means["policy"].drop_nulls(), own)
            tables.append(means.with_columns(identity=pl.lit(own)))
    for path in inputs.tables:
        means = _read(path, inputs)
        if means is not None:
            tables.append(means.with_columns(_identities(means, identities, inputs)))
    if not tables:
        return _means(pl.DataFrame(schema=SCHEMA)).with_columns(
            identity=pl.lit(None, pl.String), label=pl.lit(None, pl.String)
        )
    runs = fill_nominal(_one_policy_each(pl.concat(tables, how="diagonal"), inputs))
    place = ["identity", *TASK, *shift_columns(runs.columns)]
    runs = runs.unique(place, keep="first", maintain_order=True)
    named = labels(inputs, runs)
    words = pl.Series("label", [named[each] for each in runs["identity"]], pl.String)
    return _one_run_each_seed(runs.with_columns(words), inputs)


def labels(inputs: Inputs, runs: pl.DataFrame) -> dict[str, str]:
    """A label for every run, by identity: those with a folder, and those in tables alone."""
    configs: dict[str, Mapping[str, Any]] = {
        methods.identity(run.config): run.config for run in inputs.reported
    }
    for row in runs.unique("identity", maintain_order=True).iter_rows(named=True):
        known = {name: row[name] for name in (*CHOICES, "run", "steps")}
        configs.setdefault(row["identity"], known)
    return methods.labels(configs)


def _means(table: pl.DataFrame) -> pl.DataFrame:
    key = [*KEY, *shift_columns(table.columns)]
    means = over_episodes(table, key, pl.col("versions").first())
    counts = means.rename({**STATISTICS, "invalid_episodes": "invalid"})
    return counts.select(*key, "versions", "episodes", "invalid", *STATISTICS.values())


def _read(path: Path, inputs: Inputs) -> pl.DataFrame | None:
    """A table's means; rows that do not say which run and world they are of are left out."""
    if not path.is_file():
        return None
    place = f"{path.resolve().parent.name}/{path.name}"
    try:
        table = read_table(path)
    except InvalidInputError:
        inputs.problems.append(f"{place} is damaged or no evaluation table and is left out.")
        return None
    axes = [pl.col(str(axis)) for axis in shift_axes(table.columns)]
    shifted = (column.is_null() | column.is_finite() for column in axes)
    sound = table.filter(pl.col("run").is_not_null(), pl.col("task").is_not_null(), *shifted)
    if sound.height < table.height:
        left_out = table.height - sound.height
        inputs.problems.append(f"{left_out} rows of {place} name no run, task or shift.")
    return _means(sound)


def _identities(means: pl.DataFrame, identities: Mapping[str, str], inputs: Inputs) -> pl.Series:
    """Which run each row of a table is of: known by its policy, or by the name of its folder."""
    times = Counter(run.name for run in inputs.runs.values())
    configs = {run.name: run.config for run in inputs.runs.values() if times[run.name] == 1}

    def identity(row: Mapping[str, Any]) -> str:
        config = configs.get(row["run"], {})
        if row["policy"] in identities:
            return identities[row["policy"]]
        if config and all(config.get(ours) == row[theirs] for ours, theirs in _PROVENANCE):
            return methods.identity(config)
        return f"{row['run']}/{row['policy']}"

    return pl.Series("identity", map(identity, means.iter_rows(named=True)), pl.String)


_PROVENANCE = (*((name, name) for name in ("agent", "solver", "delta")), ("seed", "train_seed"))


def _one_policy_each(runs: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
    """Of a run that lies there with several policies, the rows of the first."""
    first = pl.col("policy").first().over("identity")
    return _keep(
        runs,
        pl.col("policy").eq_missing(first),
        inputs,
        "The same run lies there with different policies: the first is taken, not {}.",
    )


def _one_run_each_seed(runs: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
    """Of several runs of one method with the same seed, the first: seeds are the repetitions."""
    key = [*TASK, "agent", "label", "delta", "train_seed"]
    known = pl.col("agent").is_not_null() & pl.col("train_seed").is_not_null()
    return _keep(
        runs,
        ~known | (pl.col("identity") == pl.col("identity").first().over(key)),
        inputs,
        "A training seed must stand for one run of a method: left out, as others have the same: "
        "{}.",
    )


def _keep(runs: pl.DataFrame, own: pl.Expr, inputs: Inputs, sentence: str) -> pl.DataFrame:
    """The rows that count; the runs of the others are named in a sentence."""
    others: Iterable[str] = runs.filter(~own)["run"].unique(maintain_order=True)
    names = list_words(others)
    if names:
        inputs.problems.append(sentence.format(names))
    return runs.filter(own)
