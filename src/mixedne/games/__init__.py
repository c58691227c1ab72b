"""Games: how two players meet in a world.

``formulations``   NR-MDP and PR-MDP: two actions become one
"""

from mixedne.games.formulations import FORMULATIONS, Branch, Formulation, make_formulation

__all__ = ["FORMULATIONS", "Branch", "Formulation", "make_formulation"]
