"""The loop: collect, update, tell, evaluate, save; from the start or from a checkpoint.

A cycle is ``collect_steps`` steps of the environment and ``updates`` outer steps of the solver.
Between cycles the whole run is in :class:`Trainer`'s few fields, and that is where checkpoints
are taken. All that is random comes from the run's seed and a counter, and the episode under way
is played again on resumption, so a run that was killed ends with the same numbers.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixedne.config import Config
from mixedne.errors import InvalidInputError, TrainingError
from mixedne.solvers import SolverState
from mixedne.tasks import resolve_task
from mixedne.training.assembly import formulation_of, make_agent, make_policies
from mixedne.training.checkpoints import Checkpoint, load_checkpoints, save_checkpoint
from mixedne.training.collection import Collector, Finished, transition_sizes
from mixedne.training.folder import RunFolder
from mixedne.training.journal import Journal
from mixedne.training.metrics import Window, training_line
from mixedne.training.normaliser import Normaliser, RunningMoments
from mixedne.training.off_policy import OffPolicyUpdater
from mixedne.training.replay import Layout, Replay
from mixedne.training.snapshot import is_finite, restore_tree, tree_tensors
from mixedne.training.updates import RunInputs, inner_steps, noise_scale
from mixedne.types import Players


@dataclass(frozen=True)
class Status:
    """How far a run is, for whoever watches."""

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


def passed(before: int, after: int, every: int) -> bool:
    """Whether a multiple of ``every`` was passed; never, if it is zero."""
    return every > 0 and before // every != after // every


class Trainer:
    """One run between two cycles."""

    def __init__(self, config: Config, folder: RunFolder) -> None:
        """Ready to begin; ``resume`` takes up a run that has begun."""
        self.config, self._folder = config, folder
        self.task = resolve_task(config.task)
        self._formulation = formulation_of(config)
        self._agent = make_agent(config, self.task)
        self._layout = Layout(transition_sizes(self.task, self._formulation))
        self._updater = OffPolicyUpdater(config, self._agent, self._layout)
        self._collector = Collector(
            self.task,
            self._formulation,
            self._layout.columns,
            config.seed,
            exploration=config.sigma,
        )
        self.step = 0
        """Environment steps taken."""
        self._cycle = 0
        self._updates = 0
        self._state: SolverState = self._updater.init(config.seed)
        self._moments = RunningMoments.empty(self.task.observation_size)
        self._window = Window()
        self._returns: list[float] = []
        self._journal = Journal(config, self.task, folder)
        self._seconds = 0.0
        self._replay: Replay | None = None
        self._checked = 0
        """Transitions up to here have their checksum in an earlier checkpoint."""
        self.saved: int | None = None
        """The step of the last checkpoint."""

    # -- beginning, going on, ending -----------------------------------------------------------

    def begin(self, *, resume: bool) -> None:
        """Take up the newest checkpoint that is whole, or start from nothing."""
        found = load_checkpoints(self._folder.checkpoints) if resume else iter(())
        if not any(self._restore(checkpoint) for checkpoint in found):
            self._replay = Replay.create(self._folder.replay, *self._replay_shape())
        self._journal.open(self.step)

    def run(self, watch: Callable[[Status], None], stop: Callable[[], bool]) -> bool:
        """Cycle until the last step, or until ``stop`` says so; whether the run is finished."""
        started, first = time.perf_counter(), self.step
        seconds_before = self._seconds
        while self.step < self.config.steps and not stop():
            before = self.step
            self._one_cycle()
            elapsed = time.perf_counter() - started
            self._seconds = seconds_before + elapsed
            is_last = self.step >= self.config.steps
            if passed(before, self.step, self.config.metrics_every) or is_last:
                self._tell((self.step - first) / elapsed)
            if passed(before, self.step, self.config.evaluate_every):
                self._journal.evaluate(self._policies().agent, self.step)
            if passed(before, self.step, self.config.checkpoint_every) and not is_last:
                self.save()
            watch(self._status((self.step - first) / elapsed))
        if self.step < self.config.steps:
            self.save()
            return False
        self._finish()
        return True

    def close(self) -> None:
        """Let go of the environment and the replay."""
        self._collector.close()
        if self._replay is not None:
            self._replay.close()
        self._journal.close()

    # -- a cycle -------------------------------------------------------------------------------

    def _one_cycle(self) -> None:
        config, replay = self.config, self._replay
        if replay is None:
            raise TrainingError("a finished run cannot go on")
        count = min(config.collect_steps, config.steps - self.step)
        rows, finished = self._collector.collect(
            self._policies(), count, self._cycle, at_random=self.step < config.random_steps
        )
        replay.append(rows)
        self.step += count
        self._cycle += 1
        self._count_episodes(finished)
        if config.normalise_observations:
            observations = rows[:, self._layout.columns["observation"]]
            self._moments = self._moments.update(observations)
        if replay.count > config.update_after:
            self._update(replay)

    def _update(self, replay: Replay) -> None:
        inputs = RunInputs(self.config, self._state, replay, self._normaliser())
        [(self._state, calls)] = self._updater.advance([inputs], self._updates, self.config.updates)
        for metrics in calls:
            if not np.isfinite(list(metrics.values())).all():
                raise TrainingError(
                    f"training diverged at step {self.step}: the critic's loss or values are not "
                    f"finite; {self._kept()}"
                )
            self._window.add(**metrics)
        self._updates += self.config.updates

    def _kept(self) -> str:
        """What a user has when the run cannot go on."""
        if self.saved is None:
            return "there is no checkpoint yet"
        return f"the checkpoint at step {self.saved} is kept in {self._folder.checkpoints}"

    def _normaliser(self) -> Normaliser:
        return Normaliser(*self._moments.scaling())

    def _policies(self) -> Players:
        try:
            return make_policies(
                self.config,
                self.task,
                self._agent.policy_head,
                self._state.players,
                self._normaliser(),
            )
        except InvalidInputError as error:
            raise TrainingError(
                f"training diverged at step {self.step}: {error}; {self._kept()}"
            ) from None

    def _count_episodes(self, finished: list[Finished]) -> None:
        for episode in finished:
            self._window.add(episodes=1, returns=episode.total, lengths=episode.length)
            self._returns = [*self._returns[-9:], episode.total]

    # -- telling -------------------------------------------------------------------------------

    def _tell(self, steps_per_second: float) -> None:
        t = max(self._updates, 1)
        line = training_line(
            self._window,
            self._state,
            step=self.step,
            updates=self._updates,
            episodes=self._collector.episode.number,
            inner_steps=int(inner_steps(self.config, t)),
            temperature=float(noise_scale(self.config, t)),
            seconds=round(self._seconds, 3),
            steps_per_second=round(steps_per_second, 1),
        )
        self._journal.write(line)
        self._window = Window()

    def _status(self, steps_per_second: float) -> Status:
        return Status(
            self.step,
            self.config.steps,
            steps_per_second,
            float(np.mean(self._returns)) if self._returns else None,
            int(inner_steps(self.config, max(self._updates, 1))),
            self._journal.evaluated,
        )

    # -- saving --------------------------------------------------------------------------------

    def _replay_shape(self) -> tuple[int, int, int]:
        """Width, capacity and spare rows: room for what comes between two checkpoints' windows."""
        config = self.config
        if config.steps <= config.replay_size:
            return self._layout.width, config.steps, 0
        spare = 2 * (config.checkpoint_every + config.collect_steps)
        # A ring of all the run's steps never comes round.
        return self._layout.width, config.replay_size, min(spare, config.steps - config.replay_size)

    def save(self) -> None:
        """Write a checkpoint."""
        tensors = tree_tensors(self._state, "state")
        if not is_finite(tensors):
            raise TrainingError(
                f"training diverged at step {self.step}: a network is not finite; {self._kept()}"
            )
        episode = self._collector.episode
        tensors["moments.mean"], tensors["moments.squares"] = (
            self._moments.mean,
            self._moments.squares,
        )
        tensors["episode.actions"] = np.array(episode.actions, np.float32).reshape(
            -1, self.task.action_size
        )
        notes: dict[str, Any] = {
            "cycle": self._cycle,
            "updates": self._updates,
            "transitions": 0 if self._replay is None else self._replay.count,
            "observations": self._moments.count,
            "episode": episode.number,
            "window": self._window.sums,
            "returns": self._returns,
            "evaluated": self._journal.evaluated,
            "metrics_size": self._journal.size,
            "seconds": self._seconds,
        }
        if self._replay is not None:
            notes["checked_from"] = self._checked
            notes["checksum"] = self._replay.checksum(self._checked)
            self._checked = self._replay.count
        save_checkpoint(self._folder.checkpoints, Checkpoint(self.step, tensors, notes))
        self.saved = self.step

    def _restore(self, checkpoint: Checkpoint) -> bool:
        """Take up a checkpoint; False if the replay or the metrics that it needs are gone."""
        notes, tensors = checkpoint.notes, checkpoint.tensors
        is_finished = checkpoint.step >= self.config.steps
        if not is_finished:
            if self._folder.metrics_size() < notes["metrics_size"]:
                warnings.warn(
                    f"going back behind the checkpoint at step {checkpoint.step}: "
                    f"{self._folder.metrics} has lost lines",
                    stacklevel=2,
                )
                return False
            try:
                self._replay = Replay.open(
                    self._folder.replay, *self._replay_shape(), count=notes["transitions"]
                )
            except InvalidInputError as error:
                warnings.warn(
                    f"the checkpoint at step {checkpoint.step} is of no use: {error}", stacklevel=2
                )
                return False
            if self._replay.checksum(notes["checked_from"]) != notes["checksum"]:
                warnings.warn(
                    f"the replay has lost transitions before step {checkpoint.step}", stacklevel=2
                )
                return False
            self._checked = self._replay.count
        self._state = restore_tree(self._state, tensors, "state")
        self._moments = RunningMoments(
            notes["observations"], tensors["moments.mean"], tensors["moments.squares"]
        )
        self.step = self.saved = checkpoint.step
        self._cycle, self._updates = notes["cycle"], notes["updates"]
        self._window = Window(notes["window"])
        self._returns, self._seconds = notes["returns"], notes["seconds"]
        self._journal.evaluated = notes["evaluated"]
        self._journal.size = notes["metrics_size"]
        if not is_finished:
            self._collector.resume(notes["episode"], tensors["episode.actions"])
        return True

    def _finish(self) -> None:
        """Write the policies; the replay has served."""
        if self.saved != self.step:
            self.save()
        was_finished = self._replay is None and not self._folder.replay.exists()
        self._folder.write_policies(self._policies(), again=not was_finished)
        self._folder.replay.unlink(missing_ok=True)
