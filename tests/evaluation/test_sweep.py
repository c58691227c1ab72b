"""Sweeps: against plain Gymnasium loops, paired, resumable, independent of how they run."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import polars as pl
import pytest
from threadpoolctl import ThreadpoolController

import mixedne
from mixedne import InvalidInputError
from mixedne.evaluation import sweep
from mixedne.evaluation.handles import PolicyHandle
from mixedne.evaluation.sweep import (
    DivergenceWarning,
    NoEffectWarning,
    OtherTaskWarning,
    evaluate,
)
from mixedne.evaluation.table import SCHEMA
from mixedne.policies import Policy, save_policy
from mixedne.tasks import Shift, make_env, resolve_task
from probes.policies import random_policy

PENDULUM = "InvertedPendulum-v5"


def by_hand(policy: Any, task: str, shift: Shift, seed: int) -> tuple[float, int, bool]:
    """One episode in Gymnasium's own environment."""
    env = make_env(resolve_task(task), shift)
    observation, _ = env.reset(seed=seed)
    total, length = 0.0, 0
    while True:
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        total, length = total + float(reward), length + 1
        if terminated or truncated:
            return total, length, terminated


@pytest.mark.filterwarnings("ignore:mass changes next to nothing in Reacher")
@pytest.mark.parametrize("task", ["Hopper-v5", "InvertedPendulum-v4", "Reacher-v5"])
def test_a_sweep_equals_plain_loops(task: str) -> None:
    policy = random_policy(task)
    table = evaluate(policy, task, mass=[0.7, 1.5], noise=[0.0, 0.3], episodes=2)
    assert table.height == 8
    assert table.schema == SCHEMA
    for row in table.iter_rows(named=True):
        shift = Shift(mass=row["mass"], noise=row["noise"])
        found = by_hand(policy, task, shift, row["episode_seed"])
        assert found == (row["return"], row["length"], row["terminated"])


def test_grid_points_and_policies_share_their_episodes() -> None:
    policies = [PolicyHandle(str(i), random_policy(PENDULUM, i)) for i in (1, 2)]
    table = evaluate(policies, PENDULUM, mass=[0.5, 1, 2], episodes=4, seed=3)
    assert table.height == 2 * 3 * 4
    assert table["episode_seed"].n_unique() == 4
    seeds = table.group_by("run", "mass", maintain_order=True).agg("episode_seed")["episode_seed"]
    assert len({tuple(seed) for seed in seeds.to_list()}) == 1
    other = evaluate(policies[0], PENDULUM, episodes=4, seed=4)
    assert set(other["episode_seed"]) & set(table["episode_seed"]) == set()


@pytest.mark.parametrize("task", ["Hopper-v5", "Ant-v5"])
def test_results_do_not_depend_on_chunks_threads_or_order(task: str) -> None:
    policy = random_policy(task)
    grid: dict[str, Any] = {"friction": [0.5, 1.0], "noise": [0.0, 0.2], "episodes": 3}
    whole = evaluate(policy, task, mass=[0.6, 1.0, 1.9], **grid)
    pieces = evaluate(policy, task, mass=[1.9, 1.0, 0.6], **grid, threads=1, worlds_at_once=5)
    order = ["mass", "friction", "noise", "episode"]
    assert whole.sort(order).equals(pieces.sort(order))


def test_several_policies_at_once_equal_one_at_a_time() -> None:
    policies = [random_policy("Hopper-v5", seed) for seed in (1, 2)]
    handles = [PolicyHandle(str(i), policy) for i, policy in enumerate(policies)]
    together = evaluate(handles, "Hopper-v5", mass=[0.5, 1.5], episodes=2)
    alone = pl.concat([evaluate(s, "Hopper-v5", mass=[0.5, 1.5], episodes=2) for s in handles])
    assert together.equals(alone)


