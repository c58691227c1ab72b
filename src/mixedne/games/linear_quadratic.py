"""A linear-quadratic game, whose equilibrium is known. Needs PettingZoo.

    x' = A x + B u + C w            r = −(xᵀQ x + uᵀR u − wᵀS w)

The controller chooses u and receives the reward r, the disturber chooses w and receives −r, and
both observe x. With the discount γ and no bounds on the actions the equilibrium is linear,
u = −K x and w = L x, with the value V(x) = −xᵀP x. P is found by iteration: starting with P = 0,
the next xᵀP x is the saddle value, minimal over u and maximal over w, of

    xᵀQ x + uᵀR u − wᵀS w + γ (A x + B u + C w)ᵀ P (A x + B u + C w)

which is a Riccati equation (Başar and Bernhard 1995, chapter 3). It has a solution if w is costly
enough: S > γ CᵀP C in every iteration.
"""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from mixedne.errors import InvalidInputError

Array = NDArray[np.floating]


class Equilibrium(NamedTuple):
    """u = −K x, w = L x, V(x) = −xᵀP x."""

    controller: Array
    """K."""
    disturber: Array
    """L."""
    value: Array
    """P."""


class LinearQuadratic(NamedTuple):
    """The matrices of a linear-quadratic game."""

    a: Array
    b: Array
    c: Array
    q: Array
    r: Array
    s: Array

    def equilibrium(self, gamma: float) -> Equilibrium:
        """Iterate the Riccati equation; raises ``InvalidInputError`` if it has no solution."""
        size = self.b.shape[1]
        both = np.hstack([self.b, self.c])  # x' = A x + (B C) (u, w)
        costs = np.zeros((both.shape[1], both.shape[1]))
        costs[:size, :size], costs[size:, size:] = self.r, -self.s
        p = np.zeros_like(self.q)
        for _ in range(10_000):
            if np.linalg.eigvalsh(self.s - gamma * self.c.T @ p @ self.c).min() <= 0:
                break
            # Stationary in (u, w) = −G x:  (costs + γ (B C)ᵀP (B C)) G = γ (B C)ᵀP A
            g = np.linalg.solve(costs + gamma * both.T @ p @ both, gamma * both.T @ p @ self.a)
            before, p = p, self.q + gamma * self.a.T @ p @ (self.a - both @ g)
            if np.abs(p - before).max() < 1e-12 * np.abs(p).max():
                return Equilibrium(g[:size], -g[size:], p)
        raise InvalidInputError(f"the game has no equilibrium with the discount {gamma}")


GAME = LinearQuadratic(*(np.full((1, 1), x) for x in (0.9, 0.5, 0.5, 1.0, 1.0, 1.5)))
"""The game of :func:`parallel_env`, in one dimension; for γ = 0.8, K = 0.71 and L = 0.48."""


class LinearQuadraticEnv(ParallelEnv):  # type: ignore[misc]  # its types are optional
    """The game with actions in [−1, 1]; episodes of ten steps start at x uniform in [−1, 1]."""

    metadata: dict[str, Any] = {"name": "linear_quadratic"}  # noqa: RUF012
    possible_agents = ["controller", "disturber"]  # noqa: RUF012

    def __init__(self, game: LinearQuadratic) -> None:
        """``game``: the matrices of the game."""
        self.game, self.max_cycles = game, 10
        self.agents: list[str] = []
        self._random = np.random.default_rng()
        sizes = zip(self.possible_agents, (game.b.shape[1], game.c.shape[1]), strict=True)
        self._boxes = {name: Box(-1, 1, (size,)) for name, size in sizes}
        self._sight = Box(-np.inf, np.inf, (len(game.a),))

    def observation_space(self, agent: str) -> Box:
        """The space of x, which both players observe."""
        return self._sight

    def action_space(self, agent: str) -> Box:
        """[−1, 1] in every component."""
        return self._boxes[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Draw a new x."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self._x, self._time = self._random.uniform(-1, 1, len(self.game.a)), 0
        self.agents = list(self.possible_agents)
        return self._seen(), {name: {} for name in self.agents}

    def step(self, actions: dict[str, NDArray[Any]]) -> Any:
        """Compute the rewards, then the next x."""
        game, names, x = self.game, self.agents, self._x
        u, w = (np.asarray(actions[name], float) for name in self.possible_agents)
        paid = -float(x @ game.q @ x + u @ game.r @ u - w @ game.s @ w)
        self._x = game.a @ x + game.b @ u + game.c @ w
        self._time += 1
        seen, is_over = self._seen(), self._time == self.max_cycles
        self.agents = [] if is_over else names
        rewards = dict(zip(self.possible_agents, (paid, -paid), strict=True))
        none = dict.fromkeys(names, False)
        return seen, rewards, none, dict.fromkeys(names, is_over), {name: {} for name in names}

    def _seen(self) -> dict[str, NDArray[np.float32]]:
        return {name: self._x.astype(np.float32) for name in self.agents}


def parallel_env() -> LinearQuadraticEnv:
    """``GAME`` as the task ``pettingzoo:mixedne.games.linear_quadratic:parallel_env``."""
    return LinearQuadraticEnv(GAME)
