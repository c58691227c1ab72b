"""The tables and figures of docs/reproduction.md, made from the published runs and nothing else.

    python benchmarks/reproduction.py            # writes the page's tables and its figures
    python benchmarks/reproduction.py --check    # exit code 1 if the page has other tables

Means are over training seeds with Student's 95 % interval; probabilities of
improvement with a bootstrap interval. A run counts as soon as it is published.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl
import vpg
from sweeps import (
    FEWEST_SEEDS,
    HELD,
    interval,
    map_scores,
    run_scores,
    share_of_pairs,
    sweep,
    sweep_scores,
    training_minutes,
)
from tables import Tables, arguments, markdown, number, write

from mixedne import names
from mixedne.config import configure
from mixedne.config.config import unused_fields
from mixedne.evaluation.statistics import SEED, over_seeds
from mixedne.metrics import read_metrics
from mixedne.reports.figures import draw_figures
from mixedne.reports.figures.canvas import save_figure
from mixedne.reports.inputs.collect import collect
from mixedne.studies.results import results

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "reproduction"
PAGE = ROOT / "docs" / "reproduction.md"

FIGURES = {
    "sweep-ddpg-delta0.1-mass": "mass",
    "sweep-ddpg-delta0.1-friction": "friction",
    "one-player-ddpg-mass": "one-player-mass",
    "one-player-ddpg-friction": "one-player-friction",
    "map-ddpg-delta0.1-noise-mass": "noise-mass",
    "map-ddpg-delta0.1-noise-friction": "noise-friction",
    "map-ddpg-delta0.1-mass-friction": "mass-friction",
}
"""What the page shows of the report's figures, and the end of the file's name."""

TASKS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "InvertedPendulum-v5", "Swimmer-v5")
FEET = TASKS[:3]
"""The tasks whose floor is walked on: friction does nothing to the others."""

SYMBOLS = {"sigma0": "σ0", "sigma": "σ", "inner": "chains", "updates": "updates a cycle"}
"""What the controls change, and its name on the page."""

SETTINGS = tuple(SYMBOLS)

SWEEPS = {"mass_mean_return": "masses", "friction_mean_return": "frictions"}
"""What the controls are compared by."""


class Kind(NamedTuple):
    """Runs of a solver with two players, and where they depart from the paper's table."""

    solver: str
    changed: Mapping[str, Any] = MappingProxyType({})


SAMPLED, DESCENT = Kind("mixedne-ld"), Kind("gad")
REASONS: dict[str, list[tuple[str, Kind, Kind]]] = {
    "Langevin noise": [
        (task, SAMPLED, Kind("mixedne-ld", {"sigma0": 0.0}))
        for task in ("HalfCheetah-v5", "Hopper-v5")
    ],
    "frozen chains": [
        (task, SAMPLED, Kind("mixedne-ld", {"inner": "coupled"}))
        for task in ("HalfCheetah-v5", "Hopper-v5")
    ],
    "four times the updates": [
        (task, Kind("gad", {"updates": 200}), DESCENT) for task in ("HalfCheetah-v5", "Hopper-v5")
    ],
    "no noise on the actions": [
        ("HalfCheetah-v5", SAMPLED, Kind("mixedne-ld", {"sigma": 0.2})),
        ("HalfCheetah-v5", Kind("gad", {"sigma": 0.0}), DESCENT),
    ],
    "MixedNE-LD for GAD, own σ": [
        (task, SAMPLED, DESCENT) for task in ("HalfCheetah-v5", "Hopper-v5")
    ],
    "MixedNE-LD for GAD, own σ, as many gradient steps": [
        (task, SAMPLED, Kind("gad", {"updates": 200})) for task in ("HalfCheetah-v5", "Hopper-v5")
    ],
    "MixedNE-LD for GAD, same σ": [
        ("HalfCheetah-v5", SAMPLED, Kind("gad", {"sigma": 0.0})),
        ("HalfCheetah-v5", Kind("mixedne-ld", {"sigma": 0.2}), DESCENT),
        ("Hopper-v5", SAMPLED, DESCENT),
    ],
    "MixedNE-LD for GAD, same σ, as many gradient steps": [
        ("HalfCheetah-v5", Kind("mixedne-ld", {"sigma": 0.2}), Kind("gad", {"updates": 200})),
        ("Hopper-v5", SAMPLED, Kind("gad", {"updates": 200})),
    ],
}
"""What is compared, and between which kinds of run: the one with it first."""

