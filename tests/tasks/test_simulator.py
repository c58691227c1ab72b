"""What happens in a world depends on its shift, seed and actions alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.shifts.model import shifted_model
from mixedne.tasks import Shift, from_unit, make_env, make_worlds, resolve_task, simulator
from mixedne.tasks.simulator import MujocoWorlds

Case = tuple[Shift, int]

CASES: list[Case] = [
    (Shift(mass=mass, noise=noise), seed)
    for mass in (0.7, 1.0, 1.5)
    for noise in (0.0, 0.4)
    for seed in (0, 1)
]
CASES_OF = {
    "toy": [
        (Shift(rho=rho, noise=noise), s) for rho in (0.1, 0.9) for noise in (0, 0.3) for s in (0, 1)
    ],
    "Pendulum-v1": [(Shift(noise=noise), seed) for noise in (0.0, 0.4) for seed in (0, 1)],
}
NAMES = ("Hopper", "Ant-v5", "Reacher-v4", "toy", "Pendulum-v1", "InvertedDoublePendulum")


def play(
    name: str, cases: list[Case], threads: int, steps: int = 30
) -> dict[Case, NDArray[np.float64]]:
    """Each world's whole episode, as rows of observation, reward and flags."""
    task = resolve_task(name)
    worlds = make_worlds(task, cases, threads=threads)
    observations = worlds.reset()
    played = [[np.r_[row, 0, 0, 0]] for row in observations]
    for t in range(steps):
        if not len(worlds.active):
            break
        # A policy that knows the world's own episode only.
        unit = [
            np.random.default_rng([cases[w][1], t]).uniform(-1, 1, task.action_size)
            for w in worlds.active
        ]
        step = worlds.step(from_unit(np.array(unit), task.action_low, task.action_high))
        for world, *row in zip(worlds.active, *step, strict=True):
            played[world].append(np.hstack(row))
        worlds.drop(step.terminated | step.truncated)
    worlds.close()
    return {case: np.array(rows) for case, rows in zip(cases, played, strict=True)}


@pytest.mark.parametrize("name", NAMES)
def test_threads_order_and_company_change_nothing(name: str) -> None:
    cases = CASES_OF.get(name, CASES)
    together = play(name, cases, threads=1)
    shuffled = [cases[i] for i in np.random.default_rng(0).permutation(len(cases))]
    for other in (
        play(name, shuffled, threads=2),
        play(name, shuffled, threads=3),
        play(name, cases[:3], threads=2) | play(name, cases[3:], threads=1),
        {case: play(name, [case], threads=2)[case] for case in cases[:2]},
    ):
        for case, episode in other.items():
            np.testing.assert_array_equal(episode, together[case])


@pytest.mark.parametrize("name", NAMES)
def test_a_reset_repeats_the_episode(name: str) -> None:
    task = resolve_task(name)
    worlds = make_worlds(task, CASES_OF.get(name, CASES)[:4], threads=2)
    episodes = []
    for _ in range(2):
        rows = [worlds.reset()]
        rows += [worlds.step(np.full((4, task.action_size), 0.1)).observations for _ in range(4)]
        worlds.drop(np.array([False, True, False, True]))
        assert worlds.active.tolist() == [0, 2]
        rows.append(worlds.step(np.full((2, task.action_size), 0.1)).observations)
        episodes.append(rows)
    for first, second in zip(*episodes, strict=True):
        np.testing.assert_array_equal(first, second)
    worlds.close()


@pytest.mark.parametrize("name", ["Hopper", "Pendulum-v1", "toy"])
def test_all_worlds_may_leave(name: str) -> None:
    task = resolve_task(name)
    worlds = make_worlds(task, [(Shift(), 0), (Shift(noise=0.2), 1)])
    worlds.reset()
    worlds.drop(np.ones(2, bool))
    step = worlds.step(np.empty((0, task.action_size)))
    assert step.observations.shape == (0, task.observation_size)
    assert [len(part) for part in step] == [0, 0, 0, 0]


