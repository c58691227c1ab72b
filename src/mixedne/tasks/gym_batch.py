"""Other Gymnasium tasks: the worlds' interface over plain environments, one per world.

Slower than the batched simulator, with the same results format. One environment after the
other steps: Gymnasium's vector environments would reset finished worlds by themselves.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.shifts import Shift
from mixedne.tasks.registry import make_env
from mixedne.tasks.task import Task
from mixedne.tasks.worlds import Array, Mask, Step, Worlds


class GymnasiumWorlds(Worlds):
    """Worlds of any task that Gymnasium can make."""

    def __init__(
        self, task: Task, cases: Sequence[tuple[Shift, int]], *, drawn: bool = False
    ) -> None:
        """One environment per (shift, seed); ``drawn``: one that can make pictures."""
        super().__init__(task, cases)
        options = {"render_mode": "rgb_array"} if drawn else {}
        self._envs = [
            make_env(task, shift.only("model", "task"), **options) for shift in self.shifts
        ]

    def pose(self, world: int) -> Array:
        """The positions of an active world's joints, in a MuJoCo task."""
        data = getattr(self._envs[world].unwrapped, "data", None)
        return super().pose(world) if data is None else np.array(data.qpos)

    def picture(self, world: int) -> NDArray[np.uint8]:
        """What the environment draws."""
        try:
            drawn = self._envs[world].render()
        except Exception as error:  # of Gymnasium, or whatever the environment's own code raises
            reason = str(error).strip().split("\n")[0] or type(error).__name__
            raise InvalidInputError(f"{self.task.id} cannot be drawn: {reason}") from None
        picture = np.asarray(drawn)
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise InvalidInputError(f"{self.task.id} cannot be drawn: it makes no pictures")
        return picture

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            env.close()

    def _start(self) -> Array:
        starts = [env.reset(seed=seed) for env, seed in zip(self._envs, self.seeds, strict=True)]
        return np.stack([np.asarray(observation, float) for observation, _ in starts])

    def _advance(self, actions: NDArray[np.floating]) -> Step:
        results = [
            self._envs[world].step(action)[:4]
            for world, action in zip(self.active, actions, strict=True)
        ]
        if not results:
            return Step(np.empty((0, self.task.observation_size)), *(np.empty(0, bool),) * 3)
        observations, rewards, terminated, truncated = zip(*results, strict=True)
        return Step(
            np.stack([np.asarray(observation, float) for observation in observations]),
            np.array(rewards, float),
            np.array(terminated, bool),
            np.array(truncated, bool),
        )

    def _forget(self, done: Mask) -> None:
        """The environments stay, for the next reset."""
