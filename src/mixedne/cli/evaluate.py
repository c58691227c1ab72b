"""``mixedne evaluate`` and ``watch``: run policies in worlds other than the nominal one."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, UseAppendAction, arg

from mixedne.cli.console import counting, notes_only, print_json, print_table
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
    """Options of both ``evaluate`` and ``watch``: the task, its shifts, how the policy acts."""

    task: Annotated[str | None, arg(metavar="TASK")] = None
    """The task; required for policies that were not trained with mixedne."""
    at: Annotated[str, arg(metavar="best|last|STEP")] = "last"
    """Which policy of a run: the last, the best by the run's own evaluations, or one that was kept
    at a step."""
    mass: List = None
    """Factors on the masses of all bodies; each makes a world."""
    mass_mode: Literal["reference", "consistent"] = "reference"
    """What a factor on masses changes: only masses (reference), or also inertias and derived
    constants (consistent)."""
    friction: List = None
    """Factors on the friction of all geoms."""
    noise: List = None
    """Probabilities that the policy's action is replaced by a uniformly random one."""
    shift: UseAppendAction[Annotated[tuple[str, ...], arg(metavar="AXIS=LIST")]] = ()
    """Values of any axis, e.g. gravity=0.5 or mass[torso]:abs=3.5; may be given several times."""
    body_mass: UseAppendAction[NamedFactors] = ()
    """Factor on the mass of a single body."""
    geom_friction: UseAppendAction[NamedFactors] = ()
    """Factor on the friction of a single geom."""
    attack: Annotated[Path | None, arg(metavar="DIR|FILE")] = None
    """Folder or file of an attacker trained by mixedne attack."""
    strength: Any = None
    seed: int = 0
    """Seed of the evaluation."""
    stochastic: bool = False
    """Sample the actions of stochastic policies instead of taking their mean."""
    trust_pickle: bool = False
    """Load files that can run code (Stable-Baselines3); only use it for files that you trust."""
    overwrite: bool = False
    """Replace the output file if it exists."""

    def keywords(self, *others: str) -> dict[str, Any]:
        """The options as keyword arguments of the Python function, without ``others``."""
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
    """Evaluate policies in worlds that differ from the one they were trained in."""

    policies: Annotated[tuple[Path, ...], Positional, arg(metavar="RUN|FILE")]
    """Run folders, policy files, ONNX files, or Stable-Baselines3 files."""
    mass: List = None
    """Factors on the masses of all bodies."""
    rho: List = None
    """Values of ρ, for the toy MDP."""
    strength: List = None
    """Strengths of the attack, 0 for none; by default the one used in the attacker's training."""
    set: Annotated[str | None, arg(metavar="NAME|FILE.toml")] = None
    """An uncertainty set: one listed by mixedne sets, or your own file."""
    points: Count = None
    """Grid points per axis of the set; by default the set's own number (10 for included sets)."""
    ends: Annotated[str | None, arg(metavar="lower|both")] = None
    """Which ends of the set's intervals are grid points; by default RRLS omits the upper one."""
    episodes: int = 10
    """Episodes per grid point."""
    threads: Count = None
    """Number of threads for the physics; all cores by default."""
    worlds_at_once: int = 256
    """Number of episodes simulated in parallel; more need more memory. Does not affect results."""
    out: Annotated[Path | None, arg(metavar="FILE.parquet")] = None
    """File to write, with one row per episode. Repeat the command to resume an evaluation."""
    json: bool = False
    """Print one JSON document: a list with one object per policy and grid point."""

    def run(self) -> None:
        """Evaluate, write and print."""
        if not self.policies:
            raise InvalidInputError("evaluate needs at least one run folder or policy file")
        keywords = self.keywords("policies", "out", "trust_pickle", "at")

        from mixedne.cli.sets import add_scores, print_scores, with_labels
        from mixedne.evaluation.handles import find_policies
        from mixedne.evaluation.sweep import evaluate
        from mixedne.evaluation.table import concat_tables

        tables = []
        with notes_only():
            handles = find_policies(self.policies, at=self.at, trust_pickle=self.trust_pickle)
            for job, out in self.jobs(handles):
                count = counting(f"Evaluation of {job[0].name}", "episodes")
                join = self.out is None and not self.overwrite
                with count as progress:
                    tables.append(evaluate(job, **keywords, out=out, join=join, progress=progress))
                if out is not None:
                    note(f"Results are in {out}")
        table = concat_tables(tables)
        rows = summarise(table).to_dicts()
        if self.set is not None:
            table = with_labels(table, handles)
            add_scores(rows, table, Path(self.set).stem)
        if self.json:
            print_json(rows)
        elif self.set is not None:
            print_scores(table, Path(self.set).stem)
        else:
            _print(rows)

    def jobs(self, handles: "list[PolicyHandle]") -> "list[tuple[list[PolicyHandle], Path | None]]":
        """The policies to evaluate together, and the file for their results.

        Without --out, each run folder keeps its own results; all other policies run together.
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
    """File to write: a video, or an animated image."""
    strength: float | None = None
    """Strength of the attack; by default the one used in the attacker's training."""
    episode: int = 0
    """Number of the evaluation's episode to show, counted from 0."""
    seconds: Annotated[float | None, arg(metavar="S")] = None
    """Maximum length of the video; the return shown is still that of the whole episode."""
    size: Annotated[str | None, arg(metavar="WIDTHxHEIGHT")] = None
    """Size of each world's picture, in pixels; 640x480 by default, 320x240 for several worlds."""
    fps: Count = None
    """Frames per second; by default the task's own, one frame per step (images: at most 25)."""
    speed: float = 1.0
    """Playback speed relative to simulated time."""
    camera: Annotated[str | None, arg(metavar="NAME")] = None
    """Name of one of the model's cameras; by default a camera that follows the robot."""
    json: bool = False
    """Print one JSON document: the file written, and the episodes that it shows."""

    def run(self) -> None:
        """Record the video and print the episodes that it shows."""
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

        with counting(f"Video {self.out.name}", "frames") as progress, notes_only():
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
    """One row per policy and grid point: mean, standard deviation and worst over its episodes."""
    import polars as pl

    from mixedne.evaluation.statistics import over_episodes, shift_columns

    points = ["run", "task", *shift_columns(table.columns)]
    lengths = pl.col("length").mean().alias("mean_length"), pl.col("diverged").sum()
    rows = over_episodes(table, points, *lengths).rename({"worst_return": "min_return"})
    names = ["episodes", "mean_return", "std_return", "min_return", "mean_length", "diverged"]
    return rows.select(*points, *names)


def _print(rows: list[dict[str, Any]]) -> None:
    """One table per task."""
    runs = list(dict.fromkeys(row["run"] for row in rows))
    rows = sorted(rows, key=lambda row: runs.index(row["run"]))  # attacked episodes came later
    for task in dict.fromkeys(row["task"] for row in rows):
        _print_task(task, [row for row in rows if row["task"] == task])


def _print_task(task: str, rows: list[dict[str, Any]]) -> None:
    from mixedne.shifts import shift_axes

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
    print_table(f"{task}, return over episodes", columns, table)
