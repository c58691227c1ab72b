"""Packing outer steps into calls: each once, in order, with its own K_t, σ_t and minibatches."""

import math
from decimal import Decimal, localcontext
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixedne.config import Config, configure, game_of
from mixedne.tasks import resolve_task
from mixedne.training.collection import Normaliser, transition_layout
from mixedne.training.replay import Layout, Replay
from mixedne.training.streams import Stream, generator
from mixedne.training.updates import OffPolicyUpdater, RunInputs, inner_steps, noise_scale

PENDULUM = "InvertedPendulum-v5"


def make(config: Config) -> tuple[OffPolicyUpdater, Layout]:
    return OffPolicyUpdater(config), transition_layout(game_of(config, resolve_task(config.task)))


def configured(**wishes: Any) -> Config:
    return configure(PENDULUM, **{"hidden": (4,), "batch_size": 3, **wishes})


@settings(max_examples=60)
@given(
    solver=st.sampled_from(["mixedne-ld", "gad", "extra-adam"]),
    updates=st.integers(1, 40),
    policy_delay=st.integers(1, 4),
    inner_max=st.integers(1, 20),
    cycle=st.integers(0, 10_000),
)
def test_every_outer_step_is_made_once_and_in_order(
    solver: str, updates: int, policy_delay: int, inner_max: int, cycle: int
) -> None:
    langevin = {"inner_max": inner_max} if solver == "mixedne-ld" else {}
    config = configured(solver=solver, updates=updates, policy_delay=policy_delay, **langevin)
    updater, _ = make(config)
    first = cycle * updates + 1
    calls = list(updater.calls(first, updates))
    made = [t for call in calls for t in range(call.first, call.first + len(call.inner_steps))]
    assert made == list(range(first, first + updates))
    for call, following in zip(calls, [*calls[1:], None], strict=True):
        t = range(call.first, call.first + len(call.inner_steps))
        moving = [step for step in t if step % policy_delay == 0]
        assert call.moves == len(moving)
        halves = len(moving) if solver == "extra-adam" else 0
        assert call.minibatches == sum(call.inner_steps) + halves
        assert 1 <= len(t) <= updater.capacity
        assert 1 <= call.minibatches <= updater.capacity
        if following is not None:  # no call ends while the next step would still fit
            moves = following.first % policy_delay == 0 and solver == "extra-adam"
            assert call.minibatches + following.inner_steps[0] + moves > updater.capacity


def thresholds(growth: str, most: int) -> dict[int, int]:
    """The first t with K_t = k, for every k from 2 on, with fifty digits."""
    with localcontext() as context:
        context.prec = 50
        rate = (1 + Decimal(growth)).ln()
        return {k: math.ceil(Decimal(k).ln() / rate) for k in range(2, most + 1)}


def test_inner_steps_are_exact_over_a_whole_run() -> None:
    config = configured(solver="mixedne-ld")
    updater, _ = make(config)
    t = np.arange(1, 300_001)
    expected = np.ones_like(t)
    for first in thresholds("1e-5", 15).values():
        expected[first - 1 :] += 1
    assert expected[-1] == 15
    np.testing.assert_array_equal(inner_steps(config, t), expected)
    cycles = (updater.calls(first, 50) for first in range(1, len(t), 50))
    together = [call.inner_steps for calls in cycles for call in calls]
    np.testing.assert_array_equal(np.concatenate(together), expected)


def test_noise_follows_the_outer_counter() -> None:
    updater, _ = make(configured(solver="mixedne-ld", sigma0=0.01, updates=50))
    for first in (1, 51, 100_001, 299_951):
        for call in updater.calls(first, 50):
            controls: Any = updater._controls(call)[0]
            steps = len(call.inner_steps)
            for i in range(steps):
                exact = 0.01 * math.exp((call.first + i) * math.log1p(-5e-5))
                assert controls.noise_scale[i] == np.float32(exact) == pytest.approx(exact)
            np.testing.assert_array_equal(controls.inner_steps[:steps], call.inner_steps)
            assert controls.noise_scale.shape == (updater.capacity,)  # never another program
            assert (controls.noise_scale[steps:] == 0).all()


