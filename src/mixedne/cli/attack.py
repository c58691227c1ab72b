"""``mixedne attack``: how bad it can get for a policy."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from mixedne.cli.console import counting, noted_warnings, print_json, print_table
from mixedne.cli.streams import note
from mixedne.compilation import use_compilation_cache

WHO = {"none": "no attack", "random": "random", "attacker": "strongest found"}


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Train attackers against a policy: it is at most as good as under the strongest."""

    policy: Annotated[Path, Positional, arg(metavar="RUN|FILE")]
    """A run folder, a policy file, an ONNX file, or a Stable-Baselines3 file."""
    on: Literal["action", "force", "parameters", "observation"]
    """What is attacked."""
    task: Annotated[str | None, arg(metavar="TASK")] = None
    """The task; policies from elsewhere need it."""
    strength: Annotated[float | None, arg(metavar="S")] = None
    """action: the attacker's share δ (0.1 by default); force: newtons (the task's); parameters: how
    far they move in a step, as a share of their range (by default they hold for whole episodes);
    observation: the largest change after the policy's own normalisation (0.1)."""
    bodies: Annotated[str | None, arg(metavar="NAMES")] = None
    """The bodies that are pushed, by name or #index: torso,foot; by default the task's."""
    axes: Annotated[str | None, arg(metavar="AXES")] = None
    """The axes along which they are pushed, as xz; by default all that can move them."""
    parameters: Annotated[tuple[str, ...] | None, arg(metavar="AXIS=LOW:HIGH...")] = None
    """What is changed and within which bounds: 'mass[torso]=0.5:2' 'gravity:abs=8:12'."""
    points: Annotated[int | None, arg(metavar="N")] = None
    """Points on each axis of the grid, for parameters that hold for whole episodes."""
    worlds: Annotated[int | None, arg(metavar="N")] = None
    """Worlds that CMA-ES tries instead of a grid; 200 with more than three parameters."""
    steps: int = 20_000
    """Environment steps of each attacker."""
    seeds: int = 2
    """Attackers of each learning rate."""
    learning_rates: Annotated[tuple[float, ...], arg(metavar="RATE...")] = (1e-3, 3e-4)
    """Of the attackers."""
    episodes: int = 20
    """Episodes that are reported; the strongest is chosen by as many others."""
    seed: int = 0
    """Of the reported episodes."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """The folder of the attack; attacks/NAME-ON by default."""
    resume: bool = False
    """Continue the attack in that folder."""
    trust_pickle: bool = False
    """Load files that can run code, such as Stable-Baselines3's: only if you trust them."""
    no_cache: bool = False
    """Compile anew, without the programs of earlier runs in the user's cache folder."""
    json: bool = False
    """Print one JSON document: what attack.json holds but for versions, and the folder."""

    def run(self) -> None:
        """Attack, and say what is known now."""
        ours = ("json", "no_cache")
        keywords = {name: value for name, value in vars(self).items() if name not in ours}
        if not self.no_cache:
            use_compilation_cache()

        from mixedne.training.attack import attack

        unit = "worlds" if self.on == "parameters" and self.strength is None else "steps"
        try:
            with counting(f"Attack on {self.on}", unit) as progress, noted_warnings():
                result = attack(**keywords, progress=progress)
        except KeyboardInterrupt as stop:
            if stop.args:
                words = [word for word in sys.argv[1:] if word != "--resume"]
                note(
                    f"stopped and saved; go on with: {shlex.join(['mixedne', *words, '--resume'])}"
                )
            raise
        note(f"Results are in {result.path}")
        if self.json:
            print_json({**result.summary, "folder": str(result.path)})
            return
        rows = [
            [WHO[who], *(f"{told[name]:.1f}" for name in ("mean", "std", "worst"))]
            for who, told in result.summary["returns"].items()
        ]
        title = f"{result.summary['task']}, return over {self.episodes} episodes"
        print_table(title, ["attacker", "mean return", "std", "min"], rows)
        print(f"{result.sentence}.")
