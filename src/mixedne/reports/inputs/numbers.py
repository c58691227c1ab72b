"""Every run's return at every shift, and the numbers of a report that are computed from it.

Runs are independent repetitions: each number is a mean over runs with its interval. The rules are
those of :mod:`mixedne.evaluation.statistics`, except for partial results: a report draws what there
is, and summarises over the shifts that most runs of a task and agent have.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from mixedne.evaluation import statistics
from mixedne.evaluation.estimators import Bootstrap
from mixedne.evaluation.runs import PROVENANCE
from mixedne.names import CHOICES
from mixedne.reports.inputs import methods
from mixedne.reports.inputs.files import NO_EPISODES, Inputs, read_evaluation
from mixedne.reports.style import list_words
from mixedne.reports.tables import BAND_SEEDS, MAPS, METHOD, STATISTICS, SUMMARY, SWEEP_RUNS, SWEEPS
from mixedne.shifts import Axis, is_nominal, shift_axes
from mixedne.shifts.registry import ATTACK

GROUP = ("task", "agent", "axis", "acting", "mass_mode")
"""Runs are compared within groups of these columns, on the same shifts."""

BASELINE = "gad"

AT_RANDOM = " at random"
"""The end of the name of an attack whose attacker is not trained."""

_NAMES = {f"{name}_return": name for name in STATISTICS}  # theirs in evaluation.statistics

_RUN = ["identity", *GROUP]
_KEY = [*METHOD, "formulation", "preset", "axis", "statistic"]


def read_runs(inputs: Inputs) -> pl.DataFrame:
    """One row per run and shift, without the runs that searches compare; none counts twice.

    ``mean``, ``worst`` and ``cvar`` are over its episodes, and NaN if one of them is invalid.
    """
    tables: list[pl.DataFrame] = []
    identities: dict[str, str] = {}  # of policies that lie in run folders
    for folder, config in inputs.reported.items():
        table = read_evaluation(folder / "evaluation.parquet", inputs)
        identity = methods.identity(config)
        identities |= dict.fromkeys(table["policy"].drop_nulls(), identity)
        tables.append(_means(table).with_columns(identity=pl.lit(identity)))
    for path in inputs.tables:
        means = _means(read_evaluation(path, inputs))
        tables.append(means.with_columns(_identities(means, identities, inputs, path)))
    none = _means(NO_EPISODES).with_columns(identity=pl.lit(None, pl.String))
    first = pl.col("policy").first().over("identity")
    said = "The same run lies there with different policies: the first is taken, not {}."
    runs = pl.concat([*tables, none], how="diagonal")
    runs = statistics.fill_nominal(_keep(runs, pl.col("policy").eq_missing(first), inputs, said))
    place = ["identity", *statistics.TASK, *statistics.shift_columns(runs.columns)]
    elsewhere = (
        pl.col("nominal").drop_nulls().first().over("identity", "task", "mass_mode", "acting")
    )
    runs = runs.with_columns(pl.col("nominal").fill_null(elsewhere))
    strongest = pl.when(is_attacked(runs.columns)).then("mean")  # of several attacks of one kind
    runs = runs.sort(strongest, maintain_order=True).unique(
        place, keep="first", maintain_order=True
    )
    named = labels(inputs, runs)
    words = pl.Series("label", [named[each] for each in runs["identity"]], pl.String)
    # Seeds are repetitions: of several runs of one method with the same seed, the first counts.
    method = [*statistics.TASK, "agent", "label", "delta", "train_seed"]
    is_first = pl.col("identity") == pl.col("identity").first().over(method)
    known = pl.col("agent").is_not_null() & pl.col("train_seed").is_not_null()
    said = "A training seed must stand for one run of a method: left out, as others have the same: "
    return _keep(runs.with_columns(words), ~known | is_first, inputs, said + "{}.")


def labels(inputs: Inputs, runs: pl.DataFrame) -> dict[str, str]:
    """A label for every run, by identity: those with a folder, and those only in tables."""
    configs = {methods.identity(config): config for config in inputs.reported.values()}
    for row in runs.unique("identity", maintain_order=True).iter_rows(named=True):
        known = {name: row[name] for name in (*CHOICES, "run", "steps")}
        told_apart = row["policy"][:8] if row["policy"] else Path(row["identity"]).stem
        configs.setdefault(row["identity"], {**known, "policy": told_apart})
    return methods.labels(configs)


def _means(table: pl.DataFrame) -> pl.DataFrame:
    """One row per policy and shift of a table.

    ``nominal`` is the same policy's mean in the nominal world: an attack is compared with episodes
    of its own table, which start alike.
    """
    policy = ["run", "policy", *statistics.TASK, *PROVENANCE]
    how = [name for name in ("mass_mode", "acting") if name in table.columns]
    key = [*policy, *statistics.shift_columns(table.columns)]
    means = statistics.over_episodes(table, key, pl.col("versions").first())
    counts = means.rename({**_NAMES, "invalid_episodes": "invalid"})
    plain = counts.filter(is_nominal(counts.columns)).unique([*policy, *how], maintain_order=True)
    counts = counts.join(
        plain.select(*policy, *how, nominal="mean"),
        on=[*policy, *how],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return counts.select(*key, "versions", "episodes", "invalid", *STATISTICS, "nominal")


def is_attacked(columns: Sequence[str]) -> pl.Expr:
    """Whether a row is of a trained attacker, not a random one."""
    attacks = [axis for axis in shift_axes(columns) if axis.parameter == ATTACK]
    trained = [axis for axis in attacks if not str(axis.target).endswith(AT_RANDOM)]
    return pl.any_horizontal(pl.lit(False), *(pl.col(str(axis)) > 0 for axis in trained))


def _identities(
    means: pl.DataFrame, identities: Mapping[str, str], inputs: Inputs, path: Path
) -> pl.Series:
    """The run of each row of a table, identified by its policy, or by the name of its folder.

    A callable has no fingerprint: those of two files count as two.
    """
    times = Counter(folder.name for folder in inputs.runs)
    configs = {it.name: config for it, config in inputs.runs.items() if times[it.name] == 1}

    def identity(row: Mapping[str, Any]) -> str:
        config = configs.get(row["run"], {})
        if row["policy"] in identities:
            return identities[row["policy"]]
        alike = all(config.get(name) == row[name] for name in ("agent", "solver", "delta"))
        if config and alike and config.get("seed") == row["train_seed"]:
            return methods.identity(config)
        return f"{row['run']}/{row['policy'] or path}"

    return pl.Series("identity", map(identity, means.iter_rows(named=True)), pl.String)


def _keep(runs: pl.DataFrame, own: pl.Expr, inputs: Inputs, sentence: str) -> pl.DataFrame:
    """The rows that are kept; the runs of the others are listed in a sentence."""
    names = list_words(runs.filter(~own)["run"])
    if names:
        inputs.problems.append(sentence.format(names))
    return runs.filter(own)


def values_over_seeds(frame: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The mean of ``value`` over the rows of each group, with its interval, as tables name them."""
    means = statistics.over_seeds(frame.rename({"invalid": "invalid_episodes"}, strict=False), key)
    ours = {"value_low": "low", "value_high": "high", "invalid_episodes": "invalid"}
    return means.rename(ours, strict=False)


