"""Other Gymnasium tasks behave in the worlds as on their own, and misbehave in one sentence."""

import re
from typing import Any

import numpy as np
import pytest

from mixedne import InvalidInputError
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


@pytest.mark.parametrize("reward", [1, np.float32(1), np.array(1.0), True])
def test_numbers_of_any_kind_are_rewards(reward: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = resolve_task("Pendulum-v1")
    env = make_env(task)
    result: Any = (np.zeros(3), reward, np.bool_(False), 0, {})
    monkeypatch.setattr(env.unwrapped, "step", lambda action: result)
    env.reset(seed=0)
    assert env.step(np.zeros(1))[1] is reward
