"""The configuration of a run: one frozen dataclass that determines everything.

The default, help text, bounds and users of a field stand beside it, as a :class:`Setting`. Checks,
``--help`` and its groups, derived defaults, the identity of a run and the key of its compiled
program all follow from these. A complete configuration is what ``config.json`` holds, and the same
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

COUNT = {"at_least": 1}
POSITIVE = {"above": 0}
NOT_NEGATIVE = {"at_least": 0}
SHARE = {"at_least": 0, "at_most": 1}

DETERMINISTIC = ("ddpg", "td3")
ADAMS = ("adam", "adamw")


@dataclass(frozen=True)
class Setting:
    """A field of the configuration, apart from its name, type and default."""

    help: str
    bounds: Mapping[str, float]
    """Arguments of ``check_number``, for numbers and lists of numbers."""
    choices: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """The agents that use it; empty for all."""
    solvers: tuple[str, ...] = ()
    """The solvers that use it; empty if it has nothing to do with the solver."""
    formulations: tuple[str, ...] = ()
    """The formulations whose game it sets; empty if it has nothing to do with the game."""
    changes: Literal["policy", "metrics", "nothing"] = "policy"
    """What another value changes: the policy, only what is logged on the way, or no result."""
    derive: Callable[[Mapping[str, Any]], Any] | None = None
    """The default as a function of all other values, or None where no rule applies."""
    hash_derived: bool = True
    """Whether the derived value enters a run's identifier; not for fields younger than the runs."""
    traced: bool = False
    """Whether runs that differ in it can share a compiled program."""

    def lacks(self, agent: str | None, solver: str | None, formulation: str) -> str | None:
        """What the field would need to have an effect; None if it has one."""
        if self.agents and agent not in self.agents:
            return f"agent {either(self.agents)}"
        if self.solvers and solver not in self.solvers:
            return f"solver {either(self.solvers)}"
        if self.formulations and formulation not in self.formulations:
            return f"formulation {either(self.formulations)}"
        return None

    @property
    def group(self) -> str:
        """The title under which ``--help`` shows it."""
        if self.changes != "policy":
            return "logging and evaluation"
        if self.solvers:
            return f"solver {either(self.solvers)}"
        if self.formulations:
            return f"formulation {either(self.formulations)}"
        return f"agent {either(self.agents)}" if self.agents else "all agents"

    def check(self, name: str, value: Any) -> None:
        """Refuse a value out of bounds. None, where the type allows it, is always within."""
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


# Fields that only some agents or solvers use, or that change no policy.
off_policy = functools.partial(setting, agents=("ddpg", "td3", "sac"))
deterministic = functools.partial(setting, agents=DETERMINISTIC)
sac = functools.partial(setting, agents=("sac",))
vpg = functools.partial(setting, agents=("vpg",))
rarl = functools.partial(setting, formulations=("rarl",))
physical = functools.partial(setting, formulations=("parameters",))
m2td3 = functools.partial(setting, formulations=("m2td3",))
langevin = functools.partial(setting, solvers=("mixedne-ld",))
rmsprop = functools.partial(setting, solvers=("mixedne-ld", "gad"))
logged = functools.partial(setting, changes="metrics")
saved = functools.partial(setting, changes="nothing")


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


def _inner(values: Mapping[str, Any]) -> str:
    """The paper prints Algorithm 1 with frozen chains, and VPG with coupled ones."""
    return "coupled" if values["agent"] == "vpg" else "frozen"


