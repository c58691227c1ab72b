"""Shifts: how a test world can differ from the world of training.

``entries``    everything that can be shifted, one entry each
``registry``   axes (a parameter and what it is applied to) and shifts (values of axes)
``model``      writing shifts into MuJoCo models, verifying them, and their effects
``sets``       uncertainty sets: parameters within bounds, by name or from a file
``channels``   shifts of actions and observations; random numbers by episode and step

Importing the package loads neither MuJoCo nor Gymnasium.
"""

from mixedne.shifts.entries import Parameter
from mixedne.shifts.registry import (
    MASS_MODES,
    NOMINAL,
    PARAMETERS,
    Axis,
    Channels,
    Shift,
    is_nominal,
    shift_axes,
)

__all__ = [
    "MASS_MODES",
    "NOMINAL",
    "PARAMETERS",
    "Axis",
    "Channels",
    "Parameter",
    "Shift",
    "is_nominal",
    "shift_axes",
]