def single_runs(frame: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The rows of methods, by these columns, that have too few runs for a band."""
    few = pl.col("identity").n_unique().over(key) < BAND_SEEDS
    return frame.filter(few).with_columns(run=pl.col("identity"))


def sweeps(runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return against one shift, if a task was evaluated at several values; and single runs."""
    long = _long(_all_sweeps(runs), "axis", "x")
    means = values_over_seeds(long, [*METHOD, "axis", "x", "statistic"])
    single = single_runs(long, [*METHOD, "axis", "statistic"])
    return means.select(*SWEEPS), single.select(*SWEEP_RUNS)


def _all_sweeps(runs: pl.DataFrame) -> pl.DataFrame:
    """For each axis, the rows with all other axes nominal, and several values in the task."""
    parts = []
    for name in map(str, shift_axes(runs.columns)):
        rows = runs.filter(is_nominal(runs.columns, but=[name]), pl.col(name).is_not_null())
        rows = rows.with_columns(axis=pl.lit(name), x=pl.col(name))
        parts.append(rows.filter(pl.col("x").n_unique().over("task", "acting", "mass_mode") > 1))
    return pl.concat(parts)


def maps(runs: pl.DataFrame) -> pl.DataFrame:
    """Return against two shifts, if a task was evaluated at combinations of both."""
    # As in the paper, factors are on the vertical axis and probabilities on the horizontal one.
    axes = sorted(shift_axes(runs.columns), key=lambda axis: axis.entry.log_axis)
    crossed = pl.concat(_crossed(runs, x, y) for x, y in combinations(axes, 2))
    places = ("axis_x", "axis_y", "x", "y")
    long = _long(crossed, *places)
    return values_over_seeds(long, [*METHOD, *places, "statistic"]).select(*MAPS)


def _crossed(runs: pl.DataFrame, axis_x: Axis, axis_y: Axis) -> pl.DataFrame:
    """The rows at the values of two axes that were combined, and at the nominal ones."""
    axes = {"x": axis_x, "y": axis_y}
    rows = runs.filter(is_nominal(runs.columns, but=map(str, axes.values()))).with_columns(
        *(pl.lit(str(axis)).alias(f"axis_{name}") for name, axis in axes.items()),
        *(pl.col(str(axis)).alias(name) for name, axis in axes.items()),
    )
    both = rows.filter(pl.col(name).ne_missing(axis.nominal) for name, axis in axes.items())
    rows = rows.join(both, on="identity", how="semi", maintain_order="left")  # not only sweeps
    for name, axis in axes.items():
        tried = both.select("task", name)
        nominal = tried.with_columns(pl.lit(axis.nominal, pl.Float64).alias(name))
        grid = pl.concat([tried, nominal]).drop_nulls().unique()
        rows = rows.join(grid, on=["task", name], how="semi", maintain_order="left")
    return rows


def _long(rows: pl.DataFrame, *places: str) -> pl.DataFrame:
    """One row for each statistic."""
    index = ["identity", *METHOD, *places, "episodes", "invalid"]
    return rows.unpivot([*STATISTICS], index=index, variable_name="statistic")


def summary(runs: pl.DataFrame) -> pl.DataFrame:
    """One number per method and sweep, compared with the baseline of its agent and δ."""
    rows = _all_sweeps(runs)
    rows = rows.join(common_shifts(rows), on=[*_RUN, "x"], how="semi", nulls_equal=True)
    if rows.is_empty():
        return pl.DataFrame(schema=SUMMARY)
    # Each run's mean, worst and CVaR of its mean returns at its shifts.
    run = ["identity", *(name for name in _KEY if name != "statistic")]
    scores = statistics.over_shifts(rows.drop("episodes"), run, value="mean").rename(_NAMES)
    scores = scores.unpivot([*STATISTICS], index=[*run, "shifts"], variable_name="statistic")
    groups = scores.group_by(_KEY, maintain_order=True)
    lists = groups.agg(pl.col("shifts").first(), pl.col("value").alias("scores"))
    middles = [Bootstrap().interquartile_mean([it]) for it in statistics.arrays(lists["scores"])]
    lists = lists.with_columns(statistics.estimate_columns("iqm", middles))
    table = values_over_seeds(scores, _KEY).join(lists, on=_KEY, nulls_equal=True)
    pairs = _pairs(table)
    compared = _improvement(pairs, _KEY).join(pairs, on=_KEY, nulls_equal=True)
    compared = compared.select(*_KEY, "baseline", "^improvement.*$", "overlap")
    single = table.join(compared, on=_KEY, how="left", nulls_equal=True)
    method = [*(name for name in _KEY if name != "task"), "baseline"]
    several = _improvement(pairs.filter(pl.len().over(method) > 1), method)
    over_tasks = several.with_columns(seeds=_fewest("scores", "its_scores"))
    over_tasks = over_tasks.drop("scores", "its_scores")
    return pl.concat([single, over_tasks], how="diagonal").select(*SUMMARY)


def _fewest(*columns: str) -> pl.Expr:
    """The smallest number of runs among the lists of all tasks, in any of these columns."""
    counts = (pl.col(it).list.eval(pl.element().list.len()).list.min() for it in columns)
    return pl.min_horizontal(*counts).cast(pl.Int64)


def common_shifts(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows to summarise: the runs that have the grid of shifts that most runs have.

    Of several such grids, the largest is used. Runs that lack some of its shifts are left out.
    """
    size = pl.col("grid").list.len()
    grids = rows.group_by(_RUN, maintain_order=True).agg(pl.col("x").unique().sort().alias("grid"))
    grids = grids.filter(size > 1)
    ranked = grids.group_by(*GROUP, "grid", maintain_order=True).agg(pl.len().alias("runs"))
    ranked = ranked.sort("runs", size, descending=True, maintain_order=True)
    chosen = ranked.unique(GROUP, keep="first", maintain_order=True).drop("runs")
    both = grids.join(chosen, on=GROUP, suffix="_chosen", nulls_equal=True)
    whole = both.filter(pl.col("grid_chosen").list.set_difference("grid").list.len() == 0)
    return whole.select(*_RUN, pl.col("grid_chosen").alias("x")).explode("x")


def not_summed_up(runs: pl.DataFrame) -> Iterator[tuple[str, str, list[str]]]:
    """Task, axis, and the runs that the summary leaves out because they lack some shifts."""
    rows = _all_sweeps(runs)
    rows = rows.filter(pl.col("x").n_unique().over(_RUN) > 1)  # a single value is no sweep
    left = rows.join(common_shifts(rows), on=_RUN, how="anti", nulls_equal=True)
    for (task, axis), own in left.group_by("task", "axis", maintain_order=True):
        yield str(task), str(axis), own["run"].to_list()


def _pairs(table: pl.DataFrame) -> pl.DataFrame:
    """Every method with its baseline: GAD of the same agent, δ, formulation and preset.

    Of several, it is the one with the same settings, or else the preset's own, or the first.
    """
    family = [name for name in _KEY if name not in ("solver", "label")]
    theirs = {"label": "baseline", "low": "its_low", "high": "its_high", "scores": "its_scores"}
    baselines = table.filter(solver=BASELINE).select(*family, *theirs).rename(theirs)
    others = table.with_row_index("place").filter(pl.col("solver").ne_missing(BASELINE))
    both = others.join(baselines, on=family, nulls_equal=True, maintain_order="left_right")
    # The part of a label after the solver.
    own, its = (pl.col(name).str.extract("(?s), (.*)") for name in ("label", "baseline"))
    both = both.sort("place", own.ne_missing(its), its.is_not_null(), maintain_order=True)
    known = (pl.col("low") + pl.col("its_low")).is_not_nan()
    overlap = (pl.col("low") <= pl.col("its_high")) & (pl.col("its_low") <= pl.col("high"))
    pairs = both.unique("place", keep="first", maintain_order=True)
    return pairs.with_columns(overlap=pl.when(known).then(overlap))


def _improvement(pairs: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """How often runs of a method beat those of its baseline, over all tasks in each group."""
    groups = pairs.group_by(key, maintain_order=True).agg("scores", "its_scores")
    estimates = [
        Bootstrap().improvement([(x.to_numpy(), y.to_numpy()) for x, y in zip(xs, ys, strict=True)])
        for xs, ys in zip(groups["scores"], groups["its_scores"], strict=True)
    ]
    columns = statistics.estimate_columns("improvement", estimates)
    return groups.with_columns(columns)
