"""What must hold for every entry of the registry."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from mixedne.errors import InvalidInputError
from mixedne.shifts import PARAMETERS, Axis, Parameter, Shift
from mixedne.shifts.model import shifted_model
from mixedne.tasks import Task, make_env, make_worlds, resolve_task
from mixedne.tasks.registry import nominal_model
from probes.models import read_factors

SHIFTED = {"rho": 0.4, "noise": 0.3, "observation-noise": 0.1, "action-delay": 2.0, "opponent": 0.5}
"""A number away from the nominal one; 1.5 for the others."""

TARGETS = {"body": "torso", "geom": "foot_geom", "joint": "leg_joint", "actuator": "#1"}
"""Of Hopper."""

every = pytest.mark.parametrize("entry", PARAMETERS.values(), ids=lambda entry: entry.name)
physical = pytest.mark.parametrize(
    "entry",
    [entry for entry in PARAMETERS.values() if entry.physics],
    ids=lambda entry: entry.name,
)


def value(entry: Parameter) -> float:
    return SHIFTED.get(entry.name, 1.5)


def home(entry: Parameter) -> Task:
    if entry.name == "opponent":
        pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo")
        return resolve_task("pettingzoo:probes.duels:duel")
    return resolve_task("toy" if entry.keyword else "Hopper-v5")


def episode(task: Task, shift: Shift, steps: int = 60) -> list[np.ndarray]:
    """What 60 steps give, whatever their end, in the worlds; three are a whole duel."""
    moves = [lambda seen: np.full(1, 0.5)]
    worlds = make_worlds(task, [(shift, 5)], terminate=not task.has_model, opponents=moves)
    rng = np.random.default_rng(2)
    found = [worlds.reset()]
    for _ in range(steps if task.opponent is None else 3):
        action = rng.uniform(task.action_low, task.action_high, (1, task.action_size))
        step = worlds.step(action)
        found += [step.observations, step.rewards]
    worlds.close()
    return found


def same(first: list[Any], second: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@every
def test_the_nominal_number_changes_nothing(entry: Parameter) -> None:
    assert entry.nominal is not None
    assert Shift({entry.name: entry.nominal}) == Shift()
    if entry.physics is not None:
        # Applied all the same, it must leave every bit alone.
        base, _ = nominal_model(home(entry))
        before = [array.copy() for array in entry.physics.arrays(base)]
        forced = shifted_model(base, Shift({entry.name: np.nextafter(1, 2)}))
        undone = [array / np.nextafter(1, 2) for array in entry.physics.arrays(forced)]
        for found, wanted in zip(undone, before, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-15)


@every
def test_a_shifted_number_changes_what_is_seen(entry: Parameter) -> None:
    task = home(entry)
    assert entry.name in task.axes
    assert not same(episode(task, Shift({entry.name: value(entry)})), episode(task, Shift()))


@every
def test_what_is_out_of_bounds_is_refused(entry: Parameter) -> None:
    bounds = entry.bounds
    low = bounds.above if bounds.at_least is None else np.nextafter(bounds.at_least, -1)
    assert low is not None
    assert bounds.at_most is not None
    for number in (low, bounds.at_most * 1.01, np.nan, np.inf):
        with pytest.raises(InvalidInputError, match=f"{entry.name} must be"):
            Shift({entry.name: number})


@every
def test_an_entry_is_complete(entry: Parameter) -> None:
    assert entry.label
    assert entry.noun
    acts = (entry.physics, entry.actions, entry.observations, entry.keyword)
    assert sum(where is not None for where in acts) == 1
    assert (entry.target is None) or (entry.physics is not None)
    for values in entry.grids.values():
        for number in values:
            Axis(entry.name).check(number)
    assert str(Axis.parse(entry.name)) == entry.name


@physical
@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_a_factor_is_read_back_on_the_whole_model_and_on_a_part(
    entry: Parameter, factor: float
) -> None:
    base, _ = nominal_model(resolve_task("Hopper-v5"))
    whole = read_factors(shifted_model(base, Shift({entry.name: factor})), base, entry.name)
    for found in whole:
        assert np.all((found == 1) | np.isclose(found, factor, rtol=1e-15))
    assert np.any(whole[0] != 1)
    if entry.target is None:
        return
    axis = Axis(entry.name, TARGETS[entry.target])
    (found, *_) = read_factors(shifted_model(base, Shift([(axis, factor)])), base, entry.name)
    moved = {int(row) for row in np.argwhere(found != 1)[:, 0]}
    assert len(moved) == 1


@physical
def test_absolute_values_are_exact(entry: Parameter) -> None:
    if entry.unit is None:
        with pytest.raises(InvalidInputError, match="takes factors"):
            Axis.parse(f"{entry.name}[#0]:abs")
        return
    base, _ = nominal_model(resolve_task("Hopper-v5"))
    target = None if entry.target is None else TARGETS[entry.target]
    shift = Shift([(Axis(entry.name, target, absolute=True), 0.7)])
    assert entry.physics is not None
    held = {
        "mass": lambda model: model.body("torso").mass[0],
        "friction": lambda model: model.geom("foot_geom").friction[0],
        "sliding-friction": lambda model: model.geom("foot_geom").friction[0],
        "gravity": lambda model: -model.opt.gravity[2],
        "damping": lambda model: model.joint("leg_joint").damping[0],
    }
    assert held[entry.name](shifted_model(base, shift)) == 0.7


def test_one_sliding_friction_for_every_geom() -> None:
    """HalfCheetah's is set so in the uncertainty sets of others."""
    base, _ = nominal_model(resolve_task("Hopper-v5"))
    found = shifted_model(base, Shift({"sliding-friction:abs": 0.7})).geom_friction
    assert np.all(found[:, 0] == 0.7)
    np.testing.assert_array_equal(found[:, 1:], base.geom_friction[:, 1:])
    assert len(set(base.geom_friction[:, 0])) > 1


