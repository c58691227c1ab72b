"""The batched simulator: the paper's MuJoCo tasks, many worlds in parallel.

It agrees bit for bit with Gymnasium's own environments: the same seed, shift and actions give
the same observations, rewards and ends of episodes, in v4 and v5, nominal and shifted, with and
without termination in unhealthy states. (One exception by design: actions that are not finite
are refused, where MuJoCo would warn and use zero.)

Between steps, a world is a row of numbers: MuJoCo's integration state, which includes the
solver's warm start. Each thread owns one MjData and loads, advances and saves row after row.
So memory grows with the number of threads, not of worlds, and it does not matter which thread
advances which world, or in which order.

``NativePhysics`` uses ``mujoco.batch`` for this. (``mujoco.rollout`` does not fit: it returns
no warm start, so that a policy's next step could not continue exactly.) ``PooledPhysics`` does
the same in Python threads for tasks that read external forces: Gymnasium computes these after
the step, with ``mj_rnePostConstraint``.

``make_worlds`` is the entry point; it gives the toy MDP and other Gymnasium tasks the same
interface.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mujoco
import numpy as np
from gymnasium.utils import seeding
from mujoco import batch
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_number
from mixedne.shifts import Shift
from mixedne.shifts.model import shifted_model
from mixedne.tasks.gym_batch import GymnasiumWorlds
from mixedne.tasks.mujoco_tasks import TASK_SPECS, State
from mixedne.tasks.registry import no_mujoco_warnings, nominal_model
from mixedne.tasks.task import Array, Mask, Step, Task, Worlds
from mixedne.tasks.toy import ToyWorlds
from mixedne.versions import cores

Ids = NDArray[np.integer]
Models = Sequence[mujoco.MjModel]

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_PARTS = {
    "qpos": mujoco.mjtState.mjSTATE_QPOS,
    "qvel": mujoco.mjtState.mjSTATE_QVEL,
    "ctrl": mujoco.mjtState.mjSTATE_CTRL,
    "time": mujoco.mjtState.mjSTATE_TIME,
}


def make_worlds(
    task: Task,
    cases: Sequence[tuple[Shift, int]],
    *,
    threads: int | None = None,
    terminate: bool = True,
    drawn: bool = False,
    opponents: Sequence[Any] = (),
) -> Worlds:
    """Worlds of a task, one per (shift, seed).

    ``threads``: number of threads for the physics; all cores by default. Other Gymnasium tasks use
    one.
    ``terminate``: if False, unhealthy states do not end episodes of the paper's tasks, and rewards
    are those of Gymnasium with ``terminate_when_unhealthy=False``.
    ``drawn``: let Gymnasium environments render themselves, if they have no MuJoCo model from
    which ``video`` renders.
    ``opponents``: in a two-player game, the opponent's policy in every world, which is used if a
    shift along ``opponent`` enables it.
    """
    has_keywords = any(shift.keywords for shift, _ in cases)
    if (task.name, task.version) in TASK_SPECS and not has_keywords:
        return MujocoWorlds(task, cases, threads=threads, terminate=terminate)
    if not terminate:
        raise InvalidInputError(f"the end of episodes cannot be turned off in {task.id}")
    if task.name == "toy" and not any(axis.custom for shift, _ in cases for axis in shift.axes):
        return ToyWorlds(task, cases)
    return GymnasiumWorlds(task, cases, drawn=drawn and not task.has_model, opponents=opponents)


class MujocoWorlds(Worlds):
    """Worlds of one of the batched MuJoCo tasks."""

    def __init__(
        self,
        task: Task,
        cases: Sequence[tuple[Shift, int]],
        *,
        threads: int | None = None,
        terminate: bool = True,
    ) -> None:
        """See ``make_worlds``."""
        super().__init__(task, cases)
        self._spec = TASK_SPECS[task.name, str(task.version)]
        self._terminate = terminate
        threads = cores() if threads is None else threads
        check_number("threads", threads, at_least=1)
        self._nominal, frame_skip = nominal_model(task)
        with no_mujoco_warnings:
            physics_of = {shift: shift.only("model") for shift in set(self.shifts)}
            models = {part: shifted_model(self._nominal, part) for part in set(physics_of.values())}
        for model in models.values():
            skip_islands(model)
        of_world = [models[physics_of[shift]] for shift in self.shifts]
        self._masses = np.stack([model.body_mass for model in of_world])
        self._timestep = np.array([model.opt.timestep for model in of_world])
        self._dt = self._timestep * frame_skip
        physics = PooledPhysics if "cfrc_ext" in self._spec.fields else NativePhysics
        self._physics = physics(of_world, self._spec.fields, frame_skip, threads)

    @property
    def diverged(self) -> Mask:
        """MuJoCo resets a diverged world to time zero and continues, so its clock is behind."""
        late = self._physics.time[self.active, 0] < (self.elapsed - 0.5) * self._dt[self.active]
        return np.asarray(late)

    def pose(self, world: int) -> Array:
        """The positions of an active world's joints."""
        return self._physics.read["qpos"][world].copy()

    def close(self) -> None:
        """End the threads."""
        self._physics.close()

    def _start(self) -> Array:
        starts = [
            self._spec.draw_state(seeding.np_random(seed)[0], self._nominal) for seed in self.seeds
        ]
        qpos, qvel = (np.stack(part) for part in zip(*starts, strict=True))
        with no_mujoco_warnings:
            self._physics.start(qpos, qvel)
        state = self._state(slice(None))
        self._progress = self._spec.progress(state)
        return self._spec.observe(state)

    def _advance(self, actions: NDArray[np.floating]) -> Step:
        everyone = len(self.active) == len(self.seeds)
        ids = None if everyone else self.active.astype(np.int32)
        rows = slice(None) if ids is None else ids
        self._physics.read["ctrl"][rows] = actions
        with no_mujoco_warnings:
            self._physics.advance(ids)
        state = self._state(rows)
        with np.errstate(invalid="ignore", over="ignore"):  # of worlds that diverged
            progress = self._spec.progress(state)
            rewards, done = self._spec.reward_and_done(
                self._progress, progress, self._dt[rows], state, actions, self._terminate
            )
        self._progress = progress
        terminated = done if self._terminate else np.zeros(len(done), bool)
        return Step(self._spec.observe(state), rewards, terminated, self._time_is_up())

    def drop(self, done: Mask) -> None:
        """Remove these active worlds from the batch until the next reset."""
        super().drop(done)
        self._progress = self._progress[~done]

    def _state(self, rows: NDArray[np.int32] | slice) -> State:
        fields = {name: array[rows] for name, array in self._physics.read.items()}
        return State(masses=self._masses[rows], timestep=self._timestep[rows], **fields)


