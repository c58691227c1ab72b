"""Physics for many worlds on all cores, bit-equal to one ``mj_step`` after another.

A world between two steps is a row of numbers: MuJoCo's integration state, which includes the
solver's warm start. Each thread owns one MjData and loads, advances and saves row after row.
Memory therefore grows with threads, not with worlds, and it does not matter which thread
advances which world, or in which order.

``NativePhysics`` leaves this to ``mujoco.batch``. (``mujoco.rollout`` would serve less well:
it returns no warm start, so that a policy's next step could not continue exactly.)
``PooledPhysics`` does the same from Python threads for tasks that read external forces:
Gymnasium computes these after the step, with ``mj_rnePostConstraint``.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import mujoco
import numpy as np
from mujoco import batch
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int32]

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class NativePhysics:
    """Worlds on MuJoCo's own thread pool."""

    def __init__(
        self,
        models: Sequence[mujoco.MjModel],
        fields: Sequence[str],
        frame_skip: int,
        threads: int,
    ) -> None:
        """One model per world, which may be shared; ``fields`` of MjData are read besides."""
        self._batch = batch.Batch(models[0], len(models), threads)
        self._batch.set_models(models)
        self._frame_skip = frame_skip
        self.qpos: Array = self._batch.bind("qpos")
        self.qvel: Array = self._batch.bind("qvel")
        self.ctrl: Array = self._batch.bind("ctrl")
        self.time: Array = self._batch.bind("time").reshape(len(models))
        self.fields: dict[str, Array] = {name: self._batch.bind(name) for name in fields}

    def start(self, qpos: Array, qvel: Array) -> None:
        """Put all worlds into their initial states."""
        self._batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE)
        self.qpos[:], self.qvel[:] = qpos, qvel
        self._batch.forward()

    def advance(self, ids: Ids | None, controls: NDArray[np.floating]) -> None:
        """Advance these worlds, or all, by one step of the task."""
        self.ctrl[slice(None) if ids is None else ids] = controls
        self._batch.step(ids, nstep=self._frame_skip)

    def close(self) -> None:
        """Nothing to release: the pool ends with this object."""


class PooledPhysics:
    """Worlds on Python threads, with external forces after every step."""

    def __init__(
        self,
        models: Sequence[mujoco.MjModel],
        fields: Sequence[str],
        frame_skip: int,
        threads: int,
    ) -> None:
        """One model per world, which may be shared; ``fields`` of MjData are read besides."""
        self._models = list(models)
        self._frame_skip = frame_skip
        model, worlds = models[0], len(models)
        self._rows = np.zeros((worlds, mujoco.mj_stateSize(model, _STATE)))
        self._initial_row = np.empty(self._rows.shape[1])
        scratch = [mujoco.MjData(model) for _ in range(threads)]
        mujoco.mj_getState(model, scratch[0], self._initial_row, _STATE)
        self.qpos: Array = self._part(mujoco.mjtState.mjSTATE_QPOS)
        self.qvel: Array = self._part(mujoco.mjtState.mjSTATE_QVEL)
        self.ctrl: Array = self._part(mujoco.mjtState.mjSTATE_CTRL)
        self.time: Array = self._part(mujoco.mjtState.mjSTATE_TIME)[:, 0]
        self.fields: dict[str, Array] = {
            name: np.zeros((worlds, *getattr(scratch[0], name).shape)) for name in fields
        }
        self._workspaces = [
            _Workspace(data, [(getattr(data, name), out) for name, out in self.fields.items()])
            for data in scratch
        ]
        self._pool = ThreadPoolExecutor(threads)

    def start(self, qpos: Array, qvel: Array) -> None:
        """Put all worlds into their initial states."""
        self._rows[:] = self._initial_row
        self.qpos[:], self.qvel[:] = qpos, qvel
        self._share(np.arange(len(self._rows)), starting=True)

    def advance(self, ids: Ids | None, controls: NDArray[np.floating]) -> None:
        """Advance these worlds, or all, by one step of the task."""
        self.ctrl[slice(None) if ids is None else ids] = controls
        self._share(np.arange(len(self._rows)) if ids is None else ids, starting=False)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _share(self, ids: NDArray[np.integer], *, starting: bool) -> None:
        """Deal the worlds out to the threads, one at a time, and wait."""
        waiting = iter(ids.tolist())  # safe to share: taking the next is atomic
        work = [self._pool.submit(self._work, own, waiting, starting) for own in self._workspaces]
        for share in work:
            share.result()

    def _work(self, workspace: "_Workspace", waiting: Iterator[int], starting: bool) -> None:
        data, outputs = workspace
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
        """The columns of the rows that hold a component of the state."""
        model = self._models[0]
        width = mujoco.mj_stateSize(model, component)
        # Components lie in the order of their bits.
        lower = int(_STATE) & (int(component) - 1)
        offset = mujoco.mj_stateSize(model, lower) if lower else 0
        return self._rows[:, offset : offset + width]


class _Workspace(NamedTuple):
    """What one thread works with."""

    data: mujoco.MjData
    outputs: list[tuple[Array, Array]]
    """Views of its fields, each with the array that collects all worlds'."""
