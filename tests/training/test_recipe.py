"""The parts of a recipe, all at once: a run that is interrupted ends as one that was not.

And the output that is an average: which files there are, what is evaluated, what is repaired. And
the output that leaves the adversary's share of the action unused.
"""

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixedne import InvalidInputError
from mixedne.config import Config, configure, game_of, total_updates
from mixedne.evaluation.sweep import evaluate
from mixedne.files import read_json
from mixedne.games import Box
from mixedne.metrics import read_metrics
from mixedne.names import OUTPUTS, SOLVERS
from mixedne.policies import NAMES, load_policy
from mixedne.solvers import Controls, Oracle, solve
from mixedne.studies.folder import mark_finished, read_finished
from mixedne.studies.jobs import repair
from mixedne.tasks import resolve_task
from mixedne.training.assembly import make_solver
from mixedne.training.checkpoints import load_checkpoints
from mixedne.training.run import Status, train_config
from mixedne.training.updates import inner_steps, noise_scale
from mixedne.types import Players
from probes.runs import results

PENDULUM = "InvertedPendulum-v5"
SMALL: dict[str, Any] = {
    **{"hidden": (8,), "batch_size": 8, "collect_steps": 10, "updates": 4, "update_after": 20},
    **{"metrics_every": 40, "checkpoint_every": 50, "evaluate_every": 100, "steps": 200},
    **{"evaluate_episodes": 1, "evaluate_masses": (1.0,), "random_steps": 30, "seed": 3},
}
RATES: dict[str, Any] = {"learning_rate_decay": 0.1, "output": "average", "average_decay": 0.95}
PARTS: dict[str, Any] = {
    **RATES,
    **{"critic_hidden": (12, 6), "critic_optimizer": "adamw", "critic_weight_decay": 0.01},
    **{"scale_rewards": True, "normalise_observations": True},
}
ALONE: dict[str, Any] = {"alone_episodes": 0.5}


@pytest.fixture(autouse=True)
def lanes_may_hold_copies() -> Iterator[None]:
    with jax.debug_key_reuse(False):
        yield


class LeftError(Exception):
    """The run is left here."""


def all_parts(agent: str, solver: str | None) -> Config:
    corrected: dict[str, Any] = (
        {} if solver in (None, "extra-adam") else {"rms_bias_correction": True}
    )
    if agent == "vpg":
        own: dict[str, Any] = {"hidden": (4,), "horizon": 20, "steps": 40, "metrics_every": 8}
        own |= {"checkpoint_every": 16, "evaluate_every": 0}
        return configure("toy", agent=agent, solver=solver, **own, **RATES, **corrected)
    alone = {} if agent == "sac" else ALONE
    return configure(PENDULUM, agent=agent, solver=solver, **SMALL, **PARTS, **corrected, **alone)


CASES = [("td3", "mixedne-ld")]
SLOW: list[tuple[str, str | None]] = [
    ("td3", solver) for solver in SOLVERS if solver != "mixedne-ld"
]
SLOW += [("ddpg", solver) for solver in SOLVERS]
SLOW += [("sac", None), ("vpg", "gad"), ("vpg", "mixedne-ld")]


