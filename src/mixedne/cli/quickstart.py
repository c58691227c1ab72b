"""``mixedne quickstart``: the main job in a few minutes."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from mixedne.cli.console import counting, note, print_table
from mixedne.errors import InvalidInputError, TrainingError, check_number
from mixedne.files import write_beside

if TYPE_CHECKING:
    import polars as pl

TASK = "InvertedPendulum-v5"
CASES = {
    "mixedne-ld": ("MixedNE-LD, two players", "mixedne-ld", 0.1),
    "gad": ("GAD, two players", "gad", 0.1),
    "extra-adam": ("Extra-Adam, two players", "extra-adam", 0.1),
    "one-player": ("MixedNE-LD, one player", "mixedne-ld", 0.0),
}
"""Name in files: words, solver, δ."""

MASSES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
SHOWN = (0.5, 1.0, 2.0, 4.0)
EPISODES = 10
MARK = "quickstart.json"


@dataclass(frozen=True)
class Quickstart:
    """Train a robust pendulum four ways, change its mass, and compare."""

    about: ClassVar[str] = """\
DDPG on InvertedPendulum with MixedNE-LD, GAD and Extra-Adam against an adversary, and without
one; a few seeds each on all cores; then every policy in pendulums of other masses. Ends with a
report: a page to open in a browser.

Examples:
  mixedne quickstart
  mixedne quickstart --out results --seeds 5"""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Where to write; by default a new folder named quickstart, quickstart-2, …
    An earlier quickstart there goes on where it stopped."""
    seeds: int = 2
    """Runs of each kind."""
    steps: int = 50_000
    """Environment steps of each run."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Runs at a time; by default one for each core."""

    def run(self) -> None:
        """Train, evaluate, draw and print."""
        check_number("seeds", self.seeds, at_least=1)
        check_number("steps", self.steps, at_least=1)
        out = self.out or next(
            path
            for path in (Path(f"quickstart{f'-{n}' if n > 1 else ''}") for n in count(1))
            if not path.exists()
        )
        self._open(out)
        folders = self._train(out)
        table = self._evaluate(out, folders)
        self._draw(out, table)
        report = _report(out)
        _print(table)
        note(f"Runs, results.parquet and mass.png are in {out}")
        note(f"The report is {report}: open it in a browser")

    def _open(self, out: Path) -> None:
        """Make the folder; one that holds other things is left alone."""
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            if not (out / MARK).is_file():
                raise InvalidInputError(
                    f"the output folder {out} holds other things: choose another"
                )
            found = json.loads((out / MARK).read_text())
            if (found.get("seeds"), found.get("steps")) != (self.seeds, self.steps):
                raise InvalidInputError(
                    f"the quickstart in {out} has other seeds or steps: choose another folder"
                )
            return
        with write_beside(out / MARK) as temporary:
            document = {"format_version": 1, "seeds": self.seeds, "steps": self.steps}
            temporary.write_text(json.dumps(document) + "\n")

    def _train(self, out: Path) -> dict[str, list[Path]]:
        """All runs, a process each; their folders by kind."""
        folders = {
            name: [out / "runs" / f"{name}-seed{seed}" for seed in range(self.seeds)]
            for name in CASES
        }
        # Seed by seed, so that an interrupted quickstart has some of each kind.
        jobs = [
            _training(folders[name][seed], solver, delta, seed, self.steps)
            for seed in range(self.seeds)
            for name, (_, solver, delta) in CASES.items()
        ]
        with (
            counting(f"Training on {TASK}", "runs") as tell,
            ThreadPoolExecutor(self.workers or len(os.sched_getaffinity(0))) as pool,
        ):
            waiting = [pool.submit(_call, job, out / "compiled") for job in jobs]
            try:
                for done, finished in enumerate(as_completed(waiting), 1):
                    finished.result()
                    tell(done, len(jobs))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        shutil.rmtree(out / "compiled", ignore_errors=True)
        return folders

    def _evaluate(self, out: Path, folders: dict[str, list[Path]]) -> "pl.DataFrame":
        """Every policy at every mass; one row per episode."""
        from mixedne.evaluation.sweep import evaluate

        runs = {path.name: path for paths in folders.values() for path in paths}
        with counting("Changing the mass", "episodes") as tell:
            return evaluate(
                runs,
                mass=MASSES,
                episodes=EPISODES,
                out=out / "results.parquet",
                overwrite=True,
                progress=tell,
            )

    def _draw(self, out: Path, table: "pl.DataFrame") -> None:
        from mixedne.reports.figures.canvas import save_figure, solver_styles
        from mixedne.reports.figures.curves import Axis, Curve, Panel, draw_panels
        from mixedne.shifts import PARAMETERS

        looks = solver_styles((solver, words) for words, solver, _ in CASES.values())
        curves = []
        for name, (words, _, _) in CASES.items():
            runs = by_run(table, name)
            mean = runs.drop("run").group_by("mass", maintain_order=True).mean()
            single = [(run["mass"], run["return"]) for _, run in runs.group_by("run")]
            curves.append(Curve(mean["mass"], mean["return"], looks[words], runs=single))
        title = f"DDPG trained at mass 1, {self.steps:,} steps, {self.seeds} seeds"
        figure = draw_panels(
            [Panel(TASK, Axis(PARAMETERS["mass"].label, "multiples", training=1.0), curves)],
            title=title,
            y="return of an episode",
            note="Bold: mean of the runs; thin: each run.",
        )
        save_figure(figure, out / "mass.png")


def _report(out: Path) -> Path:
    """The page with everything in the folder."""
    from mixedne.reports.inputs.collect import collect
    from mixedne.reports.page import write_page

    path = out / "report.html"
    write_page(collect([out], title=f"Quickstart: {TASK} four ways"), path)
    return path


def by_run(table: "pl.DataFrame", name: str) -> "pl.DataFrame":
    """Mean return of each run of a kind at each mass."""
    import polars as pl

    return (
        table.filter(pl.col("run").str.starts_with(f"{name}-seed"))
        .group_by("run", "mass", maintain_order=True)
        .agg(pl.col("return").mean())
    )


def _training(folder: Path, solver: str, delta: float, seed: int, steps: int) -> list[str]:
    """The command of one run: the authors' preset, with an update for every step."""
    settings = {
        "solver": solver,
        "delta": delta,
        "seed": seed,
        "steps": steps,
        "preset": "authors",
        "updates": 100,
        "evaluate-every": 0,
        "out": folder,
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    return [sys.executable, "-m", "mixedne.cli.main", "train", TASK, *options, "--resume"]


def _call(command: Sequence[str], cache: Path) -> None:
    # Runs that differ in their seed alone share their compiled programs.
    environment = {"JAX_COMPILATION_CACHE_DIR": str(cache.resolve()), **os.environ}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        raise TrainingError(f"a run failed, and the others with it: {reason}")


def _print(table: "pl.DataFrame") -> None:
    """Means over runs, with the lowest and the highest run."""
    rows = []
    for name, (words, _, _) in CASES.items():
        runs = by_run(table, name)
        cells = []
        for mass in SHOWN:
            returns = runs.filter(runs["mass"] == mass)["return"].to_numpy()
            cells.append(f"{returns.mean():.0f} ({returns.min():.0f} to {returns.max():.0f})")
        rows.append([words, *cells])
    title = f"Return on {TASK}: mean (lowest to highest) over runs of {EPISODES} episodes each"
    print_table(title, ["trained with", *(f"mass × {mass:g}" for mass in SHOWN)], rows)
