"""``mixedne.train``: one run, from a configuration to a run folder."""

import contextlib
import dataclasses
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixedne.config import Config, configure, learning_gap
from mixedne.config.identity import compile_key
from mixedne.errors import InvalidInputError, TrainingError
from mixedne.policies import Policy, load_policy
from mixedne.tasks import resolve_task

if TYPE_CHECKING:
    from mixedne.training.trainer import Status

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


@dataclass(frozen=True)
class Run:
    """A finished run."""

    path: Path
    """Its folder."""
    config: Config

    @property
    def policy(self) -> Policy:
        """The trained agent."""
        return load_policy(self.path)


def train(
    task: str,
    *,
    agent: str = "ddpg",
    solver: str | None = None,
    formulation: str = "nr-mdp",
    delta: float | None = None,
    preset: str = "paper",
    steps: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    watch: "Callable[[Status], None]" = lambda status: None,
    **settings: Any,
) -> Run:
    """Train one agent; the run folder holds its policy.

    Args:
      task: what to learn, e.g. ``"Hopper-v5"``.
      agent: ``ddpg``, ``td3``, ``sac`` or ``vpg``.
      solver: ``mixedne-ld`` (the default), ``gad`` or ``extra-adam``; SAC takes none.
      formulation: ``nr-mdp`` or ``pr-mdp``.
      delta: δ, the adversary's share; 0.1 by default, 0 for the one-player agent.
      preset: ``paper`` or ``authors``: where the other settings come from.
      steps: environment steps; for VPG, outer steps.
      seed: fixes the whole run.
      out: the run folder; by default a new one, ``runs/NAME`` or ``runs/NAME-2``, …, whose name
        says the choices.
      resume: continue the run in that folder, if there is one; without ``out``, the newest of
        that name.
      watch: called now and then with the run's :class:`~mixedne.training.trainer.Status`.
      settings: any field of :class:`~mixedne.config.Config`.
    """
    if steps is not None:
        settings["steps"] = steps
    config = configure(
        task,
        agent=agent,
        solver=solver,
        formulation=formulation,
        delta=delta,
        preset=preset,
        seed=seed,
        **settings,
    )
    return train_config(config, out=out, resume=resume, watch=watch)


def train_config(
    config: Config,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    watch: "Callable[[Status], None]" = lambda status: None,
) -> Run:
    """Train by a complete configuration.

    At an interruption (Ctrl-C, SIGTERM) the current cycle ends, the run is saved, and then
    ``KeyboardInterrupt("saved")`` is raised; a second one stops at once.
    """
    return train_runs([config], [out], resume=resume, watch=watch)[0]


def train_runs(
    configs: Sequence[Config],
    outs: Sequence[str | Path | None],
    *,
    resume: bool = False,
    watch: "Callable[[Status], None]" = lambda status: None,
) -> list[Run]:
    """Train several runs of VPG together, each into its own folder; or one run of any agent.

    They may differ in seed, η and σ0. Each ends with the numbers that it would have had alone,
    and eight take little longer than one. ``watch`` sees the run that is furthest behind. A run
    that diverges raises its error after the others are done.
    """
    hold_to_one_thread()
    from mixedne.training.folder import RunFolder
    from mixedne.training.trainer import Trainer

    check_compatible(configs)
    for config in configs:
        check_time_limit(config)
    folders: list[RunFolder] = []
    trainer: Trainer | None = None
    try:
        for config, out in zip(configs, outs, strict=True):
            folders.append(
                RunFolder.default(config, resume=resume) if out is None else RunFolder(Path(out))
            )
            folders[-1].open(config, resume=resume)
            if gap := learning_gap(config):
                warnings.warn(gap, stacklevel=2)
        with _interruptions() as interrupted:
            trainer = Trainer(configs, folders)
            trainer.begin(resume=resume)
            if not trainer.run(watch, interrupted) or interrupted():
                raise KeyboardInterrupt("saved")
    except OSError as error:
        kept = "nothing is saved yet"
        if trainer is not None and trainer.saved is not None:
            kept = f"the checkpoint at step {trainer.saved} is kept, and --resume goes on from it"
        place = folders[0].path if len(folders) == 1 else folders[0].path.parent
        raise TrainingError(f"the run cannot be written to {place}: {error}; {kept}") from None
    finally:
        if trainer is not None:
            trainer.close()
        for folder in folders:
            folder.close(discard=trainer is None or not trainer.has_started)
    return [Run(folder.path, config) for config, folder in zip(configs, folders, strict=True)]


def check_compatible(configs: Sequence[Config]) -> None:
    """Refuse runs that cannot be trained together."""
    if len(configs) > 1 and any(config.agent != "vpg" for config in configs):
        raise InvalidInputError("only runs of vpg can be trained together")
    first, *others = (compile_key(dataclasses.asdict(config)) for config in configs)
    for other in others:
        for name, value in first.items():
            if other[name] != value:
                raise InvalidInputError(
                    f"runs that are trained together must have the same {name}, "
                    f"not {value!r} and {other[name]!r}"
                )


def check_time_limit(config: Config) -> None:
    """Refuse a task whose evaluations might never end."""
    task = resolve_task(config.task)
    if config.evaluate_every > 0 and task.max_episode_steps is None:
        raise InvalidInputError(
            f"{task.id} has no time limit, so an episode of an evaluation might never end: "
            "register it with max_episode_steps, or set evaluate_every to 0"
        )


def hold_to_one_thread() -> None:
    """Keep XLA to one thread: many runs then fill a machine, and a single one is faster, too.

    XLA reads this when JAX first computes; later calls have no effect.
    """
    os.environ.setdefault("NPROC", "1")  # the size of XLA's pool of threads
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {ONE_THREAD}".strip()


@contextlib.contextmanager
def _interruptions() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether the process was asked to stop.

    A second request stops at once.
    """
    asked = False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    numbers = (signal.SIGINT, signal.SIGTERM)
    try:
        before = [signal.signal(number, ask) for number in numbers]
    except ValueError:  # not in the main thread, where signals go
        yield lambda: False
        return
    try:
        yield lambda: asked
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
