"""``mixedne.train`` and the trainer: collect, update, log, evaluate, save.

Off-policy agents (DDPG, TD3, SAC) train one run: a cycle is ``collect_steps`` steps of the
environment and ``updates`` outer steps of the solver. Runs of VPG share a compiled program, which
advances up to eight of them per call; if they were interrupted at different steps, those behind
catch up first. Checkpoints are taken between calls.
"""

import contextlib
import math
import os
import signal
import statistics
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mixedne.config import Config, configure, learning_gap
from mixedne.config.configure import set_files
from mixedne.config.identity import compile_key
from mixedne.errors import InvalidInputError, TrainingError, check_number
from mixedne.evaluation.sets import warn_of_sets
from mixedne.evaluation.sweep import MAX_EPISODES, evaluate
from mixedne.policies import Policy, load_policy
from mixedne.progress import counting
from mixedne.tasks import Shift, make_worlds, resolve_task
from mixedne.tasks.registry import EnvironmentFactory, task_id
from mixedne.training.folder import RunFolder
from mixedne.training.training_run import TrainingRun, evaluation_grid
from mixedne.training.updates import Updater, make_updater

if TYPE_CHECKING:
    from mixedne.video.watch import Video


@dataclass(frozen=True)
class Run:
    """A trained run, which has finished or was stopped by a callback."""

    path: Path  # its folder
    config: Config

    evaluate = evaluate

    @property
    def policy(self) -> Policy:
        """The trained agent."""
        return load_policy(self.path)

    def watch(self, out: str | Path, **options: Any) -> "Video":
        """Make a video: :func:`mixedne.watch` with this run and these options."""
        from mixedne.video.watch import watch

        return watch(self, out, **options)


@dataclass(frozen=True)
class Status:
    """The progress of a run."""

    step: int
    steps: int
    steps_per_second: float  # of this process, without compilation; 0 before it is known
    mean_return: float | None  # of the last ten episodes
    inner_steps: int  # K_t
    evaluated: float | None  # the last evaluation's mean return in the nominal world
    metrics: tuple[Mapping[str, Any], ...] = ()  # lines of metrics.jsonl that are new

    @property
    def seconds_left(self) -> float:
        """Estimated seconds left, at the speed of this process; NaN before it is known."""
        rest = self.steps - self.step
        return rest / self.steps_per_second if self.steps_per_second else math.nan

    def __str__(self) -> str:
        speed = f"{self.steps_per_second:.0f} steps/s" if self.steps_per_second else "compiled"
        words = [speed, f"K {self.inner_steps}"]
        if self.mean_return is not None:
            words.append(f"return {self.mean_return:.1f}")
        if self.evaluated is not None:
            words.append(f"evaluated {self.evaluated:.1f}")
        return ", ".join(words)


Watch: TypeAlias = Callable[[Status], bool | None]
"""A function of a run's status; the run stops if it returns False."""


def train(
    task: str | EnvironmentFactory,
    *,
    agent: str | None = None,
    solver: str | None = None,
    formulation: str | None = None,
    delta: float | None = None,
    preset: str = "paper",
    steps: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = False,
    callback: Watch = lambda status: None,
    **settings: Any,
) -> Run:
    """Train one agent and save it in a run folder.

    Args:
      task: name of the task, e.g. ``"Hopper-v5"``; or a function without arguments that makes the
        environment, whose name becomes the task's.
      agent: ``ddpg``, ``td3``, ``sac`` or ``vpg``; by default ``ddpg``, or ``td3`` with the preset
        ``robust``.
      solver: ``mixedne-ld`` (the default), ``gad`` or ``extra-adam``; SAC takes none.
      formulation: how the adversary acts: ``nr-mdp`` (the default), ``pr-mdp``, ``rarl``,
        ``parameters`` or ``m2td3``; ``pettingzoo`` (the default) if the task is a PettingZoo game.
      delta: δ, the adversary's share in NR-MDP and PR-MDP; 0.1 by default, 0 to train without an
        adversary.
      preset: source of the defaults of all other settings, ``paper``, ``authors`` or ``robust``.
      steps: number of environment steps; for VPG, of outer steps.
      seed: random seed; the same seed gives the same run.
      out: the run folder; by default a new one, ``runs/NAME`` or ``runs/NAME-2``, …, named after
        the task, agent, solver and so on.
      resume: continue the run in that folder, if there is one; without ``out``, in the newest
        folder of that name.
      progress: show a progress bar on a terminal, and print lines elsewhere.
      callback: called after every cycle with the run's :class:`Status`, which includes new lines
        of metrics. If it returns False, the run is saved and stops; continue it with
        ``resume=True``.
      settings: any field of :class:`~mixedne.config.Config`; and ``protagonist``, the player of a
        PettingZoo game that is trained as the agent.

    Returns:
      The run, with its ``path``, ``config`` and ``policy``; ``run.evaluate(…)`` and
      ``run.watch(…)`` call :func:`mixedne.evaluate` and :func:`mixedne.watch` with it.

    Examples:
      >>> import mixedne
      >>> run = mixedne.train("InvertedPendulum-v5", steps=200, hidden=(8,), out="pendulum")
      >>> run.evaluate(mass=[0.5, 1], episodes=2)["mass"].to_list()
      [0.5, 0.5, 1.0, 1.0]
    """
    settings |= {} if steps is None else {"steps": steps}
    settings |= {"agent": agent, "solver": solver, "formulation": formulation, "delta": delta}
    config = configure(task_id(task), preset=preset, seed=seed, **settings)
    warn_of_sets(set_files(settings), config.task)
    shown = watching(config) if progress else contextlib.nullcontext(lambda status: None)
    with shown as show:

        def watch(status: Status) -> bool | None:
            show(status)
            try:
                return callback(status)
            except Exception as error:
                raise _CallbackError(error) from None

        try:
            return train_config(config, out=out, resume=resume, watch=watch)
        except _CallbackError as error:
            raise error.raised from None


