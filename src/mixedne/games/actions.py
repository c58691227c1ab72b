"""Games whose adversary perturbs the agent's actions (Tessler et al. 2019).

``nr-mdp``   noisy action robust MDP: one branch, (1 − δ) a + δ b
``pr-mdp``   probabilistic action robust MDP: a with probability 1 − δ, b with probability δ

The paper trains with the first. With δ = 0 there is no adversary, and both are the ordinary MDP.
"""

from collections.abc import Callable
from typing import Any

from mixedne.errors import check_number
from mixedne.games.game import Box, Branch, Game
from mixedne.types import Players


def action_game(task: Any, name: str, delta: float | None) -> Game:
    """The game ``name``, with the adversary's share δ."""
    check_number("delta", delta, at_least=0, below=1)
    delta = float(delta or 0)
    lotteries: dict[str, Callable[[Any, Any], tuple[Branch, ...]]] = {
        "nr-mdp": lambda a, b: (Branch(1.0, (1 - delta) * a + delta * b),),
        "pr-mdp": lambda a, b: (Branch(1 - delta, a), Branch(delta, b)),
        "one player": lambda a, b: (Branch(1.0, a),),
    }
    box = Box(task.action_low, task.action_high)
    rule = name if delta > 0 else "one player"
    return Game(
        name,
        delta,
        task.observation_size,
        Players(box, box if delta > 0 else None),
        executed=box,
        branches=lotteries[rule],
        absent=(lambda a: a) if delta > 0 else None,  # whatever the shares, a is executed
        branch_count=2 if rule == "pr-mdp" else 1,
        agent_share=1 - delta if rule == "nr-mdp" else 1.0,
        players_meet=rule == "nr-mdp",
    )
