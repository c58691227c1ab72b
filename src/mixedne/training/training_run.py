"""One run in training: its state between calls of the updater, and how it is saved.

All randomness comes from the run's seed and a counter, and the episode in progress is replayed on
resumption, so a run that was killed and resumed ends with the same results.
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
from mixedne.evaluation.grids import Grid
from mixedne.evaluation.sweep import evaluate
from mixedne.metrics import best_evaluation, read_metrics
from mixedne.policies import NAMES
from mixedne.shifts import PARAMETERS
from mixedne.solvers import SolverState
from mixedne.tasks import Task, resolve_task
from mixedne.training.assembly import make_policies
from mixedne.training.checkpoints import (
    Checkpoint,
    load_checkpoints,
    newest_step,
    remove_others,
    save_checkpoint,
)
from mixedne.training.collection import Experience
from mixedne.training.folder import RunFolder
from mixedne.training.metrics import MetricMeans, MetricsWriter
from mixedne.training.snapshot import is_finite, restore_tree, tree_distance, tree_tensors
from mixedne.training.updates import (
    OffPolicyUpdater,
    RunInputs,
    UpdateMetrics,
    Updater,
    inner_steps,
    noise_scale,
)
from mixedne.types import Players

COUNTERS = ("updates", "rollouts", "recent_returns", "evaluated", "seconds")
"""Attributes of a run that are stored in a checkpoint."""


def evaluation_grid(config: Config, task: Task) -> tuple[str, tuple[float, ...], Grid]:
    """The axis of a run's own evaluations, its values, and the whole grid."""
    axis, values = "mass", config.evaluate_masses if "mass" in task.axes else (1.0,)
    if "rho" in task.axes:
        axis, values = "rho", config.evaluate_rhos
    own: dict[str, Any] = {axis: values}
    return axis, values, Grid(**own, episodes=config.evaluate_episodes, seed=config.seed)


