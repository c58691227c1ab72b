"""Videos: one episode of an evaluation, to be looked at.

The episode is run by the code that measures it, from the same seeds, and only looked at while
it runs: the video's return is that in the evaluation's table, to the last bit.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_number
from mixedne.evaluation.attacks import add_attack
from mixedne.evaluation.grids import Grid, NamedFactors, Shifts, whole_number
from mixedne.evaluation.handles import PolicyHandle, find_policies
from mixedne.evaluation.sweep import MAX_EPISODES, Case, find_task, run_chunk, warn_of_divergence
from mixedne.files import check_new_file, write_beside
from mixedne.tasks import Shift, Task, Worlds
from mixedne.tasks.registry import frame_rate
from mixedne.video.captions import FIELDS, caption_text
from mixedne.video.renderer import Renderer
from mixedne.video.writer import Picture, TextOverlay, VideoFile, fitted


@dataclass(frozen=True)
class Video:
    """A video that was made."""

    path: Path
    row: Mapping[str, Any]
    """The episode's row of the evaluation's table: its ``return``, ``length`` and so on."""
    shift: Shift
    frames: int
    frames_per_second: int

    @property
    def caption(self) -> dict[str, Any]:
        """What the file says of itself; see :mod:`~mixedne.video.captions`."""
        shifts = {str(axis): value for axis, value in self.shift.values}
        said = {**self.row, **vars(self), "shift": str(self.shift), "shifts": shifts}
        return {name: said[name] for name in FIELDS}


def watch(
    run: Any,
    out: str | Path,
    task: str | None = None,
    *,
    mass: float | None = None,
    friction: float | None = None,
    noise: float | None = None,
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
    size: tuple[int, int] = (640, 480),
    fps: int | None = None,
    speed: float = 1.0,
    camera: str | None = None,
    overwrite: bool = False,
    trust_pickle: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Video:
    """Record a policy in a world that differs from the nominal one.

    The video shows the episode that :func:`mixedne.evaluate` measures for the same policy,
    shift, seed and number of the episode.

    Args:
      run: a policy, as :func:`mixedne.evaluate` takes one.
      out: the ``.mp4`` file to write.
      task: name of the task; not needed for policies that know theirs.
      mass: factor on all bodies' masses.
      friction: factor on all geoms' friction.
      noise: probability with which a uniform action replaces the policy's.
      shifts: a number along any axis, as :func:`mixedne.evaluate` takes them:
        ``{"gravity": 0.5, "mass[torso]": 2}``.
      attack: an attacker, as :func:`mixedne.evaluate` takes one.
      strength: of the attack; by default that of its training.
      mass_mode: ``reference`` (masses alone) or ``consistent`` (inertias too).
      body_masses: factors on single bodies' masses, as ``shifts`` takes them too.
      geom_frictions: factors on single geoms' friction.
      seed: of the evaluation.
      episode: its number in the evaluation, from 0 on.
      stochastic: let stochastic policies of this package sample; their mean acts otherwise.
      seconds: the longest that the video may be; the episode goes on to its end unseen.
      size: width and height in pixels, even numbers.
      fps: frames a second; by default the task's own, with one frame a step.
      speed: how much faster than in the world time passes in the video.
      camera: one of the model's cameras by name; by default one that follows the robot.
      overwrite: replace ``out`` if it exists.
      trust_pickle: load files that can run code (Stable-Baselines3).
      progress: called now and then with the number of frames made and of all.
    """
    path = check_new_file(Path(out), "the video", ".mp4", overwrite=overwrite)
    size = _check_size(size)
    number = whole_number("episode", episode)
    check_number("episode", number, at_least=0, below=MAX_EPISODES)
    handles = find_policies(run, trust_pickle=trust_pickle)
    grid = Grid(
        shifts, mass=mass, friction=friction, noise=noise, mass_mode=mass_mode,
        body_masses=body_masses, geom_frictions=geom_frictions,
        episodes=number + 1, seed=seed, stochastic=stochastic,
    )  # fmt: skip
    if attack is not None:
        grid = add_attack(grid, attack, strength)
    elif strength is not None:
        raise InvalidInputError("strength is that of an attack: name an attacker")
    if len(handles) > 1 or len(grid.shifts()) > 1:
        raise InvalidInputError("a video shows one policy in one world: give one of each")
    (handle,), (shift,) = handles, grid.shifts()
    found = find_task(handles, task, grid)
    pace = _Pace.of(found, fps, speed, seconds)
    with ExitStack() as stack:
        take = _picture_taker(found, size, camera, stack)
        file = stack.enter_context(write_beside(path))
        recording = stack.enter_context(VideoFile(file, size, pace.frames_per_second))
        head = [f"{found.id}   {who_acts(handle, stochastic=stochastic)}", str(shift)]
        overlay = TextOverlay(size, len(head) + 1)
        recorder = _Recorder(recording, overlay, head, take, pace, progress)
        case = Case(0, shift, number)
        table = run_chunk(handles, found, grid, [case], threads=1, watch=recorder.see)
        row = table.row(0, named=True)
        video = Video(path, row, shift, recording.frames, pace.frames_per_second)
        recording.finish(f"{found.id}, {shift}", caption_text(video.caption))
    warn_of_divergence(table)
    return video


def who_acts(handle: PolicyHandle, *, stochastic: bool) -> str:
    """A policy's name, with what is known of it."""
    known = handle.provenance
    delta = f"δ {known['delta']:g}" if known.get("delta") is not None else None
    acting = "sampling" if handle.acting(stochastic=stochastic) == "stochastic" else None
    parts = known.get("agent"), known.get("solver"), delta, acting
    described = ", ".join(str(part) for part in parts if part)
    return f"{handle.name} ({described})" if described else handle.name


