"""Runs of VPG that are trained together: each has its own folder, and all share one program.

A run is in :class:`Lane`'s few fields between two calls, and that is where checkpoints are taken.
Runs that were interrupted at different steps catch up with each other first.
"""

import dataclasses
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from mixedne.config import Config
from mixedne.config.compatible import LANES, program_key
from mixedne.errors import InvalidInputError, TrainingError
from mixedne.policies import Policy
from mixedne.solvers import SolverState
from mixedne.tasks import resolve_task
from mixedne.training.assembly import make_policies
from mixedne.training.checkpoints import Checkpoint, load_checkpoints, save_checkpoint
from mixedne.training.folder import RunFolder
from mixedne.training.journal import Journal
from mixedne.training.loop import Status, passed
from mixedne.training.metrics import player_distance
from mixedne.training.normaliser import no_normaliser
from mixedne.training.on_policy import OnPolicyUpdater
from mixedne.training.snapshot import is_finite, restore_tree, tree_tensors
from mixedne.training.updates import RunInputs, UpdateMetrics, noise_scale
from mixedne.types import Players


def check_alike(configs: Sequence[Config]) -> None:
    """Refuse runs that cannot share a program."""
    if len(configs) > 1 and any(config.agent != "vpg" for config in configs):
        raise InvalidInputError("only runs of vpg can be trained together")
    first, *others = (program_key(dataclasses.asdict(config)) for config in configs)
    for other in others:
        for name, value in first.items():
            if other[name] != value:
                raise InvalidInputError(
                    f"runs that are trained together must have the same {name}, "
                    f"not {value!r} and {other[name]!r}"
                )


class Lane:
    """One run between two calls."""

    def __init__(self, config: Config, folder: RunFolder, state: SolverState) -> None:
        """At the beginning; ``begin`` takes up a run that has begun."""
        self.config, self.folder, self.state = config, folder, state
        self.task = resolve_task(config.task)
        self.journal = Journal(config, self.task, folder)
        self.step = 0
        """Outer steps done."""
        self.turns = 0
        """How often episodes were played."""
        self.seconds = 0.0
        """Spent on the run; runs that are trained together share them equally."""
        self.mean_return: float | None = None
        """Of the last call's episodes."""
        self.saved: int | None = None
        """The step of the last checkpoint."""
        self.failure: TrainingError | None = None
        self.was_finished = False
        """Before this process took it up."""

    @property
    def is_active(self) -> bool:
        """Whether there is more to do."""
        return self.failure is None and self.step < self.config.steps

    def begin(self, *, resume: bool) -> None:
        """Take up the newest checkpoint that is whole, or start from nothing."""
        found = load_checkpoints(self.folder.checkpoints) if resume else iter(())
        any(self._restore(checkpoint) for checkpoint in found)
        self.was_finished = self.step >= self.config.steps
        self.journal.open(self.step)

    def policies(self, head: str) -> Players:
        """The players as they stand."""
        nothing = no_normaliser(self.task.observation_size)
        return make_policies(self.config, self.task, head, self.state.players, nothing)

    def tell(self, metrics: UpdateMetrics, steps_per_second: float) -> None:
        """Write what a call has told."""
        config, adversary = self.config, self.state.players.adversary
        self.mean_return = metrics["returns"] / metrics["rollouts"]
        self.turns += int(metrics["rollouts"])
        episodes = self.turns * config.trajectories
        agent_norm, adversary_norm = (
            metrics[f"{player}_gradient_norm"] / metrics["moves"] for player in Players._fields
        )
        self.journal.write(
            {
                "kind": "training",
                "step": self.step,
                "updates": self.step,
                "episodes": episodes,
                "samples": episodes * config.horizon,
                "inner_steps": config.inner_steps,
                "temperature": float(noise_scale(config, self.step)),
                "seconds": round(self.seconds, 3),
                "steps_per_second": round(steps_per_second, 1),
                "return_mean": self.mean_return,
                "agent_gradient_norm": agent_norm,
                "adversary_gradient_norm": None if adversary is None else adversary_norm,
                "player_distance": None if adversary is None else player_distance(self.state),
            }
        )

    def save(self) -> None:
        """Write a checkpoint."""
        notes = {
            "turns": self.turns,
            "seconds": self.seconds,
            "mean_return": self.mean_return,
            "evaluated": self.journal.evaluated,
            "metrics_size": self.journal.size,
        }
        tensors = tree_tensors(self.state, "state")
        save_checkpoint(self.folder.checkpoints, Checkpoint(self.step, tensors, notes))
        self.saved = self.step

    def fail(self) -> None:
        """Give the run up."""
        kept = "there is no checkpoint yet"
        if self.saved is not None:
            kept = f"the checkpoint at step {self.saved} is kept in {self.folder.checkpoints}"
        self.failure = TrainingError(
            f"training in {self.folder.path} diverged by step {self.step}: a network is not "
            f"finite; {kept}"
        )

    def is_finite(self) -> bool:
        """Whether the networks still hold numbers."""
        return is_finite(tree_tensors(self.state, "state"))

    def _restore(self, checkpoint: Checkpoint) -> bool:
        """Take up a checkpoint; False if the metrics that it needs are gone."""
        notes = checkpoint.notes
        is_finished = checkpoint.step >= self.config.steps
        if not is_finished and self.folder.metrics_size() < notes["metrics_size"]:
            warnings.warn(
                f"going back behind the checkpoint at step {checkpoint.step}: "
                f"{self.folder.metrics} has lost lines",
                stacklevel=2,
            )
            return False
        self.state = restore_tree(self.state, checkpoint.tensors, "state")
        self.step = self.saved = checkpoint.step
        self.turns, self.seconds = notes["turns"], notes["seconds"]
        self.mean_return = notes["mean_return"]
        self.journal.evaluated, self.journal.size = notes["evaluated"], notes["metrics_size"]
        return True


