"""The names that users type for agents, solvers and the rest, and how people write them."""

AGENTS = {"ddpg": "DDPG", "td3": "TD3", "sac": "SAC", "vpg": "VPG"}

SOLVERS = {"mixedne-ld": "MixedNE-LD", "gad": "GAD", "extra-adam": "Extra-Adam"}
"""The solvers of training, in the order of the paper's tables; SAC has none."""

FORMULATIONS = {
    "nr-mdp": "NR-MDP",
    "pr-mdp": "PR-MDP",
    "rarl": "RARL",
    "parameters": "adversarial parameters",
    "m2td3": "M2TD3",
    "pettingzoo": "PettingZoo",
}
"""How an adversary acts: a game by its name."""

STRENGTHS = {"nr-mdp": "delta", "pr-mdp": "delta", "rarl": "force", "parameters": "rate"}
"""By formulation, the field that says how strong the adversary is, if one does."""

RARL_FORCES: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("Walker2d", "HalfCheetah", "Hopper", "Ant", "Swimmer"), ("torso", 5.0)),
    "Humanoid": ("torso", 10.0),
    "InvertedPendulum": ("pole", 5.0),
}
"""By task, the bodies that RARL's authors push, and how hard. (They push Swimmer along z too, which
cannot move it.)"""

ATTACKS = ("action", "force", "parameters", "observation")
"""What an attacker of a frozen policy may act on."""

PRESETS = ("paper", "authors")

ACTIVATIONS = ("tanh", "relu")
"""Activation functions: ``policies`` has them in NumPy, ``agents.networks`` in JAX."""

INNER_CHAINS = ("frozen", "coupled")
"""What an inner chain of MixedNE-LD plays against: the other's outer value, or its own chain."""

OUTPUTS = ("iterate", "average")
"""What a run puts out: the last outer iterate, or an average of all of them."""

CHOICES = ("task", "agent", "solver", "formulation", "delta", "preset")
"""The fields of a configuration from which the defaults of all others follow."""


def either(words: tuple[str, ...]) -> str:
    """``ddpg, td3 or sac``."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
