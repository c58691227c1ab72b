"""Shifts between a policy and its world: what becomes of actions and of observations."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from mixedne.shifts.parameter import Array, Channel, Mask, Spaces
from mixedne.shifts.registry import PARAMETERS
from mixedne.shifts.shift import Shift


class Channels:
    """All that happens to the actions, or the observations, of a batch of worlds, in order."""

    def __init__(
        self,
        where: Literal["actions", "observations"],
        shifts: Sequence[Shift],
        seeds: Sequence[int],
        spaces: Spaces,
    ) -> None:
        """One shift and one episode seed per world; worlds that are not shifted cost nothing."""
        self._parts: list[tuple[Mask, Channel]] = []
        for entry in PARAMETERS.values():
            make = getattr(entry, where)
            if make is None:
                continue
            values = np.array([shift.number(entry.name) for shift in shifts], float)
            shifted = values != entry.nominal
            if shifted.any():
                mine = [seed for seed, is_mine in zip(seeds, shifted, strict=True) if is_mine]
                self._parts.append((shifted, make(values[shifted], mine, spaces)))

    def __call__(self, rows: Array) -> Array:
        """A row for each world; to be called once per step."""
        for shifted, channel in self._parts:
            if shifted.any():
                rows = rows.copy()
                rows[shifted] = channel(rows[shifted])
        return rows

    def drop(self, done: Mask) -> None:
        """Forget these worlds."""
        for shifted, channel in self._parts:
            channel.drop(done[shifted])
        self._parts = [(shifted[~done], channel) for shifted, channel in self._parts]
