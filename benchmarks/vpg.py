"""What VPG learns on the toy MDP: the tables and figures of docs/vpg.md.

    mixedne study paper-vpg --seeds 20 --out DIR
    mixedne study examples/vpg-controls.toml --out DIR
    mixedne study equal-search-vpg --out DIR
    python benchmarks/vpg.py --collect DIR    # keeps their returns in results/vpg, then as below
    python benchmarks/vpg.py                  # the page's tables and figures from results/vpg
    python benchmarks/vpg.py --check          # exit code 1 if the page has other tables

Of a search, the runs that it reports count. ``results/vpg`` has two tables: the test episodes of
all runs, and the returns while training. A study that is not there keeps what the page has of it.
"""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tables import Tables, arguments, markdown, write
from toy_optimum import optimal_return

from mixedne import results
from mixedne.evaluation.estimators import Student
from mixedne.evaluation.statistics import SEED, seed_means, shift_summary
from mixedne.files import write_beside
from mixedne.metrics import read_metrics
from mixedne.reports.figures.canvas import save_figure
from mixedne.reports.figures.curves import Curve, Panel, draw_panels
from mixedne.reports.style import ACTING as ACTING_WORDS
from mixedne.reports.style import SOLVERS as STYLES
from mixedne.reports.style import Style
from mixedne.reports.tables import INTERVALS
from mixedne.shifts import PARAMETERS
from mixedne.tasks.toy import NOMINAL_RHO

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "results" / "vpg"
PAGE = ROOT / "docs" / "vpg.md"

SOLVERS = {solver: STYLES[solver] for solver in ("mixedne-ld", "gad", "extra-adam")}
DELTAS = (0.1, 0.0)
ACTING = ("stochastic", "mean")
SETTINGS = ["eta", "sigma0", "inner_steps"]
SEEDS = 20
FEW_SEEDS = 5
"""As many as the paper has."""

COMPARED = {"paper-vpg": "paper", "equal-search-vpg-reported": "search"}
"""Studies that compare the three solvers, and the start of their tables' and figures' names."""
CONTROLS = "vpg-controls"
LAST_LINES = 5
"""Lines of the metrics that count as the end of training: a twentieth of it."""

RUN = ["run", "solver", "delta", SEED, "steps"]


def collect(folder: Path) -> None:
    """Keep the returns of the studies in a folder, tested and while training."""
    tested, trained = [], []
    for study in (*COMPARED, CONTROLS):
        if (folder / "studies" / f"{study}.json").is_file():
            table = results(folder, study=study, settings=SETTINGS).drop("versions")
            tested.append(table.with_columns(study=pl.lit(study)))
            runs = tested[-1].select("study", *RUN, *SETTINGS).unique(maintain_order=True)
            trained += [training(folder / "runs" / row["run"], row) for row in runs.to_dicts()]
    KEPT.mkdir(exist_ok=True)
    for name, parts in (("episodes", tested), ("training", trained)):
        with write_beside(KEPT / f"{name}.parquet") as temporary:
            pl.concat(parts).write_parquet(temporary, compression_level=19)


def training(run: Path, about: dict[str, Any]) -> pl.DataFrame:
    """The environment samples and returns of a run while it trained."""
    lines = [line for line in read_metrics(run) if line["kind"] == "training"]
    columns = {name: [line[name] for line in lines] for name in ("samples", "return_mean")}
    return pl.DataFrame(columns).with_columns(**{k: pl.lit(v) for k, v in about.items()})


def kept(name: str, study: str) -> pl.DataFrame:
    """One of the kept tables, of one study."""
    return pl.read_parquet(KEPT / f"{name}.parquet").filter(study=study).drop("study")


def on_grid(study: str) -> pl.DataFrame:
    """The test episodes on the paper's grid; a search has the nominal ρ as well."""
    return kept("episodes", study).filter(pl.col("rho") != NOMINAL_RHO)


def methods(table: pl.DataFrame) -> Iterator[tuple[float, str, pl.DataFrame]]:
    """δ, solver and the rows of each method that is there."""
    for delta in DELTAS:
        for solver in SOLVERS:
            rows = table.filter(delta=delta, solver=solver)
            if len(rows):
                yield delta, solver, rows


def comparison(study: str, acting: str, seeds: int) -> str:
    """Returns at some ρ and over all, a row for each δ and solver."""
    table = on_grid(study).filter(pl.col(SEED) < seeds, acting=acting)
    grid = sorted(table["rho"].unique())
    middle = min(grid, key=lambda rho: abs(rho - NOMINAL_RHO))
    shown = {f"ρ = {rho:.2g}": [rho] for rho in (grid[0], middle, grid[-1])} | {"all ρ": grid}
    lines = []
    for delta, solver, rows in methods(table):
        means = seed_means(rows)
        cells = [
            cell(means.filter(pl.col("rho").is_in(values)), "mean_return")
            for values in shown.values()
        ]
        count = str(means[SEED].n_unique())
        about = [f"{delta:g}", SOLVERS[solver].label, settings(rows.row(0, named=True)), count]
        lines.append([*about, *cells])
    return markdown(["δ", "solver", "settings", "runs", *shown], lines)


def cell(rows: pl.DataFrame, column: str) -> str:
    """The mean over seeds of each seed's mean, with its interval."""
    by_seed = rows.group_by(SEED, maintain_order=True).agg(pl.col(column).mean())[column]
    value, low, _ = Student().mean(by_seed.to_numpy())
    return f"{value:.0f}" if low is None else f"{value:.0f} ± {value - low:.0f}"