def test_results_are_the_callers_to_keep() -> None:
    """No array that a step returned may change later."""
    for name in ("Hopper", "Ant-v5", "Humanoid", "toy"):
        task = resolve_task(name)
        worlds = make_worlds(task, [(Shift(), 0), (Shift(), 1)])
        kept: list[NDArray[Any]] = [worlds.reset()]
        copies = [kept[0].copy()]
        for _ in range(3):
            step = worlds.step(np.ones((2, task.action_size)))
            kept.extend(step)
            copies.extend(part.copy() for part in step)
        for array, copy in zip(kept, copies, strict=True):
            np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("actions", [np.zeros((2, 3)), np.zeros((1, 2)), np.zeros(3)])
def test_actions_of_the_wrong_shape_are_refused(actions: NDArray[np.float64]) -> None:
    worlds = make_worlds(resolve_task("Hopper"), [(Shift(), 0)])
    worlds.reset()
    with pytest.raises(InvalidInputError, match="must have the shape"):
        worlds.step(actions)


def test_actions_that_are_not_finite_are_refused() -> None:
    worlds = make_worlds(resolve_task("Hopper"), [(Shift(), 0)])
    worlds.reset()
    with pytest.raises(InvalidInputError, match="finite"):
        worlds.step(np.array([[0.0, np.nan, 0.0]]))


def test_bad_worlds_are_refused() -> None:
    hopper, pendulum = resolve_task("Hopper"), resolve_task("Pendulum-v1")
    with pytest.raises(InvalidInputError, match="at least one world"):
        make_worlds(hopper, [])
    with pytest.raises(InvalidInputError, match="seed"):
        make_worlds(hopper, [(Shift(), -1)])
    with pytest.raises(InvalidInputError, match="threads"):
        make_worlds(hopper, [(Shift(), 0)], threads=0)
    with pytest.raises(InvalidInputError, match="Hopper-v5 has no axis rho"):
        make_worlds(hopper, [(Shift(rho=0.1), 0)])
    with pytest.raises(InvalidInputError, match="Pendulum-v1 has no axis mass"):
        make_worlds(pendulum, [(Shift(mass=2), 0)])
    with pytest.raises(InvalidInputError, match="cannot be turned off"):
        make_worlds(pendulum, [(Shift(), 0)], terminate=False)


@pytest.mark.parametrize("name", ["Hopper", "Ant-v5", "Humanoid"])
def test_a_world_that_flies_apart_says_nothing(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """MuJoCo warns, writes a log and starts the world anew; so it does in Gymnasium."""
    monkeypatch.chdir(tmp_path)
    task = resolve_task(name)
    worlds = make_worlds(task, [(Shift(), 0)], terminate=False)
    assert isinstance(worlds, MujocoWorlds)
    env = make_env(task, terminate_when_unhealthy=False)
    worlds.reset()
    env.reset(seed=0)
    worlds._physics.read["qvel"][:] = 1e12
    env.unwrapped.data.qvel[:] = 1e12  # type: ignore[attr-defined]
    for _ in range(3):
        step = worlds.step(np.full((1, task.action_size), 0.3))
        observation, reward, *_ = env.step(np.full(task.action_size, 0.3))
        np.testing.assert_array_equal(step.observations[0], observation)
        np.testing.assert_array_equal(step.rewards[0], reward)
    assert np.isfinite(step.observations).all()
    assert np.abs(step.observations[0, : task.action_size]).max() < 10
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_worlds_of_the_same_physics_share_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def spy(nominal: Any, shift: Shift) -> Any:
        made.append(shift)
        return shifted_model(nominal, shift)

    monkeypatch.setattr(simulator, "shifted_model", spy)
    make_worlds(resolve_task("Hopper"), CASES)  # three masses, two noises, two seeds
    assert sorted(shift.number("mass") or 0 for shift in made) == [0.7, 1.0, 1.5]


@pytest.mark.slow
def test_ten_thousand_hoppers_fit_into_memory() -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cases = [(Shift(mass=1 + (i % 100) / 100, noise=0.1), i) for i in range(10_000)]
    task = resolve_task("Hopper")
    worlds = make_worlds(task, cases)
    worlds.reset()
    for _ in range(3):
        worlds.step(np.zeros((len(cases), task.action_size)))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 400  # MiB
