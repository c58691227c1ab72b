"""Uncertainty sets: those that ship, their grids, and files of one's own."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from mixedne.errors import InvalidInputError
from mixedne.shifts import Axis
from mixedne.shifts.sets import find_set, named_sets, parse_set

MINE = """
about = "torsos"
points = 4
ends = "lower"

[tasks.Hopper]
"mass[torso]:abs" = [1, 5.0]
gravity = 0.9
notes = ["a made-up set"]

[tasks."Ant-v4"]
"mass[torso]" = [0.5, 2.0]
"""


def test_the_sets_that_ship() -> None:
    assert named_sets() == tuple(
        f"{family}-{dimension}d" for family in ("m2td3", "rrls") for dimension in (1, 2, 3)
    )
    for name in named_sets():
        found = find_set(name)
        dimension = int(name[-2])
        assert (found.name, found.points) == (name, 10)
        assert found.ends == ("lower" if name.startswith("rrls") else "both")
        assert found.about
        assert found.source
        assert len(found.tasks) == (5 if dimension == 3 else 6)  # the pendulum has two parameters
        for part in found.tasks:
            assert len(part.uncertain) == dimension


@pytest.mark.parametrize("family", ["rrls", "m2td3"])
def test_larger_sets_hold_the_smaller_but_for_what_is_noted(family: str) -> None:
    exceptions = []
    for small, large in itertools.pairwise(find_set(f"{family}-{d}d") for d in (1, 2, 3)):
        for part in large.tasks:
            bounds = {interval.axis: interval for interval in part.uncertain}
            for interval in small.of(part.task).uncertain:
                if bounds[interval.axis] != interval:
                    exceptions.append((part.task, small.name))
                    assert part.notes or small.of(part.task).notes
    expected = {"rrls": ("HalfCheetah", "rrls-1d"), "m2td3": ("HumanoidStandup", "m2td3-2d")}
    assert exceptions == [expected[family]]


def test_the_two_conventions_of_a_grid() -> None:
    """Hopper's floor, 0.1 to 3, in steps of 2.9 / 10 without and 2.9 / 9 with the upper end."""
    (_, rrls), *_ = find_set("rrls-1d").grid("Hopper-v5")
    (_, m2td3), *_ = find_set("m2td3-1d").grid("Hopper-v5")
    assert rrls == tuple(np.arange(0.1, 3.0, (3.0 - 0.1) / 10).tolist())  # as RRLS has it
    assert m2td3 == tuple(np.linspace(0.1, 3.0, 10).tolist())  # as M2TD3
    assert (rrls[0], m2td3[0], m2td3[-1]) == (0.1, 0.1, 3.0)
    assert rrls[-1] == pytest.approx(2.71)
    (_, swapped), *_ = find_set("rrls-1d").grid("Hopper-v5", ends="both")
    assert swapped == m2td3


