"""``mixedne saddle`` and ``theorems``: the case study, and checks of Section 4's claims."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Console
from rich.progress import track
from tyro.conf import arg

from mixedne.cli.console import print_json, print_table
from mixedne.cli.streams import note
from mixedne.errors import check_choice, check_number
from mixedne.files import new_folder, write_beside, write_table
from mixedne.names import INNER_CHAINS
from mixedne.saddle.objectives import (
    OBJECTIVES,
    SOLVERS,
    Case,
    parse_objectives,
    plan_cases,
    solver_label,
)
from mixedne.versions import versions

if TYPE_CHECKING:
    import polars as pl

MARK = "paths.parquet"
"""A file that identifies an output folder of this command: no run has it."""

MAX_TOTAL = 10**8
"""Maximum number of outer steps of all seeds of a case, whose paths are kept in memory."""

SUMMARY = {
    "off θω = ½": ("escaped", 0),
    "since step": ("escape_step", 0),
    "distance": ("distance", 2),
    "exploitability\nlast iterate": ("end_exploitability", 2),
    "exploitability\naverage": ("average_exploitability", 2),
    "exploitability\nchain": ("exploitability", 2),
}
"""Columns of the summary: the measure, and the number of digits shown."""


def _option(kind: type, metavar: str, hint: str, *aliases: str) -> Any:
    """An option whose default is given by ``settings``."""
    return arg(constructor=kind, metavar=metavar, help_behavior_hint=hint, aliases=aliases)


@dataclass(frozen=True)
class Saddle:
    """Run the paper's case study: two-number games that trap gradient methods."""

    objective: Annotated[str, arg(metavar="NAME|all")] = "all"
    """x2y2-xy (θ²ω² − θω), xy-x2y2 (θω − θ²ω²), x2y2 (θ²ω²), or all."""
    start: Annotated[str, arg(metavar="far|near|both|X,Y")] = "far"
    """Starting point. A negative one needs an equals sign: --start=-0.2,-0.6."""
    solver: Annotated[str, arg(metavar="NAME|all")] = "all"
    """gad, eg, mixedne-ld, or all."""
    settings: Literal["paper", "authors"] = "paper"
    """Defaults from the paper, or from the authors' scripts: coupled chains with K = 100,
    simultaneous GAD, η = 0.05 for GAD and EG (EG on θ²ω²: 0.1), and other starting points. The
    options below override single values."""
    inner: Annotated[
        str | None, _option(str, "frozen|coupled|both", "(paper: frozen, authors: coupled)")
    ] = None
    """What MixedNE-LD's inner chains play against: the opponent's outer iterate, or its chain."""
    steps: Annotated[int | None, _option(int, "T", "(default: 1000)")] = None
    """Number of outer steps."""
    learning_rate: Annotated[float | None, _option(float, "ETA", "(paper: 0.1)")] = None
    """Step size η of every solver."""
    noise_scale: Annotated[
        float | None, _option(float, "EPSILON", "(default: 0.01)", "--temperature")
    ] = None
    """ε in MixedNE-LD's noise ε √(2η) ξ."""
    inner_steps: Annotated[int | None, _option(int, "K", "(paper: 50, authors: 100)")] = None
    """Number of inner steps of MixedNE-LD."""
    damping: Annotated[float | None, _option(float, "BETA", "(default: 0.5)")] = None
    """Damping factor β of MixedNE-LD."""
    seeds: int = 100
    """Number of seeds; GAD and EG are deterministic."""
    first_seed: int = 0
    """The first seed."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Write figures, results.parquet, paths.parquet and config.json into this folder."""
    overwrite: bool = False
    """Replace the output folder if it is not empty."""
    json: bool = False
    """Print one JSON document: a list with one object per case and seed."""

    def run(self) -> None:
        """Run the case study, and print or write the results."""
        check_number("seeds", self.seeds, at_least=1, at_most=10**6)
        check_number("first_seed", self.first_seed, at_least=0, at_most=2**32 - 1)
        cases = self.cases()
        for case in cases:
            total = self.seeds * case.settings.steps
            check_number("seeds × steps", total, at_most=MAX_TOTAL)
        if self.out is None:
            results, _ = self.compute(cases)
        else:
            with new_folder(self.out, mark=MARK, overwrite=self.overwrite) as folder:
                results, paths = self.compute(cases)
                self.write(folder, cases, results, paths)
        if self.json:
            print_json(results.to_dicts())
        else:
            print_summary(results)
        if self.out is not None:
            note(f"Figures and tables are in {self.out}")

    def cases(self) -> list[Case]:
        """The cases to run; raises ``InvalidInputError`` for bad options."""
        check_choice("solver", self.solver, [*SOLVERS, "all"])
        if self.inner is not None:
            check_choice("inner", self.inner, [*INNER_CHAINS, "both"])
        numbers = ("steps", "learning_rate", "noise_scale", "inner_steps", "damping")
        given = {name: getattr(self, name) for name in numbers}
        return plan_cases(
            parse_objectives(self.objective),
            solvers=SOLVERS if self.solver == "all" else [self.solver],
            starts=["far", "near"] if self.start == "both" else [self.start],
            inners=INNER_CHAINS if self.inner == "both" else [self.inner],
            settings=self.settings,
            overrides={name: value for name, value in given.items() if value is not None},
        )

    def compute(self, cases: list[Case]) -> tuple["pl.DataFrame", "pl.DataFrame"]:
        """The table of results, and the table of paths of the first hundred seeds."""
        import numpy as np  # heavy imports only after the input has been checked

        from mixedne.saddle import experiment, tables

        seeds = np.arange(self.first_seed, self.first_seed + self.seeds)
        title, console, runs = "Case study", Console(stderr=True), []
        plain = not console.is_terminal
        shown = track(cases, title, console=console, transient=True, disable=plain)
        for number, case in enumerate(shown, 1):
            if plain:
                label = solver_label(case.solver, case.inner)
                place = f"{title} {number}/{len(cases)}"
                note(f"{place}: {label} from {case.start}, {self.seeds} seeds")
            runs += experiment.run(case, seeds)
        return tables.results(runs), tables.paths(runs, 100)

    def write(
        self, folder: Path, cases: list[Case], results: "pl.DataFrame", paths: "pl.DataFrame"
    ) -> None:
        """Write the output folder of the case study."""
        from mixedne.reports.figures.saddle import write_figures
        from mixedne.saddle.tables import mark_settings

        write_table(results, folder / "results.parquet")
        write_table(paths, folder / "paths.parquet")
        write_figures(mark_settings(paths, self.settings), folder)
        config = {
            "format_version": 2,
            "kind": "saddle",
            "settings": self.settings,
            "seeds": self.seeds,
            "first_seed": self.first_seed,
            "cases": [
                {**asdict(case), "objectives": [objective.name for objective in case.objectives]}
                for case in cases
            ],
            "versions": versions("jax", "optax", "numpy"),
        }
        with write_beside(folder / "config.json") as temporary:
            temporary.write_text(json.dumps(config, indent=2) + "\n")


