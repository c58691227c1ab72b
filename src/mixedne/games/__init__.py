"""Games: how two players meet in a world.

``formulations``   NR-MDP and PR-MDP: two actions become one
"""

from mixedne.games.formulations import Branch, Formulation, make_formulation

__all__ = ["Branch", "Formulation", "make_formulation"]
