"""Scores on uncertainty sets, as papers report them, next to published ones.

A table of episodes does not store which set was used, so it is inferred: a run was evaluated on an
included set if its points are the set's grid, with any number of points. Published numbers are
included in the package, in ``published_data``; its README says what to consider.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from mixedne.errors import InvalidInputError
from mixedne.evaluation import statistics
from mixedne.reports.inputs.published import DATA
from mixedne.reports.style import method_words
from mixedne.reports.tables import SETS
from mixedne.shifts import is_nominal
from mixedne.shifts.sets import UncertaintySet, find_set, named_sets

PUBLISHED_NOTE = (
    "Published numbers are mean ± spread over 10 seeds on M2TD3's sets, after 5 million steps with "
    "(256, 256) networks, as arXiv:2410.06212 prints them, which quotes Tanabe et al. 2022 for "
    "M2TD3, RARL and domain randomisation (DR-TD3). Powers of ten were inferred: its tables print "
    "mantissas. RARL's averages on HalfCheetah and Hopper equal its worst cases and are probably "
    "copying errors. There is no TD3 among them."
)

_MEASURES = {"worst_return": "worst", "mean_return": "mean"}
_METHOD = ["agent", "solver", "formulation", "delta", "label"]


def set_scores(runs: pl.DataFrame) -> pl.DataFrame:
    """One row per method, set and task, including published methods.

    It includes runs that act by their mean, with the mass mode ``reference``, as the sets intend.
    """
    own = pl.col("acting").fill_null("mean") == "mean"  # for callables it is not known
    tested = runs.filter(own, mass_mode="reference")
    rows = [
        row
        for (task,) in tested.select("task").unique(maintain_order=True).iter_rows()
        for found in map(find_set, named_sets())
        for row in _of_set(tested.filter(task=task), found, task)
    ]
    return pl.DataFrame(rows, schema=SETS)


def _of_set(runs: pl.DataFrame, found: UncertaintySet, task: str) -> Iterator[dict[str, Any]]:
    rows, points = _on_grid(runs, found, task)
    if rows.is_empty():
        return
    scores = statistics.over_shifts(rows.drop("episodes"), ["identity", *_METHOD], value="mean")
    plain = pl.Series([_is_plain(text) for text in scores["identity"]], dtype=pl.Boolean)
    scores = scores.with_columns(plain=plain)
    means = statistics.over_seeds(scores, [*_METHOD, "plain"], tuple(_MEASURES))
    for measure, name in _MEASURES.items():
        if (own := _references(means, measure)) is not None:
            means = means.with_columns(task=pl.lit(task))
            means = statistics.normalise_to_baseline(means, {task: own}, column=measure)
            means = means.rename({"score": f"{name}_score"})
    ends = {f"{m}{end}": f"{n}{end}" for m, n in _MEASURES.items() for end in ("", "_low", "_high")}
    place = {"task": task, "set": found.name, "points": points}
    for row in means.rename(ends).iter_rows(named=True):
        method = method_words(row["agent"], row["label"], row["delta"])
        yield {**{name: row.get(name) for name in SETS}, **place, "method": method}
    uncertain = len(found.of(task).uncertain)
    yield from ({**place, **row} for row in _published(f"{task.rpartition('-')[0]}-{uncertain}"))


def _on_grid(runs: pl.DataFrame, found: UncertaintySet, task: str) -> tuple[pl.DataFrame, int]:
    """The rows of runs with a complete grid of the set and no other shift; and the grid's size."""
    none = runs.clear(), 0
    try:
        part = found.of(task)
    except InvalidInputError:
        return none
    axes = [str(interval.axis) for interval in part.intervals]
    if not set(axes) <= set(runs.columns):
        return none
    there = pl.all_horizontal(pl.col(axes).is_not_null())
    rows = runs.filter(is_nominal(runs.columns, but=axes), there)
    first = pl.col(str(part.uncertain[0].axis)).n_unique().alias("points")
    counts = rows.group_by("identity").agg(first)["points"].unique().sort(descending=True)
    for points in dict.fromkeys([found.points, *(count for count in counts if count > 1)]):
        grid = {str(axis): set(values) for axis, values in found.grid(task, points)}
        whole = rows.filter(pl.all_horizontal(pl.col(name).is_in([*grid[name]]) for name in axes))
        size = math.prod(map(len, grid.values()))
        whole = whole.filter(pl.len().over("identity") == size)
        if whole.height:
            return whole, size
    return none


def _is_plain(identity: str) -> bool:
    """Whether a run, given as its configuration, was trained in the task's own world."""
    try:
        return json.loads(identity).get("randomise") is None
    except (ValueError, AttributeError):  # of a table alone: not known
        return False


def _references(means: pl.DataFrame, measure: str) -> tuple[float, float] | None:
    """The scores of one's own TD3 and M2TD3, both with plain gradient steps if available."""
    td3 = means.filter(agent="td3").sort(pl.col("solver") != "gad", maintain_order=True)
    kinds = td3.filter(plain=True, delta=0.0), td3.filter(formulation="m2td3")
    numbers = [kind[measure][0] for kind in kinds if kind.height]
    if len(numbers) < 2 or not all(map(math.isfinite, numbers)) or numbers[0] == numbers[1]:
        return None
    return numbers[0], numbers[1]


def _published(name: str) -> Iterable[dict[str, Any]]:
    table = pl.read_csv((DATA / "robust_sets.csv").read_bytes()).filter(pl.col("set") == name)
    for (method,), own in table.group_by("method", maintain_order=True):
        row: dict[str, Any] = {"method": method, "source": own["source"][0], "seeds": 10}
        for statistic, mean, spread in own.select("statistic", "mean", "spread").iter_rows():
            column = {"worst": "worst", "average": "mean"}[statistic]
            row |= {column: mean, f"{column}_spread": spread}
        yield row
