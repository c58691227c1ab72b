"""The paper's settings, the authors', and how options replace them."""

from dataclasses import asdict

import numpy as np
import pytest

from mixedne import InvalidInputError
from mixedne.saddle import experiment, tables
from mixedne.saddle.objectives import (
    OBJECTIVES,
    SOLVERS,
    STARTS,
    named_settings,
    parse_start,
    plan_cases,
    solver_label,
)

ALL = list(OBJECTIVES.values())


def test_the_papers_numbers() -> None:
    expected = {
        "steps": 1000, "learning_rate": 0.1, "noise_scale": 0.01, "inner_steps": 50,
        "damping": 0.5, "inner": "frozen", "alternating": True,
    }  # fmt: skip
    for solver in SOLVERS:
        for objective in OBJECTIVES:
            assert asdict(named_settings("paper", solver, objective)) == expected


def test_the_authors_numbers() -> None:
    expected = {
        "gad": (0.05, 0.05, 0.05),
        "eg": (0.05, 0.05, 0.1),
        "mixedne-ld": (0.1, 0.1, 0.1),
    }
    for solver, rates in expected.items():
        for objective, rate in zip(OBJECTIVES, rates, strict=True):
            settings = named_settings("authors", solver, objective)
            assert settings.learning_rate == rate
            assert (settings.inner, settings.inner_steps) == ("coupled", 100)
            assert (settings.noise_scale, settings.damping) == (0.01, 0.5)
            assert not settings.alternating


def test_starts() -> None:
    far, near = (0.92628269, 0.94097207), (-0.2, -0.6)
    for name in OBJECTIVES:
        assert STARTS["paper"][name] == {"far": far, "near": near}
    assert STARTS["authors"]["x2y2-xy"]["far"] == STARTS["authors"]["xy-x2y2"]["far"] == far
    assert STARTS["authors"]["xy-x2y2"]["near"] == near
    assert parse_start("far", STARTS["paper"]["x2y2"]) == far
    assert parse_start("-2,1.5", STARTS["authors"]["x2y2"]) == (-2, 1.5)


@pytest.mark.parametrize(
    ("objective", "start", "seed"),
    [("x2y2-xy", "near", 2), ("x2y2", "far", 488), ("x2y2", "near", 487)],
)
def test_the_authors_random_starts_are_what_their_seeds_draw(
    objective: str, start: str, seed: int
) -> None:
    # Each number is uniform on [0, ½) and then moved by −½ or ½.
    draws = np.random.RandomState(seed)
    theta, omega = draws.uniform(0, 0.5), draws.uniform(0, 0.5)
    point = (theta + draws.choice([-0.5, 0.5]), omega + draws.choice([-0.5, 0.5]))
    assert STARTS["authors"][objective][start] == point


@pytest.mark.parametrize(
    "text", ["2.1,0", "0,-3", "nan,0", "1,nan", "inf,0", "1", "1,2,3", "a,b", ""]
)
def test_a_bad_start_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="start must"):
        parse_start(text, STARTS["paper"]["x2y2"])


def test_objectives_that_agree_run_together() -> None:
    (together,) = plan_cases(ALL, ["eg"], ["far"])
    assert together.objectives == tuple(ALL)
    # The third objective has its own start and its own η for EG.
    first, third = plan_cases(ALL, ["eg"], ["far"], settings="authors")
    assert (first.objectives, third.objectives) == (tuple(ALL[:2]), (ALL[2],))
    assert (first.settings.learning_rate, third.settings.learning_rate) == (0.05, 0.1)
    # From near, all three have starts of their own.
    apart = plan_cases(ALL, ["gad"], ["near"], settings="authors")
    assert [case.point for case in apart] == [STARTS["authors"][o.name]["near"] for o in ALL]
    # A start that is given is the same for all.
    (given,) = plan_cases(ALL, ["gad"], ["1,-1"], settings="authors")
    assert given.point == (1, -1)


def test_options_win_over_the_settings() -> None:
    overrides = {"learning_rate": 0.3, "inner_steps": 7}
    cases = plan_cases(ALL, SOLVERS, ["far"], ["frozen"], settings="authors", overrides=overrides)
    assert {case.settings.learning_rate for case in cases} == {0.3}
    assert {case.settings.inner_steps for case in cases} == {7}
    assert {case.inner for case in cases} == {None, "frozen"}
    assert {case.settings.damping for case in cases} == {0.5}


def test_both_kinds_of_chains_are_for_mixedne_ld_alone() -> None:
    cases = plan_cases(ALL, SOLVERS, ["far"], ["frozen", "coupled"])
    assert [solver_label(case.solver, case.inner) for case in cases] == [
        "GAD", "EG", "MixedNE-LD frozen", "MixedNE-LD coupled",
    ]  # fmt: skip


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="solver must be one of gad, eg, mixedne-ld"):
        plan_cases(ALL, ["sgd"], ["far"])
    with pytest.raises(InvalidInputError, match="settings must be one of paper, authors"):
        plan_cases(ALL, ["gad"], ["far"], settings="code")


def test_the_authors_gad_is_simultaneous() -> None:
    (case,) = plan_cases(ALL[:1], ["gad"], ["far"], settings="authors", overrides={"steps": 1})
    (run,) = experiment.run(case, np.arange(1))
    theta, omega = case.point
    by_theta, by_omega = ALL[0].gradient(theta, omega)
    assert run.theta[0, 1] == pytest.approx(theta + 0.05 * by_theta, abs=1e-15)
    assert run.omega[0, 1] == pytest.approx(omega - 0.05 * by_omega, abs=1e-15)


def test_one_outer_step_of_the_authors_chains_in_numpy() -> None:
    # Without noise, their update is plain arithmetic: coupled chains, then the damped step.
    changes = {"steps": 1, "noise_scale": 0.0}
    (case,) = plan_cases(ALL[:1], ["mixedne-ld"], ["far"], settings="authors", overrides=changes)
    (run,) = experiment.run(case, np.arange(1))
    theta, omega = average_theta, average_omega = case.point
    for _ in range(100):
        by_theta, by_omega = ALL[0].gradient(theta, omega)
        theta, omega = np.clip([theta + 0.1 * by_theta, omega - 0.1 * by_omega], -2, 2)
        average_theta, average_omega = (average_theta + theta) / 2, (average_omega + omega) / 2
    assert run.theta[0, 1] == pytest.approx((case.point[0] + average_theta) / 2, rel=1e-12)
    assert run.omega[0, 1] == pytest.approx((case.point[1] + average_omega) / 2, rel=1e-12)


def test_paths_of_other_settings_are_marked() -> None:
    cases = plan_cases(ALL[:1], ["gad"], ["far", "1,1"], overrides={"steps": 2})
    paths = tables.paths([run for case in cases for run in experiment.run(case, np.arange(1))], 1)
    assert tables.mark_settings(paths, "paper").equals(paths)
    assert tables.mark_settings(paths, "authors")["start"].to_list() == [
        "far (authors' settings)",
        "1,1 (authors' settings)",
    ]
