"""What can differ between the world of training and the world of a test: a registry.

One entry (:class:`Parameter`) says everything about a parameter; options, keywords, grids, table
columns, the nominal world, labels and statistics follow from it. Nothing here imports MuJoCo.
"""

from mixedne.shifts.registry import PARAMETERS, Axis, Parameter, is_nominal, shift_axes

__all__ = ["PARAMETERS", "Axis", "Parameter", "is_nominal", "shift_axes"]
