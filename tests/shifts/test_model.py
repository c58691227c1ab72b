"""Shifts reach the physics, change the motion and can be read back."""

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from mixedne.errors import InvalidInputError
from mixedne.shifts import Axis
from mixedne.shifts.model import (
    check_targets,
    contact_frictions,
    frictional_pairs,
    shifted_model,
    verify_shift,
)
from mixedne.tasks import PAPER_TASKS, Shift, Task, make_env, resolve_task, shift_effects
from mixedne.tasks.registry import nominal_model
from probes.models import read_factors

SHIFTS = [
    Shift(mass=1.7),
    Shift(mass=0.5, mass_mode="consistent"),
    Shift(friction=2.0),
    Shift(mass=2.0, mass_mode="consistent", friction=0.5),
]


def nominal(name: str) -> mujoco.MjModel:
    return nominal_model(resolve_task(name))[0]


def numbers(model: mujoco.MjModel) -> dict[str, NDArray[np.float64]]:
    """Every number that a model holds, its options and statistics included."""
    found = {}
    for part in (model, model.opt, model.stat):
        for name in dir(part):
            value = None if name.startswith("_") else getattr(part, name)
            if isinstance(value, np.ndarray | int | float):
                found[f"{type(part).__name__}.{name}"] = np.array(value)
    assert "MjModel.body_mass" in found
    assert "MjOption.timestep" in found
    assert "MjStatistic.meaninertia" in found
    return found


def changed(first: mujoco.MjModel, second: mujoco.MjModel) -> set[str]:
    one, two = numbers(first), numbers(second)
    return {name.split(".")[1] for name in one if not np.array_equal(one[name], two[name])}


def motion(name: str, shift: Shift) -> NDArray[np.float64]:
    """Observations along an episode without regard to its end."""
    task = resolve_task(name)
    env = make_env(task, shift)
    env.reset(seed=5)
    actions = np.random.default_rng(2).uniform(
        task.action_low, task.action_high, (60, task.action_size)
    )
    return np.array([env.step(action)[0] for action in actions])


def without_effect(task: Task, shift: Shift) -> tuple[str, ...]:
    return tuple(str(axis) for axis, effect in shift_effects(task, shift).items() if effect == 0)


@pytest.mark.parametrize("name", PAPER_TASKS)
@pytest.mark.parametrize("shift", SHIFTS, ids=str)
def test_a_shift_is_applied_and_read_back(name: str, shift: Shift) -> None:
    base = nominal(name)
    model = shifted_model(base, shift)
    mass, friction = shift.number("mass"), shift.number("friction")
    assert mass is not None
    assert friction is not None
    np.testing.assert_allclose(read_factors(model, base, "mass")[0][1:], mass, rtol=1e-15)
    np.testing.assert_allclose(read_factors(model, base, "friction")[0], friction, rtol=1e-15)
    derived = mass if shift.mass_mode == "consistent" else 1
    np.testing.assert_allclose(model.body_inertia, derived * base.body_inertia, rtol=1e-15)
    total = model.body_subtreemass[0] / base.body_subtreemass[0]
    np.testing.assert_allclose(total, derived, rtol=1e-15)


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_a_shift_changes_nothing_else(name: str) -> None:
    base = nominal(name)
    assert changed(shifted_model(base, Shift(mass=2.0)), base) == {"body_mass"}
    assert changed(shifted_model(base, Shift(friction=2.0)), base) == {"geom_friction"}
    derived = {
        "actuator_acc0",
        "body_inertia",
        "body_invweight0",
        "body_mass",
        "body_subtreemass",
        "dof_M0",
        "dof_invweight0",
        "tendon_invweight0",
    }
    consistent = changed(shifted_model(base, Shift(mass=2.0, mass_mode="consistent")), base)
    assert consistent | {"tendon_invweight0"} == derived
    assert changed(shifted_model(base, Shift(mass_mode="consistent")), base) == set()


def test_consistent_mass_is_that_of_a_denser_robot() -> None:
    """Compiling the same robot from a denser material must give the same constants."""
    xml = """
    <mujoco><option gravity="0 0 -9.81"/><default><geom density="{density}"/></default>
    <worldbody><geom type="plane" size="1 1 1"/><body name="arm" pos="0 0 1">
    <joint name="shoulder" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 .1"/>
    <body name="hand" pos=".3 0 .1"><joint axis="0 1 1"/><geom size=".1"/></body></body>
    </worldbody><actuator><motor joint="shoulder"/></actuator></mujoco>"""
    light, heavy = (mujoco.MjModel.from_xml_string(xml.format(density=d)) for d in (500, 1500))
    shifted = shifted_model(light, Shift(mass=3.0, mass_mode="consistent"))
    for field in (
        "body_mass",
        "body_inertia",
        "body_subtreemass",
        "dof_M0",
        "dof_invweight0",
        "body_invweight0",
        "actuator_acc0",
    ):
        np.testing.assert_allclose(getattr(shifted, field), getattr(heavy, field), rtol=1e-12)


