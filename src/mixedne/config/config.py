"""The configuration of a run: one frozen dataclass that determines everything.

Each field declares its default, help text, bounds and users in one place, as a :class:`Setting`.
Checks, ``--help`` and its groups, derived defaults, a run's identifier and the key of its compiled
program are all derived from these. ``config.json`` holds a complete configuration, and the same
configuration gives the same run.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.names import (
    ACTIVATIONS,
    AGENTS,
    FORMULATIONS,
    INNER_CHAINS,
    OUTPUTS,
    PRESETS,
    SOLVERS,
    either,
)

MAX_SEED = 2**32 - 1

COUNT = {"at_least": 1, "at_most": 10**12}
POSITIVE = {"above": 0}
NOT_NEGATIVE = {"at_least": 0}
SHARE = {"at_least": 0, "at_most": 1}

DETERMINISTIC = ("ddpg", "td3")
ADAMS = ("adam", "adamw")


@dataclass(frozen=True)
class Setting:
    """What is known about a field of the configuration, besides its name, type and default."""

    help: str
    bounds: Mapping[str, float]
    """Arguments of ``check_number``, for numbers and lists of numbers."""
    choices: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """The agents that use the field; empty for all."""
    solvers: tuple[str, ...] = ()
    """The solvers that use the field; empty if it does not depend on the solver."""
    formulations: tuple[str, ...] = ()
    """The formulations that use the field; empty if it does not depend on the formulation."""
    changes: Literal["policy", "metrics", "nothing"] = "policy"
    """What a different value changes: the policy, only the logged metrics, or no result."""
    derive: Callable[[Mapping[str, Any]], Any] | None = None
    """The default as a function of all other values; it returns None where no rule applies."""
    hash_derived: bool = True
    """Whether a derived value is hashed into a run's identifier; False for fields that were added
    after runs existed."""
    traced: bool = False
    """Whether runs with different values of the field can share a compiled program."""

    def lacks(self, agent: str | None, solver: str | None, formulation: str) -> str | None:
        """What the field requires to have an effect; None if it has one."""
        if self.agents and agent not in self.agents:
            return f"agent {either(self.agents)}"
        if self.solvers and solver not in self.solvers:
            return f"solver {either(self.solvers)}"
        if self.formulations and formulation not in self.formulations:
            return f"formulation {either(self.formulations)}"
        return None

    @property
    def group(self) -> str:
        """The title of the field's group in ``--help``."""
        if self.changes != "policy":
            return "logging and evaluation"
        if self.solvers:
            return f"solver {either(self.solvers)}"
        if self.formulations:
            return f"formulation {either(self.formulations)}"
        return f"agent {either(self.agents)}" if self.agents else "all agents"

    def check(self, name: str, value: Any) -> None:
        """Raise for a value that is out of bounds. None, if the type allows it, is accepted."""
        if value == ():
            raise InvalidInputError(f"{name} must be at least one value, not ()")
        if self.choices and value is not None:
            check_choice(name, value, self.choices)
        first = value[0] if isinstance(value, tuple) else value
        if isinstance(first, int | float) and not isinstance(first, bool):
            check_number(name, value, **self.bounds)


def setting(default: Any, help: str, bounds: Mapping[str, float] | None = None, **rest: Any) -> Any:
    """A dataclass field with a :class:`Setting` as its metadata."""
    return dataclasses.field(
        default=default, metadata={"setting": Setting(help, bounds or {}, **rest)}
    )


# Fields that only some agents, solvers or formulations use, or that do not affect the policy.
off_policy = functools.partial(setting, agents=("ddpg", "td3", "sac"))
deterministic = functools.partial(setting, agents=DETERMINISTIC)
sac = functools.partial(setting, agents=("sac",))
vpg = functools.partial(setting, agents=("vpg",))
nr_mdp = functools.partial(setting, formulations=("nr-mdp",))
rarl = functools.partial(setting, formulations=("rarl",))
physical = functools.partial(setting, formulations=("parameters",))
m2td3 = functools.partial(setting, formulations=("m2td3",))
langevin = functools.partial(setting, solvers=("mixedne-ld",))
rmsprop = functools.partial(setting, solvers=("mixedne-ld", "gad"))
logged = functools.partial(setting, changes="metrics")
saved = functools.partial(setting, changes="nothing")