def test_the_toy_task_and_stochastic_policies() -> None:
    policy = random_policy("toy", head="clipped-gaussian", hidden=(16, 16), activation="relu")
    mean = evaluate(policy, "toy", rho=[0.0, 0.4], episodes=3)
    drawn = evaluate(policy, "toy", rho=[0.0, 0.4], episodes=3, stochastic=True)
    again = evaluate(policy, "toy", rho=[0.0, 0.4], episodes=3, stochastic=True, worlds_at_once=2)
    assert mean["acting"].unique().to_list() == ["mean"]
    assert drawn["acting"].unique().to_list() == ["stochastic"]
    assert not np.allclose(mean["return"], drawn["return"])
    assert drawn.equals(again)
    assert mean["length"].unique().to_list() == [500]
    assert evaluate(policy, "toy", episodes=1)["rho"].to_list() == [0.2]


def test_other_gymnasium_tasks_and_callables() -> None:
    def still(observations: np.ndarray) -> np.ndarray:
        return np.zeros((len(observations), 1))

    table = evaluate(still, "Pendulum-v1", noise=[0.0, 1.0], episodes=2)
    assert table["run"].unique().to_list() == ["still"]
    assert table["length"].unique().to_list() == [200]
    assert table["agent"].unique().to_list() == [None]
    assert table.filter(pl.col("noise") == 0)["return"].to_list() == [
        by_hand(lambda o: still(o[None])[0], "Pendulum-v1", Shift(), seed)[0]
        for seed in table["episode_seed"][:2]
    ]


def test_named_bodies_and_geoms() -> None:
    policy = random_policy("Hopper-v5")
    table = evaluate(policy, shifts={"mass[foot]": 3.0}, episodes=2)
    assert table["mass[foot]"].unique().to_list() == [3.0]
    assert table.equals(evaluate(policy, body_masses=[("foot", 3.0)], episodes=2))
    assert table["return"].to_list() != evaluate(policy, episodes=2)["return"].to_list()


def test_an_axis_without_effect_is_reported() -> None:
    with pytest.warns(NoEffectWarning, match="friction changes nothing in InvertedPendulum-v5"):
        evaluate(random_policy(PENDULUM), friction=[0.5, 1.0], episodes=1)
    # MuJoCo takes the larger of two geoms' friction: the floor's alone does nothing here.
    with pytest.warns(NoEffectWarning, match=r"friction\[floor\] changes nothing in HalfCheetah"):
        evaluate(
            random_policy("HalfCheetah-v5"),
            shifts={"friction[floor]": 0.5},
            mass=[2.0],
            episodes=1,
        )


def test_an_axis_with_next_to_no_effect_is_reported() -> None:
    """Reacher's joints have an armature a thousand times its inertia; a Hopper has none such."""
    with pytest.warns(NoEffectWarning, match="mass changes next to nothing in Reacher-v5"):
        evaluate(random_policy("Reacher-v5"), mass=[0.5, 1.0, 2.0], episodes=1)
    evaluate(random_policy("Hopper-v5"), mass=[0.9, 1.0], episodes=1)  # a warning is an error


def test_a_policy_in_another_task_than_its_own_is_reported() -> None:
    policy = random_policy("Hopper-v5")
    with pytest.warns(OtherTaskWarning, match="was trained for Hopper-v5 and is evaluated in Hop"):
        evaluate(policy, "Hopper-v4", episodes=1)
    evaluate(policy, "Hopper", episodes=1)  # the same task by its short name


def test_policies_from_elsewhere_have_one_blas_thread() -> None:
    seen: list[int] = []

    def threads() -> list[int]:
        found = ThreadpoolController().select(user_api="blas").info()
        return [library["num_threads"] for library in found]

    def elsewhere(observations: np.ndarray) -> np.ndarray:
        seen.extend(threads())
        return np.zeros((len(observations), 1))

    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if 2 not in threads():
            pytest.skip("this BLAS has no threads")
        evaluate(elsewhere, PENDULUM, episodes=1)
        assert set(seen) == {1}
        assert 2 in threads()  # and is as before afterwards


