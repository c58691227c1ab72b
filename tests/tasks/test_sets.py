"""Uncertainty sets in the tasks' models: worlds as the originals make them, and what is found."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mixedne.errors import InvalidInputError
from mixedne.shifts import Axis, Shift
from mixedne.shifts.sets import find_set, named_sets, parse_set
from mixedne.tasks import make_env, make_worlds, resolve_task
from mixedne.tasks.registry import nominal_model
from mixedne.tasks.sets import nominal_value, same_contacts, set_faults

Edit = Callable[[Any, float], None]


def mass(body: int) -> Edit:
    def edit(model: Any, value: float) -> None:
        model.body_mass[body] = value

    return edit


def floor_friction(model: Any, value: float) -> None:
    model.geom_friction[0, 0] = value


def all_friction(model: Any, value: float) -> None:
    model.geom_friction[:, 0] = value


# What the public code of RRLS (rrls/envs) and M2TD3 (utils/make_env.py) writes, with its bounds.
# M2TD3 writes friction into the XML's defaults, which reach the floor alone in Hopper and Walker2d.
ORIGINALS: dict[str, list[tuple[Edit, float, float]]] = {
    "Ant": [(mass(1), 0.1, 3.0), (mass(2), 0.01, 3.0), (mass(5), 0.01, 3.0)],
    "HalfCheetah": [(all_friction, 0.1, 4.0), (mass(1), 0.1, 7.0), (mass(2), 0.1, 3.0)],
    "Hopper": [(floor_friction, 0.1, 3.0), (mass(1), 0.1, 3.0), (mass(2), 0.1, 4.0)],
    "Walker2d": [(floor_friction, 0.1, 4.0), (mass(1), 0.1, 5.0), (mass(2), 0.1, 6.0)],
    "HumanoidStandup": [(mass(1), 0.1, 16.0), (mass(6), 0.1, 8.0), (mass(7), 0.1, 5.0)],
    "InvertedPendulum": [(mass(2), 1.0, 31.0), (mass(1), 1.0, 11.0)],
}


def original(name: str, task: str) -> list[tuple[Edit, float, float]]:
    """The edits of a set in a task; one that is fixed has the same bounds."""
    family, dimension = name[:-3], int(name[-2])
    edits = ORIGINALS[task][:dimension]
    if (name, task) == ("rrls-1d", "HalfCheetah"):
        return [(all_friction, 0.1, 3.0)]
    if (name, task) == ("rrls-1d", "InvertedPendulum"):
        return [*edits, (mass(1), 5.018591641363306, 5.018591641363306)]
    if (name, task) == ("m2td3-3d", "Ant"):
        return [*edits[:2], (mass(4), 0.01, 3.0)]
    if (name, task) == ("m2td3-3d", "HumanoidStandup"):
        return [edits[0], (mass(6), 0.1, 5.0), (mass(7), 0.1, 8.0)]
    assert family in ("rrls", "m2td3")
    return edits


CASES = [(name, part.task) for name in named_sets() for part in find_set(name).tasks]


def compare_corners(name: str, stem: str, version: str, steps: int) -> int:
    """Play in two corners of a set, in our worlds and in edited environments, bit for bit."""
    task = resolve_task(f"{stem}-{version}")
    part = find_set(name).of(task.id)
    edits = original(name, stem)
    assert len(edits) == len(part.intervals)
    corners = [
        [(low, high)[(place + first) % 2] for place, (_, low, high) in enumerate(edits)]
        for first in (0, 1)  # low, high, low and high, low, high
    ]
    played = 0
    for corner in corners:
        env = make_env(task)
        for (edit, *_), value in zip(edits, corner, strict=True):
            edit(env.unwrapped.model, value)  # type: ignore[attr-defined]
        held = [
            (interval.low, interval.high)[value == high]
            for interval, (_, _, high), value in zip(part.intervals, edits, corner, strict=True)
        ]
        shift = Shift(zip([interval.axis for interval in part.intervals], held, strict=True))
        worlds = make_worlds(task, [(shift, 3)], threads=1)
        np.testing.assert_array_equal(worlds.reset()[0], env.reset(seed=3)[0])
        rng = np.random.default_rng(1)
        for _ in range(steps):
            action = rng.uniform(task.action_low, task.action_high)
            action *= 0.01 if stem == "InvertedPendulum" else 1  # it falls soon enough
            wanted = env.step(action)[:4]
            for found, expected in zip(worlds.step(action[None]), wanted, strict=True):
                np.testing.assert_array_equal(found[0], expected)
            played += 1
            if wanted[2] or wanted[3]:
                break
        worlds.close()
    return played


@pytest.mark.parametrize(("name", "task"), CASES)
def test_corners_are_worlds_of_the_original(name: str, task: str) -> None:
    assert compare_corners(name, task, "v5", 25) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v4", "v5"])
@pytest.mark.parametrize(("name", "task"), CASES)
def test_whole_episodes_in_corners_are_the_originals(name: str, task: str, version: str) -> None:
    played = compare_corners(name, task, version, 1001)
    if task in ("HalfCheetah", "HumanoidStandup"):  # which nothing ends but the time limit
        assert played == 2000


def test_the_tasks_own_values() -> None:
    hopper, cheetah = resolve_task("Hopper-v5"), resolve_task("HalfCheetah-v5")
    model, _ = nominal_model(hopper)
    assert nominal_value(hopper, Axis.parse("mass[torso]:abs")) == model.body("torso").mass[0]
    assert nominal_value(hopper, Axis.parse("sliding-friction[foot_geom]:abs")) == 2.0
    assert nominal_value(hopper, Axis.parse("gravity:abs")) == pytest.approx(9.81)
    assert nominal_value(hopper, Axis.parse("damping[leg_joint]:abs")) == 1.0
    assert nominal_value(hopper, Axis.parse("mass")) == 1.0
    assert nominal_value(cheetah, Axis.parse("sliding-friction:abs")) == 0.4
    assert nominal_value(hopper, Axis.parse("sliding-friction:abs")) is None  # geoms differ


@pytest.mark.parametrize(
    ("name", "task", "points", "same", "geoms"),
    [
        # Below the foot's 2.0: 0.1 + 0.29 i for i < 7, and 0.1 + 0.322 i for i < 6.
        ("rrls-1d", "Hopper-v5", None, 7, "foot_geom"),
        ("m2td3-1d", "Hopper-v5", None, 6, "foot_geom"),
        ("rrls-1d", "Hopper-v5", 3, 2, "foot_geom"),
        # Below the feet's 1.9: 0.1 + 0.39 i for i < 5.
        ("rrls-3d", "Walker2d-v5", None, 5, "foot_geom and foot_left_geom"),
        ("rrls-3d", "Walker2d-v4", None, 5, "foot_left_geom"),
    ],
)
def test_friction_below_the_foots_is_counted(
    name: str, task: str, points: int | None, same: int, geoms: str
) -> None:
    found = find_set(name)
    (sentence,) = same_contacts(resolve_task(task), found.of(task), found.grid(task, points))
    counted = f"{same} of {points or 10} values of sliding-friction[floor]:abs"
    assert sentence.startswith(f"{counted} give the same contact of {geoms}: MuJoCo takes")


@pytest.mark.parametrize("task", ["HalfCheetah-v5", "Ant-v5", "HumanoidStandup-v5"])
def test_where_every_value_matters_nothing_is_said(task: str) -> None:
    found = find_set("rrls-3d")
    assert same_contacts(resolve_task(task), found.of(task), found.grid(task)) == []
    assert set_faults(found, task) == []


def test_what_another_axis_makes_matter_is_not_counted() -> None:
    """With the foot down to 0.1 too, every value of the floor's friction matters somewhere."""
    text = '[tasks.Hopper]\n"sliding-friction[floor]:abs" = [0.1, 3]\n'
    both = parse_set(f'{text}"sliding-friction[foot_geom]:abs" = [0.1, 2]'.encode(), "b", "b.toml")
    hopper = resolve_task("Hopper-v5")
    of_floor, *_ = same_contacts(hopper, both.of("Hopper"), both.grid("Hopper"))
    # The torso's, thigh's and leg's 0.9 still hide 0.1, 0.42 and 0.74.
    counted = "3 of 10 values of sliding-friction[floor]:abs"
    body = "torso_geom and thigh_geom and leg_geom"
    assert of_floor.startswith(f"{counted} give the same contact of {body}: ")


def test_faults_are_noted_and_found() -> None:
    hopper = set_faults(find_set("rrls-3d"), "Hopper")
    assert hopper[0] == (
        "the set leaves out the task's own mass[torso]:abs 3.67 and mass[thigh]:abs 4.06"
    )
    assert hopper[1].startswith("7 of 10 values of sliding-friction[floor]:abs give the same")
    assert any("ankle of the front left leg" in n for n in set_faults(find_set("m2td3-3d"), "Ant"))
    pendulum = set_faults(find_set("rrls-1d"), "InvertedPendulum")
    assert pendulum[0].startswith("RRLS confuses the masses of cart and pole")
    wrong = parse_set(b'[tasks.Hopper]\n"mass[torsso]:abs" = [1, 2]', "mine", "mine.toml")
    with pytest.raises(InvalidInputError, match=r"mine, \[tasks.Hopper\]: body .*mean 'torso'"):
        set_faults(wrong, "Hopper-v5")
