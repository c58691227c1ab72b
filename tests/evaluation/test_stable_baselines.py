"""Stable-Baselines3 policies, against Stable-Baselines3's own evaluation."""

import functools
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mixedne import InvalidInputError
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.sweep import evaluate
from mixedne.tasks import Shift, make_env, resolve_task

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sb3 = pytest.importorskip(
        "stable_baselines3", reason="Stable-Baselines3 is not installed: make extras"
    )

TASK = "Hopper-v5"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A TD3 policy after a hundred updates."""
    import torch

    torch.set_num_threads(1)  # its threads spin and starve the other test worker
    path = tmp_path_factory.mktemp("sb3") / "hopper.zip"
    model = sb3.TD3(
        "MlpPolicy",
        make_env(resolve_task(TASK)),
        policy_kwargs={"net_arch": [64, 64]},
        learning_starts=500,
        seed=0,
        device="cpu",
    )
    model.learn(600)
    model.save(path)
    return path


def test_returns_equal_stable_baselines_own(trained: Path) -> None:
    """The same shifted environments and seeds give the same returns."""
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    grid: dict[str, Any] = {"mass": [0.6, 1.7], "friction": [0.7], "noise": [0.0, 0.1]}
    table = evaluate(trained, TASK, **grid, episodes=2, trust_pickle=True)
    model = sb3.TD3.load(trained, device="cpu")
    for row in table.iter_rows(named=True):
        shift = Shift(mass=row["mass"], friction=row["friction"], noise=row["noise"])
        env = Monitor(make_env(resolve_task(TASK), shift))
        vector = DummyVecEnv([functools.partial(lambda env: env, env)])
        vector.seed(row["episode_seed"])
        found = evaluate_policy(model, vector, n_eval_episodes=1, return_episode_rewards=True)
        # Stable-Baselines3 rounds returns to six digits.
        assert found == ([round(row["return"], 6)], [row["length"]])


def test_the_table_says_where_the_policy_came_from(trained: Path) -> None:
    table = evaluate(trained, TASK, episodes=1, trust_pickle=True)
    assert table["run"].to_list() == ["hopper"]
    assert table["agent"].to_list() == ["sb3-td3"]


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "SAC", "DDPG"])
def test_every_algorithm_is_recognised(algorithm: str, tmp_path: Path) -> None:
    model: Any = getattr(sb3, algorithm)(
        "MlpPolicy", make_env(resolve_task("InvertedPendulum-v5")), device="cpu", seed=0
    )
    path = tmp_path / "policy.zip"
    model.save(path)
    table = evaluate(path, "InvertedPendulum-v5", mass=[1.0, 2.0], episodes=2, trust_pickle=True)
    assert table.height == 4
    expected = "td3" if algorithm == "DDPG" else algorithm.lower()
    assert table["agent"].unique().to_list() == [f"sb3-{expected}"]


def test_loading_asks_for_trust(trained: Path) -> None:
    with pytest.raises(InvalidInputError, match="can run any code when it is loaded"):
        find_policy(trained)


def test_a_foreign_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", "{}")
    with pytest.raises(InvalidInputError, match="no Stable-Baselines3 file"):
        find_policy(path, trust_pickle=True)
    path.write_bytes(b"junk")
    with pytest.raises(InvalidInputError, match="no Stable-Baselines3 file"):
        find_policy(path, trust_pickle=True)


def test_a_policy_of_other_sizes_is_refused(trained: Path) -> None:
    with pytest.raises(InvalidInputError, match="takes 11 observations and gives 3 actions"):
        evaluate(trained, "InvertedPendulum-v5", episodes=1, trust_pickle=True)
