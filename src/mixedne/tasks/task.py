"""A task, as everything else here knows it; how to find one by name is in ``registry``."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Task:
    """A resolved task: its name, its sizes and what can be shifted in it."""

    name: str
    """Without the version: ``Hopper``, ``toy``, ``module:Id``."""
    version: str | None
    """``v5``; None where there are no versions."""
    max_episode_steps: int | None
    """The time limit, which truncates; None if there is none that Gymnasium knows of."""
    observation_size: int
    action_size: int
    action_low: NDArray[np.float64] = field(compare=False)
    action_high: NDArray[np.float64] = field(compare=False)
    axes: tuple[str, ...] = ("noise",)
    """What can be shifted by a number, of mass, friction, noise and rho."""
    nominal_rho: float | None = None
    """ρ of the nominal world; None but for the toy MDP."""

    @property
    def id(self) -> str:
        """The whole name: ``Hopper-v5``."""
        return self.name if self.version is None else f"{self.name}-{self.version}"
