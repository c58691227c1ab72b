"""One run in training: its state between two calls of the updater, and how it is kept.

All that is random comes from the run's seed and a counter, and the episode in progress is played
again on resumption, so a run that was killed ends with the same numbers.
"""

import contextlib
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedne.config import Config
from mixedne.errors import InvalidInputError
from mixedne.metrics import read_metrics
from mixedne.solvers import SolverState
from mixedne.tasks import resolve_task
from mixedne.training.assembly import make_policies
from mixedne.training.checkpoints import (
    Checkpoint,
    load_checkpoints,
    newest_step,
    save_checkpoint,
)
from mixedne.training.evaluations import evaluate_policy, nominal_return
from mixedne.training.experience import Experience
from mixedne.training.folder import RunFolder
from mixedne.training.metrics import MetricMeans, MetricsWriter
from mixedne.training.normaliser import no_normaliser
from mixedne.training.snapshot import is_finite, restore_tree, tree_distance, tree_tensors
from mixedne.training.updates import RunInputs, UpdateMetrics, Updater, inner_steps, noise_scale
from mixedne.types import Players

RECENT_EPISODES = 10
"""Over so many episodes the return that people watch is averaged."""

MUST_BE_FINITE = ("payoff", "critic_loss", "value", "target", "returns")
"""Metrics of an update that show that a run has diverged."""


class DivergedError(Exception):
    """The numbers of a run are no longer finite; the message says which."""


