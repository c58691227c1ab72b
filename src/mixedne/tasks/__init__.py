"""Tasks, and a simulator for many worlds in parallel.

``registry``       tasks by name
``gym_batch``      Gymnasium environments, checked and shifted
``simulator``      many worlds of a task, simulated in parallel
``sets``           uncertainty sets applied to a task's model
``toy``            the paper's toy MDP

Nothing here needs JAX.
"""

import mixedne.shifts.model  # noqa: F401 - first: it reports why MuJoCo cannot be loaded
from mixedne.shifts import NOMINAL, Shift
from mixedne.tasks.gym_batch import make_env
from mixedne.tasks.registry import (
    BATCHED_TASKS,
    JAX_TASKS,
    PAPER_TASKS,
    check_axes,
    full_task_name,
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
    "full_task_name",
    "make_env",
    "make_worlds",
    "resolve_task",
    "shift_effects",
]
