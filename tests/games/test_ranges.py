"""Domain randomisation: what is drawn reaches the model, and an episode's seed fixes it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixedne.config import Config, configure, game_of
from mixedne.config.identity import from_json, identifier, run_name, to_json
from mixedne.games import make_game_env
from mixedne.shifts import Axis, Shift
from mixedne.tasks import make_env, resolve_task
from mixedne.training.run import train_config
from probes.runs import results, train_interrupted

SMALL: dict[str, Any] = {
    **{"hidden": (8,), "batch_size": 8, "collect_steps": 20, "updates": 5, "steps": 160},
    **{"update_after": 30, "checkpoint_every": 40, "evaluate_every": 0, "delta": 0},
}


def env_of(config: Config) -> Any:
    task = resolve_task(config.task)
    return make_game_env(task, game_of(config, task))


def test_a_reset_draws_uniformly_and_by_its_seed() -> None:
    env = env_of(configure("Hopper", agent="td3", delta=0, randomise="rrls-2d"))
    drawn = []
    for seed in range(300):
        env.reset(seed=seed)
        model = env.unwrapped.model
        drawn.append((model.geom("floor").friction[0], model.body("torso").mass[0]))
    found = np.array(drawn)
    assert ((found >= 0.1) & (found <= 3)).all()
    np.testing.assert_allclose(found.mean(0), 1.55, atol=4 * 2.9 / np.sqrt(12 * 300))
    np.testing.assert_allclose(found.std(0), 2.9 / np.sqrt(12), rtol=0.15)
    assert abs(np.corrcoef(found.T)[0, 1]) < 0.25
    env.reset(seed=7)
    np.testing.assert_array_equal(env.values, found[7])


def test_the_world_is_the_one_that_an_evaluation_would_make() -> None:
    task = resolve_task("Hopper")
    env = env_of(configure("Hopper", agent="sac", randomise="rrls-2d"))
    start, _ = env.reset(seed=3)
    names = ("sliding-friction[floor]:abs", "mass[torso]:abs")
    shift = Shift(list(zip(map(Axis.parse, names), env.values, strict=True)))
    other = make_env(task, shift)
    np.testing.assert_array_equal(start, other.reset(seed=3)[0])
    for _ in range(30):
        (seen, *rest), (expected, *its) = (each.step(np.full(3, 0.3)) for each in (env, other))
        np.testing.assert_array_equal(seen, expected)
        assert rest[:3] == its[:3]


def test_what_a_set_fixes_is_fixed() -> None:
    env = env_of(configure("InvertedPendulum", delta=0, randomise="rrls-1d"))
    for seed in range(2):
        env.reset(seed=seed)
        assert env.unwrapped.model.body("cart").mass[0] == pytest.approx(5.02, abs=0.01)
        assert env.unwrapped.model.body("pole").mass[0] == env.values[0]


def test_a_fixed_value_of_a_part_wins_over_a_factor_on_the_whole() -> None:
    """As in evaluations: the same words, the same world."""
    words = ("mass[pole]:abs=5", "mass=0.5:2")
    env = env_of(configure("InvertedPendulum", delta=0, randomise=words))
    env.reset(seed=0, options={"parameters": [1.0]})
    shift = Shift({"mass[pole]:abs": 5.0, "mass": 2.0})
    task: Any = make_env(resolve_task("InvertedPendulum"), shift).unwrapped
    expected = task.model
    assert expected.body("pole").mass[0] == 5
    np.testing.assert_array_equal(env.unwrapped.model.body_mass, expected.body_mass)


def test_a_file_is_kept_as_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[tasks.Hopper]\n"mass[torso]:abs" = [3, 8]\n"friction" = 0.5\n')
    config = configure("Hopper", delta=0, randomise=str(file))
    assert config.randomise == ("mass[torso]:abs=3.0:8.0", "friction=0.5")
    assert configure("Hopper", delta=0, randomise=file) == config
    assert configure("Hopper", delta=0, randomise=[file]) == config
    file.unlink()
    env = env_of(from_json(to_json(config)))
    env.reset(seed=0)
    assert 3 <= env.values[0] <= 8
    assert env.unwrapped.model.geom("floor").friction[0] == 0.5


def test_runs_of_before_keep_their_identity() -> None:
    plain, drawn = (configure("Hopper", delta=0, **more) for more in ({}, {"randomise": "rrls-1d"}))
    without = to_json(plain)
    assert without.pop("randomise") is None
    assert identifier(without) == identifier(to_json(plain)) != identifier(to_json(drawn))
    assert run_name(without) == "Hopper-v5-ddpg-mixedne-ld-delta0-seed0"
    assert run_name(to_json(drawn)) == "Hopper-v5-ddpg-mixedne-ld-delta0-randomised-seed0"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["ddpg", "sac"])
def test_an_interrupted_run_ends_as_the_whole_one(agent: str, tmp_path: Path) -> None:
    its = {"activation": "tanh", "random_steps": 0, "replay_size": 1000, **SMALL}
    config = configure("InvertedPendulum", agent=agent, randomise="rrls-2d", **its)
    whole, left = train_interrupted(config, tmp_path)
    assert results(left) == results(whole)
    if agent == "ddpg":
        train_config(configure("InvertedPendulum", agent=agent, **its), out=tmp_path / "plain")
        assert results(tmp_path / "plain") != results(whole)
