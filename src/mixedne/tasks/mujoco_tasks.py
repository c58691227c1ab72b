"""The paper's eight MuJoCo tasks and a ninth, for many worlds at once.

Gymnasium's environments, written once more over arrays with a leading axis of worlds: how an
episode starts, what is observed, what is rewarded, when it ends. Same arithmetic in the same
order, so that results agree to the last bit. What Gymnasium reads late stays late: after
``mj_step``, body positions, inertias and forces are those before the last integration, and
Reacher v4 rewards the distance before the step.

v4 differs from v5 in that it pays the reward for health in the step that ends the episode
too, counts no contact forces (Ant observes none; Humanoid observes them without paying for
them), observes more zeros (Humanoid, Reacher), and has another Walker2d model. The numbers
are in ``paper_tasks.toml``; those of HumanoidStandup, which others' uncertainty sets have and the
paper has not, in ``other_tasks.toml``.
"""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple, TypeAlias

import mujoco
import numpy as np
from numpy.typing import NDArray

from mixedne.tasks.task import Array, Mask

Actions = NDArray[np.floating]
Outcome: TypeAlias = tuple[Array, Mask]
"""One step's rewards, and in which worlds the task ends the episode."""

VERSIONS = ("v4", "v5")
"""Of Gymnasium's MuJoCo tasks."""

_NOTHING = np.empty(0)


class State(NamedTuple):
    """What the tasks read of all active worlds; fields that a task does not name are empty."""

    qpos: Array
    qvel: Array
    ctrl: Array = _NOTHING
    """As MuJoCo holds it after the step; it clamps its own copy."""
    masses: Array = _NOTHING
    """(n, bodies)."""
    xpos: Array = _NOTHING
    """Body frames, before the last integration."""
    xipos: Array = _NOTHING
    """Bodies' centres of mass, before the last integration."""
    cinert: Array = _NOTHING
    cvel: Array = _NOTHING
    qfrc_actuator: Array = _NOTHING
    cfrc_ext: Array = _NOTHING
    """External forces on the bodies, from mj_rnePostConstraint."""

    @property
    def finite(self) -> Mask:
        """(n,) whether positions and velocities are numbers."""
        state = np.concatenate([self.qpos, self.qvel], axis=1)
        return np.asarray(np.isfinite(state).all(axis=1))