class _CallbackError(Exception):
    """Wraps an exception of a callback, so that it is not reported as a failure of the run."""

    def __init__(self, raised: Exception) -> None:
        super().__init__(raised)
        self.raised = raised


@contextlib.contextmanager
def watching(
    config: Config, counting: Callable[..., Any] = counting
) -> Iterator[Callable[[Status], None]]:
    """Yield a function that shows a run's status: a bar on a terminal, sparse lines elsewhere."""
    with counting(f"{config.task} {config.agent}", lines=20, said="compiling") as show:
        yield lambda status: show(status.step, status.steps, status.seconds_left, str(status))


def train_config(
    config: Config,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    watch: Watch = lambda status: None,
) -> Run:
    """Train with a complete configuration.

    On an interruption (Ctrl-C, SIGTERM) the current cycle ends, the run is saved, and then
    ``KeyboardInterrupt("saved")`` is raised; a second interruption stops at once.
    """
    return train_runs([config], [out], resume=resume, watch=watch)[0]


def train_runs(
    configs: Sequence[Config],
    outs: Sequence[str | Path | None],
    *,
    resume: bool = False,
    watch: Watch = lambda status: None,
) -> list[Run]:
    """Train several runs of VPG together, each into its own folder; or one run of any agent.

    They may differ in seed, η and σ0. Each gives the same results as if trained alone, and eight
    take little longer than one. ``watch`` gets the status of the run that is furthest behind, and
    can stop all of them. The error of a diverged run is raised after the others have finished.
    """
    hold_to_one_thread()
    check_compatible(configs)
    folders: list[RunFolder] = []
    runs: list[TrainingRun] = []
    try:
        for config, out in zip(configs, outs, strict=True):
            folders.append(
                RunFolder.default(config, resume=resume) if out is None else RunFolder(Path(out))
            )
            folders[-1].open(config, resume=resume)
            if gap := learning_gap(config):
                warnings.warn(gap, stacklevel=2)
            warn_of_sets([*(config.randomise or ()), *(config.parameters or ())], config.task)
        with _interruptions() as interrupted:
            updater = make_updater(configs[0])
            for config, folder in zip(configs, folders, strict=True):
                runs.append(TrainingRun(config, folder, updater))
            for run in runs:
                run.begin(resume=resume)
            stopped: list[bool] = []

            def see(status: Status) -> None:
                stopped[:] = [True] if watch(status) is False else []

            is_over = run_all(runs, updater, see, lambda: bool(stopped) or interrupted())
            if interrupted() or not (is_over or stopped):
                raise KeyboardInterrupt("saved")
    except IsADirectoryError as error:
        name = error.filename2 or error.filename
        message = f"{name} is a folder and should be a file: move it away; {_kept(runs)}"
        raise InvalidInputError(message) from None
    except OSError as error:
        place = folders[0].path if len(folders) == 1 else folders[0].path.parent
        message = f"the run cannot be written to {place}: {error}; {_kept(runs)}"
        raise TrainingError(message) from None
    except InvalidInputError as error:
        if not any(run.step for run in runs):
            raise
        message = f"training stopped at step {runs[0].step}: {error}; {_kept(runs)}"
        raise InvalidInputError(message) from error
    finally:
        for run in runs:
            run.close()
        has_started = any(run.step > 0 or run.saved is not None for run in runs)
        for folder in folders:
            folder.close(discard=not has_started)
    return [Run(folder.path, config) for config, folder in zip(configs, folders, strict=True)]


