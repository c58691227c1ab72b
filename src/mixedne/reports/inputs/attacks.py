"""Returns without attack, under a random attacker, and under the strongest attacker found.

An attack is an axis of a table of episodes (``evaluation.attacks``): ``attack[force torso]`` is the
strongest attacker of the policy itself, ``attack[force torso at random]`` is the random one, and
``attack[force torso by 3f2a9c1b]`` was trained against some policy and applied to this one.
"""

import polars as pl

from mixedne.evaluation import statistics
from mixedne.reports.inputs.numbers import AT_RANDOM
from mixedne.reports.style import method_words
from mixedne.reports.tables import ATTACKS
from mixedne.shifts import is_nominal, shift_axes
from mixedne.shifts.registry import ATTACK

WHO = ("none", "random", "attacker")

_METHOD = ["task", "agent", "label", "delta"]
_RUN = [*_METHOD, "identity"]


def attack_returns(runs: pl.DataFrame) -> pl.DataFrame:
    """One row for each method, attack and strength: mean returns over its runs."""
    # For callables, ``acting`` is not known.
    tested = runs.filter(pl.col("acting").fill_null("mean") == "mean", mass_mode="reference")
    axes = [axis for axis in shift_axes(tested.columns) if axis.parameter == ATTACK]
    parts = [_under(tested, str(axis), axis.target or "") for axis in axes]
    if not any(part.height for part in parts):
        return pl.DataFrame(schema=ATTACKS)
    found = pl.concat(part for part in parts if part.height)
    place = [*_RUN, "attack", "strength"]
    whole = found.pivot("who", index=place, values="mean")
    own = found.sort(pl.col("who") == "random", maintain_order=True).unique(place, keep="first")
    whole = whole.join(
        own.select(*place, "none"), on=place, how="left", nulls_equal=True, maintain_order="left"
    )
    absent = [pl.lit(None, pl.Float64).alias(name) for name in WHO if name not in whole.columns]
    whole = whole.with_columns(absent)
    means = statistics.over_seeds(whole, [*_METHOD, "attack", "strength"], WHO)
    words = [method_words(*row) for row in means.select("agent", "label", "delta").iter_rows()]
    rows = means.with_columns(pl.Series("method", words, pl.String)).select(*ATTACKS)
    return rows.cast(pl.Schema(ATTACKS)).sort("task", "attack", "strength", maintain_order=True)


def _under(runs: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """The runs under one attack and no other shift, with its strength and the attacker."""
    rows = runs.filter(is_nominal(runs.columns, but=[column]), pl.col(column) > 0)
    random = name.endswith(AT_RANDOM)
    return rows.select(
        *_RUN,
        pl.lit(name.removesuffix(AT_RANDOM)).alias("attack"),
        pl.lit("random" if random else "attacker").alias("who"),
        pl.col(column).cast(pl.Float64).alias("strength"),
        pl.col("mean").cast(pl.Float64),
        pl.col("nominal").cast(pl.Float64).alias("none"),
    )
