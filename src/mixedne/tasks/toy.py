"""The toy MDP M_ρ of the paper's VPG experiments.

S = [-10, 10], A = [-1, 1], R(s) = sin(√1.7 s) + cos(√0.3 s) + 3. With probability 1 − ρ the
next state is s + a, otherwise s + a' with a' uniform over A; both are clipped to S. Episodes
start at 0, have the rewards r_t = R(s_t) and are truncated after 500 steps. ρ = 0.2 is nominal.

``transition`` and ``reward`` are plain arithmetic over NumPy or JAX arrays; the
Gymnasium environment and the batched worlds both use them.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from mixedne.errors import check_number
from mixedne.shifts import PARAMETERS, Shift
from mixedne.shifts.channels import DrawStream
from mixedne.tasks.task import Array, Step, Task, Worlds

EDGE = 10.0
"""S = [-EDGE, EDGE]."""

NOMINAL_RHO = float(PARAMETERS["rho"].nominal or 0)
"""ρ of the nominal world, in which policies are trained."""

EPISODE_STEPS = 500
"""Number of steps after which an episode is truncated."""


def reward(state: Any, xp: Any = np) -> Any:
    """R(s); ``xp`` is NumPy or ``jax.numpy``."""
    return xp.sin(1.7**0.5 * state) + xp.cos(0.3**0.5 * state) + 3


def transition(
    state: Any, action: Any, uniform: Any, random_action: Any, rho: Any, xp: Any = np
) -> Any:
    """The next state, given the noise: u from [0, 1) and a' from [-1, 1].

    a' replaces the action where u < ρ. Actions outside A are clipped to it.
    """
    moved = xp.where(uniform < rho, random_action, xp.clip(action, -1, 1))
    return xp.clip(state + moved, -EDGE, EDGE)


def split_draws(draws: Any) -> tuple[Any, Any]:
    """(u, a') from two numbers in [0, 1) along the last axis."""
    return draws[..., 0], 2 * draws[..., 1] - 1


class ToyEnv(gym.Env[Array, NDArray[np.floating]]):
    """M_ρ as a Gymnasium environment; its noise comes from the environment's generator."""

    def __init__(self, rho: float = NOMINAL_RHO) -> None:
        """``rho``: the probability that a random action replaces the one given."""
        check_number("rho", rho, at_least=0, at_most=1)
        self.rho = rho
        self.observation_space = gym.spaces.Box(-EDGE, EDGE, (1,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._state = np.zeros(1)
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Reset the state to 0."""
        super().reset(seed=seed)
        self._state = np.zeros(1)
        self._steps = 0
        return self._state.copy(), {}

    def step(self, action: NDArray[np.floating]) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take a step; the reward is that of the state before it."""
        paid = float(reward(self._state)[0])
        uniform, random_action = split_draws(self.np_random.random(2))
        self._state = transition(
            self._state, np.asarray(action, float), uniform, random_action, self.rho
        )
        self._steps += 1
        return self._state.copy(), paid, False, self._steps >= EPISODE_STEPS, {}


class ToyWorlds(Worlds):
    """A batch of worlds M_ρ, each with its own ρ."""

    def __init__(self, task: Task, cases: Sequence[tuple[Shift, int]]) -> None:
        """One (shift, seed) per world."""
        super().__init__(task, cases)
        self._rho = np.array([shift.number("rho") for shift in self.shifts], float)

    def _start(self) -> Array:
        self._state = np.zeros(len(self.seeds))
        self._stream = DrawStream([seeding.np_random(seed)[0] for seed in self.seeds], 2)
        return self._state[:, None].copy()

    def _advance(self, actions: NDArray[np.floating]) -> Step:
        state, rho = self._state[self.active], self._rho[self.active]
        draws = split_draws(self._stream.draw(self.active))
        after = transition(state, actions[:, 0].astype(float), *draws, rho)
        self._state[self.active] = after
        never = np.zeros(len(state), bool)
        return Step(after[:, None], reward(state), never, self._time_is_up())
