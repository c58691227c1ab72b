"""The evaluation table: its columns, and how tables are read, joined and searched."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import BASIC, Grid, episode_seed
from mixedne.evaluation.handles import PROVENANCE, PolicyHandle
from mixedne.shifts import Axis, Shift, is_nominal, shift_axes

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
    **dict.fromkeys(BASIC, pl.Float64),
    "acting": pl.String,
    "episode": pl.Int64,
    "episode_seed": pl.Int64,
    "return": pl.Float64,
    "length": pl.Int64,
    "terminated": pl.Boolean,
    "diverged": pl.Boolean,
    "versions": pl.String,
}
"""Columns of every table, one row per episode. Further shifts have columns after ``rho``."""

RESULTS = ("return", "length", "terminated", "diverged", "versions")
"""What an episode gave; the other columns say which episode it was."""

_FORMER = {"body_masses": "mass", "geom_frictions": "friction"}
# Older tables hold factors on single bodies and geoms as texts such as "foot=3.0,torso=2.0".


def table_schema(columns: Iterable[str]) -> dict[Any, Any]:
    """The columns and types of a table with these columns, in order."""
    found = {str(axis): pl.Float64 for axis in shift_axes({*columns, *BASIC})}
    names = list(SCHEMA)
    at = names.index(BASIC[0])
    others = [name for name in names if name not in BASIC]
    return {
        **{name: SCHEMA[name] for name in others[:at]},
        **found,
        **{name: SCHEMA[name] for name in others[at:]},
    }


def world_columns(
    shift: Shift, axes: Sequence[Axis], parameters: Collection[str]
) -> dict[str, Any]:
    """What a row says about its world, in a task with these parameters.

    An axis of one task, as ρ is, is null in the others.
    """
    numbers = {
        str(axis): None
        if axis.entry.keyword is not None and axis.parameter not in parameters
        else shift.number(axis)
        for axis in axes
    }
    return {"mass_mode": shift.mass_mode, **numbers}


def read_table(path: Path) -> pl.DataFrame:
    """The evaluation table in a file."""
    try:
        version = pl.read_parquet_metadata(path).get("format_version")
        table = current_columns(pl.read_parquet(path, glob=False, hive_partitioning=False))
    except (OSError, ValueError, pl.exceptions.PolarsError):
        raise InvalidInputError(
            f"{path} is damaged or no evaluation table: move it away to evaluate anew"
        ) from None
    if version != FORMAT_VERSION:
        raise InvalidInputError(f"{path} has the format_version {version}, not {FORMAT_VERSION}")
    return table


def current_columns(table: pl.DataFrame, *also: str) -> pl.DataFrame:
    """A table as it was read, with the columns of today and ``also`` these; others are dropped.

    Older tables have texts instead of a column for each body and geom that is shifted by itself.
    """
    for former, parameter in _FORMER.items():
        if former not in table.columns:
            continue
        texts = [text for text in table[former].unique().to_list() if text]
        factors = {
            text: {
                str(Axis(parameter, name)): float(factor)
                for name, _, factor in (part.rpartition("=") for part in text.split(","))
            }
            for text in texts
        }
        for name in sorted({name for found in factors.values() for name in found}):
            column = [factors[text].get(name) for text in texts]
            number = pl.col(former).replace_strict(
                texts, column, default=None, return_dtype=pl.Float64
            )
            table = table.with_columns(number.alias(name))
    schema = table_schema(table.columns)
    return concat_tables([table.select(*schema, *also).cast(schema)])


def concat_tables(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all tables. A shift that only some of them have is nominal in the others."""
    whole = pl.concat(tables, how="diagonal")
    nominal = {
        str(axis): axis.nominal
        for axis in shift_axes(whole.columns)
        if axis.nominal is not None and axis.entry.keyword is None
    }
    whole = whole.with_columns(pl.col(name).fill_null(x) for name, x in nominal.items())
    order = [name for name in table_schema(whole.columns) if name in whole.columns]
    return whole.select(*order, *(name for name in whole.columns if name not in order))


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
    whole = concat_tables([old.filter(~changed.fill_null(False)), new])
    episode = [name for name in whole.columns if name not in RESULTS]
    return whole.unique(episode, keep="last", maintain_order=True)


def has_evaluation(
    table: pl.DataFrame, policy: PolicyHandle, grid: Grid, parameters: Collection[str]
) -> bool:
    """Whether a table has every episode of a policy's evaluation; ``parameters`` are the task's."""
    axes = grid.columns
    if not {str(axis) for axis in axes}.issubset(table.columns):
        return False
    wanted = pl.DataFrame(
        [
            {
                "policy": policy.label,
                **world_columns(shift, axes, parameters),
                "acting": policy.acting(stochastic=grid.stochastic),
                "episode_seed": episode_seed(grid.seed, episode),
            }
            for shift in grid.shifts()
            for episode in range(grid.episodes)
        ],
        schema_overrides={str(axis): pl.Float64 for axis in axes},
    )
    plain = table.filter(is_nominal(table.columns, but=wanted.columns))
    return wanted.join(plain, on=wanted.columns, how="anti", nulls_equal=True).is_empty()
