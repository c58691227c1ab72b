"""The tables of docs/recipe.md, made from the published runs of the recipe's studies.

    python benchmarks/recipe.py            # writes the tables into the page
    python benchmarks/recipe.py --check    # exit code 1 if the page has other tables

``search``, ``finals``   a configuration's score is the mean over the tasks of its nominal return,
                         as a share of the best configuration's on that task; a return is the mean
                         over the seeds, and below zero counts as zero. Shifted worlds are not
                         looked at.
``idle``                 what acting by their share changes for all published policies.
``held``                 periodic evaluations with and without episodes alone.
``results``              the preset ``robust`` and its baselines over masses and frictions; means
                         over training seeds with Student's 95 % interval.
``pairs``                how often a run of the preset has more than one of its baselines.
``published``            its mean over masses beside the authors', also after as many steps.
``recent``               its nominal return beside recent off-policy methods', at as many steps
                         and at others.
``pendulum``             whether the preset's runs hold the pendulum at the end, at which masses.
``ant``                  the preset on Ant, and with some changes.
``ablation``             the preset without each part, with others, with other chains.
``stability``            how often a policy that had solved the pendulum falls again, over seeds.

A table that has no runs yet says so.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl
from sweeps import FEWEST_SEEDS, HELD, interval, run_scores, share_of_pairs, sweep, training_minutes
from tables import Tables, arguments, markdown, number, write

from mixedne import results
from mixedne.config import configure
from mixedne.evaluation.statistics import SEED, nominal_returns, over_seeds
from mixedne.metrics import read_metrics
from mixedne.names import SOLVERS
from mixedne.shifts import is_nominal
from mixedne.studies.results import run_folders

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "recipe"
SHARES = ROOT / "results" / "idle-adversary.parquet"
PAGE = ROOT / "docs" / "recipe.md"

NOTHING = "*No run has been published yet.*"

SEARCHED = (
    *("eta", "critic_learning_rate", "tau", "policy_delay"),
    *("updates", "sigma", "sigma0", "scale_rewards"),
)
"""What the search varies."""

FIRST = {
    **{"eta": 3e-4, "critic_learning_rate": 3e-4, "tau": 0.99, "policy_delay": 2},
    **{"updates": 25, "sigma": 0.1, "sigma0": 1e-4, "scale_rewards": False},
}
"""The configuration from which the search starts."""

ABLATED = (
    *("normalise_observations", "critic_layer_norm", "critic_hidden", "rms_bias_correction"),
    *("learning_rate_decay", "output", "sigma0", "updates", "critic_optimizer"),
    *("critic_weight_decay", "scale_rewards", "alone_episodes", "inner_max"),
)
"""What the ablation varies."""

TRIED_ON_ANT = (
    *("steps", "eta", "critic_learning_rate", "random_steps", "update_after"),
    *("normalise_observations", "scale_rewards"),
)
"""What the study of Ant varies."""

STABILISING = (
    *("learning_rate_decay", "output", "rms_epsilon", "rms_bias_correction"),
    *("normalise_observations", "critic_layer_norm"),
)
"""What the study of lost pendulums varies."""

AUTHORS = {
    **{"HalfCheetah-v5": 7393, "Hopper-v5": 2683, "Walker2d-v5": 3234, "Ant-v5": 4634},
    **{"Swimmer-v5": 124, "Humanoid-v5": 3627, "InvertedPendulum-v5": 1000, "Reacher-v5": -4.25},
}
"""Mean over 21 masses of TD3 by MixedNE-LD, δ = 0.1, from the result files of the repository
ythuangyt/TD3: the best of 12 configurations by this number, one run each."""

STEPS = (200_000, 500_000)
RECENT = {
    "SAC": {
        **{"HalfCheetah-v5": (7679, 9838), "Hopper-v5": (2342, 2887), "Walker2d-v5": (1946, 3603)},
        **{"Ant-v5": (2296, 4970), "Humanoid-v5": (994, 3275)},
    },
    "CrossQ": {
        **{"HalfCheetah-v5": (9363, 11344), "Hopper-v5": (2577, 2302), "Walker2d-v5": (5174, 6352)},
        **{"Ant-v5": (4853, 5860), "Humanoid-v5": (6348, 8114)},
    },
    "SimBaV2": {
        **{"HalfCheetah-v5": (8478, 10471), "Hopper-v5": (3182, 3268), "Walker2d-v5": (3759, 4048)},
        **{"Ant-v5": (4693, 6704), "Humanoid-v5": (5091, 7437)},
    },
}
"""Mean returns on the v4 tasks after :data:`STEPS`, one gradient step a step, from the result files
of the repository DAVIAN-Robotics/SimbaV2."""

TASKS = tuple(AUTHORS)


def episodes(study: str, settings: tuple[str, ...] = ()) -> pl.DataFrame:
    """All test episodes of a study's published runs; empty if there are none."""
    if not (PUBLISHED / "studies" / f"{study}.json").is_file():
        return pl.DataFrame()
    return results(PUBLISHED, study=study, settings=settings)