def edit_by_hand(model: Any, name: str, number: float) -> None:
    """The shift as one would write it oneself."""
    if name == "mass":
        model.body_mass[:] = model.body_mass * number
    elif name == "friction":
        model.geom_friction[:] = model.geom_friction * number
    elif name == "sliding-friction":
        model.geom_friction[:, 0] = model.geom_friction[:, 0] * number
    elif name == "gravity":
        model.opt.gravity[:] = model.opt.gravity * number
    elif name == "damping":
        model.dof_damping[:] = model.dof_damping * number
    elif name == "actuator-strength":
        model.actuator_gainprm[:, 0] *= number


@physical
@pytest.mark.parametrize("name", ["Hopper-v5", "Ant-v5", "InvertedPendulum-v4"])
def test_worlds_agree_with_gymnasium_and_a_model_edited_by_hand(
    entry: Parameter, name: str
) -> None:
    """Bit for bit, observations, rewards and ends, over an episode."""
    task, number, seed = resolve_task(name), 0.6, 17
    env = make_env(task)
    model: Any = env.unwrapped.model  # type: ignore[attr-defined]
    edit_by_hand(model, entry.name, number)
    worlds = make_worlds(task, [(Shift({entry.name: number}), seed)])
    shifted = make_env(task, Shift({entry.name: number}))
    observation, _ = env.reset(seed=seed)
    np.testing.assert_array_equal(worlds.reset()[0], observation)
    np.testing.assert_array_equal(shifted.reset(seed=seed)[0], observation)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        action = rng.uniform(task.action_low, task.action_high)
        wanted = env.step(action)[:4]
        step = worlds.step(action[None])
        for found, one, expected in zip(step, shifted.step(action), wanted, strict=False):
            np.testing.assert_array_equal(found[0], expected)
            np.testing.assert_array_equal(one, expected)
        if wanted[2] or wanted[3]:
            break
    worlds.close()


def test_importing_the_registry_loads_no_simulator() -> None:
    heavy = "('mujoco', 'gymnasium', 'jax', 'polars')"
    code = f"import sys, mixedne.shifts; sys.exit(str([m for m in {heavy} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