def test_named_bodies_and_geoms_come_on_top() -> None:
    base = nominal("Hopper")
    shift = Shift({"mass[foot]": 1.5, "friction[foot_geom]": 0.5}, mass=2.0, friction=3.0)
    model = shifted_model(base, shift)
    (mass,), (friction,) = (read_factors(model, base, name) for name in ("mass", "friction"))
    assert mass[base.body("foot").id] == 3.0
    assert mass[base.body("torso").id] == 2.0
    np.testing.assert_allclose(friction[base.geom("foot_geom").id], 1.5)
    np.testing.assert_allclose(friction[base.geom("floor").id], 3.0)


@pytest.mark.parametrize(
    "field", ["body_mass", "body_inertia", "geom_friction", "body_subtreemass"]
)
def test_a_shift_that_did_not_reach_the_physics_is_noticed(field: str) -> None:
    base = nominal("Hopper")
    model = shifted_model(base, Shift(mass=2.0, mass_mode="consistent", friction=2.0))
    getattr(model, field)[...] = getattr(base, field)
    with pytest.raises(RuntimeError, match="did not reach the physics"):
        verify_shift(model, base, Shift(mass=2.0, mass_mode="consistent", friction=2.0))


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_a_shift_changes_the_motion_unless_it_is_reported(name: str) -> None:
    task, still = resolve_task(name), motion(name, Shift())
    for shift in (
        Shift(mass=1.5),
        Shift(mass=1.5, mass_mode="consistent"),
        Shift(friction=0.3),
        Shift(noise=0.5),
    ):
        moved = not np.array_equal(motion(name, shift), still)
        assert moved != bool(without_effect(task, shift))


def test_the_two_modes_of_mass_differ() -> None:
    assert not np.array_equal(
        motion("HalfCheetah", Shift(mass=1.5)),
        motion("HalfCheetah", Shift(mass=1.5, mass_mode="consistent")),
    )


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_tasks_without_frictional_contact_are_reported(name: str) -> None:
    frictionless = name in ("Swimmer", "Reacher", "InvertedPendulum")
    for friction in (0.5, 2.0):
        reported = without_effect(resolve_task(name), Shift(friction=friction, mass=1.5))
        assert reported == (("friction",) if frictionless else ())
    assert (len(frictional_pairs(nominal(name))) == 0) == frictionless


@pytest.mark.parametrize(
    ("name", "geom", "factor", "acts"),
    [
        ("Ant", "floor", 0.5, False),  # the ant's own 1.0 stays the larger
        ("Ant", "floor", 2.0, True),
        ("HalfCheetah", "bfoot", 0.5, False),  # the floor's 0.4 is as large
        ("HalfCheetah", "bfoot", 2.0, True),
        ("Hopper", "foot_geom", 0.9, True),  # 2.0 against the floor's 1.0
        ("Hopper", "torso_geom", 1.1, False),  # 0.99 against 1.0
        ("Humanoid", "right_hand", 0.5, False),
        ("Reacher", "link0", 5.0, False),
    ],
)
def test_the_larger_friction_decides(name: str, geom: str, factor: float, acts: bool) -> None:
    shift = Shift({f"friction[{geom}]": factor})
    assert without_effect(resolve_task(name), shift) == (() if acts else (f"friction[{geom}]",))


@pytest.mark.parametrize(
    ("body", "acts"), [("body0", True), ("fingertip", True), ("target", False), ("world", False)]
)
def test_masses_that_move_nothing_are_reported(body: str, acts: bool) -> None:
    shift = Shift({f"mass[{body}]": 2.0})
    assert without_effect(resolve_task("Reacher"), shift) == (() if acts else (f"mass[{body}]",))
    same = np.array_equal(motion("Reacher", shift), motion("Reacher", Shift()))
    assert same != acts


def test_every_part_is_reported_by_itself() -> None:
    shift = Shift(
        {
            "mass[torso]": 3.0,
            "mass[world]": 2.0,
            "friction[floor]": 0.5,
            "friction[left_leg_geom]": 3.0,
        },
        mass=2.0,
        friction=0.5,
    )
    parts = without_effect(resolve_task("Ant"), shift)
    assert parts == ("mass[world]", "friction[floor]")


def test_reference_mass_misses_what_mujoco_precomputes() -> None:
    """Pusher's object slides freely, so MuJoCo keeps its inertia as a constant."""
    task, masses = resolve_task("Pusher"), {"mass[object]": 2.0}
    assert without_effect(task, Shift(masses)) == ("mass[object]",)
    assert without_effect(task, Shift(masses, "consistent")) == ()


CONTACTS = """
<mujoco><option {option}/><worldbody><geom name="floor" type="plane" size="1 1 1" {floor}/>
<body name="a"><joint/><geom name="a" size=".1" {a}/>
<body name="b"><joint/><geom name="b" size=".1" {b}/></body></body>
<body name="c"><joint/><geom name="c" size=".1" {c}/></body>
</worldbody><contact>{contact}</contact></mujoco>"""


