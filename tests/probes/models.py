"""What a MuJoCo model says about itself."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedne.shifts import PARAMETERS


def read_factors(model: Any, nominal: Any, parameter: str) -> list[NDArray[np.floating]]:
    """What a model's physics holds of a parameter, relative to the nominal model.

    An array for each that the parameter multiplies; 1 where the nominal number is 0.
    """
    physics = PARAMETERS[parameter].physics
    assert physics is not None
    pairs = zip(physics.arrays(model), physics.arrays(nominal), strict=True)
    return [
        np.divide(found, before, out=np.ones_like(before), where=before != 0)
        for found, before in pairs
    ]
