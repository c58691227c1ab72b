"""When an episode ends: the limits, against Gymnasium's own, at and around their edges."""

from itertools import product

import numpy as np
import pytest

from mixedne.tasks import make_env, resolve_task
from mixedne.tasks.mujoco_tasks import TASK_SPECS, InvertedPendulum, Runner, State

EDGES = (0.2, 0.7, 0.8, 1.0, 2.0)


def around(*edges: float) -> list[float]:
    """Each edge, a hair below and a hair above."""
    return [x for edge in edges for x in (np.nextafter(edge, -9), edge, np.nextafter(edge, 9))]


def state_of(qpos: list[float], qvel: list[float]) -> State:
    return State(np.array([qpos]), np.array([qvel]))


@pytest.mark.parametrize("version", ["v4", "v5"])
@pytest.mark.parametrize("name", ["Walker2d", "Hopper", "Ant", "Humanoid"])
def test_robots_are_healthy_when_gymnasium_says_so(name: str, version: str) -> None:
    spec = TASK_SPECS[name, version]
    assert isinstance(spec, Runner)
    env = make_env(resolve_task(f"{name}-{version}")).unwrapped
    env.reset(seed=0)
    data = env.data  # type: ignore[attr-defined]
    seen = set()
    for height, lean, extreme in product(
        around(*EDGES), around(-1.0, -0.2, 0.2, 1.0), (0.0, 99.0, 100.0, -100.0, np.nan, np.inf)
    ):
        data.qpos[1:3] = (height, lean) if name in ("Walker2d", "Hopper") else (lean, height)
        data.qvel[-1] = extreme
        wanted = bool(env.is_healthy)  # type: ignore[attr-defined]
        seen.add(wanted)
        found = spec.healthy(state_of(data.qpos.tolist(), data.qvel.tolist()))
        assert found.tolist() == [wanted], (height, lean, extreme)
    assert seen == {True, False}


@pytest.mark.parametrize("version", ["v4", "v5"])
def test_the_pole_may_lean_by_a_fifth(version: str) -> None:
    """Gymnasium ends the episode if |angle| > 0.2 or anything is not finite."""
    spec = TASK_SPECS["InvertedPendulum", version]
    assert isinstance(spec, InvertedPendulum)
    one = np.ones((1, 1))
    for angle, speed, healthy in [
        (0.2, 0.0, True),
        (-0.2, 0.0, True),
        (np.nextafter(0.2, 1), 0.0, False),
        (np.nextafter(-0.2, -1), 0.0, False),
        (0.0, np.inf, False),
        (0.0, np.nan, False),
    ]:
        rewards, done = spec.reward_and_done(
            one, one, np.array([0.04]), state_of([0.0, angle], [0.0, speed]), one, True
        )
        assert done.tolist() == [not healthy]
        assert rewards.tolist() == [1.0 if healthy or version == "v4" else 0.0]
