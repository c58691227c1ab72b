"""Axes of one's own: a function on the model, or a keyword argument of the environment."""

from typing import Any

import gymnasium as gym
import numpy as np
import polars as pl
import pytest

from mixedne import InvalidInputError
from mixedne.evaluation.grids import KeywordShift, ModelShift, episode_seed
from mixedne.evaluation.sweep import NoEffectWarning, evaluate
from probes.policies import random_policy

HOPPER = "Hopper-v5"


def tilt(model: Any, degrees: float) -> None:
    """Let gravity pull to the side."""
    angle = np.deg2rad(degrees)
    model.opt.gravity[:] = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])


def plain_return(policy: Any, seed: int, edit: Any = None, **keywords: Any) -> float:
    env: Any = gym.make(HOPPER, **keywords)
    if edit is not None:
        edit(env.unwrapped.model)
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        total, over = total + float(reward), terminated or truncated
    return total


def test_a_function_on_the_model() -> None:
    policy = random_policy(HOPPER)
    shifts = {"slope": ModelShift(tilt, [0.0, 20.0]), "gravity": [0.5, 1.0]}
    table = evaluate(policy, shifts=shifts, episodes=1)
    assert table.select("gravity", "custom[slope]").rows() == [
        (0.5, 0.0),
        (0.5, 20.0),
        (1.0, 0.0),
        (1.0, 20.0),
    ]
    for row in table.iter_rows(named=True):

        def edit(model: Any, row: Any = row) -> None:
            tilt(model, row["custom[slope]"])
            model.opt.gravity[:] = model.opt.gravity * row["gravity"]

        assert row["return"] == plain_return(policy, episode_seed(0, 0), edit)
    assert table["return"].n_unique() == 4


def test_a_keyword_of_the_environment() -> None:
    policy = random_policy(HOPPER)
    shifts = {"pay": KeywordShift("healthy_reward", [0.0, 2.0])}
    table = evaluate(policy, shifts=shifts, mass=[1.0, 1.5], episodes=1)
    assert table["custom[pay]"].to_list() == [0.0, 2.0, 0.0, 2.0]
    for row in table.filter(pl.col("mass") == 1).iter_rows(named=True):
        wanted = plain_return(policy, row["episode_seed"], healthy_reward=row["custom[pay]"])
        assert row["return"] == wanted


def test_whole_numbers_are_whole() -> None:
    """MuJoCo takes no 2.0 steps."""
    policy = random_policy(HOPPER)
    table = evaluate(policy, shifts={"skip": KeywordShift("frame_skip", [2, 4])}, episodes=1)
    for row in table.iter_rows(named=True):
        skip = int(row["custom[skip]"])
        assert row["return"] == plain_return(policy, row["episode_seed"], frame_skip=skip)


def test_a_keyword_of_the_toy() -> None:
    def still(observations: np.ndarray) -> np.ndarray:
        return np.zeros((len(observations), 1))

    named = evaluate(still, "toy", rho=[0.0, 0.4], episodes=1)
    own = evaluate(still, "toy", shifts={"noise": KeywordShift("rho", [0.0, 0.4])}, episodes=1)
    np.testing.assert_allclose(own["return"], named["return"], rtol=1e-12)
    with pytest.raises(InvalidInputError, match="nonsense"):
        evaluate(still, "toy", shifts={"it": KeywordShift("nonsense", 1.0)}, episodes=1)


def load(model: Any, share: float) -> None:
    """A heavier torso, without telling MuJoCo."""
    model.body_mass[1] *= share


@pytest.mark.parametrize("mode", ["reference", "consistent"])
def test_a_function_on_the_masses(mode: str) -> None:
    policy, shifts = random_policy(HOPPER), {"load": ModelShift(load, [1.0, 2.0])}
    table = evaluate(policy, shifts=shifts, mass=[1.0, 1.5], mass_mode=mode, episodes=1)
    assert table["return"].n_unique() == 4
    for row in table.filter(mass=1.0).iter_rows(named=True):

        def edit(model: Any, row: Any = row) -> None:
            load(model, row["custom[load]"])

        assert row["return"] == plain_return(policy, row["episode_seed"], edit)


def test_a_function_that_changes_nothing_is_reported() -> None:
    with pytest.warns(NoEffectWarning, match=r"custom\[still\] changes nothing in Hopper"):
        evaluate(
            random_policy(HOPPER),
            shifts={"still": ModelShift(lambda model, value: None, 1.0)},
            episodes=1,
        )


@pytest.mark.parametrize(
    ("task", "shifts", "message"),
    [
        (HOPPER, {"pay": KeywordShift("helthy_reward", 1.0)}, "helthy_reward"),
        ("Pendulum-v1", {"slope": ModelShift(tilt, 1.0)}, "has no MuJoCo model that"),
        (HOPPER, {"[]": ModelShift(tilt, 1.0)}, "must be named as"),
        (HOPPER, {"slope": 3.0}, "a shift must be one of"),
        (HOPPER, {"custom[slope]": 3.0}, "needs a ModelShift or a KeywordShift"),
        (HOPPER, {"slope": ModelShift(tilt, [np.nan])}, r"custom\[slope\] must be finite"),
    ],
)
def test_bad_axes_are_refused(task: str, shifts: Any, message: str) -> None:
    def still(observations: np.ndarray) -> np.ndarray:
        return np.zeros((len(observations), 3 if task == HOPPER else 1))

    with pytest.raises(InvalidInputError, match=message):
        evaluate(still, task, shifts=shifts, episodes=1)
