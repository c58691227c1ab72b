"""Axes by name, shifts as values, and a table's nominal rows."""

import polars as pl
import pytest

from mixedne.errors import InvalidInputError
from mixedne.shifts import Axis, Shift, is_nominal, shift_axes


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("mass", Axis("mass")),
        ("mass[torso]", Axis("mass", "torso")),
        ("mass[#3]:abs", Axis("mass", "#3", absolute=True)),
        ("gravity:abs", Axis("gravity", absolute=True)),
        ("sliding-friction:abs", Axis("sliding-friction", absolute=True)),
        ("actuator-strength[#0]", Axis("actuator-strength", "#0")),
    ],
)
def test_names_are_read_and_written(text: str, axis: Axis) -> None:
    assert Axis.parse(text) == axis
    assert str(axis) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mas", "did you mean 'mass'"),
        ("mass[", "must be named as mass"),
        ("mass[]", "must be named as mass"),
        ("mass:abs", "mass:abs must name a body in brackets"),
        ("noise[torso]", "noise takes no target"),
        ("gravity[torso]", "gravity takes no target"),
        ("noise:abs", "noise takes values as they are"),
        ("actuator-strength[#0]:abs", "actuator-strength takes factors"),
    ],
)
def test_bad_names_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message.replace("[", r"\[")):
        Axis.parse(text)


def test_labels() -> None:
    assert Axis.parse("mass").label == "mass, as a multiple of the task's own"
    assert Axis.parse("mass[torso]:abs").label == "mass in kg (torso)"
    assert Axis.parse("custom[leg length]").label == "leg length"


def test_a_shift_is_a_value() -> None:
    assert Shift(mass=1.0, noise=0.0) == Shift()
    assert Shift(mass=2.0, noise=0.1) == Shift({"noise": 0.1, "mass": 2.0})
    assert len({Shift(observation_noise=0.1), Shift({"observation-noise": 0.1})}) == 1
    shift = Shift({"mass[torso]": 2.0}, "consistent", noise=0.1)
    assert shift.only("model") == Shift({"mass[torso]": 2.0}, "consistent")
    assert shift.only("actions") == Shift(noise=0.1)
    assert (shift.number("mass[torso]"), shift.number("mass")) == (2.0, 1.0)
    assert shift.number("mass[torso]:abs") is None


def test_one_thing_cannot_be_shifted_twice() -> None:
    with pytest.raises(InvalidInputError, match=r"mass\[torso\] and mass\[torso\]:abs are both"):
        Shift({"mass[torso]": 2.0, "mass[torso]:abs": 3.0})
    with pytest.raises(InvalidInputError, match="mass is twice among the shifts"):
        Shift({"mass": 2.0}, mass=3.0)
    with pytest.raises(InvalidInputError, match=r"action-delay must be a whole number, not 1\.5"):
        Shift({"action-delay": 1.5})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("sliding-friction", "friction"),
        ("sliding-friction[floor]", "friction[foot_geom]"),
        ("sliding-friction:abs", "sliding-friction[floor]"),
        ("sliding-friction:abs", "sliding-friction[floor]:abs"),
    ],
)
def test_the_same_numbers_cannot_be_set_twice(first: str, second: str) -> None:
    for names in ((first, second), (second, first)):
        with pytest.raises(InvalidInputError, match="set the same numbers: give one of them"):
            Shift(dict.fromkeys(names, 2.0))


def test_nominal_rows_of_a_table() -> None:
    table = pl.DataFrame(
        {
            "mass": [1.0, 2.0, 1.0, 1.0, 1.0],
            "rho": [None, 0.2, 0.2, 0.3, 0.2],
            "gravity": [None, 1.0, 1.0, 1.0, 1.0],
            "mass[torso]:abs": [None, None, None, None, 3.0],
            "mass-production": [1.0, 2.0, 3.0, 4.0, 5.0],
        }
    )
    axes = ["mass", "mass[torso]:abs", "rho", "gravity"]
    assert [str(axis) for axis in shift_axes(table.columns)] == axes
    kept = table.with_row_index().filter(is_nominal(table.columns))["index"]
    assert kept.to_list() == [0, 2]
    free = table.with_row_index().filter(is_nominal(table.columns, but=["mass"]))["index"]
    assert free.to_list() == [0, 1, 2]
