"""Policies at work: one call a step for each, whatever the number of worlds."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from mixedne.errors import InvalidInputError
from mixedne.evaluation.handles import PolicyHandle
from mixedne.policies import Policy
from mixedne.shifts.streams import POLICY, episode_generator
from mixedne.tasks import Task


@contextlib.contextmanager
def one_blas_thread(handles: Sequence[PolicyHandle]) -> Iterator[None]:
    """Hold BLAS to one thread while policies from elsewhere act.

    Their products are small, and the threads of BLAS would wait actively for each other and for
    cores that the physics needs. This package's own policies are as fast either way.
    """
    if all(isinstance(handle.act, Policy) for handle in handles):
        yield
        return
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        yield


class PolicyBatch:
    """The policies of a chunk: each gets one call a step, with all of its worlds."""

    def __init__(
        self,
        handles: Sequence[PolicyHandle],
        of_world: Sequence[int],
        seeds: Sequence[int],
        task: Task,
        stochastic: bool,
    ) -> None:
        """``of_world`` and ``seeds`` hold each world's policy and episode seed."""
        self._handles, self._task = handles, task
        self._of_world = np.asarray(of_world)
        self._seeds, self._stochastic = seeds, stochastic
        self._generators: dict[int, np.random.Generator] = {}

    def act(
        self, active: NDArray[np.intp], observations: NDArray[np.float64]
    ) -> NDArray[np.floating]:
        """Actions for the active worlds."""
        if len(self._handles) == 1:
            return self._ask(self._handles[0], active, observations)
        owner = self._of_world[active]
        parts: dict[int, NDArray[np.floating]] = {}
        for number in np.unique(owner):
            mine = owner == number
            parts[number] = self._ask(self._handles[number], active[mine], observations[mine])
        actions = np.empty((len(active), self._task.action_size), np.result_type(*parts.values()))
        for number, part in parts.items():
            actions[owner == number] = part
        return actions

    def _ask(
        self, handle: PolicyHandle, worlds: NDArray[np.intp], observations: NDArray[np.float64]
    ) -> NDArray[np.floating]:
        policy = handle.act
        if self._stochastic and isinstance(policy, Policy) and policy.is_stochastic:
            actions = policy(observations, self._noise(worlds))
        else:
            actions = _as_array(policy(observations))
        expected = (len(worlds), self._task.action_size)
        if actions.shape != expected or actions.dtype.kind not in "fiu":
            raise InvalidInputError(
                f"the policy {handle.name} must give actions of the shape {expected} for "
                f"{self._task.id}, not {actions.shape} of {actions.dtype}"
            )
        if not np.isfinite(actions).all():
            raise InvalidInputError(f"the policy {handle.name} gave NaN or infinity as an action")
        return actions

    def _noise(self, worlds: NDArray[np.intp]) -> NDArray[np.float64]:
        """Each world's own normals: they depend on its episode's seed and the step alone."""
        for world in worlds.tolist():
            if world not in self._generators:
                self._generators[world] = episode_generator(self._seeds[world], POLICY)
        size = self._task.action_size
        return np.stack([self._generators[w].standard_normal(size) for w in worlds.tolist()])


def _as_array(given: Any) -> NDArray[Any]:
    """What a callable gave; ragged lists have no shape that would fit."""
    try:
        return np.asarray(given)
    except ValueError:
        return np.empty(0, object)
