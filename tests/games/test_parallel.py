"""Games of PettingZoo's: ours pass its test, and others' can be played and learned."""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixedne import InvalidInputError, Players
from mixedne.config import configure
from mixedne.evaluation.handles import find_policy
from mixedne.evaluation.sweep import evaluate
from mixedne.games import make_game, make_game_env, parallel_env
from mixedne.policies import load_policy
from mixedne.shifts.channels import LOTTERY, episode_generator
from mixedne.tasks import make_env, resolve_task
from mixedne.training.collection import Experience
from mixedne.training.run import train_config
from probes.policies import random_policy
from probes.runs import results, train_interrupted

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo")

from pettingzoo.test import parallel_api_test

from probes.duels import duel

DUEL = "pettingzoo:probes.duels:duel"

# -- ours go out ----------------------------------------------------------------------------------

GAMES: dict[str, dict[str, Any]] = {
    "nr-mdp": {"delta": 0.3},
    "pr-mdp": {},
    "rarl": {},
    "parameters": {"parameters": ("mass[torso]=0.5:2", "gravity=0.5:1.5")},
}


@pytest.mark.parametrize("name", GAMES)
def test_our_games_pass_pettingzoos_own_test(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it warns of what it does not like
        parallel_api_test(parallel_env("Hopper-v5", name, **GAMES[name]), num_cycles=100)


@pytest.mark.parametrize("name", GAMES)
def test_our_games_are_those_of_training(name: str) -> None:
    """The same episode as in the environment that training has."""
    env, task = parallel_env("Hopper-v5", name, **GAMES[name]), resolve_task("Hopper")
    game = make_game(task, name, **({"delta": 0.1} | GAMES[name]))
    plain = make_game_env(task, game)
    seen, _ = env.reset(seed=4)
    expected, _ = plain.reset(seed=4)
    chance = episode_generator(4, LOTTERY)  # not the numbers of the world
    for _ in range(8):
        np.testing.assert_array_equal(env.state(), expected)
        for one, other in zip(seen.values(), game.views(expected), strict=True):
            np.testing.assert_array_equal(one, other)
        a, b = (np.asarray(env.action_space(who).sample(), np.float32) for who in env.agents)
        executed: Any = np.concatenate([a, b])
        if name == "nr-mdp":
            executed = np.float32(0.7) * a + np.float32(0.3) * b
        elif name == "pr-mdp":
            executed = a if chance.random() < 0.9 else b
        seen, rewards, *_ = env.step({"agent": a, "adversary": b})
        expected, reward, *_ = plain.step(executed)
        assert rewards == {"agent": float(reward), "adversary": -float(reward)}
    env.close()


def test_players_do_no_more_than_their_boxes_allow() -> None:
    """A learner that does not clip its actions gains nothing by it."""
    seen = {}
    for share in (1.0, 100.0):
        env = parallel_env("Hopper-v5", "rarl")
        env.reset(seed=4)
        actions = {who: share * env.action_space(who).high for who in env.agents}
        seen[share], *_ = env.step(actions)
        env.close()
    np.testing.assert_array_equal(seen[100.0]["agent"], seen[1.0]["agent"])


def test_one_parameter_may_be_a_text() -> None:
    env = parallel_env("Hopper-v5", "parameters", parameters="mass[torso]=0.5:2")
    assert env.action_space("adversary").shape == (1,)
    env.close()


def test_without_an_adversary_there_is_no_game() -> None:
    with pytest.raises(InvalidInputError, match="delta must be above 0"):
        parallel_env("Hopper", delta=0.0)


@pytest.mark.parametrize(
    ("formulation", "settings", "message"),
    [
        ("rarl", {"delta": 0.1}, "delta is no setting of rarl, which has bodies, axes, force"),
        ("nr-mdp", {"force": 2.0}, "force is no setting of nr-mdp, which has delta"),
        ("parameters", {"wind": 1}, "wind is no setting of parameters, which has parameters, rate"),
        ("fate", {}, "formulation must be one of"),
        ("rarl", {"bodies": 5}, "bodies must be a text with names, not 5"),
        ("rarl", {"force": "x"}, "force must be a number, not 'x'"),
    ],
)
def test_settings_of_another_formulation_are_refused(
    formulation: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parallel_env("Hopper", formulation, **settings)


# -- others come in -------------------------------------------------------------------------------


def test_each_player_sees_its_own_and_the_critic_both() -> None:
    task = resolve_task(DUEL)
    assert (task.id, task.max_episode_steps) == (f"{DUEL}:red", 3)
    game = make_game(task, "pettingzoo")
    assert (game.sees, game.sizes, game.strength) == ((2, 1), (2, 1), None)
    env = make_game_env(task, game)
    first, _ = env.reset(seed=1)
    sign = first[0]
    np.testing.assert_array_equal(first, [sign, 0, -sign])
    np.testing.assert_array_equal(game.views(first).adversary, [-sign])
    _, reward, *_ = env.step(np.array([0.5, -1, 0.25], np.float32))
    assert reward == sign * (-1.5 / 4 + 0.25)
    other = make_game_env(blue := resolve_task(f"{DUEL}:blue"), make_game(blue, "pettingzoo"))
    np.testing.assert_array_equal(other.reset(seed=1)[0], [-sign, sign, 0])
    _, reward, *_ = other.step(np.array([0.25, 0.5, -1], np.float32))
    assert reward == -sign * (-1.5 / 4 + 0.25)


def test_alone_the_opponent_makes_no_move() -> None:
    env = make_env(resolve_task(DUEL))
    (sign, _), _ = env.reset(seed=1)
    ends = [env.step(np.array([sign, sign]))[1:4] for _ in range(3)]
    assert ends[0] == (0.75, False, False)
    assert ends[2][1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("three", "there must be two agents, not 3: .'red', 'blue', 'green'."),
        ("unbounded", "the actions of .* must be bounded, not Box"),
        ("discrete", "the actions of .* must be a flat Box, not Discrete"),
        ("picture", "the observations of .* must be a flat Box, not Box"),
        ("nothing", "must give a ParallelEnv, not a NoneType"),
        ("missing", "has no attribute 'missing'"),
        ("duel:green", "our agent must be one of red, blue, not 'green'"),
        ("duel:", "named pettingzoo:module:factory or"),
    ],
)
def test_refusals(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        resolve_task(f"pettingzoo:probes.duels:{name}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"agent": "sac"}, "sac takes no pettingzoo: that needs ddpg or td3"),
        ({"agent": "vpg"}, "vpg takes no pettingzoo"),
        ({"delta": 0.1}, "delta has an effect only with formulation nr-mdp or pr-mdp"),
        ({"formulation": "nr-mdp"}, "is a game of two already: its formulation is pettingzoo, not"),
        ({"protagonist": "green"}, "our agent must be one of red, blue, not 'green'"),
        ({"task": "Hopper", "protagonist": "red"}, "protagonist is for tasks pettingzoo:.*Hopper"),
        ({"task": "Hopper", "formulation": "pettingzoo"}, "needs a task pettingzoo:.*not Hopper"),
    ],
)
def test_choices_that_do_not_fit(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        configure(**{"task": DUEL, **choices})


def test_without_pettingzoo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    message = "PettingZoo is not installed: pip install 'mixedne.pettingzoo.'"
    monkeypatch.delitem(sys.modules, "mixedne.games.parallel", raising=False)
    with pytest.raises(InvalidInputError, match=message):
        parallel_env("Hopper")
    with pytest.raises(InvalidInputError, match=message):
        resolve_task.__wrapped__(DUEL)


SMALL: dict[str, Any] = {
    **{"hidden": (8,), "batch_size": 8, "collect_steps": 20, "updates": 5, "steps": 160},
    **{"update_after": 30, "checkpoint_every": 40, "evaluate_every": 0},
}


def test_a_game_that_is_not_zero_sum() -> None:
    config = configure("pettingzoo:probes.duels:unfair", random_steps=100, **SMALL)
    made = Experience(config, resolve_task(config.task), None)
    made.start()
    words = r"misbehaves: step 1 after reset.* paid \S+ to one and \S+ to the other, .* sum to zero"
    with pytest.raises(InvalidInputError, match=words):
        made.collect(Players(*2 * [random_policy(DUEL)]), 0, 1)


@pytest.mark.slow
def test_an_interrupted_run_ends_as_the_whole_one(tmp_path: Path) -> None:
    own: dict[str, Any] = {"random_steps": 20, "normalise_observations": True}
    config = configure(DUEL, protagonist="blue", agent="td3", solver="gad", **own, **SMALL)
    assert (config.task, config.formulation, config.delta) == (f"{DUEL}:blue", "pettingzoo", None)
    whole, left = train_interrupted(config, tmp_path)
    assert results(left) == results(whole)

    agent, adversary = load_policy(whole), load_policy(whole, "adversary")
    assert (agent.spec.observation_size, adversary.spec.observation_size) == (1, 2)
    assert (agent.spec.action_high, adversary.spec.action_high) == ((0.5,), (1, 1))
    means = [policy.tensors["normaliser.mean"] for policy in (agent, adversary)]
    assert means[0] == pytest.approx(-means[1][0], abs=1e-6)  # blue sees −s
    assert means[1][1] == pytest.approx(1 / 3, abs=0.05)  # 0, ⅓ and ⅔ in turn
    provenance = find_policy(whole).provenance
    assert (provenance["formulation"], provenance["strength"]) == ("pettingzoo", None)
    meets_its_adversary(whole)


def meets_its_adversary(run: Path) -> None:
    """By a share of its moves: as in a game played by hand. None of it is no move, the default."""
    task, shares = f"{DUEL}:blue", [0.0, 0.25, 1.0]
    table = evaluate(run, task, shifts={"opponent": shares}, episodes=2)
    players = {"blue": load_policy(run), "red": load_policy(run, "adversary")}
    for row in table.iter_rows(named=True):
        game, total = duel(), 0.0
        seen, _ = game.reset(seed=row["episode_seed"])
        while game.agents:
            actions = {name: players[name](seen[name]) for name in players}
            actions["red"] *= np.float32(row["opponent"])
            seen, rewards, *_ = game.step(actions)
            total += rewards["blue"]
        assert row["return"] == pytest.approx(total, abs=1e-6)
    found = [table.filter(table["opponent"] == share)["return"].to_list() for share in shares]
    assert found[0] == evaluate(run, task, episodes=2)["return"].to_list()
    assert found[0] != found[1] != found[2]
    with pytest.raises(InvalidInputError, match="names a module: pass task= to allow it"):
        evaluate(run)
    with pytest.raises(InvalidInputError, match="comes without an adversary"):
        evaluate(load_policy(run), task, shifts={"opponent": [1.0]})
    with pytest.raises(InvalidInputError, match="Hopper-v5 has no axis opponent"):
        evaluate(lambda seen: seen[:, :3], "Hopper", shifts={"opponent": [1.0]})


@pytest.mark.slow
def test_the_game_is_learned(tmp_path: Path) -> None:
    """Dominant actions, as the probe says."""
    settings: dict[str, Any] = {
        "hidden": (16,),
        "batch_size": 32,
        "gamma": 0.5,
        "tau": 0.95,
        "eta": 3e-3,
    }
    settings |= {"critic_learning_rate": 5e-3, "collect_steps": 20, "updates": 20, "steps": 1500}
    config = configure(DUEL, agent="td3", random_steps=300, evaluate_every=500, **settings)
    run = train_config(config, out=tmp_path / "run")
    table = evaluate(run.path, DUEL, shifts={"opponent": [0.0, 1.0]}, episodes=2)
    returns = dict(zip(table["opponent"], table["return"], strict=True))
    assert returns == pytest.approx({0.0: 3 * 0.75, 1.0: 3 * 0.25}, abs=0.1)
