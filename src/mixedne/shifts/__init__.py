"""What can differ between the world of training and the world of a test: a registry.

``entries``    everything that can be shifted, one entry each
``registry``   axes and shifts: numbers along parameters and what they are applied to
``model``      shifts written into MuJoCo models, read back and verified; what they change
``sets``       uncertainty sets: parameters between bounds, by name or from a file
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
