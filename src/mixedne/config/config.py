"""The configuration of a run: one frozen dataclass that determines everything.

The default, help text, bounds and users of a field stand beside it (``settings``). A complete
configuration is what ``config.json`` holds, and the same configuration gives the same run.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mixedne.config.settings import Setting, setting
from mixedne.games import make_formulation
from mixedne.names import ACTIVATIONS, AGENTS, INNER_CHAINS, PRESETS, SOLVERS

MAX_SEED = 2**32 - 1

ACTOR_CRITICS = ("ddpg", "td3", "sac")
DETERMINISTIC = ("ddpg", "td3")
LANGEVIN = ("mixedne-ld",)
RMSPROP = ("mixedne-ld", "gad")

COUNT = {"at_least": 1}
POSITIVE = {"above": 0}
NOT_NEGATIVE = {"at_least": 0}
SHARE = {"at_least": 0, "at_most": 1}


def _target_noise(values: Mapping[str, Any]) -> float | None:
    """Algorithms 5 and 6 print one σ for both; the authors' code smooths with 0.2."""
    if values["agent"] != "td3":
        return None
    return 0.2 if values["preset"] == "authors" else values["sigma"]


def _one_player(value: float) -> Any:
    """Without an adversary, DDPG and TD3 make one inner step and take no averages."""
    return lambda values: (
        value if values["delta"] == 0 and values["agent"] in DETERMINISTIC else None
    )


