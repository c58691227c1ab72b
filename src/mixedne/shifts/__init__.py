"""What can differ between the world of training and the world of a test: a registry.

``entries``    everything that can be shifted, one entry each
``registry``   axes: parameters and what they are applied to; a table's nominal rows
``shift``      one test world, as numbers along axes
``model``      shifts written into MuJoCo models, read back and verified; what they change
``channels``   shifts of actions and observations
``streams``    random numbers by episode and step

Importing the package loads neither MuJoCo nor Gymnasium.
"""

from mixedne.shifts.parameter import Parameter
from mixedne.shifts.registry import PARAMETERS, Axis, is_nominal, shift_axes
from mixedne.shifts.shift import MASS_MODES, NOMINAL, Shift

__all__ = [
    "MASS_MODES",
    "NOMINAL",
    "PARAMETERS",
    "Axis",
    "Parameter",
    "Shift",
    "is_nominal",
    "shift_axes",
]