def _target_noise(values: Mapping[str, Any]) -> float | None:
    """Algorithms 5 and 6 use σ here, too; TD3 itself and the authors' code use 0.2."""
    if values["agent"] != "td3":
        return None
    return values["sigma"] if values["preset"] == "paper" else 0.2


def _one_player(value: float) -> Any:
    """Without an adversary, DDPG and TD3 take one inner step and do not average."""
    return lambda values: (
        value if values["delta"] == 0 and values["agent"] in DETERMINISTIC else None
    )


def _inner(values: Mapping[str, Any]) -> str:
    """The paper has frozen chains in Algorithm 1 and coupled ones in its VPG algorithm."""
    return "coupled" if values["agent"] == "vpg" else "frozen"


@dataclass(frozen=True)
class Config:
    """The complete configuration of a run."""

    task: str = setting(dataclasses.MISSING, "The task to train on, e.g. Hopper-v5.")
    agent: str = setting(
        "ddpg",
        "ddpg, td3, sac or vpg; with the preset robust, td3 by default.",
        choices=tuple(AGENTS),
    )
    solver: str | None = setting(
        "mixedne-ld", "mixedne-ld, gad or extra-adam; none for sac.", choices=tuple(SOLVERS)
    )
    formulation: str = setting(
        "nr-mdp",
        "How the adversary acts: nr-mdp mixes actions, pr-mdp randomly replaces them, rarl pushes "
        "bodies, parameters changes the physics, m2td3 chooses each episode's physics, pettingzoo "
        "plays the other agent of a PettingZoo game (the last four: ddpg, td3).",
        choices=tuple(FORMULATIONS),
    )
    delta: float | None = setting(
        0.1,
        "δ, the adversary's share; 0 trains without an adversary (nr-mdp, pr-mdp).",
        {"at_least": 0, "below": 1},
        formulations=("nr-mdp", "pr-mdp"),
    )
    preset: str = setting(
        "paper", "Where the defaults below come from: paper, authors or robust.", choices=PRESETS
    )
    steps: int = setting(500_000, "Environment steps; for vpg, outer steps of the solver.", COUNT)
    seed: int = setting(0, "The random seed.", {"at_least": 0, "at_most": MAX_SEED}, traced=True)

    hidden: tuple[int, ...] = setting((64, 64), "Hidden layer sizes of every network.", COUNT)
    activation: str = setting("tanh", "tanh or relu.", choices=ACTIVATIONS)
    actor_layer_norm: bool = setting(False, "Use layer norm in the players' networks.")
    critic_hidden: tuple[int, ...] | None = off_policy(
        None, "Hidden layer sizes of the critics; by default the same as hidden.", COUNT
    )
    critic_layer_norm: bool = off_policy(False, "Use layer norm in the critics.")
    normalise_observations: bool = off_policy(
        False, "Normalise observations by their running mean and standard deviation."
    )
    scale_rewards: bool = off_policy(
        False,
        "Divide the critics' rewards by the running standard deviation of the discounted return "
        "G ← γ G + r of an episode.",
    )

    gamma: float = setting(0.99, "γ, the discount factor.", SHARE)
    tau: float = off_policy(
        0.999,
        "τ, the fraction of the target networks that an update keeps (elsewhere often 1 − τ).",
        SHARE,
    )
    batch_size: int = off_policy(128, "N, transitions per minibatch.", COUNT)
    replay_size: int = off_policy(1_000_000, "Capacity of the replay buffer.", COUNT)
    critic_optimizer: str = off_policy(
        "adam", "adam, or adamw, which decouples weight decay from the gradient.", choices=ADAMS
    )
    critic_learning_rate: float = off_policy(1e-3, "Learning rate of the critics.", POSITIVE)
    critic_weight_decay: float = off_policy(
        0.0,
        "λ of the critics' weight decay. adam: an L2 penalty, λφ is added to the gradient and "
        "scaled with it; adamw: each step shrinks φ by the fraction learning rate × λ.",
        NOT_NEGATIVE,
    )

    eta: float = setting(1e-4, "η, the players' learning rate.", POSITIVE, traced=True)
    learning_rate_decay: float = setting(
        1.0,
        "The fraction of η and of the critics' learning rate that is left at the end of the run; "
        "the decay is linear in the updates. 1 means no decay.",
        SHARE,
    )
    rms_decay: float = rmsprop(0.999, "α of the players' RMSProp preconditioner.", SHARE)
    rms_epsilon: float = rmsprop(
        1e-8, "ε of the players' RMSProp preconditioner, inside the square root.", NOT_NEGATIVE
    )
    rms_bias_correction: bool = rmsprop(
        False,
        "Divide the preconditioner's m, which starts at 0, by 1 − αⁿ in step n, as in Adam.",
    )
    sigma0: float = langevin(
        1e-3, "σ0 of the noise σ_t = σ0 (1 − thermal_decay)^t.", NOT_NEGATIVE, traced=True
    )
    thermal_decay: float = langevin(5e-5, "Decay rate of the thermal noise.", SHARE)
    inner_growth: float = langevin(
        1e-5,
        "Growth rate of the inner steps K_t = min(inner_max, ⌊(1 + inner_growth)^t⌋) (ddpg, td3).",
        NOT_NEGATIVE,
        agents=DETERMINISTIC,
    )
    inner_max: int = langevin(
        15,
        "Maximum number of inner steps (ddpg, td3); 1 without an adversary.",
        COUNT,
        agents=DETERMINISTIC,
        derive=_one_player(1),
    )
    inner_steps: int = langevin(1, "N_k, inner steps per outer step (vpg).", COUNT, agents=("vpg",))
    inner: str = langevin(
        "frozen",
        "What each inner chain plays against: the other player's outer iterate (frozen) or its "
        "inner iterate (coupled). By default as in the paper: coupled for vpg, frozen otherwise.",
        choices=INNER_CHAINS,
        derive=_inner,
        hash_derived=False,
    )
    beta: float = langevin(
        0.9,
        "β, the damping of the averages and of the outer step; 1 without an adversary (ddpg, td3).",
        {"above": 0, "at_most": 1},
        derive=_one_player(1.0),
    )

    output: str = setting(
        "iterate",
        "What is evaluated and saved as the policy: the current players (iterate) or the average "
        "of their outer iterates. With average, the iterate, which collects data, is saved, too.",
        choices=OUTPUTS,
    )
    alone_episodes: float = setting(
        0.0,
        "The share of the training episodes that the agent plays alone, without the adversary "
        "(ddpg, td3).",
        SHARE,
        agents=DETERMINISTIC,
        formulations=("nr-mdp", "pr-mdp", "rarl", "parameters"),
    )
    idle_adversary: bool = nr_mdp(
        False,
        "Whether the saved policy acts by its share of the action, (1 − δ) μ(s), as in the game "
        "against an adversary that does nothing; otherwise by μ(s), as in the paper.",
    )
    average_decay: float = setting(
        0.999,
        "The fraction of the average that an update keeps; it spans about 1/(1 − average_decay) "
        "updates.",
        {"above": 0, "below": 1},
    )

    sigma: float = deterministic(
        0.1, "σ, standard deviation of the exploration noise on actions in [-1, 1].", NOT_NEGATIVE
    )
    collect_steps: int = off_policy(100, "Environment steps per cycle.", COUNT)
    updates: int = off_policy(50, "Outer updates per cycle.", COUNT)
    random_steps: int = off_policy(0, "Initial steps with uniform random actions.", NOT_NEGATIVE)
    update_after: int = off_policy(
        128, "Updates start once more than this many transitions are collected.", NOT_NEGATIVE
    )

    critics: int = deterministic(
        1, "1, or 2 to take the minimum of two critics (td3).", {"at_least": 1, "at_most": 2}
    )
    policy_delay: int = deterministic(1, "Critic updates per update of the players (td3).", COUNT)
    target_noise: float = deterministic(
        0.0,
        "Standard deviation of the noise that smooths target actions (td3); by default σ with the "
        "preset paper, 0.2 with the others.",
        NOT_NEGATIVE,
        derive=_target_noise,
    )
    target_noise_clip: float = deterministic(
        0.5, "Largest absolute value of the noise on target actions.", NOT_NEGATIVE
    )

    initial_temperature: float = sac(
        1.0, "Initial entropy coefficient α, if α is learned.", POSITIVE
    )
    target_entropy: float | None = sac(
        None, "Target entropy of a learned α; by default minus the action dimension."
    )
    entropy_coefficient: float | None = sac(None, "Fixed α; by default α is learned.", POSITIVE)

    horizon: int = vpg(500, "H, steps per episode.", COUNT)
    trajectories: int = vpg(1, "Episodes per gradient.", COUNT)
    normalise_returns: bool = vpg(
        False, "Normalise the returns of a gradient to mean 0 and standard deviation 1."
    )
    clip_gradient: float | None = vpg(
        None, "Clip each player's gradient to this norm; by default there is no clipping.", POSITIVE
    )
    gamma_weights: bool = vpg(True, "Weight step t of an episode by γ^t in the gradient.")
    share_factors: bool = vpg(True, "Multiply the players' gradients by their shares 1 − δ and δ.")

    randomise: tuple[str, ...] | None = off_policy(
        None,
        "Domain randomisation: parameters drawn uniformly at each reset in training, without an "
        "adversary. A set, e.g. rrls-2d or mine.toml, or intervals of factors or of absolute "
        "values: 'mass[torso]=0.5:2' 'gravity:abs=8:12'.",
    )
    bodies: str | None = rarl(
        None, "Bodies that the adversary pushes, by name or #index, e.g. torso,foot."
    )
    axes: str | None = rarl(
        None, "Axes along which it pushes them, e.g. xz; by default all that can move them."
    )
    force: float | None = rarl(None, "Largest force per body and axis, in N.", POSITIVE)
    parameters: tuple[str, ...] | None = setting(
        None,
        "Parameters that the adversary changes, with their bounds; same format as randomise.",
        formulations=("parameters", "m2td3"),
    )
    rate: float | None = physical(
        None,
        "Largest change of each parameter per step, as a fraction of its range; by default the "
        "first step of an episode sets them all.",
        {"above": 0, "at_most": 1},
    )
    parameter_vectors: int = m2td3(5, "Number of worlds that the adversary maintains.", COUNT)
    parameter_learning_rate: float = m2td3(
        3e-4, "Learning rate of their parameters, which are scaled to [-1, 1].", POSITIVE
    )
    parameter_noise: float = m2td3(
        1.0,
        "Standard deviation of the noise on an episode's parameters, which are scaled to [-1, 1] "
        "and clipped afterwards.",
        NOT_NEGATIVE,
    )

    metrics_every: int = logged(1_000, "Steps between lines of metrics.", COUNT)
    evaluate_every: int = logged(10_000, "Steps between evaluations; 0 for none.", NOT_NEGATIVE)
    evaluate_masses: tuple[float, ...] = logged(
        (0.5, 1.0, 2.0), "Mass factors to evaluate at, if the task has masses.", POSITIVE
    )
    evaluate_rhos: tuple[float, ...] = logged(
        (0.0, 0.2, 0.4), "Values of ρ to evaluate at, if the task has it.", SHARE
    )
    evaluate_episodes: int = logged(2, "Evaluation episodes per mass factor or ρ.", COUNT)
    checkpoint_every: int = saved(10_000, "Steps between checkpoints.", COUNT)
    keep_policies: int = saved(
        0,
        "Number of latest checkpoints whose policies are kept, for evaluate --at STEP.",
        NOT_NEGATIVE,
    )
    tensorboard: bool = saved(
        False, "Also write the metrics for TensorBoard (needs mixedne[tensorboard])."
    )

    def __post_init__(self) -> None:
        for name, known in SETTINGS.items():
            known.check(name, getattr(self, name))
        if self.rms_bias_correction:
            check_number("rms_decay", self.rms_decay, below=1)


