"""``mixedne evaluate`` and ``watch``: policies in worlds that differ from the nominal one."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, UseAppendAction, arg

from mixedne.cli.console import counting, noted_warnings, print_json, print_table
from mixedne.cli.streams import note
from mixedne.errors import InvalidInputError

if TYPE_CHECKING:
    import polars as pl

    from mixedne.evaluation.handles import PolicyHandle

NamedFactors = Annotated[tuple[str, ...], arg(metavar="NAME=FACTOR")]
Count = Annotated[int | None, arg(metavar="N")]
List = Annotated[str | None, arg(metavar="LIST")]


@dataclass(frozen=True, kw_only=True)
class ShiftOptions:
    """What ``evaluate`` and ``watch`` share: the task, how it is shifted, how the policy acts."""

    task: Annotated[str | None, arg(metavar="TASK")] = None
    """The task; policies from elsewhere need it."""
    at: Annotated[str, arg(metavar="best|last|STEP")] = "last"
    """Which policy of a run: the last, the best by its own evaluations, or one that it keeps."""
    mass: List = None
    """Factors on all bodies' masses: one, or several for as many worlds."""
    mass_mode: Literal["reference", "consistent"] = "reference"
    """What a factor on masses changes: masses alone, or inertias and derived constants too."""
    friction: List = None
    """Factors on all geoms' friction."""
    noise: List = None
    """Probabilities with which a uniform action replaces the policy's."""
    shift: UseAppendAction[Annotated[tuple[str, ...], arg(metavar="AXIS=LIST")]] = ()
    """Values along any axis, as often as you like: gravity=0.5, mass[torso]:abs=3.5."""
    body_mass: UseAppendAction[NamedFactors] = ()
    """Factors on single bodies' masses."""
    geom_friction: UseAppendAction[NamedFactors] = ()
    """Factors on single geoms' friction."""
    attack: Annotated[Path | None, arg(metavar="DIR|FILE")] = None
    """An attacker that mixedne attack has trained: its folder or its file."""
    strength: Any = None
    seed: int = 0
    """Of the evaluation."""
    stochastic: bool = False
    """Let stochastic policies sample their actions; otherwise their mean acts."""
    trust_pickle: bool = False
    """Load files that can run code, such as Stable-Baselines3's: only if you trust them."""
    overwrite: bool = False
    """Replace the output file if it exists."""

    def keywords(self, *others: str) -> dict[str, Any]:
        """The options as arguments of the function in Python, apart from ``others``."""
        forms = {"shift": "{}", "body_mass": "mass[{}]", "geom_friction": "friction[{}]"}
        pairs = []
        for option, form in forms.items():
            for text in getattr(self, option):
                name, _, values = (part.strip() for part in text.rpartition("="))
                if not (name and values):
                    raise InvalidInputError(f"a shift must be NAME=NUMBERS, not {text!r}")
                pairs.append((form.format(name), values))
        names = {field.name for field in fields(self)} - {*forms, "json", *others}
        return {**{name: getattr(self, name) for name in names}, "shifts": pairs}


