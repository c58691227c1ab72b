"""Other Gymnasium tasks behave in the worlds as on their own, and misbehave in one sentence."""

import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv

from mixedne import InvalidInputError
from mixedne.config import configure, game_of
from mixedne.games import make_game_env
from mixedne.tasks import Shift, make_env, make_worlds, resolve_task
from probes.faulty import GOOD_STEPS, MISBEHAVIOUR


@pytest.mark.parametrize(
    "name", ["Pendulum-v1", "InvertedDoublePendulum-v5", "MountainCarContinuous-v0"]
)
def test_worlds_are_plain_environments(name: str) -> None:
    task = resolve_task(name)
    shifts = [Shift(), Shift(noise=0.5)]
    if "mass" in task.axes:
        shifts += [Shift(mass=2.0), Shift(mass=2.0, mass_mode="consistent", friction=0.5)]
    cases = [(shift, seed) for seed, shift in enumerate(shifts)]
    worlds = make_worlds(task, cases)
    envs = [make_env(task, shift) for shift, _ in cases]
    starts = [env.reset(seed=seed)[0] for env, (_, seed) in zip(envs, cases, strict=True)]
    np.testing.assert_array_equal(worlds.reset(), starts)
    finished = 0
    for t in range(250):
        actions = np.random.default_rng(t).uniform(-1, 1, (len(worlds.active), task.action_size))
        step = worlds.step(actions)
        results = [envs[w].step(a)[:4] for w, a in zip(worlds.active, actions, strict=True)]
        for found, wanted in zip(step, zip(*results, strict=True), strict=True):
            np.testing.assert_array_equal(found, np.array(wanted))
        done = step.terminated | step.truncated
        finished += done.sum()
        worlds.drop(done)
        if not len(worlds.active):
            break
    worlds.close()
    assert finished == len(cases) or name.startswith("Mountain")


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_what_is_no_result_is_refused_with_the_step_and_what_was_returned(name: str) -> None:
    where, _, words = MISBEHAVIOUR[name]
    task = resolve_task(f"probes.faulty:{name}-v0")
    when = "reset(seed=7)" if where == "reset" else "step 3 after reset(seed=7)"
    start = re.escape(f"the environment {task.id} misbehaves: {when} ")
    env, worlds = make_env(task, Shift(noise=0.5)), make_worlds(task, [(Shift(), 7)])

    def alone() -> None:
        env.reset(seed=7)
        for _ in range(3):
            env.step(np.zeros(1))

    def together() -> None:
        worlds.reset()
        for _ in range(3):
            worlds.step(np.zeros((1, 1)))

    for play in (alone, together):
        with pytest.raises(InvalidInputError, match=start + ".*" + words) as caught:
            play()
        assert "\n" not in str(caught.value)


def test_rewards_that_are_no_numbers_are_refused_on_request() -> None:
    task = resolve_task("probes.faulty:SpoiltReward-v0")
    for env in (make_env(task), make_env(task, finite_rewards=True)):
        env.reset(seed=1)
        for _ in range(GOOD_STEPS):
            env.step(np.zeros(1))
    with pytest.raises(InvalidInputError, match=f"step {GOOD_STEPS + 1} after .* reward nan"):
        env.step(np.zeros(1))


class OwnMass(InvertedPendulumEnv):
    """Sets its own mass in every reset, as a task of randomised domains does."""

    def reset_model(self) -> Any:
        self.model.body_mass[1] = 7.0
        plain: Any = super()
        return plain.reset_model()


class OwnModel(InvertedPendulumEnv):
    """Loads its model again in every reset."""

    def reset(self, **options: Any) -> Any:
        self.model, self.data = self._initialize_simulation()
        return super().reset(**options)


class Kinematic(InvertedPendulumEnv):
    """Puts its joints where it wants them, so that MuJoCo's clock stands still."""

    def step(self, action: Any) -> Any:
        self.data.qpos[:] = 0.1 * action
        return np.concatenate([self.data.qpos, self.data.qvel]), 1.0, False, False, {}


class WithoutData(InvertedPendulumEnv):
    """Has its MjData under a name of its own after the first reset."""

    def reset(self, **options: Any) -> Any:
        self.data = getattr(self, "mine", None) or self.data
        found = super().reset(**options)
        self.mine = self.__dict__.pop("data")
        return found

    def step(self, action: Any) -> Any:
        return np.zeros(4), 1.0, False, False, {}


for kind in (OwnMass, OwnModel, Kinematic, WithoutData):
    gym.register(f"{kind.__name__}-v0", entry_point=kind, max_episode_steps=5)


@pytest.mark.parametrize("name", ["OwnMass-v0", "OwnModel-v0"])
def test_a_shift_that_a_reset_would_undo_is_refused(name: str) -> None:
    """Otherwise every mass would have the same return, as of a robust policy."""
    task, words = resolve_task(name), "mass cannot be shifted: the environment sets the physics"
    make_env(task, Shift(friction=1.5) if name == "OwnMass-v0" else Shift()).reset(seed=1)
    with pytest.raises(InvalidInputError, match=words):
        make_worlds(task, [(Shift(mass=2.0), 1)]).reset()
    with pytest.raises(InvalidInputError, match=words):
        make_env(task, Shift(mass=2.0)).reset(seed=1)
    bounds = ("mass[cart]=0.5:2",)
    set_by_adversary = configure(name, formulation="parameters", parameters=bounds)
    drawn = configure(name, delta=0.0, randomise=bounds)
    for config in (set_by_adversary, drawn):
        env = make_game_env(task, game_of(config, task))
        with pytest.raises(InvalidInputError, match=r"mass\[cart\] cannot be shifted"):
            env.reset(seed=1)


@pytest.mark.parametrize("name", ["Kinematic-v0", "WithoutData-v0"])
def test_a_clock_that_stands_still_or_is_not_there_is_no_divergence(name: str) -> None:
    worlds = make_worlds(resolve_task(name), [(Shift(), 1), (Shift(noise=0.5), 2)])
    worlds.reset()
    for _ in range(3):
        worlds.step(np.zeros((2, 1)))
    assert worlds.diverged.tolist() == [False, False]


@pytest.mark.parametrize("reward", [1, np.float32(1), np.array(1.0), True])
def test_numbers_of_any_kind_are_rewards(reward: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = resolve_task("Pendulum-v1")
    env = make_env(task)
    result: Any = (np.zeros(3), reward, np.bool_(False), 0, {})
    monkeypatch.setattr(env.unwrapped, "step", lambda action: result)
    env.reset(seed=0)
    assert env.step(np.zeros(1))[1] is reward