class TrainingRun:
    """A run's configuration, folder, state and counters."""

    def __init__(self, config: Config, folder: RunFolder, updater: Updater) -> None:
        """Create the networks and the environment; ``begin`` starts or continues the run."""
        self.config, self.folder, self._updater = config, folder, updater
        self.task = resolve_task(config.task)
        self.state: SolverState = updater.init(config.seed)
        self.experience: Experience | None = None  # VPG plays its episodes in the updater
        if config.agent != "vpg":
            self.experience = Experience(config, self.task, folder.replay)
        self._policies: Players | None = None
        self._means = MetricMeans()
        self._line: dict[str, Any] = {}
        tensorboard = folder.path / "tensorboard" if config.tensorboard else None
        self._writer = MetricsWriter(folder.metrics, tensorboard)
        self.step = 0  # of the environment; for VPG, outer steps
        self.updates = 0  # outer steps of the solver
        self.rollouts = 0  # how often VPG has played episodes
        self.recent_returns: list[float] = []  # the last ten; VPG's, since the last metrics
        self.evaluated: float | None = None  # the last evaluation's return in the nominal world
        self.seconds = 0.0  # spent on the run; runs that are trained together share them equally
        self._best: float | None = None  # the highest mean return of an evaluation
        self._first = (0, 0.0)  # step and seconds from which on the speed is measured
        self.saved: int | None = None  # the step of the last checkpoint
        self.failure: str | None = None  # why the run cannot continue
        self._is_complete = False

    def begin(self, *, resume: bool) -> None:
        """Continue from the newest undamaged checkpoint, or start from scratch."""
        players = self._make_policies(self.state.players)  # M2TD3's adversary has no policy
        names = self._by_name(players, players)
        was_finished = resume and self._was_finished([*names][-1])
        if was_finished and self.folder.has_policies(names):
            read_metrics(self.folder.path)  # raises if damaged: they cannot be restored
            self._check_end_of_metrics()
            self.step = self.saved = self.config.steps
            remove_others(self.folder.checkpoints, self.step)  # e.g. one left by a killed process
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
        self.restart_clock()
        self._writer.open(self.step)
        if self.step > 0 and self.folder.has_best:  # older versions kept none
            self._best = best_evaluation(read_metrics(self.folder.path))

    def _check_end_of_metrics(self) -> None:
        """Raise if a finished run's metrics are shorter than its last checkpoint records."""
        newest = None
        with contextlib.suppress(InvalidInputError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of damage or other versions: it is not needed
            newest = next(load_checkpoints(self.folder.checkpoints), None)
        if newest is not None and newest.step == self.config.steps:
            self._writer.check(newest.notes["metrics_size"])

    def _was_finished(self, last: str) -> bool:
        """Whether the run in the folder has finished; its checkpoints may have been lost.

        A finished run has the policy ``last``, which is written after the metrics.
        """
        newest = newest_step(self.folder.checkpoints)
        was_saved = any(self.folder.path.glob(f"{last}.*"))
        if newest is None and was_saved and self.folder.metrics.is_file():
            newest = max((line["step"] for line in read_metrics(self.folder.path)), default=None)
        return newest == self.config.steps

    @property
    def is_active(self) -> bool:
        """Whether the run is neither finished nor failed."""
        return self.failure is None and self.step < self.config.steps

    def finish(self) -> None:
        """Save an interrupted run; for a finished one, write the policies."""
        if self.failure is not None:
            return
        if self.saved != self.step:
            self.save(keep=not self.is_active)
        elif not self._is_complete:
            self._write_policies(keep=not self.is_active)
        if not self.is_active:
            self.folder.replay.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the environment and the files."""
        if self.experience is not None:
            self.experience.close()
        self._writer.close()

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """Mark the run as failed, without affecting others, if it diverges in this block."""
        try:
            yield
        except FloatingPointError as reason:
            kept = "there is no checkpoint yet"
            if self.saved is not None:
                kept = f"the checkpoint at step {self.saved} is kept in {self.folder.checkpoints}"
            self.failure = f"diverged at step {self.step}: {reason}; {kept}"

    def next_steps(self) -> int:
        """Number of steps until the next update: a cycle; for VPG, until something is due."""
        config, step = self.config, self.step
        if self.experience is not None:
            return min(config.collect_steps, config.steps - step)
        due = (config.metrics_every, config.evaluate_every, config.checkpoint_every)
        return min(config.steps - step, *(every - step % every for every in due if every > 0))

    def collect(self, count: int) -> int:
        """Take ``count`` environment steps; return the number of updates due after them."""
        if self.experience is None:
            self.step += count
            return count
        if isinstance(self._updater, OffPolicyUpdater) and self.step >= self.config.random_steps:
            self.experience.worlds = self._updater.agent.worlds(self.state)
        for total, length in self.experience.collect(self.policies(), self.step, count):
            self._means.add({"episodes": 1, "returns": total, "lengths": length})
            self.recent_returns = [*self.recent_returns, total][-10:]
        self.step += count
        self._policies = None  # the normaliser has changed
        return self.config.updates if self.step > self.config.update_after else 0

    def inputs(self) -> RunInputs:
        """Inputs of the updater; the state cannot be used afterwards."""
        seen = self.experience
        own = () if seen is None else (seen.replay, seen.normaliser, seen.reward_scale)
        return RunInputs(self.config, self.state, *own)

    def take(self, state: SolverState, metrics: Sequence[UpdateMetrics], updates: int) -> None:
        """Continue with the results of the updater."""
        self.state, self._policies = state, None
        self.updates += updates
        for call in metrics:
            shown = ("payoff", "critic_loss", "value", "target", "returns")
            if not all(math.isfinite(call.get(name, 0.0)) for name in shown):
                what = "returns" if self.experience is None else "critic's loss or values"
                raise FloatingPointError(f"the {what} are not finite")
            self._means.add(call)
        if self.experience is None:
            self._finite_state()  # cheap, since the networks are small
            self.rollouts += sum(int(call["rollouts"]) for call in metrics)
            self.recent_returns = [call["returns"] / call["rollouts"] for call in metrics]

    def policies(self) -> Players:
        """The current players."""
        if self._policies is None:
            self._policies = self._make_policies(self.state.players)
        return self._policies

    def output(self) -> Players:
        """The output of the run if it ended now: the players, or their average."""
        average = self.state.average
        return self.policies() if average is None else self._make_policies(average)

    def _make_policies(self, players: Players) -> Players:
        normaliser = None if self.experience is None else self.experience.normaliser
        head = self._updater.agent.policy_head
        try:
            return make_policies(self.config, self.task, head, players, normaliser)
        except InvalidInputError as error:
            raise FloatingPointError(str(error)) from None

    def _by_name(self, output: Players, iterate: Players) -> dict[str, Any]:
        """Both players, and if they are averages also their iterates, by file name."""
        players = (*output, *(iterate if self.config.output == "average" else (None, None)))
        named = zip(NAMES, players, strict=True)
        return {name: player for name, player in named if player is not None}

    @property
    def inner_steps(self) -> int:
        """K_t."""
        return int(inner_steps(self.config, max(self.updates, 1)))

    def report(self, before: int) -> None:
        """Log, evaluate and save, as due after the steps since ``before``."""
        if self.failure is not None:
            return
        config, is_last = self.config, self.step >= self.config.steps
        self.policies()  # raises, before anything is written, if a player is not finite

        def is_due(every: int) -> bool:
            return every > 0 and before // every != self.step // every

        if is_due(config.metrics_every) or is_last:
            self.log()
        if is_due(config.evaluate_every):
            self.evaluate()
        if is_last:
            self._doubt()
        elif is_due(config.checkpoint_every):
            self.save(keep=True)

    def restart_clock(self) -> None:
        """Measure the speed from now on."""
        self._first = (self.step, self.seconds)

    def new_lines(self) -> tuple[dict[str, Any], ...]:
        """The new lines of metrics since the last call."""
        lines, self._writer.written = tuple(self._writer.written), []
        return lines

    def log(self) -> None:
        """Write a line of metrics: means since the previous line."""
        mean, (agent, adversary) = self._means.mean, self.state.players
        steps, seconds = self.step - self._first[0], self.seconds - self._first[1]
        episodes: dict[str, Any] = {
            "episodes": self.rollouts * self.config.trajectories,
            "samples": self.rollouts * self.config.trajectories * self.config.horizon,
            "return_mean": mean("returns", "rollouts"),
        }
        critic: dict[str, Any] = {}
        if self.experience is not None:
            log_alpha = getattr(self.state.carry, "log_alpha", None)
            episodes = {
                "episodes": self.experience.episode.number,
                "episodes_ended": int(self._means.sums.get("episodes", 0)),
                "return_mean": mean("returns", "episodes"),
                "length_mean": mean("lengths", "episodes"),
            }
            critic = {
                "critic_loss": mean("critic_loss", "minibatches"),
                "value_mean": mean("value", "minibatches"),
                "target_mean": mean("target", "minibatches"),
                "payoff": mean("payoff", "calls"),
                "entropy_weight": None if log_alpha is None else float(np.exp(log_alpha)),
            }
            if self.experience.reward_scale is not None:
                critic["reward_scale"] = float(self.experience.reward_scale)
            if self.experience.worlds is not None:
                vectors, shares = self.experience.worlds
                critic["worst_world"] = vectors[shares.argmax()].tolist()
        versus = None if adversary is None else mean("adversary_gradient_norm", "moves")
        line = {
            "kind": "training",
            "step": self.step,
            "updates": self.updates,
            **episodes,
            "inner_steps": self.inner_steps,
            "noise_scale": float(noise_scale(self.config, max(self.updates, 1))),
            "seconds": round(self.seconds, 3),
            "steps_per_second": round(steps / seconds, 1) if seconds > 0 else None,
            **critic,
            "agent_gradient_norm": mean("agent_gradient_norm", "moves"),
            "adversary_gradient_norm": versus,
            "player_distance": tree_distance(agent, adversary),
        }
        self._writer.write(line)
        self._line, self._means = line, MetricMeans()

    def evaluate(self) -> None:
        """Evaluate the agent without adversary or noise at a few shifts; one metrics line for each.

        The best policy is the one with the highest mean over these shifts.
        """
        axis, values, grid = evaluation_grid(self.config, self.task)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of unstable simulations, which count as NaN below
            output = self.output()
            table = evaluate(output.agent, self.task.id, **grid.keywords, threads=1)
        lines: list[dict[str, Any]] = []
        for value in values:
            rows = table.filter(table[axis] == value)
            returns, lengths = rows["return"].to_numpy(), rows["length"].to_numpy()
            returns = np.where(rows["diverged"], np.nan, returns)
            line = {"kind": "evaluation", "step": self.step, axis: value, "episodes": len(returns)}
            moments = {"return_mean": float(returns.mean()), "return_std": float(returns.std())}
            lines.append({**line, **moments, "length_mean": float(lengths.mean())})
        self._writer.write(*lines)
        nominal = PARAMETERS[axis].nominal
        found = (line["return_mean"] for line in lines if line[axis] == nominal)
        self.evaluated = next(found, None)
        mean = best_evaluation(lines)
        if mean is not None and (self._best is None or mean > self._best):
            self._best = mean
            self.folder.write_best(self._by_name(output, self.policies()), self.step, mean)

    def _doubt(self) -> None:
        """Warn of implausible results of a finished run, and write them into its metrics."""
        doubts, line = [], self._line
        players = tree_tensors(self.state.players, "").values()
        largest = max(float(np.abs(parameters).max()) for parameters in players)
        if largest > 1e3:  # first weights are below 1
            doubts.append(f"the players' parameters reach {largest:.3g}")
        if self.experience is not None and line["value_mean"] is not None:
            value = max(abs(line["value_mean"]), math.sqrt(line["critic_loss"]))
            reward = self.experience.largest_reward / line.get("reward_scale", 1.0)
            if value * (1 - self.config.gamma) > 100 * max(reward, 1.0):
                doubts.append(f"the critic's values reach {value:.3g}, and rewards {reward:.3g}")
        if self.evaluated is not None and not math.isfinite(self.evaluated):
            doubts.append("the return of the last evaluation is not finite")
        if doubts:
            message = f"the run has ended, but its numbers make no sense: {'; '.join(doubts)}"
            self._writer.write({"kind": "warning", "step": self.step, "message": message})
            warnings.warn(f"{self.folder.path}: {message}", stacklevel=2)

    def save(self, *, keep: bool) -> None:
        """Write the current policies, then a checkpoint, so that they are never older than it.

        ``keep``: whether an uninterrupted run would save at this step, too; only then policies
        are kept.
        """
        tensors = self._finite_state()
        notes = {name: getattr(self, name) for name in COUNTERS}
        notes |= {"sums": self._means.sums, "metrics_size": self._writer.size}
        if self.experience is not None:
            own_tensors, own_notes = self.experience.snapshot()
            tensors, notes = tensors | own_tensors, notes | own_notes
        self._write_policies(keep=keep)
        save_checkpoint(self.folder.checkpoints, Checkpoint(self.step, tensors, notes))
        self.saved = self.step

    def _write_policies(self, *, keep: bool) -> None:
        policies = self._by_name(self.output(), self.policies())
        if keep:
            self.folder.keep_policies(policies, self.step, self.config.keep_policies)
        self.folder.write_policies(policies, self.step)

    def _finite_state(self) -> dict[str, NDArray[Any]]:
        tensors = tree_tensors(self.state, "state")
        if not is_finite(tensors):
            raise FloatingPointError("a network is not finite")
        return tensors

    def _restore(self, checkpoint: Checkpoint) -> bool:
        """Continue from a checkpoint; returns False if its replay or metrics are lost."""
        step, tensors, notes = checkpoint.step, checkpoint.tensors, checkpoint.notes
        try:
            self._writer.check(notes["metrics_size"])
            if self.experience is not None:
                self.experience.restore(step, tensors, notes)
        except InvalidInputError as error:
            warnings.warn(f"the checkpoint at step {step} cannot be used: {error}", stacklevel=2)
            return False
        if self.experience is not None and step < self.config.steps:
            episode = notes["episode"], tensors["episode.actions"], tensors.get("episode.world")
            self.experience.resume(*episode)
        self.state = restore_tree(self.state, tensors, "state")
        self.step = self.saved = step
        for name in COUNTERS:
            setattr(self, name, notes[name])
        self._means.sums, self._writer.size = notes["sums"], notes["metrics_size"]
        return True