@dataclass(frozen=True)
class TaskSpec:
    """How a task starts, what it shows and when it ends; the subclasses say what it rewards."""

    reset_noise: float
    """Half the width of the uniform noise on the initial state."""
    normal_velocity: bool = False
    """Whether the initial velocity is normal, not uniform."""
    skipped: int = 0
    """Leading positions that are not observed."""
    clip_velocity: bool = False
    """Whether observed velocities are clipped to ±10."""
    fields: tuple[str, ...] = ()
    """Derived fields of MjData that the task reads."""
    pays_last_step: bool = False
    """v4: health is paid for in the step that ends the episode too."""

    def draw_state(self, rng: np.random.Generator, model: mujoco.MjModel) -> tuple[Array, Array]:
        """Initial position and velocity, drawn in Gymnasium's order."""
        noise = self.reset_noise
        qpos = model.qpos0 + rng.uniform(-noise, noise, model.nq)
        if self.normal_velocity:
            return qpos, noise * rng.standard_normal(model.nv)
        return qpos, rng.uniform(-noise, noise, model.nv)

    def observe(self, state: State) -> Array:
        """(n, observation size)."""
        velocity = np.clip(state.qvel, -10, 10) if self.clip_velocity else state.qvel
        return np.concatenate([state.qpos[:, self.skipped :], velocity], axis=1)

    def progress(self, state: State) -> Array:
        """(n,) what the next step's reward needs of this state: the place along the track."""
        return state.qpos[:, 0].copy()

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Rewards and ends of episodes, from the progress before and after the step.

        ``actions`` are as given, in the type given; ``ends`` says whether ill health ends an
        episode, on which v4's rewards depend.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Runner(TaskSpec):
    """Speed and health, minus the costs. HalfCheetah and Swimmer are never ill, and not paid."""

    forward_reward: float = 1.0
    healthy_reward: float = 0.0
    control_cost: float = 0.0
    contact_cost: float = 0.0
    force_limit: float = np.inf
    """Ant: what is observed, and paid for, of a force at most."""
    most_contact: float = np.inf
    """Humanoid: the most that contact costs."""

    def healthy(self, state: State) -> Mask:
        """(n,) whether the robot stands."""
        return np.ones(len(state.qpos), bool)

    def costs(self, state: State, actions: Actions) -> Array:
        """(n,) of control, and of contact where it costs."""
        control = np.asarray(self.control_cost * np.square(actions).sum(axis=1))
        if not self.contact_cost:
            return control
        contact = self.contact_cost * np.square(self.forces(state)).sum(axis=1)
        return np.asarray(control + np.minimum(contact, self.most_contact))

    def forces(self, state: State, first_body: int = 0) -> Array:
        """(n, …) the external forces on the bodies from this one on."""
        forces = np.clip(state.cfrc_ext[:, first_body:], -self.force_limit, self.force_limit)
        return forces.reshape(len(forces), -1)

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Speed and health, minus costs."""
        healthy = self.healthy(state)
        paid = healthy | (self.pays_last_step and ends)
        rewards = self.forward_reward * ((after - before) / dt) + paid * self.healthy_reward
        return rewards - self.costs(state, actions), ~healthy


@dataclass(frozen=True)
class Planar(Runner):
    """Hopper and Walker2d, which stay in a plane."""

    lowest: float = 0.0
    highest: float = np.inf
    most_lean: float = 1.0
    state_limit: float = np.inf
    """Hopper: beyond this, no part of the state but place and height may go."""

    def healthy(self, state: State) -> Mask:
        """Height, lean and, for Hopper, size of the state."""
        height, lean = state.qpos[:, 1], state.qpos[:, 2]
        healthy = (self.lowest < height) & (height < self.highest)
        healthy &= (-self.most_lean < lean) & (lean < self.most_lean)
        if self.state_limit < np.inf:
            for part in (state.qpos[:, 2:], state.qvel):
                healthy &= ((-self.state_limit < part) & (part < self.state_limit)).all(axis=1)
        return healthy


@dataclass(frozen=True)
class Ant(Runner):
    """Ant; v5 observes the contact forces and pays for them."""

    def healthy(self, state: State) -> Mask:
        """Finite, and the torso neither low nor high."""
        height = state.qpos[:, 2]
        return state.finite & (height >= 0.2) & (height <= 1.0)

    def progress(self, state: State) -> Array:
        """The torso's place, before the last integration."""
        return state.xpos[:, 1, 0].copy()

    def observe(self, state: State) -> Array:
        """Positions, velocities and, in v5, the bodies' external forces in ±1."""
        motion = super().observe(state)
        if not self.contact_cost:
            return motion
        return np.concatenate([motion, self.forces(state, first_body=1)], axis=1)


@dataclass(frozen=True)
class Humanoid(Runner):
    """Humanoid; v5 leaves out what is always zero and pays for contact."""

    first_body: int = 0
    first_dof: int = 0

    def healthy(self, state: State) -> Mask:
        """The torso neither low nor high."""
        return (state.qpos[:, 2] > 1.0) & (state.qpos[:, 2] < 2.0)

    def progress(self, state: State) -> Array:
        """The centre of mass, summed body by body as Gymnasium does."""
        moment = np.zeros(len(state.qpos))
        for body in range(state.masses.shape[1]):
            moment += state.masses[:, body] * state.xipos[:, body, 0]
        return np.asarray(moment / state.masses.sum(axis=1))

    def observe(self, state: State) -> Array:
        """Motion, then inertias, velocities and forces of the bodies."""
        parts = [
            state.cinert[:, self.first_body :],
            state.cvel[:, self.first_body :],
            state.qfrc_actuator[:, self.first_dof :],
            state.cfrc_ext[:, self.first_body :],
        ]
        flat = [part.reshape(len(part), -1) for part in parts]
        return np.concatenate([super().observe(state), *flat], axis=1)

    def costs(self, state: State, actions: Actions) -> Array:
        """Control costs as MuJoCo holds it."""
        return super().costs(state, state.ctrl)