@pytest.mark.parametrize("wishes", [{"solver": "gad"}, {"solver": "extra-adam"}, {"agent": "sac"}])
def test_solvers_without_chains_have_one_step_and_no_noise(wishes: dict[str, Any]) -> None:
    config, t = configured(**wishes), np.array([1, 300_000])
    assert inner_steps(config, t).tolist() == [1, 1]
    assert noise_scale(config, t).tolist() == [0, 0]


def test_calls_by_hand() -> None:
    # K_t = min(3, ⌊1.5^t⌋) = 1, 2, 3, 3 takes 9 minibatches: 1 + 2, 3, 3 in calls of 4.
    wishes = {"inner_growth": 0.5, "inner_max": 3, "updates": 4}
    updater, _ = make(configured(solver="mixedne-ld", **wishes))
    assert updater.capacity == 4
    calls = [(c.first, list(c.inner_steps), c.minibatches) for c in updater.calls(1, 4)]
    assert calls == [(1, [1, 2], 3), (3, [3], 3), (4, [3], 3)]
    # Extra-Adam takes two where the players move, at t = 2 and 4: 1 + 2, 1 + 2 in calls of 4.
    updater, _ = make(configured(solver="extra-adam", policy_delay=2, updates=4))
    assert [(c.first, c.moves, c.minibatches) for c in updater.calls(1, 4)] == [
        (1, 1, 4),
        (4, 1, 2),
    ]
    # TD3's resting steps keep their K_t: the critics go on.
    updater, _ = make(configured(solver="mixedne-ld", policy_delay=2, **wishes))
    assert [(c.first, c.moves, c.minibatches) for c in updater.calls(1, 4)] == [
        *((1, 1, 3), (3, 0, 3), (4, 1, 3))
    ]


@pytest.mark.parametrize("solver", ["mixedne-ld", "extra-adam"])
def test_a_cycle_feeds_what_its_counter_says(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    langevin = {"inner_growth": 0.2, "inner_max": 4} if solver == "mixedne-ld" else {}
    config = configured(solver=solver, updates=6, seed=11, **langevin)
    updater, layout = make(config)
    replay = Replay.create(None, layout.width, 50, 0)
    numbers = np.arange(50, dtype=np.float32)
    replay.append(np.repeat(numbers[:, None], layout.width, axis=1))
    fed: list[Any] = []
    drawn: list[Any] = []

    def program(
        state: Any, rows: Any, bits: Any, _: Any, steps: Any, controls: Any, key: Any, *_more: Any
    ) -> Any:
        drawn.append(None if bits is None else bits.copy())
        fed.append((rows.copy(), steps, jax.random.key_data(key).tolist()))
        return state, {"payoff": np.zeros([])}

    monkeypatch.setattr(updater, "_program", program)

    def cycle(done: int) -> tuple[list[Any], list[Any]]:
        fed.clear()
        state: Any = SimpleNamespace(players=np.zeros(7, np.float32))
        updater.advance([RunInputs(config, state, replay, Normaliser(0, 1))], done, config.updates)
        return list(updater.calls(done + 1, config.updates)), list(fed)

    calls, first = cycle(6)
    _, again = cycle(6)
    _, other = cycle(12)
    if solver == "mixedne-ld":
        used = calls[0].minibatches
        assert np.array_equal(drawn[0][:used], drawn[len(first)][:used])
        assert not np.array_equal(drawn[0][0], drawn[-1][0])
        assert len(np.unique(drawn[0][:used])) == 8 * used
    else:
        assert drawn == [None] * len(drawn)
    assert sum(len(call.inner_steps) for call in calls) == 6
    assert calls[0].first == 7
    for call, (rows, steps, _) in zip(calls, first, strict=True):
        assert steps == len(call.inner_steps)
        places = generator(11, Stream.MINIBATCH, call.first).integers(
            50, size=(call.minibatches, 3)
        )
        np.testing.assert_array_equal(rows[: call.minibatches, :, 0], numbers[places])
    np.testing.assert_array_equal(first[-1][0], again[-1][0])
    assert [key for *_, key in first] == [key for *_, key in again]
    keys = [str(key) for *_, key in first + other]
    assert len(set(keys)) == len(keys)
    assert (first[0][0] != other[0][0]).any()