class NativePhysics:
    """Worlds on MuJoCo's own thread pool."""

    def __init__(
        self, models: Models, fields: Sequence[str], frame_skip: int, threads: int
    ) -> None:
        """One model per world, which may be shared; ``fields`` of MjData are read besides."""
        self._batch = batch.Batch(models[0], len(models), threads)
        self._batch.set_models(models)
        self._frame_skip = frame_skip
        self.time: Array = self._batch.bind("time").reshape(len(models), 1)
        names = ("qpos", "qvel", "ctrl", *fields)
        self.read: dict[str, Array] = {name: self._batch.bind(name) for name in names}

    def start(self, qpos: Array, qvel: Array) -> None:
        """Put all worlds into their initial states."""
        self._batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE)
        self.read["qpos"][:], self.read["qvel"][:] = qpos, qvel
        self._batch.forward()

    def advance(self, ids: NDArray[np.int32] | None) -> None:
        """Advance these worlds, or all, by one step of the task with the controls they hold."""
        self._batch.step(ids, nstep=self._frame_skip)

    def close(self) -> None:
        """Nothing to release: the pool ends with this object."""


class PooledPhysics:
    """Worlds on Python threads, with external forces after every step."""

    def __init__(
        self, models: Models, fields: Sequence[str], frame_skip: int, threads: int
    ) -> None:
        """One model per world, which may be shared; ``fields`` of MjData are read besides."""
        self._models, self._frame_skip = models, frame_skip
        model = models[0]
        scratch = [mujoco.MjData(model) for _ in range(threads)]
        self._initial_row = np.empty(mujoco.mj_stateSize(model, _STATE))
        mujoco.mj_getState(model, scratch[0], self._initial_row, _STATE)
        self._rows = np.zeros((len(models), len(self._initial_row)))
        state = {name: self._part(component) for name, component in _PARTS.items()}
        self.time: Array = state.pop("time")
        shapes = {name: getattr(scratch[0], name).shape for name in fields}
        derived = {name: np.zeros((len(models), *shape)) for name, shape in shapes.items()}
        self.read: dict[str, Array] = {**state, **derived}
        # For each thread, views of its fields, each with the array for all worlds.
        self._workspaces = [
            (data, [(getattr(data, name), out) for name, out in derived.items()])
            for data in scratch
        ]
        self._pool = ThreadPoolExecutor(threads)

    def start(self, qpos: Array, qvel: Array) -> None:
        """Put all worlds into their initial states."""
        self._rows[:] = self._initial_row
        self.read["qpos"][:], self.read["qvel"][:] = qpos, qvel
        self._share(None, starting=True)

    def advance(self, ids: Ids | None) -> None:
        """Advance these worlds, or all, by one step of the task with the controls they hold."""
        self._share(ids, starting=False)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _share(self, ids: Ids | None, *, starting: bool) -> None:
        """Distribute the worlds to the threads, one at a time, and wait."""
        # One iterator is safe to share: taking the next is atomic.
        waiting = iter(range(len(self._rows)) if ids is None else ids.tolist())
        work = [
            self._pool.submit(self._work, *workspace, waiting, starting)
            for workspace in self._workspaces
        ]
        for share in work:
            share.result()

    def _work(
        self,
        data: mujoco.MjData,
        outputs: list[tuple[Array, Array]],
        waiting: Iterator[int],
        starting: bool,
    ) -> None:
        for world in waiting:
            model, row = self._models[world], self._rows[world]
            if starting:
                mujoco.mj_resetData(model, data)  # external forces are zero before any step
            mujoco.mj_setState(model, data, row, _STATE)
            if starting:
                mujoco.mj_forward(model, data)
            else:
                mujoco.mj_step(model, data, self._frame_skip)
                mujoco.mj_rnePostConstraint(model, data)
            mujoco.mj_getState(model, data, row, _STATE)
            for source, target in outputs:
                target[world] = source

    def _part(self, component: mujoco.mjtState) -> Array:
        """The columns of the rows with a component of the state."""
        model = self._models[0]
        width = mujoco.mj_stateSize(model, component)
        # Components are in the order of their bits.
        lower = int(_STATE) & (int(component) - 1)
        offset = mujoco.mj_stateSize(model, lower) if lower else 0
        return self._rows[:, offset : offset + width]


def skip_islands(model: mujoco.MjModel) -> None:
    """Disable MuJoCo's search for independently moving parts (islands) if there is only one.

    This is up to 9 % faster, and bitwise the same.
    """
    if model.ntree == 1:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
