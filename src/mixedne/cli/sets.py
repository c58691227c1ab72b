"""``mixedne sets``: list uncertainty sets; also prints the scores of evaluations on them."""

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from mixedne.cli.console import print_json, print_table
from mixedne.shifts.sets import TaskSet, UncertaintySet, find_set, named_sets

if TYPE_CHECKING:
    import polars as pl

    from mixedne.evaluation.handles import PolicyHandle


@dataclass(frozen=True)
class Sets:
    """List the uncertainty sets, or show one: tasks, parameters, bounds, known faults."""

    name: Annotated[str | None, Positional, arg(metavar="NAME|FILE.toml")] = None
    """An included set or your own file; by default all included sets are listed."""
    json: bool = False
    """Print one JSON document: a list of sets, or one set with its tasks."""

    def run(self) -> None:
        """Print the list, or the set."""
        if self.name is None:
            sets = [find_set(name) for name in named_sets()]
            if self.json:
                print_json([summary(found) for found in sets])
                return
            rows = [
                [found.name, found.about, ", ".join(part.task for part in found.tasks)]
                for found in sets
            ]
            print_table("Uncertainty sets", ["name", "what it is", "tasks"], rows)
            return
        found = find_set(self.name)
        tasks = [describe(found, part) for part in found.tasks]
        if self.json:
            print_json({**summary(found), "tasks": tasks})
        else:
            show(found, tasks)


def summary(found: UncertaintySet) -> dict[str, Any]:
    """A set as a dictionary, with the names of its tasks."""
    names = ("name", "about", "source", "points", "ends")
    about = {name: getattr(found, name) for name in names}
    return {**about, "tasks": [part.task for part in found.tasks]}


def describe(found: UncertaintySet, part: TaskSet) -> dict[str, Any]:
    """A set for one task: bounds, nominal values of the task's model, and faults."""
    from mixedne.tasks import resolve_task
    from mixedne.tasks.sets import nominal_value, place_in, set_faults

    task, faults = None, list(part.notes)
    if ":" not in part.task:  # do not import a module only to show it
        with place_in(found, part):
            task = resolve_task(part.task)
        faults = set_faults(found, part.task)
    parameters = [
        {
            "parameter": str(interval.axis),
            "low": interval.low,
            "high": interval.high,
            "nominal": None if task is None else nominal_value(task, interval.axis),
        }
        for interval in part.intervals
    ]
    return {"task": part.task, "parameters": parameters, "faults": faults}


def show(found: UncertaintySet, tasks: list[dict[str, Any]]) -> None:
    """Print a set."""
    rows = []
    for task in tasks:
        for row in task["parameters"]:
            bounds = [_text(row["low"]), _text(row["high"])]
            bounds = ["fixed", bounds[1]] if row["low"] == row["high"] else bounds
            rows.append([task["task"], row["parameter"], *bounds, _text(row["nominal"])])
    print_table(found.about or found.name, ["task", "parameter", "low", "high", "task's own"], rows)
    ends = {"lower": "the upper end left out", "both": "both ends included"}[found.ends]
    print(f"Grid: {found.points} points on each axis, {ends}")
    if found.source:
        print(f"Source: {found.source}")
    for task in tasks:
        for sentence in task["faults"]:
            print(textwrap.fill(f"{task['task']}: {sentence}", 100, subsequent_indent="  "))


def run_scores(table: "pl.DataFrame") -> "pl.DataFrame":
    """One row per run: worst and mean return over the grid, and the point of the worst."""
    import polars as pl

    from mixedne.evaluation.statistics import (
        over_episodes,
        over_shifts,
        shift_columns,
        worst_first,
    )

    key, columns = ["run", "task"], shift_columns(table.columns)
    means = over_episodes(table, [*key, *columns])
    worst = worst_first(means).unique(key, keep="first", maintain_order=True)
    scores = over_shifts(means, key).select(*key, "shifts", "worst_return", "mean_return")
    scores = scores.join(worst.select(*key, pl.struct(columns).alias("worst_shift")), on=key)
    given = table.select(key).unique(maintain_order=True)
    return given.join(scores, on=key, maintain_order="left")