@dataclass(frozen=True)
class Config:
    """Everything that determines a run."""

    task: str = setting(dataclasses.MISSING, "What to learn, e.g. Hopper-v5.")
    agent: str = setting("ddpg", "ddpg, td3, sac or vpg.", choices=tuple(AGENTS))
    solver: str | None = setting(
        "mixedne-ld", "mixedne-ld, gad or extra-adam; none for sac.", choices=tuple(SOLVERS)
    )
    formulation: str = setting(
        "nr-mdp", "How the adversary acts: nr-mdp mixes actions, pr-mdp replaces them by chance."
    )
    delta: float = setting(
        0.1, "δ, the adversary's share; 0 is the one-player agent.", {"at_least": 0, "below": 1}
    )
    preset: str = setting(
        "paper", "Where the defaults below come from: paper or authors.", choices=PRESETS
    )
    steps: int = setting(500_000, "Environment steps; for vpg, outer steps of the solver.", COUNT)
    seed: int = setting(
        0, "Fixes the whole run.", {"at_least": 0, "at_most": MAX_SEED}, traced=True
    )

    hidden: tuple[int, ...] = setting((64, 64), "Hidden layers of every network.", COUNT)
    activation: str = setting("tanh", "tanh or relu.", choices=ACTIVATIONS)
    actor_layer_norm: bool = setting(False, "Layer norm in the players' networks.")
    critic_layer_norm: bool = setting(False, "Layer norm in the critics.", agents=ACTOR_CRITICS)
    normalise_observations: bool = setting(
        False, "Scale observations by their running mean and deviation.", agents=ACTOR_CRITICS
    )

    gamma: float = setting(0.99, "γ, the discount factor.", SHARE)
    tau: float = setting(
        0.999,
        "τ, the share of the target networks that an update keeps (elsewhere often written 1 − τ).",
        SHARE,
        agents=ACTOR_CRITICS,
    )
    batch_size: int = setting(128, "N, transitions in a minibatch.", COUNT, agents=ACTOR_CRITICS)
    replay_size: int = setting(
        1_000_000, "Transitions that the replay holds.", COUNT, agents=ACTOR_CRITICS
    )
    critic_optimizer: str = setting("adam", "adam.", choices=("adam",), agents=ACTOR_CRITICS)
    critic_learning_rate: float = setting(
        1e-3, "Learning rate of the critics.", POSITIVE, agents=ACTOR_CRITICS
    )
    critic_weight_decay: float = setting(
        0.0, "L2 penalty on the critics.", NOT_NEGATIVE, agents=ACTOR_CRITICS
    )

    eta: float = setting(1e-4, "η, the players' learning rate.", POSITIVE, traced=True)
    rms_decay: float = setting(
        0.999, "α of the players' RMSProp preconditioner.", SHARE, solvers=RMSPROP
    )
    rms_epsilon: float = setting(
        1e-8,
        "ε of the players' RMSProp preconditioner, inside the root.",
        NOT_NEGATIVE,
        solvers=RMSPROP,
    )
    sigma0: float = setting(
        1e-3,
        "σ0 of the thermal noise σ_t = σ0 (1 − thermal_decay)^t.",
        NOT_NEGATIVE,
        solvers=LANGEVIN,
        traced=True,
    )
    thermal_decay: float = setting(
        5e-5, "How fast the thermal noise decays.", SHARE, solvers=LANGEVIN
    )
    inner_growth: float = setting(
        1e-5,
        "Growth of the inner steps K_t = min(inner_max, ⌊(1 + inner_growth)^t⌋) (ddpg, td3).",
        NOT_NEGATIVE,
        agents=DETERMINISTIC,
        solvers=LANGEVIN,
    )
    inner_max: int = setting(
        15,
        "The most inner steps (ddpg, td3); 1 with one player.",
        COUNT,
        agents=DETERMINISTIC,
        solvers=LANGEVIN,
        derive=_one_player(1),
    )
    inner_steps: int = setting(
        1,
        "N_k, the inner steps of every outer step (vpg).",
        COUNT,
        agents=("vpg",),
        solvers=LANGEVIN,
    )
    inner: str = setting(
        "frozen",
        "What each inner chain plays against: the other player's outer value (frozen) or its inner "
        "iterate (coupled). The paper prints Algorithm 1 frozen and vpg coupled: the defaults.",
        choices=INNER_CHAINS,
        solvers=LANGEVIN,
        derive=lambda values: "coupled" if values["agent"] == "vpg" else "frozen",
        hash_derived=False,
    )
    beta: float = setting(
        0.9,
        "β, the damping of the averages and of the outer step; 1 with one player (ddpg, td3).",
        {"above": 0, "at_most": 1},
        solvers=LANGEVIN,
        derive=_one_player(1.0),
    )

    sigma: float = setting(
        0.1,
        "σ, the deviation of the exploration noise on both players' actions in [-1, 1].",
        NOT_NEGATIVE,
        agents=DETERMINISTIC,
    )
    collect_steps: int = setting(100, "Environment steps in a cycle.", COUNT, agents=ACTOR_CRITICS)
    updates: int = setting(50, "Outer updates in a cycle.", COUNT, agents=ACTOR_CRITICS)
    random_steps: int = setting(
        0, "First steps, with uniform random actions.", NOT_NEGATIVE, agents=ACTOR_CRITICS
    )
    update_after: int = setting(
        128,
        "Updates begin when more transitions than these are collected.",
        NOT_NEGATIVE,
        agents=ACTOR_CRITICS,
    )

    critics: int = setting(
        1,
        "1, or 2 to take the smaller of two values (td3).",
        {"at_least": 1, "at_most": 2},
        agents=DETERMINISTIC,
    )
    policy_delay: int = setting(
        1, "The players move once in so many updates (td3).", COUNT, agents=DETERMINISTIC
    )
    target_noise: float = setting(
        0.0,
        "Deviation of the noise that smooths target actions (td3); by default σ.",
        NOT_NEGATIVE,
        agents=DETERMINISTIC,
        derive=_target_noise,
    )
    target_noise_clip: float = setting(
        0.5, "Largest absolute value of that noise.", NOT_NEGATIVE, agents=DETERMINISTIC
    )

    initial_temperature: float = setting(
        1.0, "First weight α of the entropy, where α is learned.", POSITIVE, agents=("sac",)
    )
    target_entropy: float | None = setting(
        None,
        "The entropy that a learned α steers to; by default minus the number of actions.",
        agents=("sac",),
    )
    entropy_coefficient: float | None = setting(
        None, "A fixed α; by default α is learned.", POSITIVE, agents=("sac",)
    )

    horizon: int = setting(500, "H, steps of an episode.", COUNT, agents=("vpg",))
    trajectories: int = setting(
        1, "Episodes that are played for one gradient.", COUNT, agents=("vpg",)
    )
    normalise_returns: bool = setting(
        False, "Shift and scale the returns of a gradient to mean 0, deviation 1.", agents=("vpg",)
    )
    clip_gradient: float | None = setting(
        None,
        "The largest norm of a player's gradient; by default there is none.",
        POSITIVE,
        agents=("vpg",),
    )
    gamma_weights: bool = setting(True, "Weight the step t of a gradient by γ^t.", agents=("vpg",))
    share_factors: bool = setting(
        True, "Multiply the players' gradients by their shares 1 − δ and δ.", agents=("vpg",)
    )

    metrics_every: int = setting(
        1_000, "Steps between two lines of metrics.", COUNT, changes="metrics"
    )
    evaluate_every: int = setting(
        10_000, "Steps between two evaluations; 0 for none.", NOT_NEGATIVE, changes="metrics"
    )
    evaluate_masses: tuple[float, ...] = setting(
        (0.5, 1.0, 2.0),
        "Mass factors at which to evaluate, where the task has masses.",
        POSITIVE,
        changes="metrics",
    )
    evaluate_rhos: tuple[float, ...] = setting(
        (0.0, 0.2, 0.4),
        "Values of ρ at which to evaluate, where the task has it.",
        SHARE,
        changes="metrics",
    )
    evaluate_episodes: int = setting(2, "Episodes at each.", COUNT, changes="metrics")
    checkpoint_every: int = setting(
        10_000, "Steps between two checkpoints.", COUNT, changes="nothing"
    )
    tensorboard: bool = setting(
        False,
        "Also write the metrics for TensorBoard (needs mixedne[tensorboard]).",
        changes="nothing",
    )

    def __post_init__(self) -> None:
        make_formulation(self.formulation, self.delta)
        for name, known in SETTINGS.items():
            known.check(name, getattr(self, name))


SETTINGS: dict[str, Setting] = {
    field.name: field.metadata["setting"] for field in dataclasses.fields(Config)
}
"""By name, what each field knows about itself."""

DEFAULTS: dict[str, Any] = {
    field.name: field.default
    for field in dataclasses.fields(Config)
    if field.default is not dataclasses.MISSING
}
"""By name, the defaults before presets and rules."""


@functools.cache
def unused_fields(agent: str | None, solver: str | None) -> dict[str, str]:
    """The fields that do nothing with this agent and solver, and what they would need."""
    solver = None if agent == "sac" else solver
    lacking = {name: known.lacks(agent, solver) for name, known in SETTINGS.items()}
    return {name: needed for name, needed in lacking.items() if needed is not None}


def derived(values: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """The fields outside ``given`` whose defaults follow from these values, and the defaults."""
    complete = {**DEFAULTS, **values}
    rules = {n: known.derive for n, known in SETTINGS.items() if known.derive and n not in given}
    found = {name: rule(complete) for name, rule in rules.items()}
    return {name: value for name, value in found.items() if value is not None}
