"""Other Gymnasium tasks behave in the worlds as on their own."""

import numpy as np
import pytest

from mixedne.tasks import Shift, make_env, make_worlds, resolve_task


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
