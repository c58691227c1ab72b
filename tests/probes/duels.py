"""Tiny games of PettingZoo's, right and wrong: ``pettingzoo:probes.duels:duel`` is a task."""

import functools
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from pettingzoo import ParallelEnv

Numbers = dict[str, Any]


class Duel(ParallelEnv):  # type: ignore[misc]  # its types are optional
    """Red sees s = ±1 and the clock, blue −s; red is paid s ((a0 + 2 a1) / 4 + b).

    Red has two actions in [−1, 1] and blue one in [−0.5, 0.5], so that the best are a = (s, s) and
    b = −s / 2 at any time, and pay red 0.75 − 0.5 = 0.25 a step; against no move, 0.75. The sign is
    drawn anew at each of three steps.
    """

    metadata: dict[str, Any] = {"name": "duel"}  # noqa: RUF012

    def __init__(self, *, names: tuple[str, ...] = ("red", "blue"), gain: float = 1.0) -> None:
        """``gain``: of blue's reward; 1 is zero-sum."""
        self.possible_agents, self.agents = list(names), list[str]()
        self.max_cycles = 3
        self._gain = gain
        self._random = np.random.default_rng()

    @functools.cache  # noqa: B019 -- PettingZoo wants the same object again
    def observation_space(self, agent: str) -> Space[Any]:
        return Box(-np.inf, np.inf, (2 if agent == "red" else 1,), np.float32)

    @functools.cache  # noqa: B019
    def action_space(self, agent: str) -> Space[Any]:
        reach = 1.0 if agent == "red" else 0.5
        return Box(-reach, reach, (2 if agent == "red" else 1,), np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Numbers, Numbers]:
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self.agents, self._time = list(self.possible_agents), 0
        return self._look(), {name: {} for name in self.agents}

    def step(self, actions: Numbers) -> tuple[Numbers, ...]:
        names = self.agents
        for name in names:
            assert self.action_space(name).contains(actions[name])
        a, b = actions["red"], actions["blue"]
        paid = self._sign * float((a[0] + 2 * a[1]) / 4 + b[0])
        self._time += 1
        is_over = self._time == self.max_cycles
        observations = self._look()
        self.agents = [] if is_over else names
        return (
            observations,
            {name: paid if name == "red" else -self._gain * paid for name in names},
            dict.fromkeys(names, is_over),
            dict.fromkeys(names, False),
            {name: {} for name in names},
        )

    def _look(self) -> Numbers:
        self._sign = float(self._random.choice([-1.0, 1.0]))
        red = np.array([self._sign, self._time / 3], np.float32)
        return {name: red if name == "red" else -red[:1] for name in self.agents}


def duel() -> Duel:
    return Duel()


def endless() -> Duel:
    """One that does not say when it ends."""
    game = Duel()
    del game.max_cycles
    return game


def unfair() -> Duel:
    return Duel(gain=0.5)


def three() -> Duel:
    return Duel(names=("red", "blue", "green"))


def nothing() -> None:
    return None


class Wrong(Duel):
    """With another space for an agent's actions or observations."""

    def __init__(self, what: str, agent: str, space: Space[Any]) -> None:
        super().__init__()
        setattr(self, f"{what}_space", lambda one: space if one == agent else Box(-1, 1, (1,)))


def unbounded() -> Wrong:
    return Wrong("action", "blue", Box(-np.inf, np.inf, (1,)))


def discrete() -> Wrong:
    return Wrong("action", "red", Discrete(3))


def picture() -> Wrong:
    return Wrong("observation", "blue", Box(-1, 1, (4, 4)))
