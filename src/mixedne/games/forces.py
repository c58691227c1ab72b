"""RARL: an adversary that pushes bodies of the robot (Pinto et al. 2017).

Its action is a force in newtons for each body and axis; MuJoCo applies it at the body's centre of
mass (``xfrc_applied``) during the step only. Gymnasium's Ant and Humanoid observe the external
forces on their bodies and include a cost for them in the reward (``cfrc_ext``). MuJoCo counts
pushes among these forces, and this is kept: the agent feels a push as it feels a contact.
"""

import functools
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError, check_number
from mixedne.games.game import Box, Game, joint_game
from mixedne.names import RARL_FORCES
from mixedne.shifts.model import find_part, random_states
from mixedne.tasks import Task
from mixedne.tasks.registry import nominal_model

AXES = "xyz"


def force_game(task: Task, bodies: str | None, axes: str | None, force: float | None) -> Game:
    """A game with forces of at most ``force`` newtons along ``axes`` on ``bodies``.

    ``bodies`` are names such as ``"torso,foot"``. By default, the axes are all those that can move
    every one of the bodies, and bodies and force are those of RARL's authors.
    """
    if not task.has_model:
        raise InvalidInputError(f"{task.id} has no MuJoCo model whose bodies could be pushed")
    usual = RARL_FORCES.get(task.name, (None, None))
    bodies = usual[0] if bodies is None else bodies
    force = usual[1] if force is None else force
    if bodies is None or force is None:
        raise InvalidInputError(f"rarl needs bodies and force for {task.id}: it has no default")
    check_number("force", force, above=0)
    if not isinstance(bodies, str):
        raise InvalidInputError(f"bodies must be a text with names, not {bodies!r}")
    model, _ = nominal_model(task)
    names = bodies.split(",")
    places = [find_part(model, "body", name) for name in names]
    if len(set(places)) < len(places):
        raise InvalidInputError(f"bodies must differ from each other, not {bodies}")
    moving = {name: moving_axes(model, place) for name, place in zip(names, places, strict=True)}
    common = "".join(a for a in AXES if all(a in able for able in moving.values()))
    chosen = common if axes is None else axes
    if axes == "" or set(chosen) - set(AXES) or len(set(chosen)) < len(chosen):
        raise InvalidInputError(f"axes must be some of x, y and z, as in xz, not {chosen!r}")
    for name, able in moving.items():
        if useless := [axis for axis in chosen or AXES if axis not in able]:
            raise InvalidInputError(
                f"axes must be able to move {task.id}, and a force on the body {name} cannot "
                f"along {', '.join(useless)}"
            )
    where = np.ix_(places, [AXES.index(axis) for axis in chosen])
    reach = np.full(len(places) * len(chosen), float(force))
    wrap = functools.partial(PushedEnv, where=where, agent_size=task.action_size)
    return joint_game("rarl", float(force), task, Box(-reach, reach), wrap, absent=0 * reach)


def moving_axes(model: Any, body: int) -> str:
    """Those of x, y and z along which a force at the body's centre of mass can move the robot.

    These are the axes where Jᵀ f, the generalised force, is not zero in all of a few random states.
    """
    import mujoco  # mixedne.shifts.model reports in one sentence if it cannot be loaded

    jacobian, largest = np.zeros((3, model.nv)), np.zeros(3)
    for data in random_states(model):
        mujoco.mj_jacBodyCom(model, data, jacobian, None, body)
        largest = np.maximum(largest, np.abs(jacobian).max(axis=1, initial=0))
    return "".join(axis for axis, size in zip(AXES, largest, strict=True) if size > 1e-9)


class PushedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose action is the agent's, followed by a force for each body and axis."""

    def __init__(self, env: gym.Env[Any, Any], where: Any, agent_size: int) -> None:
        """``where``: the indices of the forces in ``xfrc_applied``."""
        super().__init__(env)
        self._where, self._agent_size = where, agent_size
        self._shape = len(where[0]), where[1].size

    def step(self, action: NDArray[np.floating]) -> Any:
        """Step the task while the forces act."""
        force = action[self._agent_size :].reshape(self._shape)
        self.unwrapped.data.xfrc_applied[self._where] = force  # type: ignore[attr-defined]
        return self.env.step(action[: self._agent_size])
