"""Learning curves, from the metrics of runs; and the results of searches."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mixedne.config.identity import settings_in_words
from mixedne.evaluation.grids import episode_seed
from mixedne.evaluation.statistics import nominal_returns
from mixedne.files import finished_digest, readable
from mixedne.metrics import read_metrics
from mixedne.names import CHOICES
from mixedne.reports.inputs import methods
from mixedne.reports.inputs.files import Inputs, PlanInput, read_evaluation
from mixedne.reports.inputs.methods import Config
from mixedne.reports.inputs.numbers import single_runs, values_over_seeds
from mixedne.reports.tables import LEARNING, LEARNING_RUNS, OVER_SEEDS, SEARCHES, TRAINED
from mixedne.shifts import is_nominal

POINTS = 60  # maximum number of equal parts over which training returns are averaged

_NUMBERS = ("step", "updates", "samples", "inner_steps", "seconds", "return_mean", "mass", "rho")


def learning(inputs: Inputs, labels: Mapping[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Mean return of each method at each step, over its runs; and single runs.

    ``labels`` are by identity.
    """
    parts: dict[str, pl.DataFrame] = {}
    for folder, config in inputs.reported.items():
        identity, name = methods.identity(config), readable(folder.name)
        is_known = finished_digest(folder, "metrics.jsonl") is not None
        if identity in parts or not (is_known or (folder / "metrics.jsonl").exists()):
            continue
        with inputs.noting(
            f"{name}/metrics.jsonl is damaged or lost: its learning curve is left out."
        ):
            named = {name: config.get(name) for name in TRAINED} | {"label": labels[identity]}
            parts[identity] = _points([*_lines(folder)], config.get("steps")).with_columns(
                *(pl.lit(value, TRAINED[name]).alias(name) for name, value in named.items()),
                identity=pl.lit(identity),
            )
    if not parts:
        return pl.DataFrame(schema=LEARNING), pl.DataFrame(schema=LEARNING_RUNS)
    whole = pl.concat(parts.values())
    key = [*TRAINED, "source", "step"]
    spent = whole.group_by(key).agg(pl.col("updates", "seconds").mean())
    means = values_over_seeds(whole, key).join(spent, on=key, nulls_equal=True)
    single = single_runs(whole, [*TRAINED, "source"]).select(*LEARNING_RUNS)
    return means.select(*LEARNING).sort(*key), single.sort(*key, "run")


