"""Tasks, the ways in which a test world may differ, and a simulator for many worlds at once.

``registry``       a task by name
``gym_batch``      its Gymnasium environment, checked and shifted
``simulator``      many worlds of a task, advancing together
``sets``           what an uncertainty set means for a task's model
``toy``            the paper's toy MDP

Nothing here needs JAX.
"""

import os

from mixedne.errors import InvalidInputError

try:
    import mujoco  # noqa: F401
except Exception as error:
    chosen = os.environ.get("MUJOCO_GL")
    if not chosen:
        raise
    reason = str(error).split("\n")[0] or type(error).__name__
    raise InvalidInputError(f"MuJoCo cannot be loaded with MUJOCO_GL={chosen}: {reason}") from None

from mixedne.shifts import NOMINAL, Shift
from mixedne.tasks.gym_batch import make_env
from mixedne.tasks.registry import (
    BATCHED_TASKS,
    JAX_TASKS,
    PAPER_TASKS,
    check_axes,
    resolve_task,
    shift_effects,
)
from mixedne.tasks.simulator import make_worlds
from mixedne.tasks.task import Step, Task, Worlds, from_unit

__all__ = [
    "BATCHED_TASKS",
    "JAX_TASKS",
    "NOMINAL",
    "PAPER_TASKS",
    "Shift",
    "Step",
    "Task",
    "Worlds",
    "check_axes",
    "from_unit",
    "make_env",
    "make_worlds",
    "resolve_task",
    "shift_effects",
]
