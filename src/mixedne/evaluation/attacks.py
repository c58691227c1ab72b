"""Attackers in evaluations: from files or random, and worlds in which one acts on policies.

An attack is an axis of the grid whose values are strengths; 0 is the nominal world. Its column
``attack[NAME]``, e.g. ``attack[force torso by 3f2a9c1b]``, names the attack and the attacker.
"""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.evaluation.grids import Grid, Values
from mixedne.evaluation.handles import PolicyHandle
from mixedne.games.attacks import Attack, AttackRules
from mixedne.policies import Policy, load_policy, policy_files
from mixedne.shifts import Axis, Shift
from mixedne.shifts.channels import RANDOM_ATTACK, DrawStream, episode_generator
from mixedne.shifts.registry import ATTACK
from mixedne.tasks import Step, Task, Worlds, make_worlds
from mixedne.tasks.gym_batch import GymnasiumWorlds
from mixedne.tasks.task import Array, Mask


@dataclass(frozen=True, eq=False)
class Attacker:
    """An attack, and the policy that carries it out."""

    attack: Attack
    policy: Policy | None = None
    """The attacker's policy, with actions in [−1, 1]; None for uniformly random actions."""
    name: str = ""
    """NAME in the column ``attack[NAME]``; by default what is attacked, and by whom."""

    def __post_init__(self) -> None:
        who = "at random"
        if self.policy is not None:
            parts = [json.dumps(self.attack.to_json()).encode()]
            parts += [self.policy.tensors[name].tobytes() for name in sorted(self.policy.tensors)]
            who = f"by {hashlib.sha256(b''.join(parts)).hexdigest()[:8]}"
        object.__setattr__(self, "name", self.name or f"{self.attack.name} {who}")

    @property
    def axis(self) -> Axis:
        """The attacker's axis in grids and tables."""
        return Axis(ATTACK, self.name, custom=self)

    def rules(self, task: Task) -> AttackRules:
        """The rules of the attack in a task; raises ``InvalidInputError`` if it is impossible."""
        rules = AttackRules(task, self.attack)
        if self.policy is not None:
            found = self.policy.spec.observation_size, self.policy.spec.action_size
            if found != (rules.sees, rules.box.size):
                raise InvalidInputError(
                    f"the attacker takes {found[0]} observations and gives {found[1]} actions, but "
                    f"this attack on {task.id} has {rules.sees} and {rules.box.size}"
                )
        return rules


def find_attacker(what: Any) -> Attacker:
    """Load an attacker from its folder or one of its two files; an Attacker is returned as is."""
    if isinstance(what, Attacker):
        return what
    if not isinstance(what, str | Path):
        raise InvalidInputError(f"an attacker must be a path, not {type(what).__name__}")
    policy = load_policy(what, "policy" if Path(what).is_file() else "attacker")
    if policy.spec.attack is None:
        raise InvalidInputError(f"{what} is a policy and no attacker")
    said = dict(policy.spec.attack)
    if isinstance(said.get("parameters"), list):
        said["parameters"] = tuple(said["parameters"])
    try:
        attack = Attack(**said)
        hash(attack)
        texts = [attack.bodies, attack.axes, *(attack.parameters or ())]
        if not all(text is None or isinstance(text, str) for text in texts):
            raise TypeError("settings are texts")
    except TypeError:
        path = policy_files(what, "attacker")[0]
        raise InvalidInputError(f"{path} is damaged: it misstates its attack") from None
    return Attacker(attack, policy)


def add_attack(grid: Grid, attacker: Any, strength: Values | None) -> Grid:
    """The grid crossed with an attack's strengths; by default the one that it was trained with."""
    found = find_attacker(attacker)
    keywords = grid.keywords
    values = found.attack.strength if strength is None else strength
    crossed = Grid([*keywords.pop("shifts"), (found.axis, values)], **keywords)
    for axis, numbers in crossed.axes:
        for value in numbers if axis.parameter == ATTACK else ():
            dataclasses.replace(found.attack, strength=value)  # raises if out of bounds
    return crossed


