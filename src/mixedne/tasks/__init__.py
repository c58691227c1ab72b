"""Tasks, the ways in which a test world may differ, and a simulator for many worlds at once.

``registry``       a task by name; its plain Gymnasium environment
``shifts``         mass, friction, action noise, ρ: apply, read back, undo
``simulator``      many worlds of a task, advancing together
``actions``        [-1, 1] to a task's box; action noise
``toy``            the paper's toy MDP

Nothing here needs JAX.
"""

from mixedne.tasks.actions import from_unit, to_unit
from mixedne.tasks.registry import (
    DEFAULT_VERSION,
    JAX_TASKS,
    PAPER_TASKS,
    make_env,
    parts_without_effect,
    resolve_task,
)
from mixedne.tasks.shifts import AXES, MASS_MODES, NOMINAL, Shift
from mixedne.tasks.simulator import make_worlds
from mixedne.tasks.task import Task
from mixedne.tasks.worlds import Step, Worlds

__all__ = [
    "AXES",
    "DEFAULT_VERSION",
    "JAX_TASKS",
    "MASS_MODES",
    "NOMINAL",
    "PAPER_TASKS",
    "Shift",
    "Step",
    "Task",
    "Worlds",
    "from_unit",
    "make_env",
    "make_worlds",
    "parts_without_effect",
    "resolve_task",
    "to_unit",
]
