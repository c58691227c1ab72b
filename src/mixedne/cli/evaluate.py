"""``mixedne evaluate``: policies in worlds that differ from the nominal one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from mixedne.cli.console import counting, note, noted_warnings, print_json, print_table
from mixedne.errors import InvalidInputError

if TYPE_CHECKING:
    import polars as pl

    from mixedne.evaluation.handles import PolicyHandle

NamedFactors = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=FACTOR")]
ShiftTexts = Annotated[tuple[str, ...], tyro.conf.arg(metavar="AXIS=LIST")]
List = Annotated[str | None, tyro.conf.arg(metavar="LIST")]


@dataclass(frozen=True)
class Evaluate:
    """Measure policies in worlds that differ from the one they were trained in."""

    about: ClassVar[str] = """\
All axes given are crossed. A LIST is 0.5,1,2 or 0.5:2:16 (start:stop:count, both ends
included) or a named grid, paper or paper-heatmap. Every grid point and every policy
meets the same initial states and the same noise.

An AXIS is a parameter (mass, friction, noise, rho, gravity, damping, actuator-strength,
observation-noise, action-delay), with a body, geom, joint or actuator in brackets for a part
of the model, by name or as #index, and with :abs for values instead of factors.

Without --out, the results of a run folder go into its evaluation.parquet, beside what is
there already.

Examples:
  mixedne evaluate runs/hopper --mass paper
  mixedne evaluate runs/a runs/b --mass 0.5:2:4 --noise 0,0.1 --episodes 20 --out ab.parquet
  mixedne evaluate runs/hopper --shift 'mass[torso]=0.5:2:16' --shift gravity=0.8,1
  mixedne evaluate ppo.zip --trust-pickle --task Hopper-v5 --friction 0.5,1,2 --json"""

    policies: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN|FILE")]
    """Run folders, policy files, or Stable-Baselines3 files."""
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """The task; policies from elsewhere need it."""
    mass: List = None
    """Factors on all bodies' masses."""
    mass_mode: Literal["reference", "consistent"] = "reference"
    """What a factor on masses changes: masses alone, or inertias and derived constants too."""
    friction: List = None
    """Factors on all geoms' friction."""
    noise: List = None
    """Probabilities with which a uniform action replaces the policy's."""
    rho: List = None
    """Values of ρ, for the toy MDP."""
    shift: tyro.conf.UseAppendAction[ShiftTexts] = ()
    """Values along any axis, as often as you like."""
    body_mass: tyro.conf.UseAppendAction[NamedFactors] = ()
    """Factors on single bodies' masses, at every grid point."""
    geom_friction: tyro.conf.UseAppendAction[NamedFactors] = ()
    """Factors on single geoms' friction, at every grid point."""
    episodes: int = 10
    """Episodes at every grid point."""
    seed: int = 0
    """Of the evaluation."""
    stochastic: bool = False
    """Let stochastic policies sample their actions; otherwise their mean acts."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Threads for the physics; all cores by default."""
    worlds_at_once: int = 256
    """How many episodes advance together; more need more memory. Results do not depend on it."""
    trust_pickle: bool = False
    """Load files that can run code, such as Stable-Baselines3's: only if you trust them."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE.parquet")] = None
    """Where to write one row per episode. An interrupted evaluation goes on when repeated."""
    overwrite: bool = False
    """Replace the output file if it exists."""
    json: bool = False
    """Print one JSON document: a list with one object per policy and grid point."""

    def run(self) -> None:
        """Evaluate, write and print."""
        if not self.policies:
            raise InvalidInputError("evaluate needs at least one run folder or policy file")
        shifts = read_shifts(self.shift, self.body_mass, self.geom_friction)

        from mixedne.evaluation.handles import find_policies
        from mixedne.evaluation.sweep import evaluate
        from mixedne.evaluation.table import concat_tables

        handles = find_policies(self.policies, trust_pickle=self.trust_pickle)
        tables = []
        for job, out in self.jobs(handles):
            with (
                counting(f"Evaluation of {job[0].name}", "episodes") as progress,
                noted_warnings(),
            ):
                table = evaluate(
                    job,
                    self.task,
                    mass=self.mass,
                    friction=self.friction,
                    noise=self.noise,
                    rho=self.rho,
                    shifts=shifts,
                    mass_mode=self.mass_mode,
                    episodes=self.episodes,
                    seed=self.seed,
                    stochastic=self.stochastic,
                    threads=self.threads,
                    worlds_at_once=self.worlds_at_once,
                    out=out,
                    overwrite=self.overwrite,
                    join=self.out is None,
                    progress=progress,
                )
            tables.append(table)
            if out is not None:
                note(f"Results are in {out}")
        rows = summarise(concat_tables(tables)).to_dicts()
        if self.json:
            print_json(rows)
        else:
            _print(rows)

    def jobs(self, handles: "list[PolicyHandle]") -> "list[tuple[list[PolicyHandle], Path | None]]":
        """What to evaluate together, and where it goes.

        Without --out, each run folder keeps its own results; all others run together.
        """
        if self.out is not None:
            return [(handles, self.out)]
        jobs: list[tuple[list[PolicyHandle], Path | None]] = []
        others = []
        for handle in handles:
            if handle.path is not None and handle.path.is_dir():
                jobs.append(([handle], handle.path / "evaluation.parquet"))
            else:
                others.append(handle)
        return [*jobs, (others, None)] if others else jobs


def summarise(table: "pl.DataFrame") -> "pl.DataFrame":
    """One row per policy and grid point: mean, spread and worst over its episodes."""
    import polars as pl

    from mixedne.evaluation.statistics import over_episodes, shift_columns

    points = ["run", "task", *shift_columns(table.columns)]
    lengths = pl.col("length").mean().alias("mean_length"), pl.col("diverged").sum()
    rows = over_episodes(table, points, *lengths).rename({"worst_return": "min_return"})
    names = ["episodes", "mean_return", "std_return", "min_return", "mean_length", "diverged"]
    return rows.select(*points, *names)


def _print(rows: list[dict[str, Any]]) -> None:
    from mixedne.shifts import shift_axes

    axes = [axis for axis in map(str, shift_axes(rows[0])) if len({r[axis] for r in rows}) > 1]
    columns = ["run", *axes, "episodes", "mean return", "std", "min", "mean length"]
    table = [
        [
            row["run"],
            *("" if row[axis] is None else f"{row[axis]:g}" for axis in axes),
            str(row["episodes"]),
            *(f"{row[name]:.1f}" for name in ("mean_return", "std_return", "min_return")),
            f"{row['mean_length']:.0f}",
        ]
        for row in rows
    ]
    print_table(f"{rows[0]['task']}, return over episodes", columns, table)


def read_shifts(
    shifts: Sequence[str], body_masses: Sequence[str], geom_frictions: Sequence[str]
) -> list[tuple[str, str]]:
    """(axis, LIST) from AXIS=LIST, and from NAME=FACTOR of single bodies and geoms."""
    pairs = []
    for texts, form in (
        (shifts, "{}"),
        (body_masses, "mass[{}]"),
        (geom_frictions, "friction[{}]"),
    ):
        for text in texts:
            name, _, values = (part.strip() for part in text.rpartition("="))
            if not (name and values):
                raise InvalidInputError(f"a shift must be NAME=NUMBERS, not {text!r}")
            pairs.append((form.format(name), values))
    return pairs
