"""Shifts of actions and observations: by hand, and drawn from seed and step alone."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mixedne.shifts import Channels, Shift
from mixedne.shifts.channels import (
    ACTION_NOISE,
    OBSERVATION_NOISE,
    ActionDelay,
    ActionNoise,
    DrawStream,
    ObservationNoise,
    episode_generator,
)
from mixedne.tasks import make_env, make_worlds, resolve_task


def spaces(low: Any, high: Any, observations: int = 1) -> Any:
    return SimpleNamespace(
        action_low=np.array(low, float),
        action_high=np.array(high, float),
        observation_size=observations,
    )


def test_noise_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """u = 0.25: replaced at p = 0.3, not at 0.25; 0.5 and 1/8 of the box [-2, 2]."""
    draws = np.array([[0.25, 0.5, 0.125], [0.25, 0.5, 0.125]])
    monkeypatch.setattr(DrawStream, "draw", lambda self, worlds: draws)
    noise = ActionNoise(np.array([0.3, 0.25]), [0, 0], spaces([-2, -2], [2, 2]))
    mixed = noise(np.array([[9.0, 9.0], [9.0, 9.0]], np.float32))
    np.testing.assert_array_equal(mixed, [[0.0, -1.5], [9.0, 9.0]])
    assert mixed.dtype == np.float32


def noisy(*probabilities: float, seed: int = 5, size: int = 3) -> Channels:
    shifts = [Shift(noise=p) for p in probabilities]
    box = np.ones(size)
    return Channels("actions", shifts, [seed] * len(shifts), spaces(-box, box))


def test_worlds_that_differ_in_noise_meet_the_same_draws() -> None:
    """Whoever is replaced at a small p is replaced by the same action at a large one."""
    noise = noisy(0.0, 0.2, 0.7, 1.0)
    policy = np.full((4, 3), 7.0)
    replaced = np.zeros(4)
    for _ in range(200):
        calm, little, much, always = noise(policy)
        np.testing.assert_array_equal(calm, policy[0])
        assert np.all(np.abs(always) <= 1)
        for mixed in (little, much):
            assert np.array_equal(mixed, policy[0]) or np.array_equal(mixed, always)
        if not np.array_equal(little, policy[0]):
            assert np.array_equal(much, always)
        replaced += [np.array_equal(row, always) for row in (calm, little, much, always)]
    assert replaced[0] == 0
    assert 20 < replaced[1] < 60  # 40 expected, standard deviation 5.7
    assert 115 < replaced[2] < 165  # 140 expected, standard deviation 6.5


@pytest.mark.parametrize("law", ["uniform", "normal"])
def test_draws_do_not_depend_on_how_many_are_drawn_at_once(law: str) -> None:
    generators = [episode_generator(seed, ACTION_NOISE) for seed in (3, 4)]
    laws = [np.random.Generator.standard_normal] if law == "normal" else []
    stream = DrawStream(generators, 4, *laws)
    one = episode_generator(4, ACTION_NOISE)
    for step in range(150):
        draws = stream.draw(np.array([0, 1] if step < 70 else [1]))  # the first leaves
        wanted = one.standard_normal(4) if law == "normal" else one.random(4)
        np.testing.assert_array_equal(draws[-1], wanted)


def test_noise_is_independent_of_the_initial_state() -> None:
    """Same seed, other stream: no noise may repeat the numbers of the reset or of another."""
    from gymnasium.utils import seeding

    streams = [
        seeding.np_random(8)[0].random(1000),
        episode_generator(8, ACTION_NOISE).random(1000),
        episode_generator(8, OBSERVATION_NOISE).random(1000),
    ]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(streams[i], streams[j])[0, 1]) < 0.1
        assert not np.isin(streams[i], streams[j]).any()


@pytest.mark.parametrize("name", ["Humanoid", "InvertedPendulum"])
def test_random_actions_fill_the_tasks_box(name: str) -> None:
    task = resolve_task(name)
    noise = ActionNoise(np.ones(1), [0], task)
    drawn = np.array([noise(np.zeros((1, task.action_size)))[0] for _ in range(500)])
    assert np.all((drawn >= task.action_low) & (drawn <= task.action_high))
    np.testing.assert_allclose(drawn.min(axis=0), task.action_low, atol=0.03 * task.action_high[0])
    np.testing.assert_allclose(drawn.max(axis=0), task.action_high, atol=0.03 * task.action_high[0])


def test_delayed_actions_by_hand() -> None:
    """The box [0, 4] rests at 2. Delays 1 and 3; the first world leaves after three steps."""
    delay = ActionDelay(np.array([1.0, 3.0]), [0, 0], spaces([0], [4]))
    received = [delay(np.full((2, 1), t, np.float32))[:, 0].tolist() for t in (10, 11, 12)]
    assert received == [[2, 2], [10, 2], [11, 2]]
    left = np.array([1])
    assert [delay(np.full((1, 1), t), left)[0, 0] for t in (13, 14)] == [10, 11]


def test_a_delay_of_none_beside_delays() -> None:
    channels = Channels("actions", [Shift(), Shift({"action-delay": 2})], [0, 0], spaces([-1], [1]))
    actions = np.array([[[t], [t]] for t in (1.0, 2.0, 3.0)])
    assert [channels(rows)[:, 0].tolist() for rows in actions] == [[1, 0], [2, 0], [3, 1]]
    np.testing.assert_array_equal(actions[:, 0], actions[:, 1])  # the caller's are left alone


def test_observation_noise_is_normal_scaled_and_paired() -> None:
    noise = ObservationNoise(np.array([0.5, 2.0]), [7, 7], spaces([0], [1], 3))
    seen = np.array([noise(np.full((2, 3), 10.0)) for _ in range(2000)]) - 10.0
    np.testing.assert_allclose(4 * seen[:, 0], seen[:, 1], rtol=0, atol=1e-12)
    assert abs(seen[:, 0].mean()) < 0.03  # standard error 0.0065
    assert abs(seen[:, 0].std() - 0.5) < 0.02


def own_loop(env: Any, shift: str, value: float, seed: int, actions: NDArray[Any]) -> list[Any]:
    """A plain environment, with the shift written out once more."""
    draws = episode_generator(seed, ACTION_NOISE if shift == "noise" else OBSERVATION_NOISE)
    space, sent, steps = env.action_space, [], []

    def seen(observation: Any) -> Any:
        if shift != "observation-noise":
            return observation
        return observation + value * draws.standard_normal(len(observation))

    start = seen(env.reset(seed=seed)[0])
    for t, action in enumerate(actions):
        sent.append(action)
        received = action
        if shift == "action-delay":
            middle = (space.low.astype(float) + space.high.astype(float)) / 2
            received = sent[t - int(value)] if t >= value else middle
        if shift == "noise":
            u = draws.random(1 + len(action))
            low, high = space.low.astype(float), space.high.astype(float)
            received = low + (high - low) * u[1:] if u[0] < value else action
        observation, *rest = env.step(received)
        steps.append((seen(observation), *rest[:3]))
        if rest[1] or rest[2]:
            break
    return [start, *steps]


@pytest.mark.parametrize("name", ["Hopper-v5", "Ant-v5", "Pendulum-v1", "toy"])
@pytest.mark.parametrize(
    ("shift", "value"), [("noise", 0.3), ("action-delay", 3), ("observation-noise", 0.1)]
)
def test_worlds_environments_and_a_loop_of_ones_own_agree(
    name: str, shift: str, value: float
) -> None:
    task, seed = resolve_task(name), 11
    actions = np.random.default_rng(3).uniform(
        task.action_low, task.action_high, (80, task.action_size)
    )
    wanted = own_loop(make_env(task), shift, value, seed, actions)
    env = make_env(task, Shift({shift: value}))
    worlds = make_worlds(task, [(Shift(), 1), (Shift({shift: value}), seed)])
    np.testing.assert_array_equal(env.reset(seed=seed)[0], wanted[0])
    np.testing.assert_array_equal(worlds.reset()[1], wanted[0])
    for action, expected in zip(actions, wanted[1:], strict=False):
        found = env.step(action)
        step = worlds.step(np.tile(action, (len(worlds.active), 1)))
        for one, batched, own in zip(found, step, expected, strict=False):
            np.testing.assert_array_equal(one, own)
            np.testing.assert_array_equal(batched[-1], own)
        done = step.terminated | step.truncated
        done[-1] = False
        worlds.drop(done)
    worlds.close()


def test_an_environment_without_a_seed_has_noise_too() -> None:
    env = make_env(resolve_task("Pendulum-v1"), Shift({"observation-noise": 1.0}))
    assert not np.array_equal(env.reset()[0], env.reset()[0])
