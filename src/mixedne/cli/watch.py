"""``mixedne watch``: a video of a policy in a world that differs from the nominal one."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro

from mixedne.cli.console import counting, note, noted_warnings, print_json
from mixedne.cli.evaluate import NamedFactors, ShiftTexts, read_shifts
from mixedne.errors import InvalidInputError


@dataclass(frozen=True)
class Watch:
    """Record a policy in a world that differs from the one it was trained in."""

    about: ClassVar[str] = """\
The video shows the episode that mixedne evaluate measures for the same shift, seed and
number of the episode; its return is the same to the last bit. It needs no display.

Examples:
  mixedne watch runs/hopper --mass 1.5 --out hopper-heavy.mp4
  mixedne watch runs/hopper --noise 0.1 --episode 3 --fps 25 --out hopper-noisy.mp4
  mixedne watch runs/hopper --shift gravity=0.5 --shift 'mass[torso]=2' --out moon.mp4
  mixedne watch ppo.zip --trust-pickle --task Ant-v5 --friction 0.5 --out ant.mp4"""

    policy: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN|FILE")]
    """A run folder, a policy file, or a Stable-Baselines3 file."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE.mp4")]
    """The video."""
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """The task; policies from elsewhere need it."""
    mass: float | None = None
    """Factor on all bodies' masses."""
    mass_mode: Literal["reference", "consistent"] = "reference"
    """What a factor on masses changes: masses alone, or inertias and derived constants too."""
    friction: float | None = None
    """Factor on all geoms' friction."""
    noise: float | None = None
    """Probability with which a uniform action replaces the policy's."""
    shift: tyro.conf.UseAppendAction[ShiftTexts] = ()
    """A number along any axis, as in 'gravity=0.5' or 'mass[torso]:abs=3.5'."""
    body_mass: tyro.conf.UseAppendAction[NamedFactors] = ()
    """Factors on single bodies' masses."""
    geom_friction: tyro.conf.UseAppendAction[NamedFactors] = ()
    """Factors on single geoms' friction."""
    seed: int = 0
    """Of the evaluation."""
    episode: int = 0
    """Which of the evaluation's episodes, from 0 on."""
    stochastic: bool = False
    """Let a stochastic policy sample its actions; otherwise its mean acts."""
    seconds: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """The longest that the video may be; the return is the whole episode's all the same."""
    size: Annotated[str, tyro.conf.arg(metavar="WIDTHxHEIGHT")] = "640x480"
    """Of the picture, in pixels."""
    fps: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Frames a second; the task's own by default, with one frame a step."""
    speed: float = 1.0
    """How much faster than in the world time passes in the video."""
    camera: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """One of the model's cameras; one that follows the robot by default."""
    trust_pickle: bool = False
    """Load files that can run code, such as Stable-Baselines3's: only if you trust them."""
    overwrite: bool = False
    """Replace the video if it exists."""
    json: bool = False
    """Print one JSON document: the video's file, and the episode that it shows."""

    def run(self) -> None:
        """Record, and say what is seen."""
        shifts = read_shifts(self.shift, self.body_mass, self.geom_friction)
        size = parse_size(self.size)

        from mixedne.video.watch import watch

        with counting(f"Video {self.out.name}", "frames") as progress, noted_warnings():
            video = watch(
                self.policy,
                self.out,
                self.task,
                mass=self.mass,
                friction=self.friction,
                noise=self.noise,
                shifts=shifts,
                mass_mode=self.mass_mode,
                seed=self.seed,
                episode=self.episode,
                stochastic=self.stochastic,
                seconds=self.seconds,
                size=size,
                fps=self.fps,
                speed=self.speed,
                camera=self.camera,
                overwrite=self.overwrite,
                trust_pickle=self.trust_pickle,
                progress=progress,
            )
        if self.json:
            print_json({**video.caption, "file": str(video.path)})
            return
        row = video.row
        print(f"{row['task']}, {video.shift}: return {row['return']:.1f} in {row['length']} steps")
        note(f"The video is {video.path}")


def parse_size(text: str) -> tuple[int, int]:
    """(width, height) from WIDTHxHEIGHT."""
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    if found is None:
        raise InvalidInputError(f"size must be WIDTHxHEIGHT, as in 640x480, not {text!r}")
    return int(found[1]), int(found[2])
