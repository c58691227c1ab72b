"""Collection: the two players act in the task, and their transitions are stored.

The environment steps of a run are collected in cycles of ``collect_steps``. Every episode is reset
with a seed derived from (run seed, episode number), and the actions since the reset are kept, so
that an interrupted episode can be replayed to the same point. Saving the simulator's state would
not be enough: Gymnasium's observations also read fields that lag behind.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixedne.boxes import centre_and_reach
from mixedne.config import Config, game_of
from mixedne.errors import InvalidInputError
from mixedne.games import Game, make_game_env
from mixedne.policies import Policy
from mixedne.tasks import Task
from mixedne.tasks.registry import simulated_time
from mixedne.training.replay import Layout, Replay
from mixedne.training.streams import Stream, episode_seed, generator
from mixedne.types import Players

Array = NDArray[np.float32]

SMALLEST_SCALE = 1e-2
"""Minimum scale of the normaliser, so that nearly constant observations are not blown up."""


class Normaliser(NamedTuple):
    """Normalises observations to (s − mean) / scale."""

    mean: Any
    scale: Any


@dataclass(frozen=True)
class RunningMoments:
    """Running mean and variance in double precision (Chan's algorithm)."""

    count: int
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]  # sum of squared distances from the mean

    @classmethod
    def empty(cls, size: int) -> "RunningMoments":
        """Moments of no observations."""
        return cls(0, np.zeros(size), np.zeros(size))

    def update(self, observations: NDArray[Any]) -> "RunningMoments":
        """The moments after (n, size) more observations."""
        x = np.asarray(observations, np.float64)
        count = self.count + len(x)
        mean, squares = x.mean(0), np.square(x - x.mean(0)).sum(0)
        shift = mean - self.mean
        return RunningMoments(
            count,
            self.mean + shift * len(x) / count,
            self.squares + squares + shift**2 * self.count * len(x) / count,
        )

    def scaling(self) -> Normaliser:
        """Mean and standard deviation; before any observation, the identity."""
        deviation = np.ones_like(self.mean)
        if self.count > 0:
            deviation = np.maximum(np.sqrt(self.squares / self.count), SMALLEST_SCALE)
        return Normaliser(self.mean.astype(np.float32), deviation.astype(np.float32))


@dataclass
class Episode:
    """The episode in progress."""

    number: int = 0
    total_reward: float = 0.0
    discounted_return: float = 0.0  # G = Σ γ^(age) r: each reward is discounted as it ages
    actions: list[Array] = field(default_factory=list)  # executed since the reset, in their units
    world: Array | None = None  # its parameters, where the run has chosen them
    alone: bool = False  # without the adversary


def transition_layout(game: Game) -> Layout:
    """The columns of a stored transition, among them both players' actions and the executed one.

    If the executed action contains the players' actions, they are not stored twice.
    """
    apart = {f"{player}_action": size for player, size in game.sizes._asdict().items()}
    return Layout(
        {
            "observation": game.observation_size,
            **(apart if sum(game.sizes) > game.executed.size else {}),
            "action": game.executed.size,
            "reward": 1,
            "terminated": 1,
            "next_observation": game.observation_size,
        }
    )


