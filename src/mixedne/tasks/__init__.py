"""Tasks, the ways in which a test world may differ, and a simulator for many worlds at once.

``registry``       a task by name
``gym_batch``      its Gymnasium environment, checked and shifted
``simulator``      many worlds of a task, advancing together
``sets``           what an uncertainty set means for a task's model
``toy``            the paper's toy MDP

Nothing here needs JAX.
"""

import mixedne.shifts.model  # noqa: F401 - first: it says why MuJoCo cannot be loaded
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
