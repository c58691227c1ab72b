"""What VPG learns on the toy MDP: the figures and tables of docs/vpg.md.

    mixedne study paper-vpg --seeds 20 --out vpg-paper
    mixedne study equal-search-vpg --out vpg-search
    python benchmarks/vpg.py vpg-paper vpg-search --out docs/figures

Reads the studies' folders: of a search, the runs with the reporting seeds, 0 to 19. Prints Markdown
tables, means over seeds with 95 % intervals, and writes a figure of each kind for each folder.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from toy_optimum import optimal_return

from mixedne.evaluation.estimators import Student
from mixedne.evaluation.statistics import seed_means, shift_summary
from mixedne.evaluation.table import read_table
from mixedne.metrics import read_metrics
from mixedne.reports.figures.canvas import save_figure
from mixedne.reports.figures.curves import Curve, Panel, draw_panels
from mixedne.reports.style import ACTING as ACTING_WORDS
from mixedne.reports.style import SOLVERS as STYLES
from mixedne.reports.style import Style
from mixedne.reports.tables import INTERVALS
from mixedne.shifts import PARAMETERS
from mixedne.tasks.toy import NOMINAL_RHO

SOLVERS = {solver: STYLES[solver] for solver in ("mixedne-ld", "gad", "extra-adam")}
DELTAS = (0.1, 0.0)
ACTING = ("stochastic", "mean")
EVALUATION = "evaluation.parquet"

Runs = dict[tuple[float, str], list[tuple[dict[str, Any], Path]]]
"""By δ and solver: configuration and folder of each run."""


def find_runs(folder: Path, seeds: int) -> Runs:
    """All finished runs with one of the first seeds."""
    found: Runs = defaultdict(list)
    for path in sorted(folder.rglob("config.json")):
        config = json.loads(path.read_text())
        is_damaged = ".damaged-" in str(path)
        if config["seed"] < seeds and not is_damaged and (path.parent / EVALUATION).exists():
            found[config["delta"], config["solver"]].append((config, path.parent))
    return found


def evaluations(runs: Runs) -> pl.DataFrame:
    """All their episodes on the paper's grid; a search evaluates at the nominal ρ once more."""
    tables = [read_table(path / EVALUATION) for each in runs.values() for _, path in each]
    return pl.concat(tables).filter(pl.col("rho") != NOMINAL_RHO)


def kinds() -> Iterator[tuple[float, str, str]]:
    """δ, solver, and the solver's name for people."""
    for delta in DELTAS:
        for solver, style in SOLVERS.items():
            yield delta, solver, style.label


def rho_panels(table: pl.DataFrame, acting: str) -> list[Panel]:
    """Return against ρ, and the best that is possible."""
    grid = sorted(table["rho"].unique())
    optimum = Curve(
        grid,
        [optimal_return(rho) for rho in grid],
        Style("optimum", "", "-", ""),
        is_reference=True,
    )
    summary = shift_summary(table.filter(pl.col("acting") == acting)).sort("rho")
    panels = []
    for delta in DELTAS:
        curves = [optimum]
        for solver, style in SOLVERS.items():
            rows = summary.filter((pl.col("delta") == delta) & (pl.col("solver") == solver))
            columns = ("mean_return", "mean_return_low", "mean_return_high")
            if len(rows):
                value, low, high = (rows[name].to_numpy() for name in columns)
                curves.append(Curve(rows["rho"].to_numpy(), value, style, low, high))
        label = PARAMETERS["rho"].label
        panels.append(Panel(f"δ = {delta:g}", label, curves, training=NOMINAL_RHO))
    return panels