def test_an_interrupted_evaluation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_policy(tmp_path / "run", random_policy(PENDULUM))
    out = tmp_path / "table.parquet"
    grid: dict[str, Any] = {"mass": [0.5, 1, 2], "episodes": 4, "worlds_at_once": 5}
    whole = evaluate(tmp_path / "run", **grid)
    real, calls = sweep.run_chunk, []

    def fails_at_the_third(*given: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*given, **more)

    monkeypatch.setattr(sweep, "run_chunk", fails_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        evaluate(tmp_path / "run", **grid, out=out)
    assert not out.exists()
    partial = next(tmp_path.glob("*.partial"))
    (partial / "000001.parquet").write_bytes(b"cut short")  # a damaged chunk is made anew
    table = evaluate(tmp_path / "run", **grid, out=out)
    assert len(calls) == 5  # the first chunk was kept, the other two were run
    assert table.equals(whole)
    assert pl.read_parquet(out).equals(whole)
    assert not list(tmp_path.glob("*.partial"))


def test_another_request_does_not_take_up_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_policy(tmp_path / "run", random_policy(PENDULUM))
    out = tmp_path / "table.parquet"

    def fails(*given: Any, **more: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sweep, "run_chunk", fails)
        with pytest.raises(KeyboardInterrupt):
            evaluate(tmp_path / "run", episodes=2, out=out)
    save_policy(tmp_path / "run", random_policy(PENDULUM, seed=5))
    table = evaluate(tmp_path / "run", episodes=2, out=out)
    assert table.equals(evaluate(tmp_path / "run", episodes=2))


def test_joining_keeps_old_rows_and_replaces_repeated_ones(tmp_path: Path) -> None:
    path, run = tmp_path / "evaluation.parquet", tmp_path / "run"
    save_policy(run, random_policy(PENDULUM))
    evaluate(run, mass=[0.5, 1.0], episodes=2, out=path, join=True)
    new = evaluate(run, mass=[1.0, 2.0], episodes=3, out=path, join=True)
    assert new.height == 6
    joined = pl.read_parquet(path)
    assert joined.height == 2 + 3 + 3
    assert pl.read_parquet_metadata(path)["format_version"] == "1"
    # The same policy under another name is still the same policy.
    evaluate({"other/run": run}, mass=[2.0], episodes=3, out=path, join=True)
    renamed = pl.read_parquet(path)
    assert renamed.height == 8
    assert renamed["run"].unique().to_list() == ["other/run"]
    evaluate(run, mass=[2.0], episodes=3, out=path, join=True)
    # Old rows of another policy under the same name would be a lie.
    save_policy(run, random_policy(PENDULUM, seed=9))
    evaluate(run, mass=[1.0], episodes=1, out=path, join=True)
    assert pl.read_parquet(path).height == 1


def test_a_damaged_table_is_found_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "evaluation.parquet"
    monkeypatch.setattr(sweep, "run_chunk", None)  # any work would fail
    for damage in (b"junk", b""):
        path.write_bytes(damage)
        with pytest.raises(InvalidInputError, match="is damaged or no evaluation table"):
            evaluate(random_policy(PENDULUM), out=path, join=True)
    pl.DataFrame({"other": [1]}).write_parquet(path)
    with pytest.raises(InvalidInputError, match="is damaged or no evaluation table"):
        evaluate(random_policy(PENDULUM), out=path, join=True)


def test_a_policy_does_not_feel_its_company() -> None:
    """Actions of another precision beside it must not change how its costs are rounded."""
    task = "HalfCheetah-v5"
    policy = random_policy(task)
    other = random_policy(task, seed=2)
    alone = evaluate(policy, episodes=2)
    both = {"policy": policy, "other": lambda observations: other(observations).astype(float)}
    beside = evaluate(both, task, episodes=2)
    assert beside.filter(pl.col("run") == "policy")["return"].equals(alone["return"])


def test_names_are_made_distinct(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        save_policy(tmp_path / parent / "seed0", random_policy(PENDULUM))
    table = evaluate([tmp_path / "a" / "seed0", tmp_path / "b" / "seed0"], episodes=1)
    assert table["run"].to_list() == ["a/seed0", "b/seed0"]
    twice = evaluate([random_policy(PENDULUM), random_policy(PENDULUM)], episodes=1)
    first, second = twice["run"]
    assert second == f"{first}-2"


def test_what_acted_is_recorded() -> None:
    sampling = random_policy("toy", head="clipped-gaussian", hidden=(4,))
    fixed = random_policy("toy", hidden=(4,))
    policies = {"sampling": sampling, "fixed": fixed, "callable": fixed.__call__}
    found = evaluate(policies, "toy", episodes=1, stochastic=True)
    assert dict(found.select("run", "acting").iter_rows()) == {
        "sampling": "stochastic",
        "fixed": "mean",
        "callable": None,
    }


class Recurrent:
    """As a recurrent model of Stable-Baselines3's: it gives its state back."""

    def predict(self, observation: Any, state: Any = None, deterministic: bool = False) -> Any:
        return np.zeros(1), (np.zeros(1),)


class SeesParts(Recurrent):
    """Observes a dictionary."""

    observation_space = gym.spaces.Dict({"a": gym.spaces.Box(-1, 1, (4,))})


@pytest.mark.parametrize(
    ("policy", "words"),
    [(Recurrent(), "is recurrent, which is not supported"), (SeesParts(), "that are not flat")],
)
def test_models_that_cannot_be_played_as_they_are_are_refused(policy: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        evaluate(policy, "InvertedPendulum-v5", episodes=1)


def test_worlds_that_diverged_are_reported() -> None:
    with pytest.warns(DivergenceWarning, match="in 2 of 4 episodes the physics diverged"):
        table = evaluate(actions((2,), 0.5), "Swimmer-v5", mass=[0.03, 1.0], episodes=2)
    assert table["diverged"].to_list() == [True, True, False, False]


def test_returns_that_are_no_numbers_are_marked_and_reported() -> None:
    """Rewards are NaN from the 131st step on."""
    task = "probes.faulty:LongSpoiltReward-v0"
    with pytest.warns(DivergenceWarning, match="in 2 of 2 episodes of .*Long.* is NaN or infin"):
        table = evaluate(actions((1,), 0.0), task, episodes=2)
    assert table["diverged"].to_list() == [True, True]
    assert table["return"].is_nan().all()


def test_an_environment_that_misbehaves_is_named_with_its_step() -> None:
    words = "the environment probes.faulty:StepFourValues-v0 misbehaves: step 3 after reset"
    with pytest.raises(InvalidInputError, match=words):
        evaluate(actions((1,), 0.0), "probes.faulty:StepFourValues-v0", episodes=1)


def test_a_policy_file_cannot_name_a_module_to_import(tmp_path: Path) -> None:
    policy = random_policy(PENDULUM)
    save_policy(tmp_path, Policy(replace(policy.spec, task="this:Zen-v0"), policy.tensors))
    with pytest.raises(InvalidInputError, match="names a module: pass task= to allow it"):
        evaluate(tmp_path)
    assert "this" not in sys.modules


def test_numbers_of_any_kind_are_taken(tmp_path: Path) -> None:
    save_policy(tmp_path / "run", random_policy(PENDULUM))
    numbers: dict[str, Any] = {"episodes": np.int64(1), "seed": np.int64(3)}
    numbers |= {"mass": np.float32(0.5), "shifts": {"mass[cart]": np.float32(2)}}
    table = evaluate(tmp_path / "run", **numbers, out=tmp_path / "out.parquet")
    assert table["mass[cart]"].to_list() == [2.0]


def actions(shape: tuple[int, ...], value: float) -> Any:
    return lambda observations: np.full((len(observations), *shape), value)


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (actions((1,), 0.0), {"task": "InvertedPendulun-v5"}, "did you mean InvertedPendulum-v5"),
        (actions((1,), 0.0), {"task": PENDULUM, "rho": [0.1]}, "has no axis rho"),
        (actions((1,), 0.0), {"task": "Pendulum-v1", "mass": [2.0]}, "has no axis mass"),
        (actions((1,), 0.0), {"task": "CartPole-v1"}, "must be a flat Box"),
        (actions((1,), 0.0), {"task": PENDULUM, "mass": [0.0]}, "mass must be above 0"),
        (actions((1,), 0.0), {"task": PENDULUM, "mass": []}, "mass needs at least one value"),
        (actions((1,), 0.0), {"task": PENDULUM, "episodes": 0}, "episodes must be at least 1"),
        (actions((1,), 0.0), {"task": PENDULUM, "shifts": {"mass[wing]": 2}}, "body must be"),
        (actions((1,), 0.0), {}, "does not say its task: pass task="),
        (actions((2,), 0.0), {"task": PENDULUM}, r"actions of the shape \(10, 1\)"),
        (actions((), 0.0), {"task": PENDULUM}, r"actions of the shape \(10, 1\)"),
        (actions((1,), np.nan), {"task": PENDULUM}, "gave NaN or infinity"),
        (random_policy("Hopper-v5"), {"task": PENDULUM}, "takes 11 observations and gives 3"),
        ("nowhere", {}, "there is no policy at nowhere"),
        (Path(__file__), {}, r"is no policy: its name must end in \.json, \.safetensors, \.onnx"),
        (actions((1,), 0.0), {"task": PENDULUM, "worlds_at_once": 1.5}, "must be a whole number"),
        (
            3,
            {"task": PENDULUM},
            "a policy must be a path, a run, a callable or have a method predict, not int",
        ),
        ([], {"task": PENDULUM}, "at least one policy"),
        (lambda o: [[0.0], []], {"task": PENDULUM}, r"actions of the shape \(10, 1\)"),
        (actions((1,), 0.0), {"task": PENDULUM, "episodes": 2.5}, "episodes must be a whole"),
        (actions((1,), 0.0), {"task": PENDULUM, "episodes": 10**12}, "must be at most 2000000"),
        (actions((1,), 0.0), {"task": PENDULUM, "mass": ["a"]}, "mass must be numbers"),
        (actions((1,), 0.0), {"task": PENDULUM, "mass": 1e308}, "mass must be at most 1000000"),
        (actions((1,), 0.0), {"task": PENDULUM, "shifts": {"mas": 1}}, "did you mean 'mass'"),
        (
            actions((1,), 0.0),
            {"task": PENDULUM, "shifts": {"mass[pole]": 2, "mass[#2]": 3}},
            r"mass\[#2\] and mass\[pole\] are the same body",
        ),
    ],
)
def test_bad_input_is_refused_and_nothing_written(
    policy: Any, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        evaluate(policy, **options, out=tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "table.parquet"
    out.write_text("mine")
    policy: Policy = random_policy(PENDULUM)
    with pytest.raises(InvalidInputError, match="exists: choose another"):
        evaluate(policy, episodes=1, out=out)
    assert out.read_text() == "mine"
    assert evaluate(policy, episodes=1, out=out, overwrite=True).height == 1


def test_the_public_names() -> None:
    assert mixedne.evaluate is evaluate
    assert callable(mixedne.load_policy)


@pytest.mark.slow
def test_memory_stays_bounded(tmp_path: Path) -> None:
    """Ten thousand Hopper worlds, a hundred masses, under 2 GiB."""
    save_policy(tmp_path, random_policy("Hopper-v5"))
    code = (
        "import re, sys, mixedne, numpy as np\n"
        "from pathlib import Path\n"
        "table = mixedne.evaluate(sys.argv[1], mass=np.linspace(0.5, 2, 100), episodes=100)\n"
        # Not ru_maxrss, which a process has from the one that started it.
        "peak = re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "print(table.height, peak)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    rows, peak = map(int, done.stdout.split())
    assert rows == 10_000
    assert peak < 2 * 1024**2  # in KiB