def settings(row: dict[str, Any]) -> str:
    """What differs between methods, in words."""
    words = [f"η = {row['eta']:g}"]
    if row["solver"] == "mixedne-ld":
        words += [f"σ0 = {row['sigma0']:g}", f"N_k = {row['inner_steps']}"]
    return ", ".join(words)


def controls() -> str:
    """Returns at the end of training: MixedNE-LD, and GAD with its step or its samples."""
    own, controlled = kept("training", "paper-vpg"), kept("training", CONTROLS)
    pairs = [
        (own.filter(solver="mixedne-ld", delta=0.1), "the paper's"),
        (controlled.filter(solver="gad", delta=0.1, steps=5000, eta=8.1e-4), "the same step"),
        (own.filter(pl.col(SEED) < 8, solver="mixedne-ld", delta=0.0), "the paper's"),
        (controlled.filter(solver="gad", delta=0.0, steps=50_000), "the same samples"),
    ]
    lines = []
    for rows, words in pairs:
        end = rows.group_by(RUN, maintain_order=True).tail(LAST_LINES)
        row = rows.row(0, named=True)
        about = f"{SOLVERS[row['solver']].label}, δ = {row['delta']:g}, {settings(row)}"
        steps = f"{row['steps']:,}"
        seeds = str(rows[SEED].n_unique())
        lines.append([about, words, steps, seeds, cell(end, "return_mean")])
    return markdown(["run", "which is", "steps", "seeds", "return"], lines)


def rho_panels(study: str, acting: str) -> list[Panel]:
    """Return against ρ, and the best that is possible."""
    table = on_grid(study).filter(acting=acting)
    grid = sorted(table["rho"].unique())
    best = [optimal_return(rho) for rho in grid]
    optimum = Curve(grid, best, Style("optimum", "", "-", ""), is_reference=True)
    panels = []
    for delta in DELTAS:
        curves = [optimum]
        for _, solver, rows in methods(table.filter(delta=delta)):
            summary = shift_summary(rows).sort("rho")
            columns = ("rho", "mean_return", "mean_return_low", "mean_return_high")
            rho, value, low, high = (summary[name].to_numpy() for name in columns)
            curves.append(Curve(rho, value, SOLVERS[solver], low, high))
        label = PARAMETERS["rho"].label
        panels.append(Panel(f"δ = {delta:g}", label, curves, training=NOMINAL_RHO))
    return panels


def sample_panels(study: str) -> list[Panel]:
    """Training return against the environment samples taken."""
    curves: dict[float, list[Curve]] = {delta: [] for delta in DELTAS}
    for delta, solver, rows in methods(kept("training", study)):
        runs = [curve(own) for _, own in rows.group_by(RUN, maintain_order=True)]
        returns = np.array([values for _, values in runs]).T
        value, low, high = np.array([Student().mean(point) for point in returns], dtype=float).T
        curves[delta].append(Curve(runs[0][0], value, SOLVERS[solver], low, high))
    label = "environment samples"
    return [Panel(f"δ = {delta:g}", label, own, "log counts") for delta, own in curves.items()]


def curve(run: pl.DataFrame) -> tuple[list[int], list[float]]:
    """Samples and training returns of a run, twenty points."""
    part = pl.int_range(pl.len()) // LAST_LINES
    means = [pl.col("samples").last(), pl.col("return_mean").mean()]
    points = run.group_by(part.alias("part"), maintain_order=True).agg(means)
    return points["samples"].to_list(), points["return_mean"].to_list()


def draw(study: str, name: str, folder: Path) -> None:
    """The figures of one study."""
    sheets = {
        f"vpg-{name}-rho-{acting}": (
            rho_panels(study, acting),
            f"VPG on the toy MDP, {ACTING_WORDS[acting]}",
            "return of an episode",
        )
        for acting in ACTING
    }
    trained = sample_panels(study), "VPG on the toy MDP", "return while training"
    sheets[f"vpg-{name}-samples"] = trained
    note = f"Lines: mean over training seeds. Bands: {INTERVALS['mean']}."
    for file, (panels, title, y) in sheets.items():
        figure = draw_panels(panels, title=title, y=y, note=note, share_rows=True)
        save_figure(figure, folder / f"{file}.png")


def tables() -> Tables:
    """The page's tables of the studies that are kept."""
    found = set(pl.read_parquet(KEPT / "episodes.parquet", columns=["study"])["study"].unique())
    made = {}
    for study, name in COMPARED.items():
        if study in found:
            for acting in ACTING:
                made[f"{name}-{acting}"] = partial(comparison, study, acting, SEEDS)
            made[f"{name}-few"] = partial(comparison, study, ACTING[0], FEW_SEEDS)
    return made | ({"controls": controls} if CONTROLS in found else {})


TABLES: Tables = tables() if KEPT.is_dir() else {}


def main() -> int:
    """Collect if asked, then write or check."""
    parser = arguments(__doc__)
    parser.add_argument("--collect", type=Path, metavar="DIR", help="a study folder")
    given = parser.parse_args()
    if given.collect:
        collect(given.collect)
    made = tables()
    if not given.check:
        for study, name in COMPARED.items():
            if f"{name}-few" in made:
                draw(study, name, PAGE.parent / "figures")
    return write(PAGE, made, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
