"""Every run's return at every shift: the frame that all other numbers of a report come from."""

import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.sources import PROVENANCE
from mixedne.evaluation.statistics import SHIFT, TASK
from mixedne.evaluation.table import SCHEMA, read_table
from mixedne.reports.frames import LEVEL
from mixedne.reports.reading import methods
from mixedne.reports.reading.found import Found

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
    "settings": pl.String,
    "label": pl.String,
}
"""One row per run and shift; mean, worst and cvar are of its episodes."""


def read_runs(found: Found) -> pl.DataFrame:
    """The returns of all runs but those that searches compare; a run and shift counts once."""
    configs = {run.path.name: run.config for run in found.runs.values()}
    own = [(run.path / "evaluation.parquet", run.config) for run in found.reported]
    frames = []
    for path, config in [*own, *((path, None) for path in found.tables)]:
        means = _read(path, found) if path.is_file() else None
        if means is None:
            continue
        rows = means.select("run", "policy").iter_rows()
        known = [(config or configs.get(run), f"{run}/{policy}") for run, policy in rows]
        names = [other if its is None else methods.identity(its) for its, other in known]
        frames.append(means.with_columns(pl.Series("identity", names, pl.String)))
    if not frames:
        return pl.DataFrame(schema=RUNS)
    runs = pl.concat(frames).unique(["identity", *SHIFT], keep="first", maintain_order=True)
    named = labels(found, runs)
    columns = (
        pl.Series(name, [getattr(named[each], name) for each in runs["identity"]], pl.String)
        for name in ("settings", "label")
    )
    return runs.with_columns(columns).select(list(RUNS))


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
    try:
        table = read_table(path)
    except InvalidInputError:
        found.problems.append(
            f"{path.parent.name}/{path.name} is damaged or no evaluation table and is left out."
        )
        return None
    return episode_means(table)


class Label(NamedTuple):
    """A method's name among those of its agent and δ."""

    label: str
    settings: str
    """The part of it that says how its configuration differs from others of its case."""


def labels(found: Found, runs: pl.DataFrame) -> dict[str, Label]:
    """A label for every run, by identity: those with a folder, and those in tables alone."""
    configs = {methods.identity(run.config): run.config for run in found.reported}
    for row in runs.unique("identity", maintain_order=True).iter_rows(named=True):
        configs.setdefault(
            row["identity"], {name: row[name] for name in (*methods.CASE, "run", "steps")}
        )
    presets: dict[Any, set[Any]] = defaultdict(set)
    cases: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for config in configs.values():
        presets[config.get("agent")].add(config.get("preset"))
        cases[_case(config)].append(config)
    differing = {case: methods.differing(alike) for case, alike in cases.items()}
    found_labels = {}
    for identity, config in configs.items():
        settings = methods.settings_in_words(config, differing[_case(config)])
        several = len(presets[config.get("agent")]) > 1
        label = methods.label(config, preset=several, settings=settings)
        found_labels[identity] = Label(label, settings)
    return found_labels


def _case(config: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(config.get(name) for name in methods.CASE)