MAPS = {
    "noise × mass": ("noise", "mass"),
    "noise × friction": ("noise", "friction"),
    "mass × friction": ("mass", "friction"),
}
"""The paper's heat maps, and their axes."""

KEY = ["task", "method", SEED]


def episodes(study: str) -> pl.DataFrame:
    """All test episodes of a study's published runs, with the method in words."""
    if not (PUBLISHED / "studies" / f"{study}.json").is_file():
        return pl.DataFrame()
    table = results(PUBLISHED, study=study, settings=SETTINGS)
    solver = pl.col("solver").replace_strict(names.SOLVERS)
    return table.with_columns(method=pl.format("{}, δ = {}", solver, "delta"))


def main_table() -> str:
    """Per task and method: nominal return, and the mean and worst over masses and frictions."""
    header = ["nominal", "21 masses", "worst mass", "21 frictions"]
    measures = ["nominal", "mass_mean_return", "mass_worst_return", "friction_mean_return"]
    scores = run_scores(episodes("reproduce-ddpg"), KEY)
    return by_method(scores.rename(dict(zip(measures, header, strict=True))), header)


def heat_maps() -> str:
    """Per task and method: the mean over the cells of each heat map."""
    table = episodes("reproduce-ddpg")
    scores = table.select(KEY).unique(maintain_order=True)
    for name, axes in MAPS.items():
        own = map_scores(table, axes, KEY).select(*KEY, pl.col("mean_return").alias(name))
        scores = scores.join(own, on=KEY)
    return by_method(scores, list(MAPS))


def by_method(scores: pl.DataFrame, measures: Sequence[str]) -> str:
    """A table of these columns, a row for each task and method, over seeds."""
    rows = [
        [row["task"], row["method"], str(row["seeds"]), *(interval(row, m) for m in measures)]
        for row in ordered(over_seeds(scores, ["task", "method"], measures))
    ]
    return markdown(["task", "method", "seeds", *measures], rows)


