"""The critics' own settings: their width, and what weight decay does to a step."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixedne.agents import DDPG, SAC, Batches, Transition
from mixedne.types import Players
from probes.games import action_game

S, A, N = 3, 2, 6
RATE, DECAY = 1e-2, 0.5


def make_agent(kind: type[DDPG | SAC], **settings: Any) -> DDPG | SAC:
    own: dict[str, Any] = {} if kind is SAC else {"game": action_game("nr-mdp", 0.1, S, A)}
    return kind(S, A, hidden=(4,), critic_learning_rate=RATE, **own, **settings)


def shapes(network: Any) -> list[tuple[int, ...]]:
    return [layer["weight"].shape for layer in network]


@pytest.mark.parametrize("kind", [DDPG, SAC])
def test_critics_have_a_width_of_their_own(kind: type[DDPG | SAC]) -> None:
    players, state = make_agent(kind, critic_hidden=(16, 8)).init(jax.random.key(0))
    for phi in (*state.critics, *state.target_critics):
        assert shapes(phi) == [(S + A, 16), (16, 8), (8, 1)]
    assert shapes(players.agent)[0] == (S, 4)
    _, like_the_players = make_agent(kind).init(jax.random.key(0))
    assert shapes(like_the_players.critics[0]) == [(S + A, 4), (4, 1)]


def critics_after_a_step(**settings: Any) -> tuple[Any, Any]:
    """The critic's parameters before and after its first step, flat."""
    agent = make_agent(DDPG, **settings)
    rng = np.random.default_rng(0)
    parts = ((1, N, S), (1, N, A), (1, N), (1, N), (1, N, S))
    batches = Batches(Transition(*(jnp.asarray(rng.normal(size=p)) for p in parts)), None)
    _, critic = agent.init(jax.random.key(0))
    carry = agent.begin(batches, None, agent.init_carry(critic), Players(None, None), None)
    flat = (jax.flatten_util.ravel_pytree(c.critics)[0] for c in (critic, carry.critic))
    before, after = map(np.asarray, flat)
    return before, after


def test_adamw_shrinks_weights_apart_from_the_gradient() -> None:
    """Adam's first step is ±rate; AdamW adds −rate · λ φ; Adam's penalty only turns signs."""
    phi, plain = critics_after_a_step()
    np.testing.assert_allclose(np.abs(plain - phi), RATE, rtol=1e-3)
    _, decoupled = critics_after_a_step(critic_optimizer="adamw", critic_weight_decay=DECAY)
    np.testing.assert_allclose(decoupled - plain, -RATE * DECAY * phi, atol=1e-7)
    _, penalised = critics_after_a_step(critic_weight_decay=DECAY)
    np.testing.assert_allclose(np.abs(penalised - phi), RATE, rtol=1e-3)
    assert (np.sign(penalised - phi) != np.sign(plain - phi)).any()
    _, undecayed = critics_after_a_step(critic_optimizer="adamw")
    np.testing.assert_array_equal(undecayed, plain)
