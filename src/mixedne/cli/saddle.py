"""``mixedne saddle``: the case study."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from mixedne.cli.console import note, print_json, print_table, progress
from mixedne.errors import check_choice, check_number
from mixedne.files import new_folder, write_table
from mixedne.saddle.objectives import OBJECTIVES, parse_objectives, parse_start
from mixedne.saddle.settings import INNERS, SOLVERS, Settings
from mixedne.versions import versions

if TYPE_CHECKING:
    import polars as pl

MARK = "config.json"
"""The file by which an output folder of this command is recognised."""

PATH_SEEDS = 100
"""Paths are kept and drawn for at most this many seeds; results are for all."""


@dataclass(frozen=True)
class Saddle:
    """The paper's case study: two-number games that trap gradient methods."""

    about: ClassVar[str] = """\
The summary shows, for each game and solver, how many seeds ended off the curve of
stationary points that are no equilibria, how far from the equilibrium they ended, and
how much a player could gain by deviating (exploitability; zero at equilibria only).

Examples:
  mixedne saddle
  mixedne saddle --start both --inner both --out case-study
  mixedne saddle --objective x2y2-xy --solver mixedne-ld --start=-0.2,-0.6 --json"""

    objective: Annotated[str, tyro.conf.arg(metavar="NAME|all")] = "all"
    """x2y2-xy (θ²ω² − θω), xy-x2y2 (θω − θ²ω²), x2y2 (θ²ω²), or all."""
    start: Annotated[str, tyro.conf.arg(metavar="far|near|both|X,Y")] = "far"
    """Where to start. A negative point needs an equals sign: --start=-0.2,-0.6."""
    solver: Annotated[str, tyro.conf.arg(metavar="NAME|all")] = "all"
    """gad, eg, mixedne-ld, or all."""
    inner: Literal["frozen", "coupled", "both"] = "frozen"
    """What MixedNE-LD's chains play against: the opponent's outer value, or its chain."""
    seeds: int = 100
    """How many seeds; GAD and EG do not depend on them."""
    first_seed: int = 0
    """The first of them."""
    settings: tyro.conf.OmitArgPrefixes[Settings] = field(default_factory=Settings)
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Write figures, results.parquet, paths.parquet and config.json into this folder."""
    overwrite: bool = False
    """Replace the output folder if it holds something."""
    json: bool = False
    """Print one JSON document: a list with one object per case and seed."""

    def run(self) -> None:
        """Run the case study and print or write what it found."""
        check_number("seeds", self.seeds, at_least=1, at_most=10**6)
        check_number("first_seed", self.first_seed, at_least=0, at_most=2**32 - 1)
        cases = self.cases()
        if self.out is None:
            results, _ = self.compute(cases)
        else:
            with new_folder(self.out, mark=MARK, overwrite=self.overwrite) as folder:
                results, paths = self.compute(cases)
                self.write(folder, results, paths)
        if self.json:
            print_json(results.to_dicts())
        else:
            print_summary(results)
        if self.out is not None:
            note(f"Figures and tables are in {self.out}")

    def cases(self) -> list[tuple[str, str | None, str]]:
        """Every (solver, inner, start) to run, all of them checked."""
        check_choice("solver", self.solver, [*SOLVERS, "all"])
        parse_objectives(self.objective)
        starts = ["far", "near"] if self.start == "both" else [self.start]
        for start in starts:
            parse_start(start)
        solvers = SOLVERS if self.solver == "all" else [self.solver]
        inners = INNERS if self.inner == "both" else [self.inner]
        return [
            (solver, inner, start)
            for start in starts
            for solver in solvers
            for inner in (inners if solver == "mixedne-ld" else [None])
        ]

    def compute(
        self, cases: list[tuple[str, str | None, str]]
    ) -> tuple["pl.DataFrame", "pl.DataFrame"]:
        """The tables of results and of paths."""
        import numpy as np  # heavy imports wait until the input is known to be good

        from mixedne.saddle import experiment, tables

        objectives = parse_objectives(self.objective)
        seeds = np.arange(self.first_seed, self.first_seed + self.seeds)

        def describe(case: tuple[str, str | None, str]) -> str:
            solver, inner, start = case
            return f"{_name(solver, inner)} from {start}, {self.seeds} seeds"

        runs = []
        for solver, inner, start in progress(cases, describe, "Case study"):
            where = (start, parse_start(start))
            runs += experiment.run(objectives, solver, inner, where, seeds, self.settings)
        return tables.results(runs), tables.paths(runs, PATH_SEEDS)

    def write(self, folder: Path, results: "pl.DataFrame", paths: "pl.DataFrame") -> None:
        """Write everything that the case study leaves behind."""
        from mixedne.reports.figures.saddle import write_figures

        write_table(results, folder / "results.parquet")
        write_table(paths, folder / "paths.parquet")
        write_figures(paths, folder)
        config = {
            "format_version": 1,
            "kind": "saddle",
            "objective": self.objective,
            "start": self.start,
            "solver": self.solver,
            "inner": self.inner,
            "seeds": self.seeds,
            "first_seed": self.first_seed,
            **asdict(self.settings),
            "versions": versions("jax", "optax", "numpy"),
        }
        (folder / MARK).write_text(json.dumps(config, indent=2) + "\n")


def print_summary(results: "pl.DataFrame") -> None:
    """A table with one line per case: medians over seeds, with 5 % and 95 % quantiles."""
    from mixedne.saddle.tables import summary

    order = list(OBJECTIVES)
    cases = sorted(
        summary(results).to_dicts(),
        key=lambda case: (order.index(case["objective"]), case["start"]),
    )
    rows = [
        [
            OBJECTIVES[case["objective"]].label,
            case["start"],
            _name(case["solver"], case["inner"]),
            _spread(case, "escaped", 0, scale=100, unit=" %"),
            _spread(case, "escape_step", 0),
            _spread(case, "distance", 2),
            _spread(case, "end_exploitability", 2),
            _spread(case, "average_exploitability", 2),
            _spread(case, "exploitability", 2),
        ]
        for case in cases
    ]
    columns = ["objective", "start", "solver", "off θω = ½", "since step", "distance"]
    columns += [f"exploitability\n{of}" for of in ("last iterate", "average", "chain")]
    title = (
        f"Median [5 %, 95 %] over seeds ({results['seed'].n_unique()}); shares with 95 % interval"
    )
    print_table(title, columns, rows)


def _spread(case: dict[str, Any], name: str, digits: int, scale: float = 1, unit: str = "") -> str:
    """A number with its spread over seeds, where the solver is noisy and there are several."""
    if case[name] is None:
        return "–"
    middle, low, high = (
        f"{scale * case[key]:.{digits}f}" for key in (name, f"{name}_low", f"{name}_high")
    )
    noisy = case["inner"] is not None and case["seeds"] > 1
    return f"{middle}{unit} [{low}, {high}]" if noisy else f"{middle}{unit}"


def _name(solver: str, inner: str | None) -> str:
    names = {"gad": "GAD", "eg": "EG", "mixedne-ld": "MixedNE-LD"}
    return names[solver] + (f" {inner}" if inner else "")
