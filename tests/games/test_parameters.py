"""The adversary sets parameters: they reach the model, hold or move, and are seen."""

from typing import Any

import numpy as np
import pytest

from mixedne import InvalidInputError
from mixedne.games import make_game, make_game_env
from mixedne.shifts import Shift
from mixedne.shifts.model import shifted_model
from mixedne.tasks import make_env, resolve_task
from mixedne.tasks.registry import nominal_model

HOPPER = resolve_task("Hopper")
TWO = ("mass[torso]=0.5:2.5", "friction=0.4:2")
MASS = 3.66519143  # of Hopper's torso


def parameters(*texts: str, rate: float | None = None) -> Any:
    game = make_game(HOPPER, "parameters", parameters=texts or TWO, rate=rate)
    return game, make_game_env(HOPPER, game)


def joint(*adversary: float) -> Any:
    return np.array([0.1, -0.2, 0.3, *adversary], np.float32)


def written(env: Any, **shift: float) -> None:
    """The model holds exactly what an evaluation in that shift would have."""
    expected = shifted_model(nominal_model(HOPPER)[0], Shift(shift))
    np.testing.assert_array_equal(env.unwrapped.model.body_mass, expected.body_mass)
    np.testing.assert_array_equal(env.unwrapped.model.geom_friction, expected.geom_friction)
    np.testing.assert_array_equal(env.unwrapped.model.opt.gravity, expected.opt.gravity)


def test_once_an_episode() -> None:
    game, env = parameters()
    assert game.strength is None
    assert game.sees == (11, 14)
    np.testing.assert_array_equal(game.boxes.adversary, [[0.5, 0.4], [2.5, 2.0]])
    first, _ = env.reset(seed=0)
    # The nominal factor 1 of 0.5 … 2.5 is at −½, of 0.4 … 2 at −¼; they are still to be set.
    np.testing.assert_allclose(first[11:], [-0.5, -0.25, 1])
    assert env.observation_space.shape == first.shape
    written(env)
    for later in (joint(1.5, 0.5), joint(2.5, 2.0), joint(0.5, 0.4)):  # the first decides
        after, *_ = env.step(later)
        np.testing.assert_allclose(after[11:], [0, -0.875, 0], atol=1e-12)
        written(env, **{"mass[torso]": 1.5, "friction": 0.5})
    again, _ = env.reset(seed=0)
    np.testing.assert_array_equal(again, first)
    written(env)


def test_moving() -> None:
    game, env = parameters(rate=0.1)
    assert game.strength == 0.1
    assert game.sees == (11, 13)
    np.testing.assert_allclose(game.boxes.adversary, [[-0.2, -0.16], [0.2, 0.16]])
    env.reset(seed=0)
    after, *_ = env.step(joint(0.125, -0.125))
    np.testing.assert_allclose(after[11:], [-0.375, -0.40625])
    written(env, **{"mass[torso]": 1.125, "friction": 0.875})
    for _ in range(20):  # up and down to the bounds, and no further
        after, *_ = env.step(joint(0.125, -0.125))
    np.testing.assert_array_equal(after[11:], [1, -1])
    written(env, **{"mass[torso]": 2.5, "friction": 0.4})


def test_absolute_values_start_at_the_nominal_or_nearest() -> None:
    _, env = parameters("mass[torso]:abs=1:3", "gravity:abs=5:15")
    first, _ = env.reset(seed=0)
    np.testing.assert_allclose(first[11:], [1, 2 * (9.81 - 5) / 10 - 1, 1])
    assert env.unwrapped.model.body_mass[1] == 3  # the nominal 3.67 lies outside
    env.step(joint(2.0, 7.5))
    written(env, **{"mass[torso]:abs": 2.0, "gravity:abs": 7.5})
    _, env = parameters("sliding-friction:abs=0.5:1.5")  # of all geoms, which differ
    first, _ = env.reset(seed=0)
    np.testing.assert_array_equal(first[11:], [0, 1])
    written(env, **{"sliding-friction:abs": 1.0})


def test_the_order_does_not_matter() -> None:
    """A factor on all and a value of one: as a shift has them."""
    texts = ("friction=0.5:2", "friction[floor]:abs=1:3")
    for order in (texts, texts[::-1]):
        _, env = parameters(*order)
        env.reset(seed=0)
        numbers = {text.partition("=")[0]: 1.5 for text in order}
        env.step(joint(*numbers.values()))
        written(env, **numbers)


def test_an_episode_is_that_of_the_shifted_world() -> None:
    """From the first step on, what the agent sees and is paid is what an evaluation gives."""
    _, env = parameters()
    shifted = make_env(HOPPER, Shift({"mass[torso]": 1.5, "friction": 0.5}))
    np.testing.assert_array_equal(env.reset(seed=3)[0][:11], shifted.reset(seed=3)[0])
    for _ in range(20):
        (found, *rest), (expected, *others) = env.step(joint(1.5, 0.5)), shifted.step(joint())
        np.testing.assert_array_equal(found[:11], expected)
        assert rest[:3] == others[:3]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "needs parameters= and their bounds"),
        (["mass"], "parameters must be given as 'mass.torso.=0.5:2' or as a set, .* not 'mass'"),
        (["mass=1"], "changes nothing in Hopper-v5"),
        (["mass=2"], "parameters needs at least one interval"),
        (["mass=a:b"], "parameters must be given as"),
        (["mass=1:2:3"], "parameters must be given as"),
        (["mas=1:2"], "did you mean 'mass'"),
        (["mass[tors]=1:2"], "did you mean 'torso'"),
        (["noise=0:0.1"], "parameters must be of the MuJoCo model, not noise"),
        (["mass=2:1"], "the first bound of mass must be below the second: 2:1"),
        (["mass=1:1"], "the first bound of mass must be below"),
        (["mass=0:1"], "mass must be above 0"),
        (["mass=1:nan"], "mass must be finite"),
        (["mass=1:2", "mass=1:3"], "mass is twice"),
        (["mass[torso]=1:2", "mass[#1]=1:3"], "are the same body"),
        (["friction[torso_geom]=0.1:0.2"], "changes nothing in Hopper-v5 within its bounds"),
    ],
)
def test_refusals(texts: list[str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make_game(HOPPER, "parameters", parameters=tuple(texts))


@pytest.mark.parametrize("rate", [0.0, -1.0, 1.5, np.nan])
def test_refuses_rates_that_are_no_share(rate: float) -> None:
    with pytest.raises(InvalidInputError, match="rate must be"):
        make_game(HOPPER, "parameters", parameters=TWO, rate=rate)


def test_refuses_a_task_without_a_model() -> None:
    with pytest.raises(InvalidInputError, match="toy has no axis mass"):
        make_game(resolve_task("toy"), "parameters", parameters=("mass=1:2",))