@pytest.mark.parametrize(
    ("agent", "solver"), [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_with_all_parts_a_run_left_midway_ends_the_same(
    agent: str, solver: str | None, tmp_path: Path
) -> None:
    config = all_parts(agent, solver)
    whole = train_config(config, out=tmp_path / "whole").path
    midway = int(config.steps * 0.65)

    def leave(status: Status) -> None:
        if status.step >= midway:
            raise LeftError

    with pytest.raises(LeftError):
        train_config(config, out=tmp_path / "run", watch=leave)
    saved = next(load_checkpoints(tmp_path / "run/checkpoint")).step
    assert 0 < saved < config.steps
    train_config(config, out=tmp_path / "run", resume=True)
    assert results(tmp_path / "run") == results(whole)
    lines = [line for line in read_metrics(whole) if line["kind"] == "training"]
    assert lines[-1]["updates"] == total_updates(vars(config))
    assert (lines[-1].get("reward_scale", 0) > 0) == (agent != "vpg")


@pytest.mark.parametrize(
    ("name", "sigma0"), [("gad", None), ("mixedne-ld", 0), ("mixedne-ld", 1e-9)]
)
def test_the_bias_correction_reaches_the_solver(name: str, sigma0: float | None) -> None:
    """The first step is η with it, and η/√(1 − α) without."""
    oracle = Oracle(gradients=lambda carry, players, opponent: players)
    own: dict[str, Any] = {} if sigma0 is None else {"sigma0": sigma0}
    for corrected, length in ((True, 1e-4), (False, 1e-4 / 0.001**0.5)):
        config = configure(PENDULUM, solver=name, delta=0, rms_bias_correction=corrected, **own)
        solver = make_solver(config, oracle)
        state, _ = solver.step(jax.random.key(0), solver.init(Players(jnp.ones(1), None)))
        np.testing.assert_allclose(state.players.agent - 1, length, rtol=2e-3)


def test_targets_of_the_preset_robust_move_at_one_pace_with_every_solver() -> None:
    """Counted in a cycle of the solver itself: with chains, targets follow every inner step."""
    counting = Oracle(
        gradients=lambda carry, players, opponent: players,
        begin=lambda key, carry, players, opponent: (carry[0] + 1, carry[1]),
        end=lambda carry, players: (carry[0], carry[1] + 1),
    )
    paces = set()
    for name, delta in itertools.product(SOLVERS, (0.0, 0.1)):
        config = configure(PENDULUM, preset="robust", solver=name, delta=delta)
        solver, t = make_solver(config, counting), np.arange(1, config.updates + 1)
        state = solver.init(Players(jnp.ones(1), jnp.ones(1) if delta else None), (0, 0))
        controls = Controls(inner_steps(config, t), noise_scale(config, t).astype(np.float32))
        state, _ = solve(solver, jax.random.key(0), state, controls)
        critics, targets = (int(count) / config.collect_steps for count in state.carry)
        paces.add((critics, round(targets * (1 - config.tau), 6)))
    assert len(paces) == 1


# -- the average as output -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def average(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of DDPG with GAD whose output is the average."""
    config = configure(PENDULUM, solver="gad", **SMALL, output="average", average_decay=0.95)
    return train_config(config, out=tmp_path_factory.mktemp("runs") / "average").path


@pytest.fixture
def run(average: Path, tmp_path: Path) -> Path:
    """A copy of it, to be mistreated."""
    return Path(shutil.copytree(average, tmp_path / "run"))


def test_the_iterate_is_what_it_would_be_alone(average: Path, tmp_path: Path) -> None:
    alone = train_config(configure(PENDULUM, solver="gad", **SMALL), out=tmp_path / "alone").path
    for player in ("policy", "adversary"):
        ours, beside, theirs = (
            load_policy(*place).tensors
            for place in ((average, player), (average, f"{player}-iterate"), (alone, player))
        )
        for name, tensor in theirs.items():
            np.testing.assert_allclose(beside[name], tensor, atol=1e-6)
        assert any((ours[name] != beside[name]).any() for name in ours)
    files = {f"{name}.{suffix}" for name in NAMES for suffix in ("json", "safetensors")}
    assert files <= {path.name for path in average.iterdir()}
    assert not list(alone.glob("*-iterate*"))
    assert not any("average" in n for n in next(load_checkpoints(alone / "checkpoint")).tensors)


def test_the_average_is_evaluated(average: Path) -> None:
    last = [line for line in read_metrics(average) if line["kind"] == "evaluation"][-1]
    returns = {
        name: evaluate(str(average / f"{name}.json"), PENDULUM, mass=[1.0], episodes=1, seed=3)
        for name in ("policy", "policy-iterate")
    }
    assert returns["policy"]["return"].to_list() == [last["return_mean"]]
    by_folder = evaluate(average, PENDULUM, mass=[1.0], episodes=1, seed=3)
    assert by_folder["return"].to_list() == [last["return_mean"]]


def test_the_best_policy_is_an_average_too(average: Path) -> None:
    said = read_json(average / "best" / "best.json")
    found = evaluate(average, PENDULUM, at="best", mass=[1.0], episodes=1, seed=3)
    assert found["return"].to_list() == [said["mean_return"]]
    ours, beside = (load_policy(average / "best", name).tensors for name in NAMES[::2])
    assert any((ours[name] != beside[name]).any() for name in ours)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_policies_are_made_again(name: str, run: Path) -> None:
    config = configure(PENDULUM, solver="gad", **SMALL, output="average", average_decay=0.95)
    path = run / f"{name}.safetensors"
    good = path.read_bytes()
    mark_finished(run, "0" * 12)
    path.write_bytes(good[:-4] + b"ruin")
    found = read_finished(run)
    assert found is not None
    assert found.damaged == {path.name}
    with pytest.warns(UserWarning, match="it is made again"):
        repair(run)
    assert not path.exists()
    train_config(config, out=run, resume=True)
    assert path.read_bytes() == good


def test_with_an_idle_adversary_a_policy_acts_by_its_share(average: Path, tmp_path: Path) -> None:
    parts: dict[str, Any] = {"output": "average", "average_decay": 0.95, "idle_adversary": True}
    config = configure(PENDULUM, solver="gad", **SMALL, **parts)
    train_config(config, out=tmp_path / "run")
    game, rng = game_of(config, resolve_task(PENDULUM)), np.random.default_rng(0)
    observations, reach = rng.standard_normal((5, 4)), 3.0
    for name in ("policy", "policy-iterate"):
        full, share = (load_policy(path, name) for path in (average, tmp_path / "run"))
        # Training is the same; the policy executes what the game would if the adversary rested.
        assert np.array_equal(full.unit(observations), share.unit(observations))
        rested = game.execute(full.unit(observations), 0.0, chance=0.5)
        np.testing.assert_allclose(share(observations), reach * rested, rtol=1e-6)
        np.testing.assert_allclose(share(observations), 0.9 * full(observations), rtol=1e-6)
    full, share = (load_policy(path, "adversary") for path in (average, tmp_path / "run"))
    assert np.array_equal(full(observations), share(observations))


def test_the_share_is_evaluated(tmp_path: Path) -> None:
    config = configure(PENDULUM, **SMALL, delta=0.5, idle_adversary=True)
    run = train_config(config, out=tmp_path / "run")
    [line] = [x for x in read_metrics(run.path) if x["kind"] == "evaluation" and x["step"] == 200]
    policy = load_policy(run.path)
    table = evaluate(policy, PENDULUM, mass=[1.0], episodes=1, seed=config.seed)
    assert line["return_mean"] == pytest.approx(table["return"].mean(), rel=1e-12)
    assert policy.reach == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("choices", "needed"),
    [
        ({"delta": 0.0, "idle_adversary": True}, "an adversary"),
        ({"delta": 0.0, "alone_episodes": 0.5}, "an adversary"),
        ({"formulation": "pr-mdp", "idle_adversary": True}, "formulation nr-mdp"),
        (
            {"formulation": "m2td3", "alone_episodes": 0.5},
            "formulation nr-mdp, pr-mdp, rarl or parameters",
        ),
        ({"agent": "sac", "idle_adversary": True}, "an adversary"),
        ({"agent": "sac", "alone_episodes": 0.5}, "an adversary"),
    ],
)
def test_acting_alone_needs_an_adversary_that_shares_the_action(
    choices: dict[str, Any], needed: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"has an effect only with {needed}$"):
        configure(PENDULUM, **choices)


def test_a_share_of_a_box_keeps_its_centre() -> None:
    low, high = Box(np.array([0.0, -1.0]), np.array([2.0, 1.0])).shrunk(0.5)
    assert low.tolist() == [0.5, -0.5]
    assert high.tolist() == [1.5, 0.5]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_finished_run_of_m2td3_is_known_by_the_agent_alone(output: str, tmp_path: Path) -> None:
    """Its adversary is no policy, so a lost checkpoint does not mean that one is missing."""
    chosen: dict[str, Any] = {
        "formulation": "m2td3",
        "parameters": "mass[pole]=0.5:2",
        "output": output,
    }
    config = configure(PENDULUM, solver="gad", **chosen, **SMALL)
    out = train_config(config, out=tmp_path / "run").path
    shutil.rmtree(out / "checkpoint")
    seen: list[Status] = []
    train_config(config, out=out, resume=True, watch=seen.append)
    assert not seen  # it was not trained again
    assert not list(out.glob("adversary*"))


def test_a_decay_without_an_average_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="average_decay has an effect only with the output"):
        configure(PENDULUM, average_decay=0.9)