class Group:
    """Runs that share a program."""

    def __init__(self, configs: Sequence[Config], folders: Sequence[RunFolder]) -> None:
        """Ready to begin."""
        check_alike(configs)
        self._config = configs[0]
        self._program = OnPolicyUpdater(configs[0])
        self._lanes = [
            Lane(config, folder, self._program.init(config.seed))
            for config, folder in zip(configs, folders, strict=True)
        ]

    @property
    def saved(self) -> int | None:
        """The first step to which an interruption would go back."""
        steps = [lane.saved for lane in self._lanes if lane.saved is not None]
        return min(steps) if len(steps) == len(self._lanes) else None

    def begin(self, *, resume: bool) -> None:
        """Take up each run's newest checkpoint, or start from nothing."""
        for lane in self._lanes:
            lane.begin(resume=resume)

    def run(self, watch: Callable[[Status], None], stop: Callable[[], bool]) -> bool:
        """Advance all runs to their end, or until ``stop`` says so; whether they are finished.

        A run that diverges is given up without harm to the others; the error comes at the end.
        """
        started, first = time.perf_counter(), sum(lane.step for lane in self._lanes)
        while (active := [lane for lane in self._lanes if lane.is_active]) and not stop():
            behind = min(lane.step for lane in active)
            self._advance([lane for lane in active if lane.step == behind][:LANES])
            done = sum(lane.step for lane in self._lanes) - first
            speed = done / (time.perf_counter() - started) / len(self._lanes)
            watch(self._status(speed))
        for lane in active:
            lane.save()
        for lane in self._lanes:
            if lane.step >= self._config.steps and lane.failure is None:
                self._finish(lane)
        if active:
            return False
        if failures := [lane.failure for lane in self._lanes if lane.failure is not None]:
            raise failures[0]
        return True

    def close(self) -> None:
        """Close the files."""
        for lane in self._lanes:
            lane.journal.close()

    def _advance(self, lanes: Sequence[Lane]) -> None:
        """One call for runs that stand at the same step, up to the next line of metrics."""
        config, before = self._config, lanes[0].step
        count = min(config.metrics_every - before % config.metrics_every, config.steps - before)
        started = time.perf_counter()
        ended = self._program.advance(
            [RunInputs(lane.config, lane.state) for lane in lanes], before, count
        )
        seconds = (time.perf_counter() - started) / len(lanes)
        for lane, (state, [metrics]) in zip(lanes, ended, strict=True):
            lane.state, lane.step = state, before + count
            lane.seconds += seconds
            if not (lane.is_finite() and np.isfinite(metrics["returns"])):
                lane.fail()
                continue
            lane.tell(metrics, count / seconds)
            if passed(before, lane.step, config.evaluate_every):
                lane.journal.evaluate(self._agent_of(lane), lane.step)
            if passed(before, lane.step, config.checkpoint_every) and lane.is_active:
                lane.save()

    def _agent_of(self, lane: Lane) -> Policy:
        agent: Policy = lane.policies(self._program.policy_head).agent
        return agent

    def _finish(self, lane: Lane) -> None:
        """Write the policies."""
        if lane.saved != lane.step:
            lane.save()
        policies = lane.policies(self._program.policy_head)
        lane.folder.write_policies(policies, again=not lane.was_finished)

    def _status(self, steps_per_second: float) -> Status:
        """Of the run that is furthest behind; one that was given up holds nobody back."""
        going = [lane for lane in self._lanes if lane.failure is None] or self._lanes
        lane = min(going, key=lambda lane: lane.step)
        return Status(
            lane.step,
            lane.config.steps,
            steps_per_second,
            lane.mean_return,
            lane.config.inner_steps,
            lane.journal.evaluated,
        )