def _points(lines: list[dict[str, Any]], planned: Any) -> pl.DataFrame:
    """One run's returns, from evaluations in the nominal world and from training, once per step."""
    schema = {"kind": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)}
    table = pl.DataFrame(lines, schema=schema)
    training = table.filter(kind="training")
    steps, updates, seconds = (training[it].to_numpy() for it in ("step", "updates", "seconds"))
    inner = np.diff(updates, prepend=0.0) * training["inner_steps"].fill_null(1).to_numpy()
    counted = training.select("step", "samples").drop_nulls()  # VPG's steps take many samples

    def spent(source: str, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the updates and time spent by each step; VPG's steps are converted to samples."""
        at = frame["step"].to_numpy()
        sampled = np.interp(at, counted["step"], counted["samples"]) if len(counted) else at
        known: dict[str, Any] = {
            name: np.interp(at, steps, values) if len(steps) else [None] * len(at)
            for name, values in (("updates", np.cumsum(inner)), ("seconds", seconds))
        }
        return frame.select(
            pl.lit(source).alias("source"),
            pl.Series("step", np.round(sampled), pl.Int64),
            *(pl.Series(name, values, pl.Float64) for name, values in known.items()),
            pl.col("return_mean").alias("value"),
        )

    tested = table.filter(is_nominal(table.columns), kind="evaluation")
    parts = spent("evaluation", tested), spent("training", _stretches(training, planned))
    whole = pl.concat(parts).drop_nulls("value")
    return whole.unique(["source", "step"], keep="last", maintain_order=True)


def _stretches(training: pl.DataFrame, planned: Any) -> pl.DataFrame:
    """Means over equal parts of the planned run, each placed at its end.

    So unfinished runs of a method have their points at the same steps.
    """
    if training.is_empty():
        return training
    steps = max(_number(planned) or 0.0, *training["step"], 1.0)
    stretch = (pl.col("step") * POINTS / steps).ceil().clip(1, POINTS)
    found = training.drop_nulls("return_mean").group_by(stretch, maintain_order=True)
    means = found.agg(pl.col("return_mean").mean())
    return means.with_columns(step=(pl.col("step") * steps / POINTS))


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of a run's metrics, with only numbers and the kind."""
    for said in read_metrics(folder):
        numbers = {name: _number(said.get(name)) for name in _NUMBERS}
        if numbers["step"] is not None:
            yield {"kind": str(said.get("kind")), **numbers}


def _number(value: Any) -> float | None:
    """A plausible counter or return; larger numbers and NaN are treated as damage."""
    return float(value) if type(value) in (int, float) and abs(value) < 2.0**53 else None


def searches(inputs: Inputs) -> pl.DataFrame:
    """One row for each configuration that a search compared."""
    rows = [row for plan in inputs.plans if plan.compares for row in _tried(plan, inputs)]
    key = [name for name in SEARCHES if name not in OVER_SEEDS]
    table = pl.DataFrame(rows, schema={name: SEARCHES[name] for name in (*key, "value")})
    return values_over_seeds(table, key).select(*SEARCHES)


def _tried(plan: PlanInput, inputs: Inputs) -> Iterator[dict[str, Any]]:
    """The runs of a search that have a return, with their positions on its map."""
    for case, alike in methods.by_case(plan.runs).items():
        differ = methods.differing_settings(alike)
        searched = [name for name in differ if all(name in config for config in alike.values())]
        named = dict(zip(CHOICES, case, strict=True))
        choice = next((it for it in plan.choices if it.get("case") == named), {})
        for run, config in alike.items():
            reached = _nominal_return(plan, run, inputs)
            place = _place(config, searched, choice)
            if reached is not None and place["setting_x"] is not None:
                yield {"study": plan.name, **place, "value": reached}


def _place(config: Config, searched: list[str], choice: Config) -> dict[str, Any]:
    """The position of a configuration on the map."""
    numbers = [name for name in searched if type(config[name]) in (int, float)]
    along, upwards = ("sigma", "eta", *numbers), ("sigma0", "eta", "inner_steps")
    across = next((name for name in along if name in numbers), None)
    up = next((name for name in upwards if name in numbers and name != across), None)
    rest = [name for name in searched if name not in (across, up)]

    def agrees(values: Any) -> bool:
        """Whether the configuration has these values, wherever they were searched."""
        named = [name for name in searched if isinstance(values, dict) and name in values]
        return bool(named) and all(config[name] == values[name] for name in named)

    return {
        **{name: config.get(name) for name in ("task", "agent", "solver", "delta")},
        "fixed": settings_in_words(config, rest),
        "setting_x": across,
        "setting_y": up,
        "x": None if across is None else float(config[across]),
        "y": None if up is None else float(config[up]),
        **{name: agrees(choice.get(name)) for name in ("chosen", "paper")},
    }


def _nominal_return(plan: PlanInput, run: str, inputs: Inputs) -> float | None:
    """The number that the search selects by: the mean over the episodes of its plan only."""
    table = read_evaluation(plan.folder / "runs" / run / "evaluation.parquet", inputs)
    seeds = next(map(_episode_seeds, plan.evaluations[run]), None)
    found = nominal_returns(table, ["run"], seeds)
    if found.is_empty() or (seeds is not None and found["episodes"][0] < len(seeds)):
        return None
    return float(found["mean_return"][0])


def _episode_seeds(grid: Config) -> list[int] | None:
    """The seeds of a grid's episodes; None if a plan does not have them, or absurdly many."""
    seed, episodes = grid.get("seed"), grid.get("episodes")
    if type(seed) is not int or type(episodes) is not int or seed < 0 or episodes > 100_000:
        return None
    return [episode_seed(seed, episode) for episode in range(episodes)]