def sample_panels(runs: Runs) -> list[Panel]:
    """Training return against the environment samples taken."""
    panels = []
    for delta in DELTAS:
        curves = []
        for solver, style in SOLVERS.items():
            found = [_curve(path) for _, path in runs[delta, solver]]
            if found:
                returns = np.array([values for _, values in found]).T
                estimates = np.array([Student().mean(point) for point in returns], dtype=float)
                value, low, high = estimates.T
                curves.append(Curve(found[0][0], value, style, low, high))
        panels.append(Panel(f"δ = {delta:g}", "environment samples", curves, "log counts"))
    return panels


def _curve(path: Path) -> tuple[list[int], list[float]]:
    """Samples and training returns of a run, one point for every 250 outer steps."""
    lines = [line for line in read_metrics(path) if line["kind"] == "training"]
    blocks = [lines[i : i + 5] for i in range(0, len(lines), 5)]
    samples = [block[-1]["samples"] for block in blocks]
    return samples, [float(np.mean([line["return_mean"] for line in block])) for block in blocks]


def print_tables(runs: Runs, table: pl.DataFrame, seeds: int) -> None:
    """One row for each δ and solver."""
    means = seed_means(table.filter(pl.col("train_seed") < seeds))
    grid = sorted(means["rho"].unique())
    middle = min(grid, key=lambda rho: abs(rho - NOMINAL_RHO))
    shown = {f"ρ = {rho:.2g}": [rho] for rho in (grid[0], middle, grid[-1])} | {"all ρ": grid}
    for acting in ACTING:
        print(
            f"\n{acting}, {seeds} seeds\n\n| δ | solver | settings | runs | {' | '.join(shown)} |"
        )
        print("| --- " * (4 + len(shown)) + "|")
        for delta, solver, words in kinds():
            if not runs[delta, solver]:
                continue
            config = runs[delta, solver][0][0]
            rows = means.filter(
                (pl.col("acting") == acting)
                & (pl.col("delta") == delta)
                & (pl.col("solver") == solver)
            )
            cells = [_cell(rows.filter(pl.col("rho").is_in(values))) for values in shown.values()]
            count = rows["train_seed"].n_unique()
            first = f"{delta:g} | {words} | {_settings(config)} | {count}"
            print(f"| {first} | {' | '.join(cells)} |")


def _cell(rows: pl.DataFrame) -> str:
    by_seed = rows.group_by("train_seed").agg(pl.col("mean_return").mean())["mean_return"]
    value, low, _ = Student().mean(by_seed.to_numpy())
    return f"{value:.0f}" if low is None else f"{value:.0f} ± {value - low:.0f}"


def _settings(config: dict[str, Any]) -> str:
    words = [f"η = {config['eta']:g}"]
    if config["solver"] == "mixedne-ld":
        words += [f"σ0 = {config['sigma0']:g}", f"N_k = {config['inner_steps']}"]
    return ", ".join(words)


def main() -> None:
    """Tables to stdout, figures to files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path())
    arguments = parser.parse_args()
    for folder in arguments.folders:
        runs = find_runs(folder, arguments.seeds)
        table = evaluations(runs)
        optimum = (f"{optimal_return(rho):.0f}" for rho in sorted(table["rho"].unique()))
        print(f"\n## {folder.name}\n\noptimum: {', '.join(optimum)}")
        for seeds in (5, arguments.seeds):
            print_tables(runs, table, seeds)
        note = f"Lines: mean over training seeds. Bands: {INTERVALS['mean']}."
        for acting in ACTING:
            figure = draw_panels(
                rho_panels(table, acting),
                title=f"{folder.name}: VPG on the toy MDP, {ACTING_WORDS[acting]}",
                y="return of an episode",
                note=note,
                share_rows=True,
            )
            save_figure(figure, arguments.out / f"{folder.name}-rho-{acting}.png")
        figure = draw_panels(
            sample_panels(runs),
            title=f"{folder.name}: VPG on the toy MDP",
            y="return while training",
            note=note,
            share_rows=True,
        )
        save_figure(figure, arguments.out / f"{folder.name}-samples.png")


if __name__ == "__main__":
    main()
