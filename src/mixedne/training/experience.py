"""What an off-policy run has seen: the episode in progress, the replay, running moments.

The environment steps of a run are collected in cycles of ``collect_steps``. A checkpoint does not
copy the replay, which is a file of its own, but notes checksums of its window.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedne.config import Config
from mixedne.errors import InvalidInputError
from mixedne.tasks import Task
from mixedne.training.assembly import formulation_of
from mixedne.training.collection import Collector, EpisodeStatistics, transition_sizes
from mixedne.training.normaliser import Normaliser, RunningMoments
from mixedne.training.replay import Layout, Replay
from mixedne.types import Players


def transition_layout(config: Config, task: Task) -> Layout:
    """Which columns of a stored transition hold what."""
    return Layout(transition_sizes(task, formulation_of(config)))


class Experience:
    """The collector of a run, and what it has collected so far."""

    def __init__(self, config: Config, task: Task, replay_path: Path) -> None:
        """Make the environment; ``start`` or ``restore`` makes the rest."""
        self._config, self._task, self._path = config, task, replay_path
        self._layout = transition_layout(config, task)
        self._collector = Collector(
            task,
            formulation_of(config),
            self._layout.columns,
            config.seed,
            exploration=config.sigma,
        )
        self._moments = RunningMoments.empty(task.observation_size)
        self._replay: Replay | None = None

    @property
    def replay(self) -> Replay:
        """The transitions to learn from."""
        if self._replay is None:
            raise RuntimeError("a run has a replay between its start and its end only")
        return self._replay

    @property
    def normaliser(self) -> Normaliser:
        """How observations are normalised now."""
        return Normaliser(*self._moments.scaling())

    @property
    def episodes(self) -> int:
        """Episodes that have ended."""
        return self._collector.episode.number

    def start(self) -> None:
        """Begin from nothing: an empty replay and the first episode."""
        self._replay = Replay.create(self._path, *self._replay_shape())
        self._collector.start()

    def collect(self, policies: Players, step: int, count: int) -> list[EpisodeStatistics]:
        """Take the environment steps step + 1 … step + count; the episodes that ended in them."""
        config = self._config
        rows, ended = self._collector.collect(
            policies, count, step // config.collect_steps, at_random=step < config.random_steps
        )
        self.replay.append(rows)
        if config.normalise_observations:
            self._moments = self._moments.update(rows[:, self._layout.columns["observation"]])
        return ended

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of a checkpoint."""
        actions = np.array(self._collector.episode.actions, np.float32)
        return {
            "moments.mean": self._moments.mean,
            "moments.squares": self._moments.squares,
            "episode.actions": actions.reshape(-1, self._task.action_size),
        }

    def notes(self) -> dict[str, Any]:
        """The rest of a checkpoint."""
        notes: dict[str, Any] = {
            "observations": self._moments.count,
            "episode": self._collector.episode.number,
        }
        if self._replay is not None:
            notes["replay_checksums"] = self._replay.checksums()
        return notes

    def restore(self, step: int, tensors: dict[str, NDArray[Any]], notes: dict[str, Any]) -> None:
        """Continue from a checkpoint; ``InvalidInputError`` if the replay has not kept its rows.

        A finished run collects no more, and its replay is gone.
        """
        if step < self._config.steps:
            replay = Replay.open(self._path, *self._replay_shape(), count=step)
            if replay.checksums() != notes["replay_checksums"]:
                replay.close()
                raise InvalidInputError("the replay has lost or altered transitions")
            self._replay = replay
            self._collector.resume(notes["episode"], tensors["episode.actions"])
        mean, squares = tensors["moments.mean"], tensors["moments.squares"]
        self._moments = RunningMoments(notes["observations"], mean, squares)

    def close(self) -> None:
        """Close the environment and the replay."""
        self._collector.close()
        if self._replay is not None:
            self._replay.close()

    def _replay_shape(self) -> tuple[int, int, int]:
        """Width, capacity and spare rows: room for what comes between two checkpoints' windows."""
        config, width = self._config, self._layout.width
        if config.steps <= config.replay_size:
            return width, config.steps, 0
        spare = 2 * (config.checkpoint_every + config.collect_steps)
        # A ring of all the run's steps never wraps round.
        return width, config.replay_size, min(spare, config.steps - config.replay_size)
