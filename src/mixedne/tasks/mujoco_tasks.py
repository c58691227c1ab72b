"""The paper's eight MuJoCo tasks and a ninth, for many worlds in parallel.

Gymnasium's environments, reimplemented for arrays with a leading axis of worlds: initial states,
observations, rewards and termination. The arithmetic and its order are the same, so that results
are bitwise equal. Values that Gymnasium reads with a delay are delayed here, too: after
``mj_step``, body positions, inertias and forces are those before the last integration, and
Reacher v4 rewards the distance before the step.

v4 differs from v5 as follows: it also gives the healthy reward in the step that ends the episode,
ignores contact forces (Ant does not observe them; Humanoid observes them without a cost), observes
more zeros (Humanoid, Reacher), and has a different Walker2d model. The numbers are in
``paper_tasks.toml``; those of HumanoidStandup, which is not in the paper but in published
uncertainty sets, are in ``other_tasks.toml``.
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
"""The rewards of one step, and a mask of the worlds in which the task ends the episode."""

VERSIONS = ("v4", "v5")
"""Supported versions of Gymnasium's MuJoCo tasks."""

_NOTHING = np.empty(0)


class State(NamedTuple):
    """What tasks read from all active worlds; fields that a task does not request are empty."""

    qpos: Array
    qvel: Array
    ctrl: Array = _NOTHING
    """Controls, as stored by MuJoCo after the step; it clamps only its own copy."""
    masses: Array = _NOTHING
    """(n, bodies)."""
    timestep: Array = _NOTHING
    """(n,) MuJoCo's own time step."""
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
        """(n,) whether positions and velocities are finite."""
        state = np.concatenate([self.qpos, self.qvel], axis=1)
        return np.asarray(np.isfinite(state).all(axis=1))


