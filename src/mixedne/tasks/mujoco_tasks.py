"""The paper's eight MuJoCo tasks, for many worlds at once.

Gymnasium's environments, written once more over arrays with a leading axis of worlds: how an
episode starts, what is observed, what is rewarded, when it ends. Same arithmetic in the same
order, so that results agree to the last bit. What Gymnasium reads late stays late: after
``mj_step``, body positions, inertias and forces are those before the last integration, and
Reacher v4 rewards the distance before the step.

v4 differs from v5 in that it pays the reward for health in the step that ends the episode
too, counts no contact forces (Ant observes none; Humanoid observes them without paying for
them), observes more zeros (Humanoid, Reacher), and has another Walker2d model. The numbers
are in ``paper_tasks``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Actions = NDArray[np.floating]
Mask = NDArray[np.bool_]


class State(NamedTuple):
    """What the tasks read of all active worlds; fields that a task does not name are empty."""

    qpos: Array
    qvel: Array
    ctrl: Array
    """As MuJoCo holds it after the step; it clamps its own copy."""
    masses: Array
    """(n, bodies)."""
    xpos: Array
    """Body frames, before the last integration."""
    xipos: Array
    """Bodies' centres of mass, before the last integration."""
    cinert: Array
    cvel: Array
    qfrc_actuator: Array
    cfrc_ext: Array
    """External forces on the bodies, from mj_rnePostConstraint."""


class Outcome(NamedTuple):
    """One step's rewards, and in which worlds the task ends the episode."""

    rewards: Array
    done: Mask


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
    """HalfCheetah and Swimmer: speed, minus the cost of control."""

    control_cost: float = 0.0

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Such an episode ends by its time limit alone."""
        cost = self.control_cost * np.square(actions).sum(axis=1)
        return Outcome((after - before) / dt - cost, np.zeros(len(cost), bool))


@dataclass(frozen=True)
class Walker(TaskSpec):
    """Hopper, Walker2d, Ant and Humanoid: speed and health, minus the cost of control."""

    forward_reward: float = 1.0
    healthy_reward: float = 1.0
    control_cost: float = 0.0
    pays_last_step: bool = False
    """v4: health is paid for in the step that ends the episode too."""

    def healthy(self, state: State) -> Mask:
        """(n,) whether the robot stands."""
        raise NotImplementedError

    def costs(self, state: State, actions: Actions) -> Array:
        """(n,) of control, and of contact where it costs."""
        return np.asarray(self.control_cost * np.square(actions).sum(axis=1))

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Speed and health, minus costs."""
        healthy = self.healthy(state)
        paid = healthy | (self.pays_last_step and ends)
        rewards = self.forward_reward * ((after - before) / dt) + paid * self.healthy_reward
        return Outcome(rewards - self.costs(state, actions), ~healthy)


@dataclass(frozen=True)
class Planar(Walker):
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
class Ant(Walker):
    """Ant; v5 observes the contact forces and pays for them."""

    contact_cost: float = 0.0

    def healthy(self, state: State) -> Mask:
        """Finite, and the torso neither low nor high."""
        height = state.qpos[:, 2]
        finite = np.isfinite(state.qpos).all(axis=1) & np.isfinite(state.qvel).all(axis=1)
        return finite & (height >= 0.2) & (height <= 1.0)

    def progress(self, state: State) -> Array:
        """The torso's place, before the last integration."""
        return state.xpos[:, 1, 0].copy()

    def observe(self, state: State) -> Array:
        """Positions, velocities and, in v5, the bodies' external forces in ±1."""
        motion = super().observe(state)
        if not self.contact_cost:
            return motion
        forces = np.clip(state.cfrc_ext[:, 1:], -1, 1)
        return np.concatenate([motion, forces.reshape(len(motion), -1)], axis=1)

    def costs(self, state: State, actions: Actions) -> Array:
        """Of control, and in v5 of contact."""
        control = super().costs(state, actions)
        if not self.contact_cost:
            return control
        forces = np.clip(state.cfrc_ext, -1, 1).reshape(len(actions), -1)
        return np.asarray(control + self.contact_cost * np.square(forces).sum(axis=1))


@dataclass(frozen=True)
class Humanoid(Walker):
    """Humanoid; v5 leaves out what is always zero and pays for contact."""

    contact_cost: float = 0.0
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
        worlds = len(state.qpos)
        parts = [
            state.cinert[:, self.first_body :],
            state.cvel[:, self.first_body :],
            state.qfrc_actuator[:, self.first_dof :],
            state.cfrc_ext[:, self.first_body :],
        ]
        flat = [part.reshape(worlds, -1) for part in parts]
        return np.concatenate([super().observe(state), *flat], axis=1)

    def costs(self, state: State, actions: Actions) -> Array:
        """Of control, and in v5 of contact."""
        control = super().costs(state, state.ctrl)
        if not self.contact_cost:
            return control
        forces = state.cfrc_ext.reshape(len(actions), -1)
        contact = self.contact_cost * np.square(forces).sum(axis=1)
        return np.asarray(control + np.minimum(contact, 10.0))


@dataclass(frozen=True)
class InvertedPendulum(TaskSpec):
    """One point for every step in which the pole stands."""

    pays_last_step: bool = False

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Ends when the pole leans by more than 0.2."""
        finite = np.isfinite(state.qpos).all(axis=1) & np.isfinite(state.qvel).all(axis=1)
        healthy = finite & ~(np.abs(state.qpos[:, 1]) > 0.2)
        return Outcome(np.where(healthy | self.pays_last_step, 1.0, 0.0), ~healthy)


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
        angles, difference = state.qpos[:, :2], self._difference(state)
        return np.concatenate(
            [
                np.cos(angles),
                np.sin(angles),
                state.qpos[:, 2:],
                state.qvel[:, :2],
                difference[:, : self.observed],
            ],
            axis=1,
        )

    def progress(self, state: State) -> Array:
        """The distance to the target."""
        difference = self._difference(state)
        return np.asarray(np.sqrt(np.vecdot(difference, difference)))

    def reward_and_done(
        self, before: Array, after: Array, dt: float, state: State, actions: Actions, ends: bool
    ) -> Outcome:
        """Such an episode ends by its time limit alone."""
        distance = before if self.late else after
        rewards = -distance + -np.square(actions).sum(axis=1)
        return Outcome(rewards, np.zeros(len(rewards), bool))

    @staticmethod
    def _difference(state: State) -> Array:
        fingertip, target = 3, 4
        return state.xpos[:, fingertip] - state.xpos[:, target]
