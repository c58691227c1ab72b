"""NR-MDP and PR-MDP: what two actions become, by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from mixedne import InvalidInputError
from probes.games import action_game

NAMES = ("nr-mdp", "pr-mdp")
AGENT, ADVERSARY = np.array([1.0, -0.5]), np.array([-1.0, 1.0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("delta", [0.0, 0.1, 0.5, 0.9])
def test_a_lottery_of_as_many_branches_as_it_says(name: str, delta: float) -> None:
    game = action_game(name, delta)
    lottery = game.branches(AGENT, ADVERSARY)
    assert len(lottery) == game.branch_count
    assert sum(branch.weight for branch in lottery) == pytest.approx(1, abs=1e-15)
    assert all(branch.weight >= 0 for branch in lottery)
    assert all(np.shape(b.action) == (game.executed.size,) for b in lottery)


def test_nr_mdp_mixes_the_actions() -> None:
    # ¾ · 1 + ¼ · (−1) = ½;  ¾ · (−½) + ¼ · 1 = −⅛
    ((weight, action),) = action_game("nr-mdp", 0.25).branches(AGENT, ADVERSARY)
    assert weight == 1
    np.testing.assert_array_equal(action, [0.5, -0.125])


def test_pr_mdp_takes_either_action() -> None:
    first, second = action_game("pr-mdp", 0.25).branches(AGENT, ADVERSARY)
    assert (first.weight, second.weight) == (0.75, 0.25)
    np.testing.assert_array_equal(first.action, AGENT)
    np.testing.assert_array_equal(second.action, ADVERSARY)


@pytest.mark.parametrize("chance", [0.0, 0.74, 0.76, 0.999])
def test_the_world_gets_the_mixture_whatever_the_chance(chance: float) -> None:
    executed = action_game("nr-mdp", 0.25).execute(AGENT, ADVERSARY, chance)
    np.testing.assert_array_equal(executed, [0.5, -0.125])


def test_the_world_gets_a_branch_by_its_probability() -> None:
    game = action_game("pr-mdp", 0.25)
    # 0, 0.001, …, 0.999: the first 750 are below 1 − δ = 0.75 and go to the agent.
    chances = np.arange(1000) / 1000
    executed = [game.execute("agent", "adversary", chance) for chance in chances]
    assert executed == 750 * ["agent"] + 250 * ["adversary"]
    in_jax = game.execute(1.0, -1.0, jnp.asarray(chances), where=jnp.where)
    np.testing.assert_array_equal(in_jax, 750 * [1.0] + 250 * [-1.0])


@pytest.mark.parametrize("name", NAMES)
def test_without_a_share_there_is_no_adversary(name: str) -> None:
    alone = action_game(name, 0)
    assert not alone.has_adversary
    assert alone.sizes == (2, 0)
    assert not alone.players_meet
    ((weight, action),) = alone.branches(AGENT, None)
    assert weight == 1
    assert action is AGENT  # not 1 · a + 0 · b: there is no b
    assert alone.execute(AGENT, None, 0.5) is AGENT
    both = action_game(name, 0.1)
    assert both.has_adversary
    assert both.sizes == (2, 2)
    assert both.players_meet == (name == "nr-mdp")


@pytest.mark.parametrize("name", NAMES)
def test_the_same_for_numpy_and_jax(name: str) -> None:
    game = action_game(name, 0.3)
    pairs = zip(
        game.branches(AGENT, ADVERSARY),
        game.branches(jnp.asarray(AGENT), jnp.asarray(ADVERSARY)),
        strict=True,
    )
    for (weight, action), (weight_too, action_too) in pairs:
        assert weight == weight_too
        np.testing.assert_allclose(action, action_too, rtol=1e-6)


@pytest.mark.parametrize("delta", [-0.1, 1.0, 1.5, np.nan, np.inf])
def test_refuses_shares_outside_zero_to_one(delta: float) -> None:
    with pytest.raises(InvalidInputError, match=r"delta must be .*, not"):
        action_game("nr-mdp", delta)


def test_refuses_what_is_not_there() -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'nr-mdp'"):
        action_game("nrmdp", 0.1)
