"""The trainer: collect, update, log, evaluate, save, for one run or for several together.

Off-policy agents (DDPG, TD3, SAC) train one run: a cycle is ``collect_steps`` steps of the
environment and ``updates`` outer steps of the solver. Runs of VPG share a compiled program, which
advances up to eight of them per call; those that were interrupted at different steps catch up with
each other first. Checkpoints are taken between two calls.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mixedne.config import Config
from mixedne.errors import TrainingError
from mixedne.tasks import resolve_task
from mixedne.training.assembly import make_agent
from mixedne.training.experience import transition_layout
from mixedne.training.folder import RunFolder
from mixedne.training.off_policy import OffPolicyUpdater
from mixedne.training.on_policy import OnPolicyUpdater
from mixedne.training.training_run import TrainingRun
from mixedne.training.updates import Updater


@dataclass(frozen=True)
class Status:
    """How far a run is."""

    step: int
    steps: int
    steps_per_second: float
    """Since this process began."""
    mean_return: float | None
    """Of the last ten episodes."""
    inner_steps: int
    """K_t."""
    evaluated: float | None
    """The last evaluation's mean return in the nominal world."""


def make_updater(config: Config) -> Updater:
    """What makes the updates of a configuration's agent."""
    if config.agent == "vpg":
        return OnPolicyUpdater(config)
    task = resolve_task(config.task)
    return OffPolicyUpdater(config, make_agent(config, task), transition_layout(config, task))


class Trainer:
    """Runs that share an updater, each in a folder of its own."""

    def __init__(self, configs: Sequence[Config], folders: Sequence[RunFolder]) -> None:
        """Make networks and environments; ``begin`` starts or continues the runs."""
        self._updater = make_updater(configs[0])
        self._runs: list[TrainingRun] = []
        try:
            for config, folder in zip(configs, folders, strict=True):
                self._runs.append(TrainingRun(config, folder, self._updater))
        except BaseException:
            self.close()
            raise

    @property
    def has_started(self) -> bool:
        """Whether a run has anything that is worth keeping."""
        return any(run.step > 0 or run.saved is not None for run in self._runs)

    @property
    def saved(self) -> int | None:
        """The first step to which an interruption would go back; None without a checkpoint."""
        steps = [run.saved for run in self._runs if run.saved is not None]
        return min(steps) if len(steps) == len(self._runs) else None

    def begin(self, *, resume: bool) -> None:
        """Continue each run from its newest checkpoint, or start it from nothing."""
        for run in self._runs:
            run.begin(resume=resume)

    def run(self, watch: Callable[[Status], None], stop: Callable[[], bool]) -> bool:
        """Advance all runs to their end, or until ``stop`` says so; whether they are finished.

        A run that diverges is given up without harm to the others; the error comes at the end.
        """
        started = clock = time.perf_counter()
        first = self._steps_done()
        while (active := [run for run in self._runs if run.is_active]) and not stop():
            behind = min(run.step for run in active)
            group = [run for run in active if run.step == behind][: self._updater.max_runs]
            self._advance(group)
            now = time.perf_counter()
            for run in group:
                run.seconds += (now - clock) / len(group)
                with run.failing():
                    self._report(run, behind)
            clock = now
            speed = (self._steps_done() - first) / (now - started) / len(self._runs)
            watch(self._status(speed))
        for run in self._runs:
            if run.failure is None:
                with run.failing():
                    run.save() if run.is_active else run.finish()
        # An interruption is no failure of those that had diverged before it.
        failures = [run for run in active or self._runs if run.failure is not None]
        if failures:
            place = f" in {failures[0].folder.path}" if len(self._runs) > 1 else ""
            raise TrainingError(f"training{place} {failures[0].failure}")
        return not active

    def close(self) -> None:
        """Close environments and files."""
        for run in self._runs:
            run.close()

    def _advance(self, group: Sequence[TrainingRun]) -> None:
        """Take runs that are at the same step further: collect, and update what is due."""
        count = group[0].next_steps()
        due = [run.collect(count) for run in group]
        if due[0]:
            self._update(group, due[0])

    def _update(self, group: Sequence[TrainingRun], count: int) -> None:
        """One call of the updater."""
        inputs = [run.inputs() for run in group]
        ended = self._updater.advance(inputs, group[0].updates, count)
        for run, (state, metrics) in zip(group, ended, strict=True):
            with run.failing():
                run.take(state, metrics, count)

    @staticmethod
    def _report(run: TrainingRun, before: int) -> None:
        """Log, evaluate and save what is due after a call."""
        if run.failure is not None:
            return
        config, is_last = run.config, run.step >= run.config.steps
        run.policies()  # found before anything is written: a player that is not finite

        def is_due(every: int) -> bool:
            return every > 0 and before // every != run.step // every

        if is_due(config.metrics_every) or is_last:
            run.log()
        if is_due(config.evaluate_every):
            run.evaluate()
        if is_due(config.checkpoint_every) and not is_last:
            run.save()

    def _steps_done(self) -> int:
        return sum(run.step for run in self._runs)

    def _status(self, steps_per_second: float) -> Status:
        """Of the run that is furthest behind; one that was given up holds nobody back."""
        going = [run for run in self._runs if run.failure is None] or self._runs
        run = min(going, key=lambda run: run.step)
        return Status(
            step=run.step,
            steps=run.config.steps,
            steps_per_second=steps_per_second,
            mean_return=run.mean_return,
            inner_steps=run.inner_steps,
            evaluated=run.evaluated,
        )