def attacker_of(shift: Shift) -> tuple[Attacker | None, float]:
    """The attacker in a world, and the strength of the attack."""
    found = [(a.custom, x) for a, x in shift.values if isinstance(a.custom, Attacker)]
    return found[0] if found else (None, 0.0)


def observation_scale(handle: PolicyHandle) -> Any:
    """The scale of a policy's normaliser, the unit in which attacks on observations are given."""
    if isinstance(handle.act, Policy) and handle.act.spec.normaliser:
        return handle.act.tensors["normaliser.scale"].astype(float)
    return 1.0


def worlds_of(
    task: Task,
    cases: Sequence[tuple[Shift, int]],
    handles: Sequence[PolicyHandle],
    **options: Any,
) -> Worlds:
    """Worlds of a task, one per (shift, seed), with the policy that acts in each.

    Either the same attacker acts in all of them, or there is no attack in any.
    """
    attacker, _ = attacker_of(cases[0][0])
    if attacker is None:
        return make_worlds(task, cases, **options)
    scales = np.stack([observation_scale(h) * np.ones(task.observation_size) for h in handles])
    return AttackedWorlds(task, cases, attacker, scales, **options)


class AttackedWorlds(Worlds):
    """Worlds in which an attacker acts on the policies."""

    def __init__(
        self,
        task: Task,
        cases: Sequence[tuple[Shift, int]],
        attacker: Attacker,
        scales: NDArray[np.float64],
        **options: Any,
    ) -> None:
        """``scales``: the observation scale of each world's policy."""
        super().__init__(task, cases)
        self._attacker, self._rules, self._scales = attacker, attacker.rules(task), scales
        self._strengths = np.array([attacker_of(s)[1] for s, _ in cases], float)[:, None]
        inner = [(shift.only("model", "task"), seed) for shift, seed in cases]
        if attacker.attack.on == "parameters":
            for axis in {axis for shift, _ in inner for axis in shift.only("model").axes}:
                raise InvalidInputError(f"an attack sets the parameters: leave out {axis}")
        self._b: Array = np.empty((0, self._rules.box.size))  # the attacker's latest actions
        self._worlds: Worlds
        world = self._rules.world
        if world is None:
            self._worlds = make_worlds(task, inner, **options)
        elif not options.get("terminate", True):
            raise InvalidInputError("the end of episodes cannot be turned off under this attack")
        else:
            self._worlds = GymnasiumWorlds(world, inner, make=self._rules.make_env)

    @property
    def diverged(self) -> Mask:
        """Active worlds whose physics diverged."""
        return self._worlds.diverged

    def pose(self, world: int) -> Array:
        """The positions of an active world's joints."""
        return self._worlds.pose(world)

    def picture(self, world: int) -> NDArray[np.uint8]:
        """A picture of an active world."""
        return self._worlds.picture(world)

    def close(self) -> None:
        """Release threads and environments."""
        self._worlds.close()

    def drop(self, done: Mask) -> None:
        """Remove these active worlds from the batch until the next reset."""
        super().drop(done)
        self._worlds.drop(done)
        self._b = self._b[~done]

    def _start(self) -> Array:
        generators = [episode_generator(seed, RANDOM_ATTACK) for seed in self.seeds]
        self._draws = DrawStream(generators, self._rules.box.size)
        return self._attack(self._worlds.reset())

    def _advance(self, actions: NDArray[np.floating]) -> Step:
        executed = self._rules.executed(actions, self._b, self._strengths[self.active])
        step = self._worlds.step(executed)
        return step._replace(observations=self._attack(step.observations))

    def _attack(self, observations: Array) -> Array:
        """Choose the attacker's actions; return the observations that the policies see."""
        policy, active = self._attacker.policy, self.active
        if policy is None:
            self._b = 2 * self._draws.draw(active) - 1
        else:
            self._b = np.asarray(policy.unit(observations), float)
        strengths, scales = self._strengths[active], self._scales[active]
        return np.asarray(self._rules.seen(observations, self._b, strengths, scales), float)