@pytest.mark.parametrize(
    ("texts", "pairs"),
    [
        ({}, "floor-a floor-b floor-c a-c b-c"),  # a and b are parent and child
        (
            {"option": "><flag filterparent='disable'/></option"},
            "floor-a floor-b floor-c a-b a-c b-c",
        ),
        ({"option": "><flag contact='disable'/></option"}, ""),
        ({"c": "contype='0' conaffinity='0'"}, "floor-a floor-b"),
        ({"c": "contype='0'", "b": "contype='0'"}, "floor-a floor-b floor-c a-c"),
        ({"contact": "<exclude body1='c' body2='b'/>"}, "floor-a floor-b floor-c a-c"),
        ({"contact": "<pair geom1='c' geom2='floor'/>"}, "floor-a floor-b a-c b-c"),
        ({"a": "condim='1'", "floor": "condim='1'"}, "floor-b floor-c a-c b-c"),
        ({"a": "condim='1' priority='1'"}, "floor-b floor-c b-c"),
    ],
)
def test_which_geoms_can_touch_with_friction(texts: dict[str, str], pairs: str) -> None:
    blank = dict.fromkeys(("option", "floor", "a", "b", "c", "contact"), "") | texts
    xml = CONTACTS.format(**blank).replace("option/>", "option>")
    model = mujoco.MjModel.from_xml_string(xml)
    found = {frozenset(model.geom(int(i)).name for i in pair) for pair in frictional_pairs(model)}
    assert found == {frozenset(pair.split("-")) for pair in pairs.split()}
    agrees_with_mujoco(model, found)


def agrees_with_mujoco(model: mujoco.MjModel, found: set[frozenset[str]]) -> None:
    """All geoms overlap at the origin: MuJoCo's own contacts are those that can be."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    explicit = {
        frozenset((model.geom(int(i)).name, model.geom(int(j)).name))
        for i, j in zip(model.pair_geom1, model.pair_geom2, strict=True)
    }
    own = {
        frozenset(model.geom(int(i)).name for i in contact.geom)
        for contact in data.contact
        if contact.dim > 1
    }
    assert found == own - explicit


def test_priority_decides_friction() -> None:
    blank = dict.fromkeys(("option", "floor", "a", "b", "c", "contact"), "")
    low = CONTACTS.format(**blank | {"floor": "friction='.3 .2 .1' priority='1' condim='6'"})
    frictions = contact_frictions(mujoco.MjModel.from_xml_string(low))
    # Floor against a, b, c: the floor's own; a-c and b-c: the default 1, of dimension 3.
    assert sorted(map(tuple, frictions)) == [(0.3, 0.2, 0.1)] * 3 + [(1.0, 0.0, 0.0)] * 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"mass": 0.0},
        {"mass": -1.0},
        {"mass": float("nan")},
        {"friction": 0.0},
        {"noise": 1.1},
        {"noise": -0.1},
        {"rho": 2.0},
        {"mass_mode": "heavy"},
        {"values": {"mass[torso]": 0.0}},
        {"values": {"friction[floor]": -1.0}},
    ],
)
def test_bad_shifts_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        Shift(**arguments)  # type: ignore[arg-type]


def test_unknown_parts_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'torso'"):
        make_env(resolve_task("Hopper"), Shift({"mass[torsi]": 2.0}))
    with pytest.raises(InvalidInputError, match="geom must be one of"):
        make_env(resolve_task("Hopper"), Shift({"friction[ceiling]": 2.0}))


ACTUATORS = """
<mujoco><worldbody><body><joint name="hinge"/><geom size=".1"/></body></worldbody>
<actuator><{first} name="first" joint="hinge" {more}/><motor name="second" joint="hinge"/>
</actuator></mujoco>"""


def test_strength_scales_the_force_of_motors_and_servos() -> None:
    for first, more in (("motor", "gear='3'"), ("position", "kp='7' forcerange='-2 2'")):
        base = mujoco.MjModel.from_xml_string(ACTUATORS.format(first=first, more=more))
        shifted = shifted_model(base, Shift({"actuator-strength[first]": 0.25}))
        forces = []
        for model in (base, shifted):
            data = mujoco.MjData(model)
            data.qpos[:], data.ctrl[:] = 0.1, (0.9, 0.9)
            mujoco.mj_forward(model, data)
            forces.append(data.actuator_force.copy())
        np.testing.assert_allclose(forces[1], forces[0] * [0.25, 1.0], rtol=1e-14)


@pytest.mark.parametrize("axis", ["actuator-strength", "actuator-strength[first]"])
def test_the_strength_of_a_muscle_is_refused(axis: str) -> None:
    more = "lengthrange='0 1'"
    model = mujoco.MjModel.from_xml_string(ACTUATORS.format(first="muscle", more=more))
    with pytest.raises(InvalidInputError, match="cannot shift actuator #0: its force is no linear"):
        check_targets(model, [Axis.parse(axis)])
    check_targets(model, [Axis.parse("actuator-strength[second]")])