@pytest.mark.parametrize("ends", ["lower", "both"])
@pytest.mark.parametrize("points", [2, 3, 10, 30, 99])
def test_there_are_as_many_points_as_asked_for(ends: str, points: int) -> None:
    """NumPy's arange has 31 points where 30 are wanted on Ant's legs."""
    assert len(np.arange(0.01, 3.0, (3.0 - 0.01) / 30)) == 31
    for name in named_sets():
        found = find_set(name)
        for part in found.tasks:
            grid = dict(found.grid(f"{part.task}-v5", points, ends))
            for axis, low, high in part.uncertain:
                assert len(grid[axis]) == len(set(grid[axis])) == points
                assert grid[axis][0] == low
                assert (grid[axis][-1] == high) == (ends == "both")
                assert max(grid[axis]) <= high


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    found = find_set(tmp_path / "mine.toml")
    assert (found.name, found.about, found.points, found.ends) == ("mine", "torsos", 4, "lower")
    assert found.grid("Hopper-v4") == [
        (Axis.parse("mass[torso]:abs"), (1.0, 2.0, 3.0, 4.0)),
        (Axis.parse("gravity"), (0.9,)),
    ]
    assert found.of("Hopper-v5").notes == ("a made-up set",)
    assert found.grid("Ant-v4", 2, "both") == [(Axis.parse("mass[torso]"), (0.5, 2.0))]
    with pytest.raises(InvalidInputError, match="mine has no task Ant-v5: it has Hopper, Ant-v4"):
        found.of("Ant-v5")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("points = 4", "points = ", r"mine.toml is no TOML: .*\(at line 3, column 10\)"),
        ("points = 4", "point = 4", "mine.toml, line 3: a field must be one of .* mean 'points'"),
        ("points = 4", "points = '4'", "line 3: points must be a whole number, not '4'"),
        ("points = 4", "points = true", "line 3: points must be a whole number, not True"),
        ("points = 4", "points = 0", "line 3: points with ends lower must be at least 1, not 0"),
        ('"lower"', '"upper"', "line 4: ends must be one of lower, both, not 'upper'"),
        (
            "[1, 5.0]",
            "[5, 1]",
            r"line 7, \[tasks.Hopper\]: mass\[torso\]:abs must have its low end",
        ),
        (
            "[1, 5.0]",
            "[1, 2, 3]",
            r"line 7, .*must be \[low, high\] or one number, not \[1, 2, 3\]",
        ),
        (
            "[1, 5.0]",
            "[true, 2]",
            r"line 7, .*must be \[low, high\] or one number, not \[True, 2\]",
        ),
        ("[1, 5.0]", "[0, 5]", r"line 7, .*mass\[torso\]:abs must be above 0, not 0"),
        ("[1, 5.0]", "[1, inf]", "line 7, .*must be finite"),
        ("[1, 5.0]", "'all'", "line 7, .*or one number, not 'all'"),
        (
            '"mass[torso]:abs" = [1, 5.0]',
            "action-delay = [0, 2]",
            r"line 7, \[tasks.Hopper\]: action-delay must be a whole number, not 0.5",
        ),
        ("gravity", "gravty", r"line 8, \[tasks.Hopper\]: a shift cannot be 'gravty'; .*'gravity'"),
        ("gravity", '"mass[torso]"', r"line 8, .*mass\[torso\]:abs and mass\[torso\] are both"),
        ("gravity", '"custom[leg]"', r"line 8, .*a file cannot hold an axis of one's own"),
        ('["a made-up set"]', "'faults'", "line 9, .*notes must be a list of texts"),
        ('"mass[torso]" = [0.5, 2.0]', "", r"line 11: a task needs an interval"),
        ('[tasks."Ant-v4"]', "[Ant]", "line 11: a field must be one of"),
    ],
)
def test_bad_files_are_refused_with_their_place(old: str, new: str, message: str) -> None:
    assert old in MINE
    with pytest.raises(InvalidInputError, match=message):
        parse_set(MINE.replace(old, new, 1).encode(), "mine", "mine.toml")


def test_files_that_hold_no_set() -> None:
    with pytest.raises(InvalidInputError, match="there must be at least one task"):
        parse_set(b"points = 3", "mine", "mine.toml")
    with pytest.raises(InvalidInputError, match="line 2: a task must be a table"):
        parse_set(b"[tasks]\nHopper = 3", "mine", "mine.toml")
    with pytest.raises(InvalidInputError, match=r"mine\.toml is no TOML"):
        parse_set(b"\xff\x00", "mine", "mine.toml")
    with pytest.raises(InvalidInputError, match=r"mine\.toml is no TOML"):
        parse_set(b"tasks = " + b"[" * 5000, "mine", "mine.toml")
    with pytest.raises(InvalidInputError, match=r"nowhere\.toml cannot be read: No such file"):
        find_set("nowhere.toml")
    with pytest.raises(InvalidInputError, match=r"must be one of .*did you mean 'rrls-3d'\?"):
        find_set("rrls-3")