@dataclass(frozen=True)
class TaskSpec:
    """Initial states, observations and termination of a task; subclasses define its reward."""

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
    """v4: whether the step that ends the episode also gets the healthy reward."""

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
        """(n,) what the next step's reward needs from this state, e.g. the position along x."""
        return state.qpos[:, 0].copy()

    def reward_and_done(
        self, before: Array, after: Array, dt: Array, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Rewards and terminations, from the progress before and after the step.

        ``dt``: (n,) the time between two actions. ``actions`` are unchanged, also in their dtype;
        ``ends``: whether unhealthy states end an episode, on which v4's rewards depend.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Runner(TaskSpec):
    """Speed and healthy reward, minus costs. HalfCheetah, Swimmer: always healthy, unrewarded."""

    forward_reward: float = 1.0
    healthy_reward: float = 0.0
    control_cost: float = 0.0
    contact_cost: float = 0.0
    force_limit: float = np.inf
    """Ant: the bound to which forces are clipped, in observations and costs."""
    most_contact: float = np.inf
    """Humanoid: the largest contact cost."""

    def healthy(self, state: State) -> Mask:
        """(n,) whether the robot is healthy."""
        return np.ones(len(state.qpos), bool)

    def costs(self, state: State, actions: Actions) -> Array:
        """(n,) costs of control, and of contact if it has a cost."""
        control = np.asarray(self.control_cost * np.square(actions).sum(axis=1))
        if not self.contact_cost:
            return control
        contact = self.contact_cost * np.square(self.forces(state)).sum(axis=1)
        return np.asarray(control + np.minimum(contact, self.most_contact))

    def forces(self, state: State, first_body: int = 0) -> Array:
        """(n, …) the external forces on the bodies, starting with ``first_body``."""
        forces = np.clip(state.cfrc_ext[:, first_body:], -self.force_limit, self.force_limit)
        return forces.reshape(len(forces), -1)

    def reward_and_done(
        self, before: Array, after: Array, dt: Array, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Speed and healthy reward, minus costs."""
        healthy = self.healthy(state)
        paid = healthy | (self.pays_last_step and ends)
        rewards = self.forward_reward * ((after - before) / dt) + paid * self.healthy_reward
        return rewards - self.costs(state, actions), ~healthy


@dataclass(frozen=True)
class Planar(Runner):
    """Hopper and Walker2d, which move in a plane."""

    lowest: float = 0.0
    highest: float = np.inf
    most_lean: float = 1.0
    state_limit: float = np.inf
    """Hopper: bound on all components of the state except position and height."""

    def healthy(self, state: State) -> Mask:
        """Checks height, lean and, for Hopper, the size of the state."""
        height, lean = state.qpos[:, 1], state.qpos[:, 2]
        healthy = (self.lowest < height) & (height < self.highest)
        healthy &= (-self.most_lean < lean) & (lean < self.most_lean)
        if self.state_limit < np.inf:
            for part in (state.qpos[:, 2:], state.qvel):
                healthy &= ((-self.state_limit < part) & (part < self.state_limit)).all(axis=1)
        return healthy


@dataclass(frozen=True)
class Ant(Runner):
    """Ant; v5 observes the contact forces and has a cost for them."""

    def healthy(self, state: State) -> Mask:
        """Checks that the state is finite, and the torso neither too low nor too high."""
        height = state.qpos[:, 2]
        return state.finite & (height >= 0.2) & (height <= 1.0)

    def progress(self, state: State) -> Array:
        """The torso's position, before the last integration."""
        return state.xpos[:, 1, 0].copy()

    def observe(self, state: State) -> Array:
        """Positions, velocities and, in v5, the bodies' external forces, clipped."""
        motion = super().observe(state)
        if not self.contact_cost:
            return motion
        return np.concatenate([motion, self.forces(state, first_body=1)], axis=1)


@dataclass(frozen=True)
class Humanoid(Runner):
    """Humanoid; v5 leaves out what is always zero and has a cost for contact."""

    first_body: int = 0
    first_dof: int = 0

    def healthy(self, state: State) -> Mask:
        """Checks that the torso is neither too low nor too high."""
        return (state.qpos[:, 2] > 1.0) & (state.qpos[:, 2] < 2.0)

    def progress(self, state: State) -> Array:
        """The centre of mass, summed body by body as in Gymnasium."""
        moment = np.zeros(len(state.qpos))
        for body in range(state.masses.shape[1]):
            moment += state.masses[:, body] * state.xipos[:, body, 0]
        return np.asarray(moment / state.masses.sum(axis=1))

    def observe(self, state: State) -> Array:
        """Positions and velocities, then inertias, velocities and forces of the bodies."""
        parts = [
            state.cinert[:, self.first_body :],
            state.cvel[:, self.first_body :],
            state.qfrc_actuator[:, self.first_dof :],
            state.cfrc_ext[:, self.first_body :],
        ]
        flat = [part.reshape(len(part), -1) for part in parts]
        return np.concatenate([super().observe(state), *flat], axis=1)

    def costs(self, state: State, actions: Actions) -> Array:
        """Costs of the control, as stored by MuJoCo, and of contact."""
        return super().costs(state, state.ctrl)


@dataclass(frozen=True)
class HumanoidStandup(Humanoid):
    """Humanoid that starts on its back; the reward is for height, and there is no termination.

    The height is divided by MuJoCo's time step, as if it were reached in one.
    """

    def progress(self, state: State) -> Array:
        """The torso's height."""
        return state.qpos[:, 2].copy()

    def reward_and_done(
        self, before: Array, after: Array, dt: Array, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Height, minus costs, plus one."""
        control = self.control_cost * np.square(state.ctrl).sum(axis=1)
        contact = self.contact_cost * np.square(self.forces(state)).sum(axis=1)
        rewards = after / state.timestep - control - np.minimum(contact, self.most_contact) + 1
        return np.asarray(rewards), np.zeros(len(rewards), bool)


@dataclass(frozen=True)
class InvertedPendulum(TaskSpec):
    """A reward of one for every step in which the pole is upright."""

    def reward_and_done(
        self, before: Array, after: Array, dt: Array, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """The episode ends when the pole leans by more than 0.2."""
        healthy = state.finite & ~(np.abs(state.qpos[:, 1]) > 0.2)
        return np.where(healthy | self.pays_last_step, 1.0, 0.0), ~healthy


@dataclass(frozen=True)
class Reacher(TaskSpec):
    """Costs for the distance of the fingertip from the target, and for control."""

    late: bool = False
    """v4: whether the distance is that before the step."""
    observed: int = 2
    """Number of observed coordinates of the difference to the target."""

    def draw_state(self, rng: np.random.Generator, model: mujoco.MjModel) -> tuple[Array, Array]:
        """A random arm, and a random target inside the disc that it can reach."""
        qpos = rng.uniform(-0.1, 0.1, model.nq) + model.qpos0
        goal = rng.uniform(-0.2, 0.2, 2)
        while np.linalg.norm(goal) >= 0.2:
            goal = rng.uniform(-0.2, 0.2, 2)
        qpos[-2:] = goal
        qvel = rng.uniform(-0.005, 0.005, model.nv)
        qvel[-2:] = 0
        return qpos, qvel

    def observe(self, state: State) -> Array:
        """The arm's angles and speeds, the target, and the difference to it."""
        angles, difference = state.qpos[:, :2], self._difference(state)[:, : self.observed]
        parts = [np.cos(angles), np.sin(angles), state.qpos[:, 2:], state.qvel[:, :2], difference]
        return np.concatenate(parts, axis=1)

    def progress(self, state: State) -> Array:
        """The distance to the target."""
        difference = self._difference(state)
        return np.asarray(np.sqrt(np.vecdot(difference, difference)))

    def reward_and_done(
        self, before: Array, after: Array, dt: Array, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Costs; only the time limit ends an episode."""
        rewards = -(before if self.late else after) + -np.square(actions).sum(axis=1)
        return rewards, np.zeros(len(rewards), bool)

    @staticmethod
    def _difference(state: State) -> Array:
        fingertip, target = 3, 4
        return state.xpos[:, fingertip] - state.xpos[:, target]


def _read_specs(file: str) -> dict[tuple[str, str], TaskSpec]:
    """Read the specifications in a data file of the package, by task and version."""
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
"""Specifications of the paper's tasks, in its order, by task and version."""

TASK_SPECS = PAPER_SPECS | _read_specs("other_tasks.toml")
"""Specifications of all tasks of the batched simulator, by task and version."""
