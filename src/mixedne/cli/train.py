"""``mixedne train``: one run."""

import contextlib
import dataclasses
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from mixedne.cli.console import note, noted_warnings, print_json
from mixedne.config import (
    FALLBACK,
    Config,
    check_wishes,
    default_config,
    is_in_tables,
)
from mixedne.config.unused import without_effect
from mixedne.errors import InvalidInputError

if TYPE_CHECKING:
    from mixedne.training.trainer import Status

PLAIN_REPORTS = 20
"""Lines of progress where there is no terminal."""


@dataclass(frozen=True)
class Train(Config):
    """Train one agent, robust or not; the result is a run folder."""

    about: ClassVar[str] = """\
The defaults shown are the preset's values for the task, agent, solver and delta given:
    mixedne train Hopper-v5 --agent td3 --help

Examples:
  mixedne train InvertedPendulum-v5 --steps 100000
  mixedne train Hopper-v5 --agent td3 --solver gad --delta 0.2 --seed 1 --out runs/hopper
  mixedne train HalfCheetah-v5 --preset authors --hidden 128 128 --resume
  mixedne train toy --agent vpg --steps 5000"""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """The run folder; by default a new one, runs/NAME or runs/NAME-2, …, whose name says the
    choices."""
    resume: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Continue the run in that folder, if there is one; without --out, the newest of that name."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print one JSON document: the run folder and the last evaluation."""

    @classmethod
    def default(
        cls, arguments: Sequence[str], read: Callable[[Sequence[str], "Train"], "Train"]
    ) -> "Train":
        """What the options are by default, given the choices among these arguments."""
        asked = [a for a in arguments if a not in ("-h", "--help")]
        found = read(asked, cls(task=""))
        if not found.task:
            if len(asked) < len(arguments):
                return found
            raise InvalidInputError("train needs a task, e.g. mixedne train Hopper-v5")

        def chosen(name: str) -> Any:
            flag = f"--{name}"
            given = any(a == flag or a.startswith(f"{flag}=") for a in arguments)
            return getattr(found, name) if given else None

        preset = default_config(
            found.task,
            found.agent,
            chosen("solver"),
            found.formulation,
            chosen("delta"),
            found.preset,
        )
        return cls(**dataclasses.asdict(preset))

    def run(self) -> None:
        """Train, with progress on stderr."""
        from mixedne.training.folder import ExistingRunError
        from mixedne.training.metrics import last_evaluation
        from mixedne.training.run import train_config

        config = Config(**{f.name: getattr(self, f.name) for f in dataclasses.fields(Config)})
        preset = default_config(
            config.task,
            config.agent,
            config.solver,
            config.formulation,
            config.delta,
            config.preset,
        )
        config = dataclasses.replace(config, task=preset.task)
        check_wishes(config, preset)
        if not is_in_tables(config):
            idle = {
                x for names in without_effect(config.agent, config.solver).values() for x in names
            }
            used = [name for name in FALLBACK[config.agent] if name not in idle]
            note(
                f"the paper's tables have no {config.task} with {config.agent}, {config.solver}, "
                f"delta {config.delta:g}: "
                + ", ".join(f"{name} is {getattr(config, name):g}" for name in used)
            )
        try:
            with noted_warnings(), watching(config) as watch:
                run = train_config(config, out=self.out, resume=self.resume, watch=watch)
        except ExistingRunError as error:
            raise ExistingRunError(error.path, out="--out", resume="--resume") from None
        except KeyboardInterrupt as stop:
            done = "stopped and saved" if stop.args else "stopped"
            note(f"{done}; go on with: {_command_to_resume()}")
            raise
        results = last_evaluation(run.path)
        if self.json:
            print_json({"run": str(run.path), "steps": config.steps, "evaluation": results})
            return
        for result in results:
            mean, deviation = (
                "unknown" if result[name] is None else f"{result[name]:.1f}"
                for name in ("return_mean", "return_std")
            )
            axis = "rho" if "rho" in result else "mass"
            note(
                f"return {mean} ± {deviation} at {axis} {result[axis]:g} "
                f"({result['episodes']} episodes)"
            )
        print(run.path)


@contextlib.contextmanager
def watching(config: Config) -> Iterator[Callable[["Status"], None]]:
    """Yield what shows a run's status: a bar on a terminal, a line now and then elsewhere."""
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (
            TextColumn(f"{config.task} {config.agent}"),
            BarColumn(),
            TextColumn("{task.completed:,}/{task.total:,}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[said]}"),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            job = bar.add_task("", total=config.steps, said="compiling")
            yield lambda status: bar.update(job, completed=status.step, said=describe(status))
        return
    told = 0

    def tell(status: "Status") -> None:
        nonlocal told
        if PLAIN_REPORTS * status.step // status.steps > told:
            told = PLAIN_REPORTS * status.step // status.steps
            left = (status.steps - status.step) / max(status.steps_per_second, 1e-9)
            note(f"step {status.step} of {status.steps}, {describe(status)}, {left:.0f} s left")

    yield tell


def describe(status: "Status") -> str:
    """A status in words."""
    words = [f"{status.steps_per_second:.0f} steps/s", f"K {status.inner_steps}"]
    if status.mean_return is not None:
        words.append(f"return {status.mean_return:.1f}")
    if status.evaluated is not None:
        words.append(f"evaluated {status.evaluated:.1f}")
    return ", ".join(words)


def _command_to_resume() -> str:
    words = ["mixedne", *sys.argv[1:]]
    return shlex.join([*words, *([] if "--resume" in words else ["--resume"])])
