"""Attacks: a frozen policy and its task form the environment of an attacker with reward −r.

With the policy's action a = μ(s), the attacker's b in [−1, 1] and its strength ε, a step has

``action``        the action (1 − ε) a + ε b, b in the task's box: NR-MDP with δ = ε
``force``         forces of ε b newtons on bodies: RARL
``parameters``    parameters v ← clip(v + ε (high − low) b): ``games.parameters`` with the rate ε
``observation``   the action μ(s + ε c b), with c the scale of the policy's own normaliser or 1

An attack with strength 0 leaves the policy and its world unchanged, bit for bit.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.games.forces import force_game
from mixedne.games.game import Box, Game
from mixedne.games.parameters import parameter_game
from mixedne.names import ATTACKS
from mixedne.shifts import NOMINAL, Shift
from mixedne.tasks import Task, from_unit, make_env

Array = NDArray[np.floating]

SETTINGS = {"force": ("bodies", "axes"), "parameters": ("parameters",)}
"""Further settings of an attack, by what it acts on; named as in the games."""


@dataclass(frozen=True)
class Attack:
    """What an attacker may do to a policy."""

    on: str
    """What is attacked, one of ``ATTACKS``."""
    strength: float
    """ε: a fraction from 0 to 1, newtons, a rate from 0 to 1, or a distance."""
    bodies: str | None = None
    axes: str | None = None
    parameters: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_choice("what is attacked", self.on, ATTACKS)
        most = 1 if self.on in ("action", "parameters") else None
        if isinstance(self.strength, bool) or not isinstance(self.strength, int | float):
            raise InvalidInputError(f"strength must be a number, not {self.strength!r}")
        check_number("strength", self.strength, at_least=0, at_most=most)
        for kind, names in SETTINGS.items():
            for name in names if kind != self.on else ():
                if getattr(self, name) is not None:
                    raise InvalidInputError(f"{name} has an effect only in attacks on {kind}")
        if self.on == "parameters" and not self.parameters:
            raise InvalidInputError(
                "an attack on parameters needs parameters= and their bounds, as in "
                "'mass[torso]=0.5:2' 'friction=0.4:2'"
            )

    @property
    def name(self) -> str:
        """What the attack acts on, in words."""
        details = self.bodies or " ".join(self.parameters or ())
        if self.axes is not None:
            details += f" along {self.axes}"
        # It is used as the target of an axis, so it has no square brackets.
        return f"{self.on} {details}".strip().replace("[", "(").replace("]", ")")

    def to_json(self) -> dict[str, Any]:
        """The attack as it is stored in a policy's file."""
        return {name: value for name, value in vars(self).items() if value is not None}


class AttackRules:
    """The rules of an attack in a task, for any strength."""

    def __init__(self, task: Task, attack: Attack) -> None:
        """Raises ``InvalidInputError`` if the task has no such bodies or parameters."""
        self.task, self.on = task, attack.on
        self._game: Game | None = None
        if attack.on == "force":
            self._game = force_game(task, attack.bodies, attack.axes, 1.0)
        elif attack.on == "parameters":
            self._game = parameter_game(task, attack.parameters, 1.0)
        if self._game is not None and self._game.boxes.adversary is not None:
            self.box = self._game.boxes.adversary
        elif attack.on == "action":
            self.box = Box(task.action_low, task.action_high)
        else:
            self.box = Box(-np.ones(task.observation_size), np.ones(task.observation_size))

    @property
    def sees(self) -> int:
        """Observation size of the attacker: the policy's, and the values of attacked parameters."""
        return self.task.observation_size if self._game is None else self._game.observation_size

    @property
    def world(self) -> Task | None:
        """The task with the sizes of the attack's environment; None if they are the task's own."""
        if self._game is None:
            return None
        sizes = self._game.observation_size, self._game.executed.size
        return dataclasses.replace(self.task, observation_size=sizes[0], action_size=sizes[1])

    def make_env(self, shift: Shift = NOMINAL, **options: Any) -> gym.Env[Any, Any]:
        """The environment, whose actions are the executed ones."""
        env = make_env(self.task, shift, **options)
        return env if self._game is None else self._game.wrap(env)

    def seen(self, observations: Array, b: Array, strength: Any, scale: Any) -> Array:
        """The observations that the policy sees; rows, each with a strength and a scale."""
        own = observations[:, : self.task.observation_size]
        return own + strength * scale * b if self.on == "observation" else own

    def executed(self, a: Array, b: Array, strength: Any) -> Array:
        """The actions that the environment executes, in the precision of the policy's actions."""
        if self.on == "observation":
            return a
        precision = np.result_type(a, np.float32)
        if self._game is not None:
            pushed = strength * from_unit(b, *self.box)
            return np.concatenate([a, pushed.astype(precision)], axis=-1)
        # Clip actions outside the box, which would otherwise outweigh the attacker's.
        own = np.where(strength > 0, np.clip(a, *self.box), a)
        mixed = (1 - strength) * own + strength * from_unit(b, *self.box)
        return np.asarray(mixed, precision)


class AttackerEnv(gym.Wrapper[Any, Any, Any, Any]):
    """A frozen policy and its world as an environment in which the attacker is the only agent."""

    def __init__(
        self, rules: AttackRules, strength: float, act: Callable[[Any], Array], scale: Any = 1.0
    ) -> None:
        """``act``: the policy, for rows of observations; ``scale``: scale of its normaliser."""
        super().__init__(rules.make_env(finite_rewards=True))
        self._rules, self._strength, self._act, self._scale = rules, strength, act, scale
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (rules.sees,), float)
        self.action_space = gym.spaces.Box(-1, 1, (rules.box.size,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the world."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._observation = np.asarray(observation, float)
        return observation, info

    def step(self, action: Array) -> Any:
        """Let the policy act under attack; the reward is the negative of the policy's."""
        b, strength = np.asarray(action, float)[None], np.array([[self._strength]])
        a = self._act(self._rules.seen(self._observation[None], b, strength, self._scale))
        observation, reward, *rest = self.env.step(self._rules.executed(a, b, strength)[0])
        self._observation = np.asarray(observation, float)
        return observation, -float(reward), *rest