@dataclass(frozen=True)
class Config:
    """Everything that determines a run."""

    task: str = setting(dataclasses.MISSING, "What to learn, e.g. Hopper-v5.")
    agent: str = setting("ddpg", "ddpg, td3, sac or vpg.", choices=tuple(AGENTS))
    solver: str | None = setting(
        "mixedne-ld", "mixedne-ld, gad or extra-adam; none for sac.", choices=tuple(SOLVERS)
    )
    formulation: str = setting(
        "nr-mdp",
        "How the adversary acts: nr-mdp mixes actions, pr-mdp replaces them by chance, rarl pushes "
        "bodies, parameters changes the physics, m2td3 chooses an episode's physics; pettingzoo is "
        "that of PettingZoo's games (the last four: ddpg, td3).",
        choices=tuple(FORMULATIONS),
    )
    delta: float | None = setting(
        0.1,
        "δ, the adversary's share; 0 is the one-player agent (nr-mdp, pr-mdp).",
        {"at_least": 0, "below": 1},
        formulations=("nr-mdp", "pr-mdp"),
    )
    preset: str = setting(
        "paper", "Where the defaults below come from: paper or authors.", choices=PRESETS
    )
    steps: int = setting(500_000, "Environment steps; for vpg, outer steps of the solver.", COUNT)
    seed: int = setting(0, "Fixes the run.", {"at_least": 0, "at_most": MAX_SEED}, traced=True)

    hidden: tuple[int, ...] = setting((64, 64), "Hidden layers of every network.", COUNT)
    activation: str = setting("tanh", "tanh or relu.", choices=ACTIVATIONS)
    actor_layer_norm: bool = setting(False, "Layer norm in the players' networks.")
    critic_hidden: tuple[int, ...] | None = off_policy(
        None, "Hidden layers of the critics; by default those of hidden.", COUNT
    )
    critic_layer_norm: bool = off_policy(False, "Layer norm in the critics.")
    normalise_observations: bool = off_policy(
        False, "Scale observations by their running mean and deviation."
    )
    scale_rewards: bool = off_policy(
        False,
        "Divide the critics' rewards by the running deviation of the discounted return "
        "G ← γ G + r of an episode.",
    )

    gamma: float = setting(0.99, "γ, the discount factor.", SHARE)
    tau: float = off_policy(
        0.999,
        "τ, the share of the target networks that an update keeps (elsewhere often 1 − τ).",
        SHARE,
    )
    batch_size: int = off_policy(128, "N, transitions in a minibatch.", COUNT)
    replay_size: int = off_policy(1_000_000, "Transitions that the replay holds.", COUNT)
    critic_optimizer: str = off_policy(
        "adam", "adam, or adamw, which decays weights apart from the gradient.", choices=ADAMS
    )
    critic_learning_rate: float = off_policy(1e-3, "Learning rate of the critics.", POSITIVE)
    critic_weight_decay: float = off_policy(
        0.0,
        "λ of the critics' weight decay. adam: an L2 penalty, λφ is added to the gradient and "
        "scaled with it; adamw: a step shrinks φ by the share learning rate × λ.",
        NOT_NEGATIVE,
    )

    eta: float = setting(1e-4, "η, the players' learning rate.", POSITIVE, traced=True)
    learning_rate_decay: float = setting(
        1.0,
        "The share of η and of the critics' learning rate that is left at the end of the run; "
        "linear in the updates. 1 keeps them as they are.",
        SHARE,
    )
    rms_decay: float = rmsprop(0.999, "α of the players' RMSProp preconditioner.", SHARE)
    rms_epsilon: float = rmsprop(
        1e-8, "ε of the players' RMSProp preconditioner, inside the root.", NOT_NEGATIVE
    )
    rms_bias_correction: bool = rmsprop(
        False,
        "Divide the preconditioner's m, which starts at 0, by 1 − αⁿ in step n, as Adam does.",
    )
    sigma0: float = langevin(
        1e-3, "σ0 of the noise σ_t = σ0 (1 − thermal_decay)^t.", NOT_NEGATIVE, traced=True
    )
    thermal_decay: float = langevin(5e-5, "How fast the thermal noise decays.", SHARE)
    inner_growth: float = langevin(
        1e-5,
        "Growth of the inner steps K_t = min(inner_max, ⌊(1 + inner_growth)^t⌋) (ddpg, td3).",
        NOT_NEGATIVE,
        agents=DETERMINISTIC,
    )
    inner_max: int = langevin(
        15,
        "The most inner steps (ddpg, td3); 1 with one player.",
        COUNT,
        agents=DETERMINISTIC,
        derive=_one_player(1),
    )
    inner_steps: int = langevin(
        1, "N_k, the inner steps of every outer step (vpg).", COUNT, agents=("vpg",)
    )
    inner: str = langevin(
        "frozen",
        "What each inner chain plays against: the other player's outer value (frozen) or its inner "
        "iterate (coupled). The paper prints Algorithm 1 frozen and vpg coupled: the defaults.",
        choices=INNER_CHAINS,
        derive=_inner,
        hash_derived=False,
    )
    beta: float = langevin(
        0.9,
        "β, the damping of the averages and of the outer step; 1 with one player (ddpg, td3).",
        {"above": 0, "at_most": 1},
        derive=_one_player(1.0),
    )

    output: str = setting(
        "iterate",
        "What is evaluated and saved as the policy: the players as they are (iterate) or the "
        "average of their outer iterates, beside which the iterate, which collects, is saved, too.",
        choices=OUTPUTS,
    )
    average_decay: float = setting(
        0.999,
        "The share of the average that an update keeps; its memory is 1/(1 − average_decay) "
        "updates.",
        {"above": 0, "below": 1},
    )

    sigma: float = deterministic(
        0.1, "σ, the deviation of the exploration noise on actions in [-1, 1].", NOT_NEGATIVE
    )
    collect_steps: int = off_policy(100, "Environment steps in a cycle.", COUNT)
    updates: int = off_policy(50, "Outer updates in a cycle.", COUNT)
    random_steps: int = off_policy(0, "First steps, with uniform random actions.", NOT_NEGATIVE)
    update_after: int = off_policy(
        128, "Updates begin when more transitions than these are collected.", NOT_NEGATIVE
    )

    critics: int = deterministic(
        1, "1, or 2 to take the smaller of two values (td3).", {"at_least": 1, "at_most": 2}
    )
    policy_delay: int = deterministic(1, "The players move once in so many updates (td3).", COUNT)
    target_noise: float = deterministic(
        0.0,
        "Deviation of the noise that smooths target actions (td3); by default σ.",
        NOT_NEGATIVE,
        derive=_target_noise,
    )
    target_noise_clip: float = deterministic(
        0.5, "Largest absolute value of that noise.", NOT_NEGATIVE
    )

    initial_temperature: float = sac(
        1.0, "First weight α of the entropy, where α is learned.", POSITIVE
    )
    target_entropy: float | None = sac(
        None, "The entropy that a learned α steers to; by default minus the number of actions."
    )
    entropy_coefficient: float | None = sac(None, "A fixed α; by default α is learned.", POSITIVE)

    horizon: int = vpg(500, "H, steps of an episode.", COUNT)
    trajectories: int = vpg(1, "Episodes that are played for one gradient.", COUNT)
    normalise_returns: bool = vpg(
        False, "Shift and scale the returns of a gradient to mean 0 and deviation 1."
    )
    clip_gradient: float | None = vpg(
        None, "The largest norm of a player's gradient; by default there is none.", POSITIVE
    )
    gamma_weights: bool = vpg(True, "Weight the step t of a gradient by γ^t.")
    share_factors: bool = vpg(True, "Multiply the players' gradients by their shares 1 − δ and δ.")

    randomise: tuple[str, ...] | None = off_policy(
        None,
        "Draw parameters uniformly at each reset while training (no adversary): a set as rrls-2d "
        "or mine.toml, or intervals, as factors or values: 'mass[torso]=0.5:2' 'gravity:abs=8:12'.",
    )
    bodies: str | None = rarl(
        None, "The bodies that the adversary pushes, by name or #index: torso,foot."
    )
    axes: str | None = rarl(
        None, "The axes along which it pushes them, as xz; by default all that can move them."
    )
    force: float | None = rarl(None, "The largest force on each body and axis, in N.", POSITIVE)
    parameters: tuple[str, ...] | None = setting(
        None,
        "What the adversary changes, and within which bounds; given as for randomise.",
        formulations=("parameters", "m2td3"),
    )
    rate: float | None = physical(
        None,
        "How far each moves in a step at most, as a share of its range; by default the first step "
        "of an episode sets them all.",
        {"above": 0, "at_most": 1},
    )
    parameter_vectors: int = m2td3(5, "How many worlds the adversary holds.", COUNT)
    parameter_learning_rate: float = m2td3(
        3e-4, "The learning rate of their parameters, scaled to [-1, 1].", POSITIVE
    )
    parameter_noise: float = m2td3(
        1.0,
        "Deviation of the noise on the parameters of an episode, scaled to [-1, 1]; then clipped.",
        NOT_NEGATIVE,
    )

    metrics_every: int = logged(1_000, "Steps between two lines of metrics.", COUNT)
    evaluate_every: int = logged(10_000, "Steps between two evaluations; 0 for none.", NOT_NEGATIVE)
    evaluate_masses: tuple[float, ...] = logged(
        (0.5, 1.0, 2.0), "Mass factors at which to evaluate, where the task has masses.", POSITIVE
    )
    evaluate_rhos: tuple[float, ...] = logged(
        (0.0, 0.2, 0.4), "Values of ρ at which to evaluate, where the task has it.", SHARE
    )
    evaluate_episodes: int = logged(2, "Episodes at each.", COUNT)
    checkpoint_every: int = saved(10_000, "Steps between two checkpoints.", COUNT)
    keep_policies: int = saved(
        0,
        "Keep the policies of so many of the last checkpoints, for evaluate --at STEP.",
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
"""By name, what each field knows about itself."""

DEFAULTS: dict[str, Any] = {
    field.name: field.default
    for field in dataclasses.fields(Config)
    if field.default is not dataclasses.MISSING
}
"""By name, the defaults before presets and rules."""


@functools.cache
def unused_fields(
    agent: str | None, solver: str | None, formulation: str = "nr-mdp"
) -> dict[str, str]:
    """The fields that do nothing with these choices, and what they would need."""
    solver = None if agent == "sac" else solver
    lacking = {name: known.lacks(agent, solver, formulation) for name, known in SETTINGS.items()}
    return {name: needed for name, needed in lacking.items() if needed is not None}


def derived(values: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """The fields outside ``given`` whose defaults follow from these values, and the defaults."""
    complete = {**DEFAULTS, **values}
    rules = {n: known.derive for n, known in SETTINGS.items() if known.derive and n not in given}
    found = {name: rule(complete) for name, rule in rules.items()}
    return {name: value for name, value in found.items() if value is not None}