def print_summary(results: "pl.DataFrame") -> None:
    """Print a table with one row per case: medians over seeds, with 5 % and 95 % quantiles."""
    from mixedne.saddle.tables import summary

    order = list(OBJECTIVES)
    cases = summary(results).to_dicts()
    cases.sort(key=lambda case: (order.index(case["objective"]), case["start"]))
    rows = [
        [
            OBJECTIVES[case["objective"]].label,
            case["start"],
            solver_label(case["solver"], case["inner"]),
            *(_spread(case, name, digits) for name, digits in SUMMARY.values()),
        ]
        for case in cases
    ]
    seeds = results["seed"].n_unique()
    title = f"Median [5 %, 95 %] over seeds ({seeds}); shares with 95 % interval"
    print_table(title, ["objective", "start", "solver", *SUMMARY], rows)


def _spread(case: dict[str, Any], name: str, digits: int) -> str:
    """A number with its spread over seeds, if the solver is stochastic and there are several."""
    if case[name] is None:
        return "–"
    scale, unit = (100, " %") if name == "escaped" else (1, "")
    keys = (name, f"{name}_low", f"{name}_high")
    middle, low, high = (f"{scale * case[key]:.{digits}f}" for key in keys)
    noisy = case["inner"] is not None and case["seeds"] > 1
    return f"{middle}{unit} [{low}, {high}]" if noisy else f"{middle}{unit}"


@dataclass(frozen=True)
class Theorems:
    """Check the claims of the paper's Section 4 by integration, expansion and sampling."""

    samples: int = 1_000_000
    """Number of samples per Monte Carlo estimate."""
    json: bool = False
    """Print one JSON document: a list with one object per check."""

    def run(self) -> None:
        """Run the checks and print their results."""
        check_number("samples", self.samples, at_least=2, at_most=10**8)
        from mixedne.saddle.theorems import check_claims

        checks = check_claims(self.samples)
        if self.json:
            print_json([{**asdict(check), "holds": check.holds} for check in checks])
            return
        words = ["claim", "objective", "condition", "quantity"]
        rows = [
            [
                *(getattr(check, name) for name in words),
                f"{check.expected:.4g}",
                f"{check.measured:.4g} ± {check.tolerance:.1g}",
                ("holds" if check.holds else "FAILS")
                + (", as the paper says it" if check.paper else ""),
            ]
            for check in checks
        ]
        columns = [*words, "claimed", "measured", "verdict"]
        print_table("Section 4, claim by claim", columns, rows)