class Experience:
    """Plays the episodes of an off-policy run, and stores the transitions.

    Its state is the episode in progress, the replay, and running moments of the observations and of
    the discounted return. A checkpoint does not copy the replay, which has its own file, but
    records checksums of its window.
    """

    def __init__(self, config: Config, task: Task, replay_path: Path | None) -> None:
        """Make the environment; ``start`` or ``restore`` does the rest."""
        self._config, self._task, self._path = config, task, replay_path
        self._game = game_of(config, task)
        box = [end.astype(np.float32) for end in self._game.executed]
        self._centre, self._reach = centre_and_reach(*box)
        self.layout = transition_layout(self._game)
        self._env = make_game_env(task, self._game)
        self.episode = Episode()
        self._observation: Array = np.zeros(self._game.observation_size, np.float32)
        self.moments = RunningMoments.empty(self._game.observation_size - self._game.scaled)
        self.return_moments = RunningMoments.empty(1)
        self._returns: list[float] = []  # G after every step since the moments were updated
        self.replay: Replay | None = None  # between the start of a run and its end
        self.worlds: tuple[NDArray[Any], NDArray[Any]] | None = None
        """Parameters of the worlds to play in, with their probabilities; None for any."""
        self.largest_reward = 0.0

    def start(self) -> None:
        """Start from scratch, with the first episode and an empty replay."""
        self._reset(0)
        self.replay = Replay.create(self._path, *self._replay_shape())

    def collect(self, policies: Players, step: int, count: int) -> list[tuple[float, int]]:
        """Take steps step + 1 … step + count; return (return, length) of episodes that ended."""
        config = self._config
        is_random = step < config.random_steps
        rows, ended = self.play(policies, count, step // config.collect_steps, at_random=is_random)
        if self.replay is not None:
            self.replay.append(rows)
        rewards = np.abs(rows[:, self.layout.columns["reward"]])
        self.largest_reward = max(self.largest_reward, float(rewards.max()))
        if config.normalise_observations:
            seen = rows[:, self.layout.columns["observation"]]
            self.moments = self.moments.update(seen[:, : len(self.moments.mean)])
        if config.scale_rewards:
            self.return_moments = self.return_moments.update(np.array(self._returns)[:, None])
        self._returns.clear()
        return ended

    @property
    def normaliser(self) -> Normaliser:
        """The normaliser of all observations except those that are already scaled."""
        mean, scale = self.moments.scaling()
        own = np.ones(self._game.scaled, np.float32)
        return Normaliser(np.append(mean, 0 * own), np.append(scale, own))

    @property
    def reward_scale(self) -> np.float32 | None:
        """The divisor of the critics' rewards, the standard deviation of G; None if not scaled."""
        if not self._config.scale_rewards:
            return None
        return np.float32(self.return_moments.scaling().scale[0])

    @np.errstate(over="ignore")  # of float32: _step looks for it
    def play(
        self, policies: Players, count: int, cycle: int, *, at_random: bool
    ) -> tuple[Array, list[tuple[float, int]]]:
        """Take ``count`` steps; return transitions, and (return, length) of ended episodes."""
        rows = np.zeros((count, self.layout.width), np.float32)
        finished = []
        for row, normals, uniforms, chance in zip(rows, *self._draws(count, cycle), strict=True):
            a, b = self._actions(policies, normals, uniforms if at_random else None)
            if self.episode.alone and self._game.absent:
                b = self._game.absent(a)
            executed = np.asarray(self._game.execute(a, b, chance), np.float32)
            if ended := self._step(row, a, b, executed):
                finished.append(ended)
        return rows, finished

    def resume(self, number: int, actions: Array, world: Array | None = None) -> None:
        """Replay an episode up to the point where it was interrupted."""
        self._reset(number, world)
        for action in actions:
            observation, reward, *_ = self._env.step(action)
            self._observation = np.asarray(observation, np.float32)
            self._count(float(reward))
        self._returns.clear()
        self.episode.actions = list(actions)

    def snapshot(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The arrays and notes of a checkpoint."""
        actions = np.array(self.episode.actions, np.float32)
        tensors: dict[str, NDArray[Any]] = {
            "moments.mean": self.moments.mean,
            "moments.squares": self.moments.squares,
            "episode.actions": actions.reshape(-1, self._game.executed.size),
        }
        notes: dict[str, Any] = {
            "observations": self.moments.count,
            "episode": self.episode.number,
            "largest_reward": self.largest_reward,
        }
        if self._config.scale_rewards:
            tensors["returns.mean"] = self.return_moments.mean
            tensors["returns.squares"] = self.return_moments.squares
        if self.episode.world is not None:
            tensors["episode.world"] = self.episode.world
        if self.replay is not None:
            notes["replay_checksums"] = self.replay.checksums()
        return tensors, notes

    def restore(self, step: int, tensors: dict[str, NDArray[Any]], notes: dict[str, Any]) -> None:
        """Continue from a checkpoint; raises ``InvalidInputError`` if rows of the replay are lost.

        A finished run collects no more, and its replay is deleted. Call ``resume`` afterwards.
        """
        if step < self._config.steps and self._path is not None:
            replay = Replay.open(self._path, *self._replay_shape(), count=step)
            if replay.checksums() != notes["replay_checksums"]:
                replay.close()
                raise InvalidInputError("the replay has lost or altered transitions")
            self.replay = replay
        mean, squares = tensors["moments.mean"], tensors["moments.squares"]
        self.moments = RunningMoments(notes["observations"], mean, squares)
        if self._config.scale_rewards:  # G is looked at in every step
            mean, squares = tensors["returns.mean"], tensors["returns.squares"]
            self.return_moments = RunningMoments(step, mean, squares)
        self.largest_reward = notes.get("largest_reward", 0.0)

    def close(self) -> None:
        """Close the environment and the replay."""
        self._env.close()
        if self.replay is not None:
            self.replay.close()

    def _draws(self, count: int, cycle: int) -> tuple[Array, Array, NDArray[np.float64]]:
        """Per step: normals and uniforms for both players, and a uniform number for the game."""
        random = generator(self._config.seed, Stream.EXPLORATION, cycle)
        shape = (count, 2, max(self._game.sizes))
        normals = random.standard_normal(shape, np.float32)
        uniforms = random.uniform(-1, 1, shape).astype(np.float32)
        return normals, uniforms, random.random(count)

    def _actions(self, policies: Players, normals: Array, uniforms: Array | None) -> list[Any]:
        """Both players' actions in [−1, 1]; None for an absent adversary."""
        views = self._game.views(self._observation)

        def act(policy: Policy | None, i: int) -> Any:
            if policy is None:
                return None
            size, seen = self._game.sizes[i], views[i]
            if uniforms is not None:
                return uniforms[i, :size]
            if policy.is_stochastic:
                return policy.unit(seen, normals[i, :size])
            noise = np.float32(self._config.sigma) * normals[i, :size]
            return (policy.unit(seen) + noise).clip(-1.0, 1.0)

        return [act(policy, i) for i, policy in enumerate(policies)]

    def _step(self, row: Array, a: Any, b: Any, executed: Array) -> tuple[float, int] | None:
        """Take one step and write it into ``row``; return (return, length) if the episode ended."""
        episode, action = self.episode, self._centre + self._reach * executed
        before = simulated_time(self._env)
        observation, reward, terminated, truncated, _ = self._env.step(action)
        if simulated_time(self._env) < before:
            raise InvalidInputError(
                f"the physics of {self._task.id} diverged in step {len(episode.actions) + 1} of "
                f"episode {episode.number}, and MuJoCo restarted it: train in milder worlds"
            )
        after = np.asarray(observation, np.float32)
        apart = (a, b) if "agent_action" in self.layout.sizes else ()  # as in transition_layout:
        row[:] = np.concatenate([self._observation, *apart, executed, [reward, terminated], after])
        if not np.isfinite(row).all():
            what = "an observation" if np.isfinite(np.float32(reward)) else f"the reward {reward}"
            raise InvalidInputError(
                f"the environment {self._task.id} misbehaves: step {len(episode.actions) + 1} of "
                f"episode {episode.number} returned {what}, not finite in float32"
            )
        self._observation = after
        self._count(float(reward))
        episode.actions.append(action)
        if not (terminated or truncated):
            return None
        self._reset(episode.number + 1, self._choose_world(episode.number + 1))
        return episode.total_reward, len(episode.actions)

    def _count(self, reward: float) -> None:
        """Add a reward to the episode's returns."""
        self.episode.total_reward += reward
        self.episode.discounted_return *= self._config.gamma
        self.episode.discounted_return += reward
        self._returns.append(self.episode.discounted_return)

    def _reset(self, number: int, world: Array | None = None) -> None:
        options = None if world is None else {"parameters": world}
        seed = episode_seed(self._config.seed, number)
        observation, _ = self._env.reset(seed=seed, options=options)
        self._observation = np.asarray(observation, np.float32)
        chance = generator(self._config.seed, Stream.ALONE, number).random()
        self.episode = Episode(number, world=world, alone=chance < self._config.alone_episodes)

    def _choose_world(self, number: int) -> Array | None:
        """One of the worlds, drawn by its probability, with noise; None for any."""
        if self.worlds is None:
            return None
        (vectors, shares), random = self.worlds, generator(self._config.seed, Stream.WORLD, number)
        chosen = vectors[random.choice(len(vectors), p=shares)]
        noise = self._config.parameter_noise * random.standard_normal(len(chosen))
        return np.asarray((chosen + noise).clip(-1, 1), np.float32)

    def _replay_shape(self) -> tuple[int, int, int]:
        """Width, capacity and spare rows, which hold what is collected between checkpoints."""
        config, width = self._config, self.layout.width
        if config.steps <= config.replay_size:
            return width, config.steps, 0
        spare = 2 * (config.checkpoint_every + config.collect_steps)
        # A ring that holds all steps of the run never wraps around.
        return width, config.replay_size, min(spare, config.steps - config.replay_size)