def with_labels(table: "pl.DataFrame", handles: "Iterable[PolicyHandle]") -> "pl.DataFrame":
    """The table with a column ``label``, the method as reports name it.

    It distinguishes runs with different settings, which are in run folders and not in tables.
    """
    import polars as pl

    from mixedne.evaluation.runs import run_of
    from mixedne.files import read_json
    from mixedne.reports.inputs.methods import is_sensible, labels

    configs: dict[str, Mapping[str, Any]] = {}
    for handle in handles:
        path, known = handle.path, {**handle.provenance, "run": handle.name}
        run = run_of(path)[0] if path is not None and path.is_dir() else None
        config = known if run is None else read_json(run / "config.json", warn=False)
        configs[handle.name] = config if is_sensible(config) else known
    named = labels(configs)
    return table.with_columns(label=pl.col("run").replace_strict(named, default=None))


def seed_scores(table: "pl.DataFrame") -> "pl.DataFrame | None":
    """One row per method: the same scores over training seeds, with confidence intervals.

    None if two runs of one method share a seed, or no method has several seeds. The table has the
    column of :func:`with_labels`.
    """
    import polars as pl

    from mixedne.evaluation.statistics import METHOD, SEED, TASK, grid_summary

    method = [*METHOD, "label"]
    known = table.filter(pl.col(SEED).is_not_null(), pl.col("agent").is_not_null())
    runs = known.select(*TASK, *method, SEED, "run", "steps").unique()
    seeds = runs.select(*TASK, *method, SEED)
    if seeds.is_duplicated().any() or seeds.drop(SEED).n_unique() == seeds.height:
        return None
    return grid_summary(known, method=method)


def add_scores(rows: list[dict[str, Any]], table: "pl.DataFrame", name: str) -> None:
    """Add a set's scores to the rows of its points, in place; over seeds if there are several."""
    from mixedne.evaluation.statistics import METHOD

    method = [*METHOD, "label"]
    measures = ("worst_return", "mean_return")
    scores = {
        run["run"]: {"set": name, **{f"set_{measure}": run[measure] for measure in measures}}
        for run in run_scores(table).iter_rows(named=True)
    }
    if (methods := seed_scores(table)) is not None:
        names = [f"{measure}{end}" for measure in measures for end in ("", "_low", "_high")]
        runs = table.select("run", "task", *method).unique()
        for run in runs.join(methods, on=["task", *method], nulls_equal=True).iter_rows(named=True):
            scores[run["run"]] |= {f"seeds_{key}": run[key] for key in names}
            scores[run["run"]]["seeds"] = run["seeds"]
    for row in rows:
        row.update(scores[row["run"]])


def print_scores(table: "pl.DataFrame", name: str) -> None:
    """Print a set's scores in each task, one row per run, and over seeds if there are several."""
    for _, own in table.group_by("task", maintain_order=True):
        _print_scores(own, name)


def _print_scores(table: "pl.DataFrame", name: str) -> None:
    from mixedne.reports.style import method_words
    from mixedne.shifts import shift_axes

    scores = run_scores(table)
    axes = [str(axis) for axis in shift_axes(table.columns) if table[str(axis)].n_unique() > 1]
    rows = [
        [
            row["run"],
            str(row["shifts"]),
            f"{row['worst_return']:.1f}",
            f"{row['mean_return']:.1f}",
            ", ".join(f"{axis} {_text(row['worst_shift'][axis])}" for axis in axes),
        ]
        for row in scores.iter_rows(named=True)
    ]
    task = table["task"][0]
    columns = ["run", "points", "worst", "average", "worst at"]
    print_table(f"{name}, {task}: mean return over episodes", columns, rows)
    if (methods := seed_scores(table)) is not None:
        rows = [
            [
                method_words(row["agent"], row["label"], row["delta"]),
                str(row["seeds"]),
                *(_interval(row, measure) for measure in ("worst_return", "mean_return")),
            ]
            for row in methods.iter_rows(named=True)
        ]
        columns = ["method", "seeds", "worst", "average"]
        print_table(f"{name}, {task}: mean over seeds, 95 % interval", columns, rows)


def _interval(row: dict[str, Any], measure: str) -> str:
    low, high = row[f"{measure}_low"], row[f"{measure}_high"]
    interval = "" if low is None else f" ({low:.1f} to {high:.1f})"
    return f"{row[measure]:.1f}{interval}"


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