@dataclass(frozen=True)
class HumanoidStandup(Humanoid):
    """Humanoid that lies on its back; it is paid for height, and nothing ends the episode early."""

    timestep: float = np.nan
    """Of the model: the height is divided by it, as if it had been reached in one."""

    def progress(self, state: State) -> Array:
        """The torso's height."""
        return state.qpos[:, 2].copy()

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Height, minus costs, plus one."""
        control = self.control_cost * np.square(state.ctrl).sum(axis=1)
        contact = self.contact_cost * np.square(self.forces(state)).sum(axis=1)
        rewards = after / self.timestep - control - np.minimum(contact, self.most_contact) + 1
        return np.asarray(rewards), np.zeros(len(rewards), bool)


@dataclass(frozen=True)
class InvertedPendulum(TaskSpec):
    """One point for every step in which the pole stands."""

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Ends when the pole leans by more than 0.2."""
        healthy = state.finite & ~(np.abs(state.qpos[:, 1]) > 0.2)
        return np.where(healthy | self.pays_last_step, 1.0, 0.0), ~healthy


@dataclass(frozen=True)
class Reacher(TaskSpec):
    """Distance of fingertip and target, and control, as costs."""

    late: bool = False
    """v4: the distance is that before the step."""
    observed: int = 2
    """Coordinates of the difference that are observed."""

    def draw_state(self, rng: np.random.Generator, model: mujoco.MjModel) -> tuple[Array, Array]:
        """A random arm, and a target inside the disc that it can reach."""
        qpos = rng.uniform(-0.1, 0.1, model.nq) + model.qpos0
        goal = rng.uniform(-0.2, 0.2, 2)
        while np.linalg.norm(goal) >= 0.2:
            goal = rng.uniform(-0.2, 0.2, 2)
        qpos[-2:] = goal
        qvel = rng.uniform(-0.005, 0.005, model.nv)
        qvel[-2:] = 0
        return qpos, qvel

    def observe(self, state: State) -> Array:
        """The arm's angles and speeds, the target, and the way to it."""
        angles, difference = state.qpos[:, :2], self._difference(state)[:, : self.observed]
        parts = [np.cos(angles), np.sin(angles), state.qpos[:, 2:], state.qvel[:, :2], difference]
        return np.concatenate(parts, axis=1)

    def progress(self, state: State) -> Array:
        """The distance to the target."""
        difference = self._difference(state)
        return np.asarray(np.sqrt(np.vecdot(difference, difference)))

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Such an episode ends by its time limit alone."""
        rewards = -(before if self.late else after) + -np.square(actions).sum(axis=1)
        return rewards, np.zeros(len(rewards), bool)

    @staticmethod
    def _difference(state: State) -> Array:
        fingertip, target = 3, 4
        return state.xpos[:, fingertip] - state.xpos[:, target]


def _read_specs(file: str) -> dict[tuple[str, str], TaskSpec]:
    """The specifications in a file of the package's data, by task and version."""
    kinds = (Runner, Planar, Ant, Humanoid, HumanoidStandup, InvertedPendulum, Reacher)
    by_name: dict[str, Any] = {kind.__name__: kind for kind in kinds}
    text = (resources.files("mixedne.tasks") / file).read_text("utf-8")
    specs = {}
    for name, numbers in tomllib.loads(text).items():
        spec = by_name[numbers.pop("spec")]
        own = {version: numbers.pop(version, {}) for version in VERSIONS}
        for version in VERSIONS:
            specs[name, version] = spec(**numbers, **own[version])
    return specs


PAPER_SPECS = _read_specs("paper_tasks.toml")
"""By task, in the paper's order, and version."""

TASK_SPECS = PAPER_SPECS | _read_specs("other_tasks.toml")
"""Of all tasks that the batched simulator knows."""