def _kept(runs: Sequence[TrainingRun]) -> str:
    """What is kept of these runs after a failure, in words."""
    saved = [run.saved for run in runs if run.saved is not None]
    if not runs or len(saved) < len(runs):
        return "nothing is saved yet"
    return f"the checkpoint at step {min(saved)} is kept, and resume=True goes on from it"


def check_compatible(configs: Sequence[Config]) -> None:
    """Raise for runs that cannot be trained together, or evaluations that might never end."""
    if len(configs) > 1 and any(config.agent != "vpg" for config in configs):
        raise InvalidInputError("only runs of vpg can be trained together")
    first, *others = (compile_key(vars(config)) for config in configs)
    for other in others:
        for name, value in first.items():
            if other[name] != value:
                raise InvalidInputError(
                    f"runs that are trained together must have the same {name}, "
                    f"not {value!r} and {other[name]!r}"
                )
    if configs[0].evaluate_every > 0:
        check_evaluation(configs[0])


def check_evaluation(config: Config) -> None:
    """Raise now for what the run's own evaluations would refuse after thousands of steps."""
    task = resolve_task(config.task)
    if task.max_episode_steps is None:
        way = "register it with max_episode_steps"
        way = way if task.opponent is None else "give the game an attribute max_cycles"
        raise InvalidInputError(
            f"{task.id} has no time limit, so an episode of an evaluation might never end: "
            f"{way}, or set evaluate_every to 0"
        )
    try:
        axis, values, grid = evaluation_grid(config, task)
        total = grid.size * grid.episodes
        check_number("the number of episodes in all", total, at_most=MAX_EPISODES)
        worlds = make_worlds(task, [(Shift({axis: value}), config.seed) for value in values])
        with contextlib.closing(worlds):
            worlds.reset()
    except InvalidInputError as error:
        raise InvalidInputError(
            f"the run could not be evaluated while it trains: {error} (evaluate_masses and "
            "evaluate_episodes set how it is, and with 0 for evaluate_every it is not)"
        ) from None


def hold_to_one_thread() -> None:
    """Limit XLA to one thread: many runs can share a machine, and a single run is faster, too.

    XLA reads this when JAX first computes; later calls have no effect.
    """
    os.environ.setdefault("NPROC", "1")  # the size of XLA's thread pool
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()


@contextlib.contextmanager
def _interruptions() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether the process was asked to stop.

    A second request stops at once.
    """
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    is_main = threading.current_thread() is threading.main_thread()  # where signals go
    numbers = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_all(
    runs: Sequence[TrainingRun], updater: Updater, watch: Watch, stop: Callable[[], bool]
) -> bool:
    """Advance all runs to their end, or until ``stop`` returns True; return whether they finished.

    A run that diverges is dropped without affecting the others; its error is raised at the end.
    """
    begun = clock = time.perf_counter()
    first, speed, has_compiled = sum(run.step for run in runs), 0.0, False
    while (active := [run for run in runs if run.is_active]) and not stop():
        behind = min(run.step for run in active)
        group = [run for run in active if run.step == behind][: updater.max_runs]
        compiles = advance(group, updater) and not has_compiled
        now = time.perf_counter()
        for run in group:
            run.seconds += (now - clock) / len(group)
            if compiles:
                run.restart_clock()
            with run.failing():
                run.report(behind)
        clock = now
        done = sum(run.step for run in runs)
        if compiles:  # the first updates: not representative
            has_compiled, begun, first = True, now, done
        else:
            speed = (done - first) / (now - begun) / len(runs)
        # The run that is furthest behind, without those that were dropped.
        going = [run for run in runs if run.failure is None] or runs
        last = min(going, key=lambda run: run.step)
        mean = statistics.fmean(last.recent_returns) if last.recent_returns else None
        so_far = last.step, last.config.steps, speed, mean, last.inner_steps, last.evaluated
        watch(Status(*so_far, last.new_lines()))
    for run in runs:
        with run.failing():
            run.finish()
    # After an interruption, errors of runs that had diverged before it are not raised.
    failures = [run for run in active or runs if run.failure is not None]
    if failures:
        place = f" in {failures[0].folder.path}" if len(runs) > 1 else ""
        raise TrainingError(f"training{place} {failures[0].failure}")
    return not active


def advance(group: Sequence[TrainingRun], updater: Updater) -> bool:
    """Advance runs that are at the same step: collect, and do the updates that are due.

    Returns whether there were any updates.
    """
    count = group[0].next_steps()
    due, *_ = (run.collect(count) for run in group)
    if not due:
        return False
    ended = updater.advance([run.inputs() for run in group], group[0].updates, due)
    for run, (state, metrics) in zip(group, ended, strict=True):
        with run.failing():
            run.take(state, metrics, due)
    return True
