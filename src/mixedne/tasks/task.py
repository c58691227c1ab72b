"""A task, as everything else here knows it; how to find one by name is in ``registry``."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.shifts import PARAMETERS, Axis


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
    has_model: bool = False
    """Whether it has a MuJoCo model."""

    @property
    def id(self) -> str:
        """The whole name: ``Hopper-v5``."""
        return self.name if self.version is None else f"{self.name}-{self.version}"

    @property
    def axes(self) -> tuple[str, ...]:
        """What can be shifted in it, by name."""
        acts = {"model": self.has_model, "actions": True, "observations": True}
        return tuple(
            entry.name
            for entry in PARAMETERS.values()
            if (self.name in entry.keyword[1] if entry.keyword else acts[entry.acts_on])
        )

    @property
    def nominal_rho(self) -> float | None:
        """ρ of the nominal world; None but for the toy MDP."""
        return PARAMETERS["rho"].nominal if "rho" in self.axes else None

    def check_axes(self, axes: Iterable[Axis]) -> None:
        """Refuse what cannot be shifted in this task."""
        for axis in axes:
            if axis.parameter in PARAMETERS and axis.parameter not in self.axes:
                raise InvalidInputError(
                    f"{self.id} has no axis {axis}: it can be shifted in {', '.join(self.axes)}"
                )
            if callable(axis.custom) and not self.has_model:
                raise InvalidInputError(f"{self.id} has no MuJoCo model that {axis} could edit")