SETTINGS: dict[str, Setting] = {
    field.name: field.metadata["setting"] for field in dataclasses.fields(Config)
}
"""The :class:`Setting` of each field, by name."""

DEFAULTS: dict[str, Any] = {
    field.name: field.default
    for field in dataclasses.fields(Config)
    if field.default is not dataclasses.MISSING
}
"""The default of each field, by name, before presets and rules."""


OF_ADVERSARIES = ("alone_episodes", "idle_adversary", "inner")
"""The fields without effect if there is no adversary (δ = 0)."""


@functools.cache
def unused_fields(
    agent: str | None, solver: str | None, formulation: str = "nr-mdp"
) -> dict[str, str]:
    """The fields without effect under these choices, with what each would require."""
    solver = None if agent == "sac" else solver
    lacking = {name: known.lacks(agent, solver, formulation) for name, known in SETTINGS.items()}
    return {name: needed for name, needed in lacking.items() if needed is not None}


def derived(values: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """Derived defaults, by name, of the fields that are not in ``given``."""
    complete = {**DEFAULTS, **values}
    rules = {n: known.derive for n, known in SETTINGS.items() if known.derive and n not in given}
    found = {name: rule(complete) for name, rule in rules.items()}
    return {name: value for name, value in found.items() if value is not None}
