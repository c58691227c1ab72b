"""``mixedne attack``: the worst case of a policy, found by training attackers."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from mixedne.cli.console import counting, notes_only, print_json, print_table
from mixedne.cli.streams import note
from mixedne.compilation import use_compilation_cache

WHO = {"none": "no attack", "random": "random", "attacker": "strongest found"}


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Train attackers against a policy, to bound its worst-case return from above."""

    policy: Annotated[Path, Positional, arg(metavar="RUN|FILE")]
    """A run folder, a policy file, an ONNX file, or a Stable-Baselines3 file."""
    on: Literal["action", "force", "parameters", "observation"]
    """What the attacker acts on."""
    task: Annotated[str | None, arg(metavar="TASK")] = None
    """The task; required for policies that were not trained with mixedne."""
    strength: Annotated[float | None, arg(metavar="S")] = None
    """Strength of the attack. action: the attacker's share δ (default: 0.1); force: newtons
    (default: the task's); parameters: largest change per step, as a fraction of their range
    (default: fixed for whole episodes); observation: largest change after the policy's own
    normalisation (default: 0.1)."""
    bodies: Annotated[str | None, arg(metavar="NAMES")] = None
    """Bodies to push, by name or #index, e.g. torso,foot; by default the task's."""
    axes: Annotated[str | None, arg(metavar="AXES")] = None
    """Axes along which the bodies are pushed, e.g. xz; by default all that can move them."""
    parameters: Annotated[tuple[str, ...] | None, arg(metavar="AXIS=LOW:HIGH...")] = None
    """Parameters to change, with their bounds: 'mass[torso]=0.5:2' 'gravity:abs=8:12'."""
    points: Annotated[int | None, arg(metavar="N")] = None
    """Grid points per axis, for parameters that are fixed for whole episodes."""
    worlds: Annotated[int | None, arg(metavar="N")] = None
    """Number of worlds that CMA-ES tries instead of a grid; 200 for more than three parameters."""
    steps: int = 20_000
    """Environment steps to train each attacker for."""
    seeds: int = 2
    """Number of attackers per learning rate."""
    learning_rates: Annotated[tuple[float, ...], arg(metavar="RATE...")] = (1e-3, 3e-4)
    """Learning rates of the attackers."""
    episodes: int = 20
    """Number of episodes to report; the strongest attacker is selected on as many others."""
    seed: int = 0
    """Seed of the reported episodes."""
    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Folder to write the attack to; attacks/NAME-ON by default."""
    resume: bool = False
    """Continue the attack in that folder."""
    trust_pickle: bool = False
    """Load files that can run code (Stable-Baselines3); only use it for files that you trust."""
    no_cache: bool = False
    """Compile from scratch, without the user's cache of compiled programs."""
    json: bool = False
    """Print one JSON document: the content of attack.json without versions, and the folder."""

    def run(self) -> None:
        """Run the attack and print the result."""
        ours = ("json", "no_cache")
        keywords = {name: value for name, value in vars(self).items() if name not in ours}
        if not self.no_cache:
            use_compilation_cache()

        from mixedne.training.attack import attack

        unit = "worlds" if self.on == "parameters" and self.strength is None else "steps"
        try:
            with counting(f"Attack on {self.on}", unit) as progress, notes_only():
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