def ordered(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows by task in the paper's order, then two players before one."""
    place = pl.col("task").replace_strict(
        list(TASKS), range(len(TASKS)), default=9, return_dtype=pl.Int64
    )
    two_players = pl.col("method").str.ends_with("0.1")
    order = [place, ~two_players, pl.col("method")]
    return summary.sort(order).to_dicts()


def comparison(own: str, others: Sequence[str]) -> str:
    """How often a run of one method beats a run of another, over sweeps and heat maps."""
    table = episodes("reproduce-ddpg")
    frames = {f"{axis} sweep": sweep_scores(table, axis, KEY) for axis in ("mass", "friction")}
    frames |= {name: map_scores(table, axes, KEY) for name, axes in MAPS.items()}
    rows = []
    for other in others:
        known = [task for task in TASKS if comparable(table, [own, other], task)]
        groups = {task: [task] for task in known} | {"all of these": known, "the first three": FEET}
        for words, tasks in groups.items():
            if tasks and set(tasks) <= set(known):
                cells = [won(frame, tasks, own, other) for frame in frames.values()]
                rows.append([other, words, *cells])
    return markdown([f"{own} against", "task", *frames], rows)


def comparable(table: pl.DataFrame, methods: Sequence[str], task: str) -> bool:
    """Whether each of these methods has enough seeds on a task."""
    counts = [table.filter(task=task, method=method)[SEED].n_unique() for method in methods]
    return min(counts) >= FEWEST_SEEDS


def won(frame: pl.DataFrame, tasks: Sequence[str], own: str, other: str) -> str:
    """The probability of improvement on these tasks, in words."""
    x, y = (frame.filter(pl.col("task").is_in(tasks), method=method) for method in (own, other))
    return share_of_pairs(x, y, "mean_return")


def control_runs() -> pl.DataFrame:
    """The scores of the controls and of the runs that they are compared with."""
    parts = [episodes(name) for name in ("reproduce-ddpg", "reproduce-ddpg-controls")]
    table = pl.concat([part for part in parts if len(part)], how="diagonal")
    table = table.filter(pl.col("delta") == 0.1, pl.col("task").is_in(TASKS[:2]))
    return run_scores(table, ["task", "solver", *SETTINGS, SEED])


def controls() -> str:
    """Every kind of run among the controls, over seeds."""
    key = ["task", "solver", *SETTINGS]
    rows = [
        [
            row["task"],
            str(names.SOLVERS[row["solver"]]),
            *setting_cells(row),
            str(row["seeds"]),
            *(interval(row, measure) for measure in SWEEPS),
        ]
        for row in over_seeds(control_runs(), key, list(SWEEPS)).sort(key).to_dicts()
    ]
    header = ["task", "solver", *SYMBOLS.values(), "seeds"]
    return markdown([*header, *SWEEPS.values()], rows)


def reasons() -> str:
    """For each thing in which methods differ, how often a run with it beats one without it."""
    runs = control_runs()
    rows = []
    for what, pairs in REASONS.items():
        strata = [
            tuple(stratum(control(runs, task, side), number) for side in (one, other))
            for number, (task, one, other) in enumerate(pairs)
        ]
        complete = [min(x.height, y.height) >= FEWEST_SEEDS for x, y in strata]
        for (task, one, other), (x, y), enough in zip(pairs, strata, complete, strict=True):
            if enough:
                cells = [share_of_pairs(x, y, measure) for measure in SWEEPS]
                rows.append([what, task, in_words(one, other), *cells])
        if len(pairs) > 1 and all(complete):
            x, y = (pl.concat(side) for side in zip(*strata, strict=True))
            rows.append([what, "all of these", "", *(share_of_pairs(x, y, m) for m in SWEEPS)])
    return markdown(["what is compared", "task", "runs", *SWEEPS.values()], rows)


def control(runs: pl.DataFrame, task: str, kind: Kind) -> pl.DataFrame:
    """The runs of a solver with the paper's values for a task, but for what is changed."""
    config = configure(
        task, agent="ddpg", solver=kind.solver, delta=0.1, preset="paper", **kind.changed
    )
    used = [name for name in SETTINGS if name not in unused_fields("ddpg", kind.solver)]
    own = {name: getattr(config, name) for name in used}
    return runs.filter(task=config.task, solver=config.solver, **own)


def stratum(runs: pl.DataFrame, number: int) -> pl.DataFrame:
    """The runs as those of a task of its own: they are paired with no other comparison's."""
    return runs.with_columns(task=pl.lit(str(number)))


def in_words(one: Kind, other: Kind) -> str:
    """Two kinds of run, as the table has them."""
    words = []
    for kind in (one, other):
        changed = [f"{SYMBOLS[name]} = {written(value)}" for name, value in kind.changed.items()]
        words.append(", ".join([str(names.SOLVERS[kind.solver]), *changed]))
    return " against ".join(words)


def setting_cells(row: dict[str, Any]) -> list[str]:
    """What the controls change; a dash where the solver does not use it."""
    unused = unused_fields("ddpg", row["solver"])
    used = {name: row[name] for name in SETTINGS if name not in unused}
    return [written(used[name]) if name in used else "–" for name in SETTINGS]


def written(value: float | str) -> str:
    """A setting's value: no zero after a point."""
    return value if isinstance(value, str) else f"{value:g}"


def pendulum() -> str:
    """How many runs hold the pendulum at the end, and how often in the second half of training."""
    runs = episodes("reproduce-ddpg").filter(task="InvertedPendulum-v5")
    found: list[dict[str, Any]] = []
    for run, method in runs.select("run", "method").unique().iter_rows():
        lines = [line for line in read_metrics(PUBLISHED / "runs" / run) if line.get("mass") == 1]
        held = {line["step"]: line["return_mean"] >= HELD for line in lines}
        late = [holds for step, holds in held.items() if step > max(held) / 2]
        own = {"ends": held[max(held)], "late": sum(late) / len(late)}
        own["first"] = min(step for step, holds in held.items() if holds)
        found.append({"task": "InvertedPendulum-v5", "method": method, **own})
    summary = over_seeds(pl.DataFrame(found), ["task", "method"], ["late"])
    others = pl.DataFrame(found).group_by("method").agg(pl.col("ends").sum(), pl.col("first").max())
    rows = [
        [
            row["method"],
            f"{row['ends']} of {row['seeds']}",
            f"{row['late']:.2f} ({row['late_low']:.2f} to {min(1.0, row['late_high']):.2f})",
            f"{row['first']:,}",
        ]
        for row in ordered(summary.join(others, on="method"))
    ]
    header = ["method", "hold it at the end", "of the evaluations in the second half"]
    return markdown([*header, "all have held it once by step"], rows)


def episodes_or_seeds() -> str:
    """How wide the interval is that ten episodes leave, beside that over seeds."""
    table = sweep(episodes("reproduce-ddpg"), "mass")
    # An episode has the same seed, and so the same start, at every mass: average over masses first.
    means = table.group_by([*KEY, "episode"]).agg(value=pl.col("return").mean())
    runs = over_seeds(means.sort([*KEY, "episode"]), KEY)
    summary = runs.group_by("task", "method", maintain_order=True).agg(
        seeds=pl.len(),
        episodes=(pl.col("value_high") - pl.col("value_low")).mean() / 2,
        between=pl.col("value").std(ddof=1),
    )
    rows = [
        [
            row["task"],
            row["method"],
            f"± {number(row['episodes'], row['episodes'])}",
            "–" if row["seeds"] < FEWEST_SEEDS else number(row["between"], row["between"]),
        ]
        for row in ordered(summary)
    ]
    return markdown(["task", "method", "ten episodes a point", "deviation between seeds"], rows)


def hours() -> str:
    """How long training took, by task, solver and number of players."""
    parts = [episodes(name) for name in ("reproduce-ddpg", "reproduce-ddpg-controls")]
    key = ["task", "solver", "delta", "updates"]
    runs = pl.concat([part.select("run", *key).unique() for part in parts if len(part)])
    minutes = [training_minutes(PUBLISHED / "runs" / run) for run in runs["run"]]
    summary = (
        runs.with_columns(pl.Series("minutes", minutes))
        .group_by(key)
        .agg(runs=pl.len(), minutes=pl.col("minutes").mean(), hours=pl.col("minutes").sum() / 60)
    )
    rows = [
        [
            row["task"],
            str(names.SOLVERS[row["solver"]]),
            f"{row['delta']:g}",
            str(row["updates"]),
            str(row["runs"]),
            f"{row['minutes']:.0f}",
            f"{row['hours']:.1f}",
        ]
        for row in summary.sort(key).to_dicts()
    ]
    total = f"{summary['hours'].sum():.1f}"
    rows.append(["all", "", "", "", str(summary["runs"].sum()), "", total])
    header = ["task", "solver", "δ", "updates a cycle", "runs", "minutes a run", "hours"]
    return markdown(header, rows)


LD, GAD, EXTRA = (f"{names.SOLVERS[s]}, δ = 0.1" for s in ("mixedne-ld", "gad", "extra-adam"))
LD_ALONE = f"{names.SOLVERS['mixedne-ld']}, δ = 0.0"

TABLES: Tables = {
    "vpg": lambda: vpg.comparison("paper-vpg", "stochastic", vpg.SEEDS),
    "vpg-controls": vpg.controls,
    "main": main_table,
    "two-player": lambda: comparison(LD, [GAD, EXTRA]),
    "one-player": lambda: comparison(LD_ALONE, [GAD, EXTRA, LD]),
    "maps": heat_maps,
    "controls": controls,
    "reasons": reasons,
    "pendulum": pendulum,
    "episodes": episodes_or_seeds,
    "hours": hours,
}


def write_figures(folder: Path) -> None:
    """Draw the page's figures: those of a report on the runs of the main comparison."""
    main = [PUBLISHED / "runs" / run for run in episodes("reproduce-ddpg")["run"].unique()]
    for name, figure in draw_figures(collect(sorted(main), None)):  # without the controls
        stem, *_ = name.partition("-part")  # more tasks than a sheet holds
        if stem in FIGURES:
            file = name.replace(stem, f"reproduction-{FIGURES[stem]}")
            save_figure(figure, folder / f"{file}.png")


if __name__ == "__main__":
    check = arguments(__doc__).parse_args().check
    if not check:
        write_figures(PAGE.parent / "figures")
    sys.exit(write(PAGE, TABLES, check=check))
