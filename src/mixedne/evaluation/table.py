"""The evaluation table: its columns, and how tables are read and joined."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.sources import PROVENANCE

FORMAT_VERSION = "1"
"""In the metadata of the Parquet file."""

_TYPES = {str: pl.String, float: pl.Float64, int: pl.Int64}

SCHEMA: dict[Any, Any] = {
    "run": pl.String,
    "policy": pl.String,
    "task": pl.String,
    "task_version": pl.String,
    **{name: _TYPES[kind] for name, kind in PROVENANCE.items()},
    "mass_mode": pl.String,
    "mass": pl.Float64,
    "friction": pl.Float64,
    "noise": pl.Float64,
    "rho": pl.Float64,
    "body_masses": pl.String,
    "geom_frictions": pl.String,
    "acting": pl.String,
    "episode": pl.Int64,
    "episode_seed": pl.Int64,
    "return": pl.Float64,
    "length": pl.Int64,
    "terminated": pl.Boolean,
    "diverged": pl.Boolean,
    "versions": pl.String,
}
"""Columns: one row per episode."""

RESULTS = ("return", "length", "terminated", "diverged", "versions")
"""What an episode gave; the other columns say which episode it was."""


def episode_seed(seed: int, episode: int) -> int:
    """The seed of an episode: with it, ``env.reset(seed=…)`` of Gymnasium starts the same."""
    return int(np.random.SeedSequence([seed, episode]).generate_state(1)[0])


def read_table(path: Path) -> pl.DataFrame:
    """The evaluation table in a file."""
    try:
        version = pl.read_parquet_metadata(path).get("format_version")
        whole = pl.read_parquet(path, glob=False, hive_partitioning=False)
        table = whole.select(list(SCHEMA)).cast(SCHEMA)
    except (OSError, pl.exceptions.PolarsError):
        raise InvalidInputError(
            f"{path} is damaged or no evaluation table: move it away to evaluate anew"
        ) from None
    if version != FORMAT_VERSION:
        raise InvalidInputError(f"{path} has the format_version {version}, not {FORMAT_VERSION}")
    return table


def join_tables(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """The old rows and the new: an episode run again replaces its old row.

    A policy is known by its hash, whatever it was called when; old rows of a run whose policy
    has changed since are dropped.
    """
    names = new.select("policy", pl.col("run").alias("now")).drop_nulls().unique("policy")
    old = old.join(names, on="policy", how="left", maintain_order="left")
    old = old.with_columns(run=pl.coalesce("now", "run")).drop("now")
    changed = ~pl.col("policy").is_in(new["policy"].implode()) & pl.col("run").is_in(
        new.filter(pl.col("policy").is_not_null())["run"].implode()
    )
    episode = [name for name in SCHEMA if name not in RESULTS]
    kept = old.filter(~changed.fill_null(False)).select(list(SCHEMA))
    return pl.concat([kept, new]).unique(episode, keep="last", maintain_order=True)
