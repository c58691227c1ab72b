"""``mixedne.watch``: videos of an evaluation's episodes, side by side if there are several.

The episodes are run by the evaluation's own code, from the same seeds, and only observed while
they run, so that the returns are bitwise those of the evaluation's table. Drawing comes after.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from mixedne.errors import InvalidInputError, check_number
from mixedne.evaluation.attacks import add_attack, attacker_of
from mixedne.evaluation.grids import Grid, NamedFactors, Shifts, Values, whole_number
from mixedne.evaluation.handles import PolicyHandle, find_policies
from mixedne.evaluation.sweep import MAX_EPISODES, Case, find_task, run_chunk, warn_of_divergence
from mixedne.files import check_new_file, write_beside
from mixedne.policies import Policy
from mixedne.progress import OnProgress, showing
from mixedne.tasks import Shift, Task, Worlds
from mixedne.tasks.registry import EnvironmentFactory, frame_rate, full_task_name, task_id
from mixedne.video.captions import FIELDS, caption_text
from mixedne.video.layout import Layout
from mixedne.video.renderer import Renderer
from mixedne.video.writer import (
    ImageFile,
    Picture,
    TextOverlay,
    VideoFile,
    fitted,
    from_png,
    to_png,
)

IMAGES = (".webp", ".gif")
"""Formats that browsers and README files show as images."""


@dataclass(frozen=True)
class Video:
    """A recorded video."""

    path: Path
    rows: tuple[Mapping[str, Any], ...]
    """The episodes as rows of an evaluation table, with ``return``, ``length`` and so on."""
    shifts: tuple[Shift, ...]
    """The world of each episode."""
    frames: int
    frames_per_second: int

    @property
    def row(self) -> Mapping[str, Any]:
        """The row of the first episode."""
        return self.rows[0]

    @property
    def shift(self) -> Shift:
        """The world of the first episode."""
        return self.shifts[0]

    @property
    def caption(self) -> dict[str, Any]:
        """Metadata that is stored in the file; see :mod:`~mixedne.video.captions`."""
        frames = {"frames": self.frames, "frames_per_second": self.frames_per_second}
        if len(self.rows) > 1:  # what they have in common
            runs = ", ".join(dict.fromkeys(str(row["run"]) for row in self.rows))
            worlds = "; ".join(dict.fromkeys(map(str, self.shifts)))
            common = ("task", "episode", "episode_seed")
            said = {name: self.row[name] for name in common} | {"run": runs, "shift": worlds}
            return dict.fromkeys(FIELDS) | said | frames
        shifts = {str(axis): value for axis, value in self.shift.values}
        said = {**self.row, **frames, "shift": str(self.shift), "shifts": shifts}
        return {name: said[name] for name in FIELDS}


def watch(
    policies: Any,
    out: str | Path,
    task: str | EnvironmentFactory | None = None,
    *,
    at: str | int = "last",
    mass: Values | None = None,
    friction: Values | None = None,
    noise: Values | None = None,
    shifts: Shifts = (),
    attack: Any = None,
    strength: float | None = None,
    mass_mode: str = "reference",
    body_masses: NamedFactors = (),
    geom_frictions: NamedFactors = (),
    seed: int = 0,
    episode: int = 0,
    stochastic: bool = False,
    seconds: float | None = None,
    size: tuple[int, int] | None = None,
    fps: int | None = None,
    speed: float = 1.0,
    camera: str | None = None,
    overwrite: bool = False,
    trust_pickle: bool = False,
    progress: bool | OnProgress = False,
) -> Video:
    """Make a video of policies in worlds other than the nominal one, side by side if several.

    The video shows the same episodes that :func:`mixedne.evaluate` runs for the same policies,
    shifts, seed and episode number. Several policies or worlds are shown in a grid with a row per
    policy and a column per world; all start from the same state. An episode that has ended keeps
    its last frame until the last one ends.

    Args:
      policies: one or several policies of one task, in any form that :func:`mixedne.evaluate`
        accepts.
      out: file to write: a video (``.mp4``), or an animated image (``.webp``, ``.gif``).
      task: name of the task; not needed for policies that store their task.
      at: which policy of a run folder: ``"last"``, ``"best"``, or that of a step.
      mass: factors on the masses of all bodies; each makes a world. ``friction`` and ``noise``
        take the same forms.
      friction: factors on the friction of all geoms.
      noise: probabilities that the policy's action is replaced by a uniformly random one.
      shifts: values of any axis, as in :func:`mixedne.evaluate`:
        ``{"gravity": 0.5, "mass[torso]": [1, 2]}``.
      attack: folder or file of an attacker, as in :func:`mixedne.evaluate`.
      strength: strength of the attack; by default the one used in the attacker's training.
      mass_mode: ``reference`` (shift only masses) or ``consistent`` (also inertias).
      body_masses: factors on the masses of single bodies, by name; ``shifts`` can do the same.
      geom_frictions: factors on the friction of single geoms, by name.
      seed: seed of the evaluation.
      episode: number of the episode in the evaluation, counted from 0.
      stochastic: sample the actions of this package's stochastic policies instead of taking their
        mean.
      seconds: maximum length of the video; longer episodes continue unseen.
      size: width and height of each world's picture in pixels, even numbers; by default (640, 480),
        and half of it for several worlds.
      fps: frames per second; by default the task's own, one frame per step; at most 25 for images.
      speed: playback speed relative to simulated time.
      camera: name of one of the model's cameras; by default a camera that follows the robot.
      overwrite: replace ``out`` if it exists.
      trust_pickle: load files that can run code (Stable-Baselines3).
      progress: True shows a progress bar on a terminal and prints lines elsewhere; or a function
        that is called regularly with the number of frames done and the total.

    Returns:
      The video, with its ``path``, and the episodes as ``rows`` of an evaluation table.

    Examples:
      >>> import mixedne
      >>> stay = lambda observations: 0 * observations[:, :1]
      >>> film = mixedne.watch(stay, "stay.mp4", "InvertedPendulum-v5", mass=[1, 2], seconds=0.2)
      >>> [row["mass"] for row in film.rows]
      [1.0, 2.0]
    """
    path = check_new_file(Path(out), "the video", ".mp4", *IMAGES, overwrite=overwrite)
    number = whole_number("episode", episode)
    check_number("episode", number, at_least=0, below=MAX_EPISODES)
    handles = find_policies(policies, at=at, trust_pickle=trust_pickle)
    grid = Grid(
        shifts, mass=mass, friction=friction, noise=noise, mass_mode=mass_mode,
        body_masses=body_masses, geom_frictions=geom_frictions,
        episodes=number + 1, seed=seed, stochastic=stochastic,
    )  # fmt: skip
    if attack is not None:
        grid = add_attack(grid, attack, strength)
    elif strength is not None:
        raise InvalidInputError("strength is that of an attack: name an attacker")
    layout = Layout.of(len(handles), grid.size, size)
    _check_tasks(handles)
    found = find_task(handles, None if task is None else task_id(task), grid)
    if path.suffix == ".gif" and fps is not None:  # viewers slow down shorter pictures
        check_number("fps of a GIF", fps, at_most=50)
    pace = _Pace.of(found, fps, speed, seconds, limit=25 if path.suffix in IMAGES else None)
    cases = [Case(i, shift, number) for i in range(len(handles)) for shift in grid.shifts()]
    with ExitStack() as stack:
        show = stack.enter_context(showing(progress, f"Video {path.name}", "frames"))
        draw = _artist(found, layout.tile, camera, stack)
        file = stack.enter_context(write_beside(path))
        tiles, table = _play(handles, found, grid, cases, pace)
        kind = ImageFile if path.suffix in IMAGES else VideoFile
        recording: ImageFile | VideoFile = kind(file, layout.size, pace.frames_per_second)
        stack.callback(recording.close)
        heads = [_head(found, handles[case.policy], case.shift, grid, layout) for case in cases]
        total = max(map(len, tiles))
        for picture in _compose(tiles, heads, layout, draw):
            recording.add(picture)
            if recording.frames % 10 == 1:
                show(recording.frames, total)
        rows = tuple(table.iter_rows(named=True))
        made = tuple(case.shift for case in cases)
        video = Video(path, rows, made, recording.frames, pace.frames_per_second)
        caption = video.caption
        recording.finish(f"{found.id}, {caption['shift']}", caption_text(caption))
    warn_of_divergence(table)
    return video


def _check_tasks(handles: Sequence[PolicyHandle]) -> None:
    """Raise if the policies were trained for different tasks, whatever task they act in."""
    known = {full_task_name(handle.task): handle.name for handle in handles if handle.task}
    if len(known) > 1:
        (one, first), (other, second), *_ = known.items()
        raise InvalidInputError(
            f"a film shows one task, and {first} was trained for {one}, but {second} for {other}"
        )


def _head(task: Task, handle: PolicyHandle, shift: Shift, grid: Grid, layout: Layout) -> list[str]:
    """The lines of text above a picture; in a small one, what differs comes first."""
    described = how_trained(handle, stochastic=grid.stochastic)
    if layout.rows * layout.columns == 1:
        who = f"{handle.name} ({described})" if described else handle.name
        return [f"{task.id}   {who}", str(shift)]
    return ["   ".join(filter(None, [described, handle.name])), str(shift)]


def how_trained(handle: PolicyHandle, *, stochastic: bool) -> str:
    """How a policy was trained, as far as known, and whether it samples actions, in words."""
    known = handle.provenance
    delta = f"δ {known['delta']:g}" if known.get("delta") is not None else None
    acting = "sampling" if handle.acting(stochastic=stochastic) == "stochastic" else None
    parts = known.get("agent"), known.get("solver"), delta, acting
    return ", ".join(str(part) for part in parts if part)


@dataclass(frozen=True)
class _Pace:
    """Which steps are shown, and for how long."""

    frames_per_second: int
    frames_per_step: Fraction
    max_frames: int

    @classmethod
    def of(
        cls,
        task: Task,
        fps: int | None,
        speed: float,
        seconds: float | None,
        limit: int | None = None,
    ) -> "_Pace":
        """The pace of a video of this task; by default with at most ``limit`` frames per second."""
        own = frame_rate(task)
        chosen = min(own, limit or own) if fps is None else whole_number("fps", fps)
        check_number("fps", chosen, at_least=1, at_most=240)
        check_number("speed", speed, at_least=0.01, at_most=100)
        per_step = Fraction(chosen, own) / Fraction(speed).limit_denominator(1000)
        most = int((task.max_episode_steps or 0) * per_step) + 2
        if seconds is not None:
            check_number("seconds", seconds, above=0, at_most=1e6)
            most = max(1, int(seconds * chosen))
        return cls(chosen, per_step, most)


class _Moment(NamedTuple):
    """A step of an episode, recorded to be drawn later."""

    step: int
    total: float  # the return so far
    state: Any  # the positions of the joints, or a picture as PNG


def _play(
    handles: Sequence[PolicyHandle], task: Task, grid: Grid, cases: Sequence[Case], pace: _Pace
) -> tuple[list[list[_Moment]], pl.DataFrame]:
    """Run the episodes; return the frames of each, and their rows of the table.

    As in an evaluation, external policies run in their own chunks.
    """
    ours = [isinstance(handle.act, Policy) for handle in handles]
    groups: dict[tuple[int, bool], list[int]] = {}
    for place, case in enumerate(cases):
        is_attacked = attacker_of(case.shift)[0] is not None
        key = (-1 if ours[case.policy] else case.policy, is_attacked)
        groups.setdefault(key, []).append(place)
    tiles: list[list[_Moment]] = [[] for _ in cases]
    rows: dict[int, pl.DataFrame] = {}
    for places in groups.values():

        def see(worlds: Worlds, returns: Any, over: Any, places: list[int] = places) -> None:
            ends = dict(zip(worlds.active.tolist(), over.tolist(), strict=True))
            for world, ended in ends.items():
                frames = tiles[places[world]]
                due = int(worlds.elapsed * pace.frames_per_step) + 1 - len(frames)
                if ended:
                    due = max(due, 1)  # the end is shown even if steps are skipped
                due = min(due, pace.max_frames - len(frames))
                if due > 0:
                    state = worlds.pose(world) if task.has_model else to_png(worlds.picture(world))
                    frames += [_Moment(worlds.elapsed, float(returns[world]), state)] * due

        own = [cases[place] for place in places]
        table = run_chunk(handles, task, grid, own, threads=1, watch=see)
        rows |= {place: table[i : i + 1] for i, place in enumerate(places)}
    return tiles, pl.concat(rows[place] for place in range(len(cases)))


def _compose(
    tiles: Sequence[Sequence[_Moment]],
    heads: Sequence[list[str]],
    layout: Layout,
    draw: Callable[[Any], Picture],
) -> Iterator[Picture]:
    """The pictures of a video, one after another."""
    overlay = TextOverlay(layout.tile, 3)
    whole = np.zeros((layout.size[1], layout.size[0], 3), np.uint8)
    for number in range(max(map(len, tiles))):
        for place, (frames, head) in enumerate(zip(tiles, heads, strict=True)):
            if number > len(frames):
                continue  # it has ended and was drawn as such
            moment = frames[min(number, len(frames) - 1)]
            ended = "   ended" if number == len(frames) else ""
            counted = f"step {moment.step}   return {moment.total:.1f}{ended}"
            layout.put(whole, place, overlay.write(draw(moment.state), [*head, counted]))
        yield whole


def _artist(
    task: Task, size: tuple[int, int], camera: str | None, stack: ExitStack
) -> Callable[[Any], Picture]:
    """A function that draws a moment's state; ``stack`` closes its renderer."""
    if task.has_model:
        renderer = Renderer(task, size, camera)
        stack.callback(renderer.close)
        return renderer.draw
    if camera is not None:
        raise InvalidInputError(f"{task.id} has no cameras to choose from")
    return lambda state: fitted(from_png(state), size)