def differences(row: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """How a configuration differs from another one, in words."""

    def words(value: Any) -> str:
        return f"{value:g}" if isinstance(value, float) else str(value)

    plain = {name: tuple(x) if isinstance(x := row[name], list) else x for name in base}
    changed = [f"`{name} = {words(plain[name])}`" for name in base if plain[name] != base[name]]
    return ", ".join(changed) or "nothing"


def listed(returns: list[float]) -> str:
    """The returns of several seeds."""
    return ", ".join(number(value, value) for value in returns) or "–"


def scores(table: pl.DataFrame) -> pl.DataFrame:
    """One row per configuration, the best first: ``score``, and ``task`` and ``returns`` as lists.

    A configuration that has not run on all tasks and seeds has no score, nor part in the others'.
    """
    runs = nominal_returns(table, [*SEARCHED, "task", SEED]).sort("task", SEED)
    means = runs.group_by([*SEARCHED, "task"], maintain_order=True).agg(
        pl.col("mean_return").mean(), returns="mean_return"
    )
    # In steps of its own, because a window inside a window would count within a task.
    means = means.with_columns(done=pl.col("returns").list.len().sum().over(SEARCHED))
    is_done = pl.col("done") == pl.col("done").max()
    means = means.with_columns(gained=pl.when(is_done).then(pl.col("mean_return").clip(0)))
    means = means.with_columns(share=pl.col("gained") / pl.col("gained").max().over("task"))
    found = means.group_by(SEARCHED, maintain_order=True).agg(
        "task", "returns", score=pl.col("share").mean()
    )
    return found.sort("score", descending=True, nulls_last=True)


def with_shares(table: pl.DataFrame) -> pl.DataFrame:
    """The episodes that were played again, with ``share_return``."""
    return table.join(pl.read_parquet(SHARES), on=["identifier", "episode"])


def idle_table() -> str:
    """All published policies of NR-MDP: alone by μ, and by (1 − δ) μ, in the same episodes."""
    key = ["task", "agent", "solver", "steps"]
    tables = [results(ROOT / "results" / name) for name in ("recipe", "sets", "reproduction")]
    own = [with_shares(table.filter(is_nominal(table.columns))) for table in tables]
    columns = [*key, "identifier", "episode", "return", "share_return"]
    rows = []
    episodes = pl.concat([table.select(columns) for table in own]).unique(["identifier", "episode"])
    runs = episodes.group_by([*key, "identifier"]).agg(
        full=pl.col("return").mean(), share=pl.col("share_return").mean()
    )
    for (task, agent, solver, steps), part in runs.sort(key).group_by(key, maintain_order=True):
        full, share = (part[column] for column in ("full", "share"))
        counts = (((full - share) * sign > 0.1 * full.abs()).sum() for sign in (-1, 1))
        means = [number(x, x) for x in (mean(full), mean(share))]
        words = f"{str(agent).upper()}, {SOLVERS[str(solver)]}, {steps:,} steps"
        rows.append([str(task), words, str(len(part)), *means, *map(str, counts)])
    header = ["task", "trained by", "policies", "μ", "(1 − δ) μ", "10 % better", "10 % worse"]
    return markdown(header, rows)


def held_table() -> str:
    """The runs of the second round that exist with and without episodes alone, as they trained."""
    fields = ("alone_episodes", "policy_delay", "eta")
    studies = [episodes(f"recipe-finals{part}", fields) for part in ("-first", "")]
    known = pl.concat([table for table in studies if not table.is_empty()]).unique("identifier")
    key = ["task", "eta", "policy_delay", SEED]
    pairs = known.filter(pl.len().over(key) == 2).sort(*key, "alone_episodes")
    paths = {path.name.rpartition("-")[2]: path for path in run_folders(PUBLISHED)}
    rows = []
    for run in pairs.to_dicts():
        lines = read_metrics(paths[run["identifier"]])
        found = [x["return_mean"] for x in lines if x["kind"] == "evaluation"]
        settings = f"`eta = {run['eta']:g}`, `policy_delay = {run['policy_delay']}`"
        cells = [run["task"], settings, str(run[SEED]), f"{run['alone_episodes']:g}"]
        rows.append([*cells, ", ".join(f"{value:.0f}" for value in found)])
    header = ["task", "configuration", "seed", "`alone_episodes`", "return every 25 000 steps"]
    return markdown(header, rows)


def search_table(study: str) -> str:
    """All configurations of a round, by how each differs from the first of the search."""
    table = episodes(study, SEARCHED)
    if table.is_empty():
        return NOTHING
    table = scores(table)
    tasks = sorted({task for row in table["task"] for task in row})
    rows = []
    for row in table.iter_rows(named=True):
        of_task = dict(zip(row["task"], row["returns"], strict=True))
        cells = [listed(of_task.get(task, [])) for task in tasks]
        score = "–" if row["score"] is None else f"{row['score']:.3f}"
        rows.append([differences(row, FIRST), *cells, score])
    return markdown(["what differs from the first", *tasks, "score"], rows)


KEY = ["task", "solver", "delta", SEED]


def preset_runs(study: str = "recipe-results") -> pl.DataFrame:
    """The runs of the preset and its baselines: a row each, with their scores over the sweeps."""
    table = episodes(study)
    return table if table.is_empty() else run_scores(table, KEY)


def minutes() -> dict[tuple[str, str, float], list[float]]:
    """Minutes of training of these runs, by task, solver and δ."""
    found: dict[tuple[str, str, float], list[float]] = {}
    runs = episodes("recipe-results").select("run", "task", "solver", "delta").unique().sort("run")
    for name, *method in runs.iter_rows():
        found.setdefault(tuple(method), []).append(training_minutes(PUBLISHED / "runs" / name))
    return found


def results_table() -> str:
    """The preset and its baselines: nominal, over masses, at the worst mass, over frictions."""
    runs = preset_runs()
    if runs.is_empty():
        return NOTHING
    measures = ["nominal", "mass_mean_return", "mass_worst_return", "friction_mean_return"]
    took = minutes()
    rows = []
    for row in in_order(over_seeds(runs, KEY[:-1], measures)):
        times = took[row["task"], row["solver"], row["delta"]]
        cells = [row["task"], method(row), str(row["seeds"]), *(interval(row, m) for m in measures)]
        ends = sorted({f"{min(times):.0f}", f"{max(times):.0f}"}, key=float)
        rows.append([*cells, " to ".join(ends)])
    header = ["task", "method", "seeds", "nominal", "21 masses", "worst mass", "21 frictions"]
    return markdown([*header, "minutes a run"], rows)


def method(row: Mapping[str, Any]) -> str:
    """The method in words."""
    if row["delta"] == 0 and row["solver"] == "gad":
        return "one player (TD3)"
    return f"{SOLVERS[row['solver']]}, δ = {row['delta']:g}"


def in_order(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows by task, then MixedNE-LD, GAD with an adversary, one player."""
    place = pl.col("task").replace_strict(list(TASKS), range(len(TASKS)), return_dtype=pl.Int64)
    return summary.sort(place, pl.col("solver") != "mixedne-ld", -pl.col("delta")).to_dicts()


COMPARED = {
    "own world": "nominal",
    "21 masses": "mass_mean_return",
    "worst mass": "mass_worst_return",
    "21 frictions": "friction_mean_return",
}
"""What the preset and its baselines are compared by."""


def pairs_table() -> str:
    """How often a run of the preset has more than one of a baseline with the same parts."""
    runs = preset_runs()
    if runs.is_empty():
        return NOTHING
    own = runs.filter(solver="mixedne-ld")
    rows = []
    for delta in (0.1, 0.0):
        other = runs.filter(solver="gad", delta=delta)
        counts = dict(other["task"].value_counts().iter_rows())
        known = [task for task in TASKS if counts.get(task, 0) >= FEWEST_SEEDS]
        for tasks in filter(None, [*([task] for task in known), known]):
            x, y = (part.filter(pl.col("task").is_in(tasks)) for part in (own, other))
            cells = [share_of_pairs(x, y, measure) for measure in COMPARED.values()]
            words = tasks[0] if len(tasks) == 1 else "all of these"
            rows.append([method({"solver": "gad", "delta": delta}), words, *cells])
    return markdown(["MixedNE-LD, δ = 0.1 against", "task", *COMPARED], rows)


def published_table() -> str:
    """The mean over masses of the preset beside the authors'."""
    runs, long = preset_runs(), preset_runs("recipe-long")
    if runs.is_empty():
        return NOTHING
    ours = runs.filter(solver="mixedne-ld")
    rows = []
    for row in in_order(over_seeds(ours, KEY[:-1], ["mass_mean_return"])):
        theirs = AUTHORS[row["task"]]
        reached = "yes" if row["mass_mean_return"] >= theirs else "no"
        later = long if long.is_empty() else long.filter(task=row["task"])
        single = [each_seed(part) for part in (ours.filter(task=row["task"]), later)]
        cells = [row["task"], interval(row, "mass_mean_return"), *single]
        rows.append([*cells, f"{theirs:g}", reached])
    header = ["task", "`robust`", "each seed", "at 1 000 000 steps", "authors", "reached"]
    return markdown(header, rows)


def each_seed(runs: pl.DataFrame) -> str:
    """The means over masses of some runs."""
    return listed([] if runs.is_empty() else runs.sort(SEED)["mass_mean_return"].to_list())


def recent_table() -> str:
    """The nominal return of the preset beside recent methods' after as many steps and more."""
    runs = preset_runs()
    if runs.is_empty():
        return NOTHING
    ours = in_order(over_seeds(runs.filter(solver="mixedne-ld"), KEY[:-1], ["nominal"]))
    rows = []
    for row in ours:
        if row["task"] in RECENT["SAC"]:
            early = mean(returns_at(row["task"], STEPS[0]))
            cells = [f"{early:.0f}", interval(row, "nominal")]
            cells += [" → ".join(map(str, of_task[row["task"]])) for of_task in RECENT.values()]
            rows.append([row["task"], *cells])
    header = ["task", "`robust`, 200 000 steps", "300 000 steps", *RECENT]
    return markdown(header, rows)


def returns_at(task: str, step: int) -> list[float]:
    """What the preset's runs on a task had at a step, by their own evaluations."""
    own = episodes("recipe-results").filter(task=task, solver="mixedne-ld")
    lines = [line for run in own["run"].unique() for line in read_metrics(PUBLISHED / "runs" / run)]
    at_step = [line for line in lines if line["kind"] == "evaluation" and line["step"] == step]
    return [line["return_mean"] for line in at_step]


def pendulum_table() -> str:
    """Of each of the preset's runs on the pendulum: the last return, and where it falls."""
    runs = sweep(episodes("recipe-results").filter(task="InvertedPendulum-v5"), "mass")
    rows = []
    for (seed,), run in runs.group_by(SEED, maintain_order=True):
        means = run.group_by("mass").agg(pl.col("return").mean()).sort("mass")
        own = means.filter(mass=1.0)["return"].item()
        fallen = means.filter(pl.col("return") < HELD).iter_rows()
        words = ", ".join(f"× {mass:g} ({number(value, value)})" for mass, value in fallen)
        rows.append([str(seed), number(own, own), words or "none"])
    header = ["seed", "return at the end", "of 21 masses from × ½ to × 2 it falls at"]
    return markdown(header, sorted(rows))


def departures_table(study: str, settings: tuple[str, ...]) -> str:
    """What configurations that depart from the preset in a few settings are worth."""
    table = episodes(study, settings)
    if table.is_empty():
        return NOTHING
    config = configure("HalfCheetah-v5", agent="td3", preset="robust", delta=0.1, steps=100_000)
    base = {name: getattr(config, name) for name in settings}
    runs = nominal_returns(table, [*settings, "task", SEED]).sort("task", SEED)
    tasks = runs["task"].unique().sort().to_list()
    found: dict[str, dict[str, list[float]]] = {}
    for row in runs.to_dicts():
        of_task = found.setdefault(differences(row, base), {})
        of_task.setdefault(row["task"], []).append(row["mean_return"])
    rows = []
    for words in sorted(found, key=lambda words: (words != "nothing", words)):
        cells = []
        for task in tasks:
            seeds = found[words].get(task, [])
            cells += [number(mean(seeds), mean(seeds)) if seeds else "–", listed(seeds)]
        rows.append([words, *cells])
    header = [cell for task in tasks for cell in (task, "each seed")]
    return markdown(["what differs from `robust`", *header], rows)


def stability_table() -> str:
    """Of each configuration: when it solved the pendulum, how often it lost it, how it ended."""
    runs = stability_runs()
    if runs.is_empty():
        return NOTHING
    falls = over_seeds(runs.drop_nulls("falls"), ["task", "words"], ["falls"]).drop("seeds")
    summary = runs.group_by("words").agg(
        pl.col("first").mean(),
        pl.col("end").sort_by(SEED),
        seeds=pl.len(),
        solved=pl.col("first").count(),
        **{f"{name}_held": (pl.col(name) >= HELD).sum() for name in ("end", "worst")},
    )
    rows = [
        [
            row["words"],
            f"{row['solved']} of {row['seeds']}",
            f"{row['first']:,.0f}",
            f"{row['falls']:.2f} ({max(0.0, row['falls_low']):.2f} to {row['falls_high']:.2f})",
            *(f"{row[f'{name}_held']} of {row['seeds']}" for name in ("end", "worst")),
            listed(row["end"]),
        ]
        for row in summary.join(falls, on="words").to_dicts()
    ]
    rows.sort(key=lambda row: (row[0] != "nothing", row[0].count("="), row[0]))
    header = ["what differs from `paper`", "solved", "first after steps", "falls after that"]
    return markdown([*header, "holds at the end", "also at × ½ and × 2", "return at the end"], rows)


def stability_runs() -> pl.DataFrame:
    """How the pendulum fared in each run of the study: by its own evaluations, and at the end."""
    table = episodes("recipe-stability", ("preset", *STABILISING))
    config = configure("InvertedPendulum-v5", agent="td3", preset="paper", delta=0.1)
    base = {name: getattr(config, name) for name in STABILISING}
    rows: list[dict[str, Any]] = []
    for run in [] if table.is_empty() else table.partition_by("run"):
        own = run.row(0, named=True)
        words = "`preset = robust`" if own["preset"] == "robust" else differences(own, base)
        lines = read_metrics(PUBLISHED / "runs" / own["run"])
        held = {x["step"]: x["return_mean"] >= HELD for x in lines if x["kind"] == "evaluation"}
        first = min((step for step, holds in held.items() if holds), default=None)
        later = [] if first is None else [holds for step, holds in held.items() if step > first]
        ends = run.group_by("mass").agg(pl.col("return").mean())
        rows.append(
            {
                **{"task": own["task"], SEED: own[SEED], "words": words},
                **{"first": first, "falls": 1 - mean(later) if later else None},
                "end": ends.filter(mass=1.0)["return"].item(),
                "worst": ends["return"].min(),
            }
        )
    return pl.DataFrame(rows)


TABLES: Tables = {
    "search": lambda: search_table("recipe-search"),
    "finals-first": lambda: search_table("recipe-finals-first"),
    "finals": lambda: search_table("recipe-finals"),
    "idle": idle_table,
    "held": held_table,
    "results": results_table,
    "pairs": pairs_table,
    "published": published_table,
    "recent": recent_table,
    "pendulum": pendulum_table,
    "ant": lambda: departures_table("recipe-ant", TRIED_ON_ANT),
    "ablation": lambda: departures_table("recipe-ablation", ABLATED),
    "stability": stability_table,
}


if __name__ == "__main__":
    sys.exit(write(PAGE, TABLES, check=arguments(__doc__).parse_args().check))
