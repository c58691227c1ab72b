"""The names of agents, solvers and so on: as users type them, and as they are printed."""

AGENTS = {"ddpg": "DDPG", "td3": "TD3", "sac": "SAC", "vpg": "VPG"}

SOLVERS = {"mixedne-ld": "MixedNE-LD", "gad": "GAD", "extra-adam": "Extra-Adam"}
"""Solvers for training, in the order of the paper's tables; SAC has none."""

FORMULATIONS = {
    "nr-mdp": "NR-MDP",
    "pr-mdp": "PR-MDP",
    "rarl": "RARL",
    "parameters": "adversarial parameters",
    "m2td3": "M2TD3",
    "pettingzoo": "PettingZoo",
}
"""Formulations: how the adversary acts."""

STRENGTHS = {"nr-mdp": "delta", "pr-mdp": "delta", "rarl": "force", "parameters": "rate"}
"""By formulation, the field with the adversary's strength, if there is one."""

RARL_FORCES: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("Walker2d", "HalfCheetah", "Hopper", "Ant", "Swimmer"), ("torso", 5.0)),
    "Humanoid": ("torso", 10.0),
    "InvertedPendulum": ("pole", 5.0),
}
"""By task, the bodies that RARL's authors push, and the force in N. (They also push Swimmer along
z, which cannot move it.)"""

ATTACKS = ("action", "force", "parameters", "observation")
"""What an attacker of a frozen policy can act on."""

PRESETS = ("paper", "authors", "robust")

ACTIVATIONS = ("tanh", "relu")
"""Activation functions: ``policies`` has them in NumPy, ``agents.networks`` in JAX."""

INNER_CHAINS = ("frozen", "coupled")
"""What an inner chain of MixedNE-LD plays against: the opponent's outer iterate, or its chain."""

OUTPUTS = ("iterate", "average")
"""The output of a run: the last outer iterate, or an average of all of them."""

CHOICES = ("task", "agent", "solver", "formulation", "delta", "preset")
"""The fields of a configuration that determine the defaults of all others."""


def either(words: tuple[str, ...]) -> str:
    """``ddpg, td3 or sac``."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