@dataclass(frozen=True, kw_only=True)
class Evaluate(ShiftOptions):
    """Measure policies in worlds that differ from the one they were trained in."""

    policies: Annotated[tuple[Path, ...], Positional, arg(metavar="RUN|FILE")]
    """Run folders, policy files, ONNX files, or Stable-Baselines3 files."""
    mass: List = None
    """Factors on all bodies' masses."""
    rho: List = None
    """Values of ρ, for the toy MDP."""
    strength: List = None
    """Strengths of the attack, 0 for none; that of the attacker's training by default."""
    set: Annotated[str | None, arg(metavar="NAME|FILE.toml")] = None
    """An uncertainty set, as mixedne sets lists them, or a file of your own."""
    points: Count = None
    """Points on each axis of the set; the set's own number by default, 10 for those that ship."""
    ends: Literal["lower", "both"] | None = None
    """Which ends of the set's intervals are points; RRLS leaves the upper one out by default."""
    episodes: int = 10
    """Episodes at every grid point."""
    threads: Count = None
    """Threads for the physics; all cores by default."""
    worlds_at_once: int = 256
    """How many episodes advance together; more need more memory. Results do not depend on it."""
    out: Annotated[Path | None, arg(metavar="FILE.parquet")] = None
    """Where to write one row per episode. An interrupted evaluation goes on when repeated."""
    json: bool = False
    """Print one JSON document: a list with one object per policy and grid point."""

    def run(self) -> None:
        """Evaluate, write and print."""
        if not self.policies:
            raise InvalidInputError("evaluate needs at least one run folder or policy file")
        keywords = self.keywords("policies", "out", "trust_pickle", "at")

        from mixedne.cli.sets import add_scores, print_scores
        from mixedne.evaluation.handles import find_policies
        from mixedne.evaluation.sweep import evaluate
        from mixedne.evaluation.table import concat_tables

        tables = []
        with noted_warnings():
            handles = find_policies(self.policies, at=self.at, trust_pickle=self.trust_pickle)
        for job, out in self.jobs(handles):
            count, join = counting(f"Evaluation of {job[0].name}", "episodes"), self.out is None
            with count as progress, noted_warnings():
                tables.append(evaluate(job, **keywords, out=out, join=join, progress=progress))
            if out is not None:
                note(f"Results are in {out}")
        table = concat_tables(tables)
        rows = summarise(table).to_dicts()
        if self.set is not None:
            add_scores(rows, table, Path(self.set).stem)
        if self.json:
            print_json(rows)
        elif self.set is not None:
            print_scores(table, Path(self.set).stem)
        else:
            _print(rows)

    def jobs(self, handles: "list[PolicyHandle]") -> "list[tuple[list[PolicyHandle], Path | None]]":
        """What to evaluate together, and where it goes.

        Without --out, each run folder keeps its own results; all others run together.
        """
        if self.out is not None:
            return [(handles, self.out)]
        runs = [([h], h.path / "evaluation.parquet") for h in handles if h.path and h.path.is_dir()]
        others = [h for h in handles if not (h.path and h.path.is_dir())]
        return [*runs, *([(others, None)] if others else [])]


@dataclass(frozen=True, kw_only=True)
class Watch(ShiftOptions):
    """Film policies in worlds that differ from the one they were trained in, side by side."""

    policies: Annotated[tuple[Path, ...], Positional, arg(metavar="RUN|FILE")]
    """Run folders, policy files, ONNX files, or Stable-Baselines3 files, of one task."""
    out: Annotated[Path, arg(metavar="FILE.mp4|.webp|.gif")]
    """The film: a video, or an image that moves."""
    strength: float | None = None
    """Strength of the attack; that of the attacker's training by default."""
    episode: int = 0
    """Which of the evaluation's episodes, from 0 on."""
    seconds: Annotated[float | None, arg(metavar="S")] = None
    """The longest that the video may be; the return is the whole episode's all the same."""
    size: Annotated[str | None, arg(metavar="WIDTHxHEIGHT")] = None
    """Of each world's picture, in pixels; 640x480 by default, and 320x240 for several."""
    fps: Count = None
    """Frames a second; the task's own by default, with one frame a step (images: at most 25)."""
    speed: float = 1.0
    """How much faster than in the world time passes in the video."""
    camera: Annotated[str | None, arg(metavar="NAME")] = None
    """One of the model's cameras; one that follows the robot by default."""
    json: bool = False
    """Print one JSON document: the film's file, and the episodes that it shows."""

    def run(self) -> None:
        """Record, and say what is seen."""
        if not self.policies:
            raise InvalidInputError("watch needs at least one run folder or policy file")
        keywords = self.keywords("size")
        size = None
        if self.size is not None:
            found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", self.size)
            if found is None:
                raise InvalidInputError(
                    f"size must be WIDTHxHEIGHT, as in 640x480, not {self.size!r}"
                )
            size = int(found[1]), int(found[2])

        from mixedne.video.watch import watch

        with counting(f"Video {self.out.name}", "frames") as progress, noted_warnings():
            video = watch(**keywords, size=size, progress=progress)
        episodes = [*zip(video.rows, map(str, video.shifts), strict=True)]
        if self.json:
            told = ("run", "return", "length", "terminated", "diverged")
            listed = [{**{name: row[name] for name in told}, "shift": it} for row, it in episodes]
            print_json({**video.caption, "file": str(video.path), "episodes": listed})
            return
        for row, shift in episodes:
            who = f"{row['task']}, {row['run']}" if len(episodes) > 1 else row["task"]
            print(f"{who}, {shift}: return {row['return']:.1f} in {row['length']} steps")
        note(f"The video is {video.path}")


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

    runs = list(dict.fromkeys(row["run"] for row in rows))
    rows = sorted(rows, key=lambda row: runs.index(row["run"]))  # attacked episodes came later
    known = {str(axis): (None, axis.nominal) for axis in shift_axes(rows[0])}
    axes = [axis for axis, own in known.items() if any(row[axis] not in own for row in rows)]
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