@dataclass(frozen=True)
class _Pace:
    """Which steps are seen, and for how long."""

    frames_per_second: int
    frames_per_step: Fraction
    max_frames: int
    total: int
    """Frames of an episode that lasts to the time limit."""

    @classmethod
    def of(cls, task: Task, fps: int | None, speed: float, seconds: float | None) -> "_Pace":
        """The pace of a video of this task."""
        own = frame_rate(task)
        chosen = own if fps is None else whole_number("fps", fps)
        check_number("fps", chosen, at_least=1, at_most=240)
        check_number("speed", speed, at_least=0.01, at_most=100)
        per_step = Fraction(chosen, own) / Fraction(speed).limit_denominator(1000)
        total = int((task.max_episode_steps or 0) * per_step) + 1
        most = total + 1
        if seconds is not None:
            check_number("seconds", seconds, above=0, at_most=1e6)
            most = max(1, int(seconds * chosen))
        return cls(chosen, per_step, most, min(most, total))


@dataclass(frozen=True)
class _Recorder:
    """Looks at an episode as it runs, and records it."""

    file: VideoFile
    overlay: TextOverlay
    head: list[str]
    take: Callable[[Worlds], Picture]
    pace: _Pace
    progress: Callable[[int, int], None]

    def see(self, worlds: Worlds, returns: NDArray[np.float64], over: NDArray[np.bool_]) -> None:
        """One step, or the start."""
        made = self.file.frames
        due = int(worlds.elapsed * self.pace.frames_per_step) + 1 - made
        if over[0]:
            due = max(due, 1)  # the end is seen, also where steps are skipped
        if (due := min(due, self.pace.max_frames - made)) <= 0:
            return
        counted = f"step {worlds.elapsed}   return {returns[0]:.1f}"
        picture = self.overlay.write(self.take(worlds), [*self.head, counted])
        for _ in range(due):
            self.file.add(picture)
        if made % 10 == 0:
            self.progress(min(self.file.frames, self.pace.total), self.pace.total)


def _picture_taker(
    task: Task, size: tuple[int, int], camera: str | None, stack: ExitStack
) -> Callable[[Worlds], Picture]:
    """What makes a picture of the one world there is; ``stack`` closes it."""
    if task.has_model:
        renderer = Renderer(task, size, camera)
        stack.callback(renderer.close)
        return lambda worlds: renderer.draw(worlds.pose(0))
    if camera is not None:
        raise InvalidInputError(f"{task.id} has no cameras to choose from")
    return lambda worlds: fitted(worlds.picture(0), size)


def _check_size(size: tuple[int, int]) -> tuple[int, int]:
    try:
        width, height = (whole_number("size", pixels) for pixels in size)
    except (TypeError, ValueError):
        raise InvalidInputError(f"size must be a width and a height, not {size!r}") from None
    if min(width, height) < 64 or max(width, height) > 4096:
        raise InvalidInputError(f"size must be from 64 to 4096 each, not {width}x{height}")
    if width % 2 or height % 2:
        raise InvalidInputError(f"size must be even numbers, not {width}x{height}")
    return width, height
