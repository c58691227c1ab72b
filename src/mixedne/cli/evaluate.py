"""``mixedne evaluate``: policies in worlds that differ from the nominal one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from mixedne.cli.console import counting, note, noted_warnings, print_json, print_table
from mixedne.errors import InvalidInputError

if TYPE_CHECKING:
    import polars as pl

    from mixedne.evaluation.sources import Source

NamedFactors = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=FACTOR")]
List = Annotated[str, tyro.conf.arg(metavar="LIST")]


@dataclass(frozen=True)
class Evaluate:
    """Measure policies in worlds that differ from the one they were trained in."""

    about: ClassVar[str] = """\
All axes given are crossed. A LIST is 0.5,1,2 or 0.5:2:16 (start:stop:count, both ends
included) or a named grid, paper or paper-heatmap. Every grid point and every policy
meets the same initial states and the same noise.

Without --out, the results of a run folder go into its evaluation.parquet, beside what is
there already.

Examples:
  mixedne evaluate runs/hopper --mass paper
  mixedne evaluate runs/a runs/b --mass 0.5:2:4 --noise 0,0.1 --episodes 20 --out ab.parquet
  mixedne evaluate ppo.zip --trust-pickle --task Hopper-v5 --friction 0.5,1,2 --json"""

    policies: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN|FILE")]
    """Run folders, policy files, or Stable-Baselines3 files."""
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """The task; policies from elsewhere need it."""
    mass: List = "1"
    """Factors on all bodies' masses."""
    mass_mode: Literal["reference", "consistent"] = "reference"
    """What a factor on masses changes: masses alone, or inertias and derived constants too."""
    friction: List = "1"
    """Factors on all geoms' friction."""
    noise: List = "0"
    """Probabilities with which a uniform action replaces the policy's."""
    rho: Annotated[str | None, tyro.conf.arg(metavar="LIST")] = None
    """Values of ρ, for the toy MDP."""
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
        bodies, geoms = named_factors(self.body_mass), named_factors(self.geom_friction)

        import polars as pl

        from mixedne.evaluation.sources import find_sources
        from mixedne.evaluation.sweep import evaluate

        sources = find_sources(self.policies, trust_pickle=self.trust_pickle)
        tables = []
        for job, out in self.jobs(sources):
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
                    mass_mode=self.mass_mode,
                    body_masses=bodies,
                    geom_frictions=geoms,
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
        rows = summarise(pl.concat(tables)).to_dicts()
        if self.json:
            print_json(rows)
        else:
            _print(rows)

    def jobs(self, sources: "list[Source]") -> "list[tuple[list[Source], Path | None]]":
        """What to evaluate together, and where it goes.

        Without --out, each run folder keeps its own results; all others run together.
        """
        if self.out is not None:
            return [(sources, self.out)]
        jobs: list[tuple[list[Source], Path | None]] = []
        others = []
        for source in sources:
            if source.path is not None and source.path.is_dir():
                jobs.append(([source], source.path / "evaluation.parquet"))
            else:
                others.append(source)
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
    axes = [
        axis for axis in ("mass", "friction", "noise", "rho") if len({r[axis] for r in rows}) > 1
    ]
    columns = ["run", *axes, "episodes", "mean return", "std", "min", "mean length"]
    table = [
        [
            row["run"],
            *(f"{row[axis]:g}" for axis in axes),
            str(row["episodes"]),
            *(f"{row[name]:.1f}" for name in ("mean_return", "std_return", "min_return")),
            f"{row['mean_length']:.0f}",
        ]
        for row in rows
    ]
    print_table(f"{rows[0]['task']}, return over episodes", columns, table)


def named_factors(given: tuple[str, ...]) -> list[tuple[str, float]]:
    """(name, factor) from NAME=FACTOR."""
    pairs = []
    for text in given:
        name, equals, factor = text.rpartition("=")
        try:
            pairs.append((name, float(factor)))
        except ValueError:
            equals = ""
        if not (equals and name):
            raise InvalidInputError(f"a named factor must be NAME=FACTOR, not {text!r}")
    return pairs