class TrainingRun:
    """A run's configuration, folder, state and counters."""

    def __init__(self, config: Config, folder: RunFolder, updater: Updater) -> None:
        """Make the networks and the environment; ``begin`` starts or continues the run."""
        self.config, self.folder, self._updater = config, folder, updater
        self.task = resolve_task(config.task)
        self.state: SolverState = updater.init(config.seed)
        self.experience: Experience | None = None
        """What an off-policy run learns from; VPG plays its episodes in the updater."""
        if config.agent != "vpg":
            self.experience = Experience(config, self.task, folder.replay)
        self._policies: Players | None = None
        self._means = MetricMeans()
        tensorboard = folder.path / "tensorboard" if config.tensorboard else None
        self._writer = MetricsWriter(folder.metrics, tensorboard)
        self.step = 0
        """Environment steps; for VPG, outer steps."""
        self.updates = 0
        """Outer steps of the solver."""
        self._rollouts = 0
        """How often VPG has played episodes."""
        self._recent_returns: list[float] = []
        self.evaluated: float | None = None
        """The last evaluation's mean return in the nominal world."""
        self.seconds = 0.0
        """Time spent on the run; runs that are trained together share it equally."""
        self._first = (0, 0.0)
        """Step and seconds when this process took the run over."""
        self.saved: int | None = None
        """The step of the last checkpoint."""
        self.failure: str | None = None
        """Why the run cannot continue."""
        self._is_complete = False

    # -- begin and end -------------------------------------------------------------------------

    def begin(self, *, resume: bool) -> None:
        """Continue from the newest checkpoint that is whole, or start from nothing."""
        was_finished = resume and self._was_finished()
        if was_finished and self.folder.has_policies(self.state.players):
            read_metrics(self.folder.path)  # refuses damaged ones, which cannot be made again
            self.step = self.saved = self.config.steps
            self._is_complete = True
            return
        found = load_checkpoints(self.folder.checkpoints) if resume else iter(())
        if not any(map(self._restore, found)):
            if was_finished:
                raise InvalidInputError(
                    f"the finished run in {self.folder.path} is damaged, and no checkpoint can "
                    "make it whole: train it again in another folder"
                )
            if self.experience is not None:
                self.experience.start()
        self._first = (self.step, self.seconds)
        self._writer.open(self.step)

    def _was_finished(self) -> bool:
        """Whether the run in the folder came to its end; its checkpoints may be gone since."""
        newest = newest_step(self.folder.checkpoints)
        if newest is None and self.folder.metrics.is_file():
            newest = max((line["step"] for line in read_metrics(self.folder.path)), default=None)
        return newest == self.config.steps

    @property
    def is_active(self) -> bool:
        """Whether there is more to do."""
        return self.failure is None and self.step < self.config.steps

    def finish(self) -> None:
        """Write what is not written yet; the replay is needed no more."""
        if self.saved != self.step:
            self.save()
        elif not self._is_complete:
            self.folder.write_policies(self.policies())
        self.folder.replay.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the environment and the files."""
        if self.experience is not None:
            self.experience.close()
        self._writer.close()

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """Give the run up, without harm to others, if it diverges in this block."""
        try:
            yield
        except DivergedError as reason:
            kept = "there is no checkpoint yet"
            if self.saved is not None:
                kept = f"the checkpoint at step {self.saved} is kept in {self.folder.checkpoints}"
            self.failure = f"diverged at step {self.step}: {reason}; {kept}"

    # -- advance -------------------------------------------------------------------------------

    def next_steps(self) -> int:
        """Steps until the updater is called next: a cycle; for VPG, until the next metrics."""
        config = self.config
        if self.experience is not None:
            wanted = config.collect_steps
        else:
            wanted = config.metrics_every - self.step % config.metrics_every
        return min(wanted, config.steps - self.step)

    def collect(self, count: int) -> int:
        """Take so many steps in the environment; how many updates are due after them."""
        if self.experience is None:
            self.step += count
            return count
        for episode in self.experience.collect(self.policies(), self.step, count):
            total, length = episode.total_reward, episode.length
            self._means.add({"episodes": 1, "returns": total, "lengths": length})
            self._recent_returns = [*self._recent_returns, total][-RECENT_EPISODES:]
        self.step += count
        self._policies = None  # the normaliser has changed
        return self.config.updates if self.step > self.config.update_after else 0

    def inputs(self) -> RunInputs:
        """What the updater needs; the state is used up by it."""
        if self.experience is None:
            return RunInputs(self.config, self.state)
        return RunInputs(
            self.config, self.state, self.experience.replay, self.experience.normaliser
        )

    def take(self, state: SolverState, metrics: Sequence[UpdateMetrics], updates: int) -> None:
        """Go on with what the updater has made."""
        self.state, self._policies = state, None
        self.updates += updates
        for call in metrics:
            if not all(math.isfinite(call.get(name, 0.0)) for name in MUST_BE_FINITE):
                raise DivergedError(
                    "the returns are not finite"
                    if self.experience is None
                    else "the critic's loss or values are not finite"
                )
            self._means.add(call)
        if self.experience is None:
            self._finite_state()  # small networks: looking at all of them costs nothing
            self._rollouts += sum(int(call["rollouts"]) for call in metrics)
            self._recent_returns = [call["returns"] / call["rollouts"] for call in metrics]

    def policies(self) -> Players:
        """The players as they are now."""
        if self._policies is None:
            normaliser = (
                no_normaliser(self.task.observation_size)
                if self.experience is None
                else self.experience.normaliser
            )
            head, players = self._updater.policy_head, self.state.players
            try:
                self._policies = make_policies(self.config, self.task, head, players, normaliser)
            except InvalidInputError as error:
                raise DivergedError(str(error)) from None
        return self._policies

    # -- metrics -------------------------------------------------------------------------------

    @property
    def mean_return(self) -> float | None:
        """Of the last ten training episodes; of VPG's, since the last line of metrics."""
        return float(np.mean(self._recent_returns)) if self._recent_returns else None

    @property
    def inner_steps(self) -> int:
        """K_t."""
        return int(inner_steps(self.config, max(self.updates, 1)))

    def log(self) -> None:
        """Write a line of metrics: means since the line before."""
        means, (agent, adversary) = self._means, self.state.players
        first_step, first_seconds = self._first
        speed = (self.step - first_step) / max(self.seconds - first_seconds, 1e-9)
        versus = None if adversary is None else means.mean("adversary_gradient_norm", "moves")
        line = {
            "kind": "training",
            "step": self.step,
            "updates": self.updates,
            **self._episode_metrics(),
            "inner_steps": self.inner_steps,
            "noise_scale": float(noise_scale(self.config, max(self.updates, 1))),
            "seconds": round(self.seconds, 3),
            "steps_per_second": round(speed, 1),
            **({} if self.experience is None else self._critic_metrics()),
            "agent_gradient_norm": means.mean("agent_gradient_norm", "moves"),
            "adversary_gradient_norm": versus,
            "player_distance": None if adversary is None else tree_distance(agent, adversary),
        }
        self._writer.write(line)
        self._means = MetricMeans()

    def evaluate(self) -> None:
        """Evaluate the agent at a few shifts, and write the results."""
        lines = evaluate_policy(self.policies().agent, self.config, self.task, self.step)
        self._writer.write(*lines)
        self.evaluated = nominal_return(lines)

    def _episode_metrics(self) -> dict[str, Any]:
        if self.experience is None:
            episodes = self._rollouts * self.config.trajectories
            return {
                "episodes": episodes,
                "samples": episodes * self.config.horizon,
                "return_mean": self._means.mean("returns", "rollouts"),
            }
        return {
            "episodes": self.experience.episodes,
            "episodes_ended": int(self._means.sums.get("episodes", 0)),
            "return_mean": self._means.mean("returns", "episodes"),
            "length_mean": self._means.mean("lengths", "episodes"),
        }

    def _critic_metrics(self) -> dict[str, Any]:
        log_alpha = getattr(self.state.carry, "log_alpha", None)
        return {
            "critic_loss": self._means.mean("critic_loss", "minibatches"),
            "value_mean": self._means.mean("value", "minibatches"),
            "target_mean": self._means.mean("target", "minibatches"),
            "payoff": self._means.mean("payoff", "calls"),
            "entropy_weight": None if log_alpha is None else float(np.exp(log_alpha)),
        }

    # -- checkpoints ---------------------------------------------------------------------------

    def save(self) -> None:
        """Write a checkpoint, and the policies as they are now."""
        tensors = self._finite_state()
        notes: dict[str, Any] = {
            "updates": self.updates,
            "rollouts": self._rollouts,
            "sums": self._means.sums,
            "recent_returns": self._recent_returns,
            "evaluated": self.evaluated,
            "metrics_size": self._writer.size,
            "seconds": self.seconds,
        }
        if self.experience is not None:
            tensors |= self.experience.tensors()
            notes |= self.experience.notes()
        save_checkpoint(self.folder.checkpoints, Checkpoint(self.step, tensors, notes))
        self.saved = self.step
        self.folder.write_policies(self.policies())

    def _finite_state(self) -> dict[str, NDArray[Any]]:
        tensors = tree_tensors(self.state, "state")
        if not is_finite(tensors):
            raise DivergedError("a network is not finite")
        return tensors

    def _restore(self, checkpoint: Checkpoint) -> bool:
        """Continue from a checkpoint; False if the replay or the metrics that it needs are lost."""
        step, tensors, notes = checkpoint.step, checkpoint.tensors, checkpoint.notes
        try:
            self._writer.check(notes["metrics_size"])
            if self.experience is not None:
                self.experience.restore(step, tensors, notes)
        except InvalidInputError as error:
            warnings.warn(f"the checkpoint at step {step} cannot be used: {error}", stacklevel=2)
            return False
        self.state = restore_tree(self.state, tensors, "state")
        self.step = self.saved = step
        self.updates, self._rollouts = notes["updates"], notes["rollouts"]
        self._means.sums = notes["sums"]
        self._recent_returns, self.evaluated = notes["recent_returns"], notes["evaluated"]
        self._writer.size, self.seconds = notes["metrics_size"], notes["seconds"]
        return True
