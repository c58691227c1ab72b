"""RARL: the forces reach the bodies, move the robot, and change nothing else."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from mixedne import InvalidInputError
from mixedne.games import Game, make_game, make_game_env
from mixedne.tasks import PAPER_TASKS, Task, resolve_task

TASKS = [name for name in PAPER_TASKS if name != "Reacher"]
"""Those with bodies and force of their own."""


def rarl(task: Task, **settings: Any) -> Game:
    return make_game(task, "rarl", **settings)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
@pytest.mark.parametrize("name", [f"{name}-{v}" for name in TASKS for v in ("v4", "v5")])
def test_whole_episodes_agree_with_gymnasium(name: str) -> None:
    """Bit for bit, with a plain loop that writes the same forces."""
    task = resolve_task(name)
    game = rarl(task)
    body = "pole" if task.name == "InvertedPendulum" else "torso"
    axes = {"Ant": "xyz", "Humanoid": "xyz", "Swimmer": "xy"}.get(task.name, "xz")
    env, plain = make_game_env(task, game), gym.make(name)
    robot: Any = plain.unwrapped
    pushed = robot.data.body(body).id, ["xyz".index(axis) for axis in axes]
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(env.reset(seed=5)[0], plain.reset(seed=5)[0])
    for episode in range(3):
        for _ in range(1000):
            joint = rng.uniform(*game.executed).astype(np.float32)
            action, force = joint[: task.action_size], joint[task.action_size :]
            robot.data.xfrc_applied[pushed] = force
            found, expected = env.step(joint)[:4], plain.step(action)[:4]
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
            if found[2] or found[3]:
                break
        starts = (each.reset(seed=episode) for each in (env, plain))
        np.testing.assert_array_equal(*(observation for observation, _ in starts))


def test_the_force_is_written_anew_at_every_step_and_gone_after_a_reset() -> None:
    task = resolve_task("Hopper")
    game = rarl(task, bodies="foot,torso", axes="zx", force=3)
    env = make_game_env(task, game)
    data: Any = env.unwrapped.data  # type: ignore[attr-defined]
    env.reset(seed=0)
    high = np.array([1, 1, 1, 3, 3, 3, 3], np.float32)
    assert env.action_space == gym.spaces.Box(-high, high)
    for scale in (1, 2):
        env.step(np.array([0, 0, 0, scale * 1.0, -0.5, 0.25, 0], np.float32))
        expected = np.zeros((5, 6))
        expected[4, [2, 0]] = scale, -0.5
        expected[1, 2] = 0.25
        np.testing.assert_array_equal(data.xfrc_applied, expected)
    env.reset(seed=0)
    assert not data.xfrc_applied.any()


def test_the_robot_is_accelerated() -> None:
    """F = m a: a push of 5 N for a step moves the centre of mass of a flying Hopper by F t / m."""
    task = resolve_task("Hopper")
    env = make_game_env(task, rarl(task))
    robot: Any = env.unwrapped
    speeds = []
    for force in (0.0, 5.0):
        env.reset(seed=0)
        robot.set_state(robot.init_qpos + 3 * np.eye(6)[1], robot.init_qvel)
        env.step(np.array([0, 0, 0, force, 0], np.float32))
        masses = robot.model.body_mass
        before = masses @ robot.data.xipos[:, 0]
        env.step(np.array([0, 0, 0, 0, 0], np.float32))
        after = masses @ robot.data.xipos[:, 0]
        speeds.append((after - before) / robot.dt)
    assert speeds[0] == pytest.approx(0, abs=0.02)
    assert speeds[1] - speeds[0] == pytest.approx(5 * robot.dt, rel=0.15)


@pytest.mark.parametrize(("name", "cost"), [("Ant", 5e-4), ("Humanoid", 5e-7)])
def test_pushes_count_as_contacts(name: str, cost: float) -> None:
    """Gymnasium's v5 observes and charges MuJoCo's external forces, which hold the pushes."""
    task = resolve_task(name)
    env = make_game_env(task, rarl(task))
    robot: Any = env.unwrapped
    seen = []
    for force in (0.0, 0.5):
        env.reset(seed=0)
        high = robot.init_qpos + 5 * np.eye(robot.model.nq)[2]
        robot.set_state(high, robot.init_qvel)
        joint = np.zeros(task.action_size + 3, np.float32)
        joint[task.action_size] = force
        observation, _, _, _, info = env.step(joint)
        assert robot.data.ncon == 0
        seen.append(np.count_nonzero(observation[-6 * (robot.model.nbody - 1) :]))
        paid = cost * np.square(robot.data.cfrc_ext).sum()
        assert -info["reward_contact"] == pytest.approx(paid, abs=1e-12)
        assert robot.data.cfrc_ext[1, 3] == pytest.approx(force)
    assert seen[0] == 0 < seen[1]


def test_without_axes_all_that_move_the_bodies() -> None:
    assert {name: rarl(resolve_task(name)).sizes.adversary for name in TASKS} == {
        **dict.fromkeys(("Walker2d", "Hopper", "HalfCheetah", "Swimmer", "InvertedPendulum"), 2),
        **dict.fromkeys(("Ant", "Humanoid"), 3),
    }
    both = rarl(resolve_task("InvertedPendulum"), bodies="cart,pole")
    assert both.sizes.adversary == 2  # the cart moves along x alone
    assert rarl(resolve_task("Hopper"), bodies="#1,#4").sizes.adversary == 4


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("Reacher", {}, "rarl needs bodies and force for Reacher-v5: it has no default"),
        ("Reacher", {"bodies": "fingertip"}, "needs bodies and force"),
        ("toy", {"bodies": "torso", "force": 1.0}, "toy has no MuJoCo model"),
        ("Hopper", {"bodies": "tors"}, "body must be one of .*did you mean 'torso'"),
        ("Hopper", {"bodies": "#5"}, "body must be a name or #0 to #4, not #5"),
        ("Hopper", {"bodies": "torso,#1"}, "bodies must differ from each other, not torso,#1"),
        ("Hopper", {"axes": "xy"}, "axes must be able to move Hopper-v5, .* torso cannot along y"),
        ("Swimmer", {"axes": "z"}, "cannot along z"),
        ("Hopper", {"bodies": "world"}, "the body world cannot along x, y, z"),
        ("Hopper", {"axes": "xw"}, "axes must be some of x, y and z, as in xz, not 'xw'"),
        ("Hopper", {"axes": "xx"}, "axes must be some of"),
        ("Hopper", {"axes": ""}, "axes must be some of x, y and z, as in xz, not ''"),
        ("Hopper", {"bodies": ""}, "body must be one of .*not ''"),
        ("Hopper", {"force": 0.0}, "force must be above 0, not 0.0"),
    ],
)
def test_refusals(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        rarl(resolve_task(name), **settings)


def test_with_a_force_given_reacher_is_pushed() -> None:
    game = rarl(resolve_task("Reacher"), bodies="fingertip", force=0.01)
    assert game.sizes == (2, 2)
