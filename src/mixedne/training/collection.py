"""Collection: the two players act in the task, step by step.

Every episode is reset with a seed made from (run seed, episode number), and the actions since
the reset are kept, so that an interrupted episode can be played again to the same point. A
simulator's saved state would not do: Gymnasium's observations also read fields that lag behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.games import Formulation
from mixedne.policies import Policy
from mixedne.tasks import Task, from_unit, make_env
from mixedne.training.streams import Stream, episode_seed, generator
from mixedne.types import Players

Array = NDArray[np.float32]


class EpisodeStatistics(NamedTuple):
    """An episode that has ended."""

    total_reward: float
    """The undiscounted return."""
    length: int


@dataclass
class Episode:
    """The episode in progress."""

    number: int = 0
    total_reward: float = 0.0
    actions: list[Array] = field(default_factory=list)
    """What was executed since the reset, in the task's units."""


def transition_sizes(task: Task, formulation: Formulation) -> dict[str, int]:
    """The fields of a stored transition: both players' actions and the executed one.

    Without an adversary the agent's action is the executed one and is not stored twice.
    """
    apart = {
        "agent_action": task.action_size,
        "adversary_action": formulation.adversary_size(task.action_size),
    }
    return {
        "observation": task.observation_size,
        **(apart if formulation.has_adversary else {}),
        "action": formulation.critic_size(task.action_size),
        "reward": 1,
        "terminated": 1,
        "next_observation": task.observation_size,
    }


class Collector:
    """Plays episodes of one task with the policies that it is given."""

    def __init__(
        self,
        task: Task,
        formulation: Formulation,
        columns: Mapping[str, slice],
        seed: int,
        *,
        exploration: float,
    ) -> None:
        """``exploration`` is σ, the deviation of the noise on both players' actions.

        An episode begins with ``start`` or ``resume``.
        """
        self.task, self.formulation, self.seed = task, formulation, seed
        self._columns = columns
        self._width = max(column.stop for column in columns.values())
        self._exploration = np.float32(exploration)
        low, high = (x.astype(np.float32) for x in (task.action_low, task.action_high))
        self._box = low, high
        self._env = make_env(task)
        self.episode = Episode()
        self._observation: Array = np.zeros(task.observation_size, np.float32)

    def start(self) -> None:
        """Begin the first episode; ``InvalidInputError`` if the environment cannot."""
        try:
            self._reset(0)
        except InvalidInputError:
            raise
        except Exception as error:  # whatever the environment's own code raises
            reason = str(error).strip().split("\n")[0] or type(error).__name__
            raise InvalidInputError(f"the task {self.task.id} cannot be reset: {reason}") from error

    def resume(self, number: int, actions: NDArray[np.float32]) -> None:
        """Play an episode again, up to where it was left."""
        self._reset(number)
        for action in actions:
            observation, reward, *_ = self._env.step(action)
            self._observation = np.asarray(observation, np.float32)
            self.episode.total_reward += float(reward)
        self.episode.actions = list(actions)

    def collect(
        self, policies: Players, count: int, cycle: int, *, at_random: bool
    ) -> tuple[Array, list[EpisodeStatistics]]:
        """Take ``count`` steps: packed transitions, and the episodes that ended in them."""
        draws = self._draws(count, cycle)
        rows = np.zeros((count, self._width), np.float32)
        finished = []
        for row, normals, uniforms, chance in zip(rows, *draws, strict=True):
            a, b = self._actions(policies, normals, uniforms if at_random else None)
            executed = np.asarray(self.formulation.execute(a, b, chance), np.float32)
            if ended := self._step(row, a, b, executed):
                finished.append(ended)
        return rows, finished

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _draws(self, count: int, cycle: int) -> tuple[Array, Array, NDArray[np.float64]]:
        """Per step: normals and uniforms for both players, and a chance for the formulation."""
        random = generator(self.seed, Stream.EXPLORATION, cycle)
        shape = (count, 2, self.task.action_size)
        normals = random.standard_normal(shape, np.float32)
        uniforms = random.uniform(-1, 1, shape).astype(np.float32)
        return normals, uniforms, random.random(count)

    def _actions(self, policies: Players, normals: Array, uniforms: Array | None) -> Players[Any]:
        """Both players' actions in [−1, 1]; None for an absent adversary."""

        def act(policy: Policy | None, i: int) -> Any:
            if policy is None:
                return None
            if uniforms is not None:
                return uniforms[i]
            if policy.is_stochastic:
                return policy.unit(self._observation, normals[i])
            noisy = policy.unit(self._observation) + self._exploration * normals[i]
            return noisy.clip(-1.0, 1.0)

        return Players(act(policies.agent, 0), act(policies.adversary, 1))

    def _step(self, row: Array, a: Any, b: Any, executed: Array) -> EpisodeStatistics | None:
        """One step of the environment, written into ``row``."""
        columns, episode = self._columns, self.episode
        action = from_unit(executed, *self._box)
        observation, reward, terminated, truncated, _ = self._env.step(action)
        after = np.asarray(observation, np.float32)
        row[columns["observation"]] = self._observation
        if b is not None:
            row[columns["agent_action"]], row[columns["adversary_action"]] = a, b
        row[columns["action"]] = executed
        row[columns["reward"]] = reward
        row[columns["terminated"]] = terminated
        row[columns["next_observation"]] = after
        self._observation = after
        episode.total_reward += float(reward)
        episode.actions.append(action)
        if not (terminated or truncated):
            return None
        finished = EpisodeStatistics(episode.total_reward, len(episode.actions))
        self._reset(episode.number + 1)
        return finished

    def _reset(self, number: int) -> None:
        observation, _ = self._env.reset(seed=episode_seed(self.seed, number))
        self._observation = np.asarray(observation, np.float32)
        if self._observation.shape != (self.task.observation_size,):
            raise InvalidInputError(f"{self.task.id} gave an observation of another size")
        self.episode = Episode(number)
