"""Rescaling, and noise that depends on seed and step alone."""

import numpy as np
import pytest

from mixedne.tasks import Shift, from_unit, make_env, make_worlds, resolve_task, to_unit
from mixedne.tasks.actions import ActionNoise, DrawStream, noise_generator, replace_actions


def test_rescaling_reaches_the_edges_and_back() -> None:
    low, high = np.array([-3.0, 0.0]), np.array([3.0, 10.0])
    np.testing.assert_array_equal(from_unit(np.array([-1.0, -1.0]), low, high), low)
    np.testing.assert_array_equal(from_unit(np.array([1.0, 1.0]), low, high), high)
    np.testing.assert_array_equal(from_unit(np.zeros(2), low, high), [0.0, 5.0])
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    np.testing.assert_allclose(to_unit(from_unit(actions, low, high), low, high), actions)


def test_a_box_of_one_is_left_exactly_alone() -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (1000, 3))
    one = np.ones(3)
    np.testing.assert_array_equal(from_unit(actions, -one, one), actions)
    np.testing.assert_array_equal(to_unit(actions, -one, one), actions)


def test_noise_by_hand() -> None:
    """u = 0.25: replaced at p = 0.3, not at 0.25; 0.5 and 1/8 of the box [-2, 2]."""
    actions = np.array([[9.0, 9.0], [9.0, 9.0]], np.float32)
    draws = np.array([[0.25, 0.5, 0.125], [0.25, 0.5, 0.125]])
    box = 2 * np.ones(2)
    mixed = replace_actions(actions, draws, np.array([0.3, 0.25]), -box, box)
    np.testing.assert_array_equal(mixed, [[0.0, -1.5], [9.0, 9.0]])
    assert mixed.dtype == np.float32


def test_worlds_that_differ_in_noise_meet_the_same_draws() -> None:
    """Whoever is replaced at a small p is replaced by the same action at a large one."""
    box = np.ones(3)
    noise = ActionNoise([0.0, 0.2, 0.7, 1.0], [5, 5, 5, 5], -box, box)
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


def test_draws_do_not_depend_on_how_many_are_drawn_at_once() -> None:
    stream = DrawStream([noise_generator(3), noise_generator(4)], 4)
    one = noise_generator(4)
    for step in range(150):
        draws = stream.draw()
        np.testing.assert_array_equal(draws[-1], one.random(4))
        if step == 70:
            stream.keep(np.array([False, True]))


def test_noise_is_independent_of_the_initial_state() -> None:
    """Same seed, other stream: the noise must not repeat the numbers of the reset."""
    from gymnasium.utils import seeding

    reset = seeding.np_random(8)[0].random(1000)
    noise = noise_generator(8).random(1000)
    assert abs(np.corrcoef(reset, noise)[0, 1]) < 0.1
    assert not np.isin(noise, reset).any()


@pytest.mark.parametrize("name", ["Humanoid", "InvertedPendulum"])
def test_random_actions_fill_the_tasks_box(name: str) -> None:
    task = resolve_task(name)
    noise = ActionNoise([1.0], [0], task.action_low, task.action_high)
    drawn = np.array([noise(np.zeros((1, task.action_size)))[0] for _ in range(500)])
    assert np.all((drawn >= task.action_low) & (drawn <= task.action_high))
    np.testing.assert_allclose(drawn.min(axis=0), task.action_low, atol=0.03 * task.action_high[0])
    np.testing.assert_allclose(drawn.max(axis=0), task.action_high, atol=0.03 * task.action_high[0])


def test_an_environment_and_the_worlds_meet_the_same_noise() -> None:
    task = resolve_task("Pendulum-v1")
    worlds = make_worlds(task, [(Shift(noise=0.5), 9)])
    env = make_env(task, Shift(noise=0.5))
    np.testing.assert_array_equal(worlds.reset()[0], env.reset(seed=9)[0])
    for _ in range(100):
        step = worlds.step(np.array([[0.3]]))
        np.testing.assert_array_equal(step.observations[0], env.step(np.array([0.3]))[0])
