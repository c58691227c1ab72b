"""The tables of docs/quickstart.md, made from the published runs on the pendulum.

    python benchmarks/quickstart.py            # writes the page's tables and the README's figure
    python benchmarks/quickstart.py --check    # exit code 1 if the page has other tables

``small-steps``  the study ``quickstart-small-steps``, by which the quickstart was chosen.
``shown``        what the quickstart shows, with 16 seeds instead of three; also the figure.
``games``        ``quickstart-search``: in which game the preset ``robust`` holds other masses.
``fresh``        the best of them on other seeds (``quickstart-fresh``).

A cell has the mean return over runs, and how many of them hold the pendulum.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib.pyplot as plt
import polars as pl
from sweeps import HELD
from tables import Tables, arguments, markdown, write

from mixedne import results
from mixedne.cli.quickstart import WAYS
from mixedne.evaluation.statistics import SEED, over_episodes, shift_summary
from mixedne.reports.style import SOLVERS

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "quickstart"
PAGE = ROOT / "docs" / "quickstart.md"
FIGURE = ROOT / "docs" / "figures" / "quickstart-mass.png"

MASSES = (0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0)
"""The masses with a column of their own; the mean is over all that were tried."""

BAND = ["mean_return_low", "mean_return_high"]
KEY = ["steps", "preset", "solver", "formulation", "delta", "parameters"]


def of_runs(study: str) -> pl.DataFrame:
    """The mean return of each run at each mass."""
    table = results(PUBLISHED, study=study, settings=["parameters"])
    return over_episodes(table, [*KEY, SEED, "mass"])


def method(row: Mapping[str, Any]) -> str:
    """How a policy was trained, in words."""
    if row["formulation"] == "parameters":
        low, high = row["parameters"][0].removeprefix("mass=").split(":")
        adversary = f"MixedNE-LD, an adversary sets the mass, × {low} to × {high}"
        adversary += ", older settings" if row["preset"] == "paper" else ""
    elif row["delta"] > 0:
        adversary = f"MixedNE-LD, an adversary in the actions, δ = {row['delta']:g}"
    else:
        adversary = "plain TD3"
    return f"{adversary}; {row['steps']:,} steps"


def by_mass(study: str) -> str:
    """A row per method, the highest mean over all masses first."""
    rows = []
    for _, runs in of_runs(study).group_by(KEY, maintain_order=True):
        of_mass = {mass: own["mean_return"].to_list() for (mass,), own in runs.group_by("mass")}
        whole = mean(runs["mean_return"])
        held = [f"{mean(of_mass[m]):.0f} ({sum(x >= HELD for x in of_mass[m])})" for m in MASSES]
        rows.append((whole, [method(runs.row(0, named=True)), *held, f"{whole:.0f}"]))
    rows.sort(key=lambda row: -row[0])
    header = ["trained with", *(f"× {mass:g}" for mass in MASSES), "mean of all masses"]
    return markdown(header, [cells for _, cells in rows])


TABLES: Tables = {
    "small-steps": lambda: by_mass("quickstart-small-steps"),
    "shown": lambda: by_mass("quickstart"),
    "games": lambda: by_mass("quickstart-search"),
    "fresh": lambda: by_mass("quickstart-fresh"),
}


def draw(path: Path) -> None:
    """Return against mass of what the quickstart shows: means over seeds and 95 % intervals."""
    figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
    found = shift_summary(results(PUBLISHED, study="quickstart")).sort("mass")
    for solver, words in WAYS.items():
        own, style = found.filter(solver=solver), SOLVERS[solver]
        look: dict[str, Any] = {"color": style.color, "marker": style.marker}
        axes.fill_between(own["mass"], *own.select(BAND), color=style.color, alpha=0.15, lw=0)
        label = f"{words} ({own['seeds'][0]} seeds)"
        axes.plot(own["mass"], own["mean_return"], style.line, label=label, **look)
    axes.set(xlabel="mass, as a multiple of the pendulum's own", ylabel="return, mean over seeds")
    axes.set(xscale="log", ylim=(0, 1060), xticks=MASSES, xticklabels=[f"{m:g}" for m in MASSES])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower left", frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    if not given.check:
        draw(FIGURE)
    sys.exit(write(PAGE, TABLES, check=given.check))
