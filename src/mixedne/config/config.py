"""The configuration of a run: one frozen dataclass, resolved from a preset and the user's wishes.

``configure`` takes the choices (task, agent, solver, formulation, δ, preset), looks up the
paper's tables, and applies what the user sets otherwise. The result is complete: it is what
``config.json`` holds, and the same configuration gives the same run.
"""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from mixedne.config import presets
from mixedne.config.unused import without_effect
from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.games import make_formulation
from mixedne.tasks import JAX_TASKS, resolve_task
from mixedne.types import ACTIVATIONS

AGENTS = ("ddpg", "td3", "sac", "vpg")
SOLVERS = ("mixedne-ld", "gad", "extra-adam")
PRESETS = ("paper", "authors")

MAX_SEED = 2**32 - 1

FALLBACK: dict[str, dict[str, Any]] = {
    "ddpg": {"sigma0": 1e-3, "sigma": 0.1},
    "td3": {"sigma0": 1e-3, "sigma": 0.1},
    "vpg": {"sigma0": 1e-3, "eta": 1e-4, "inner_steps": 1},
}
"""By agent: what its exploration tables set, outside them."""


@dataclass(frozen=True)
class Config:
    """Everything that determines a run."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """What to learn, e.g. Hopper-v5."""
    agent: str = "ddpg"
    """ddpg, td3, sac or vpg."""
    solver: str | None = "mixedne-ld"
    """mixedne-ld, gad or extra-adam; none for sac."""
    formulation: str = "nr-mdp"
    """How the adversary acts: nr-mdp mixes actions, pr-mdp takes turns by chance."""
    delta: float = 0.1
    """δ, the adversary's share; 0 is the one-player agent."""
    preset: str = "paper"
    """Where the defaults below come from: paper or authors."""
    steps: int = 500_000
    """Environment steps; for vpg, outer steps of the solver."""
    seed: int = 0
    """Fixes the whole run."""

    hidden: tuple[int, ...] = (64, 64)
    """Hidden layers of every network."""
    activation: str = "tanh"
    """tanh or relu."""
    actor_layer_norm: bool = False
    """Layer norm in the players' networks."""
    critic_layer_norm: bool = False
    """Layer norm in the critics."""
    normalise_observations: bool = False
    """Scale every observation by its running mean and deviation."""

    gamma: float = 0.99
    """γ, the discount factor."""
    tau: float = 0.999
    """τ, the share of the target networks that an update keeps (elsewhere often 1 − τ)."""
    batch_size: int = 128
    """N, transitions in a minibatch."""
    replay_size: int = 1_000_000
    """Transitions that are remembered."""
    critic_optimizer: str = "adam"
    """adam."""
    critic_learning_rate: float = 1e-3
    """Of the critics."""
    critic_weight_decay: float = 0.0
    """L2 penalty on the critics."""

    eta: float = 1e-4
    """η, the players' learning rate."""
    rms_decay: float = 0.999
    """α of the players' RMSProp preconditioner."""
    rms_epsilon: float = 1e-8
    """ε of the players' RMSProp preconditioner, inside the root."""
    sigma0: float = 1e-3
    """σ0 of the thermal noise σ_t = σ0 (1 − thermal_decay)^t."""
    thermal_decay: float = 5e-5
    """How fast the thermal noise fades."""
    inner_growth: float = 1e-5
    """Of the inner steps K_t = min(inner_max, ⌊(1 + inner_growth)^t⌋)."""
    inner_max: int = 15
    """The most inner steps."""
    inner_steps: int = 1
    """N_k, the inner steps of every outer step (vpg)."""
    inner: str = "frozen"
    """What each inner chain plays against: the other player's outer value (frozen) or its inner
    iterate (coupled). The paper prints Algorithm 1 frozen and vpg coupled: the defaults."""
    beta: float = 0.9
    """β, the damping of the averages and of the outer step."""

    sigma: float = 0.1
    """σ, the deviation of the exploration noise on both players' actions in [-1, 1]."""
    collect_steps: int = 100
    """Environment steps in a cycle."""
    updates: int = 50
    """Outer updates in a cycle."""
    random_steps: int = 0
    """First steps with uniform random actions."""
    update_after: int = 128
    """Updates begin when more transitions than these are collected."""

    critics: int = 1
    """1, or 2 to take the smaller value (TD3)."""
    policy_delay: int = 1
    """The players move at every so-many-th update (TD3)."""
    target_noise: float = 0.0
    """Deviation of the noise that smooths target actions (TD3)."""
    target_noise_clip: float = 0.5
    """Its largest absolute value."""

    initial_temperature: float = 1.0
    """First weight α of the entropy (SAC)."""
    target_entropy: float | None = None
    """The entropy that α steers to (SAC); by default minus the number of actions."""
    entropy_coefficient: float | None = None
    """A fixed α (SAC); by default it is learned."""

    horizon: int = 500
    """H, steps of an episode (vpg)."""
    trajectories: int = 1
    """Episodes that are played for one gradient (vpg)."""
    normalise_returns: bool = False
    """Shift and scale the returns of a gradient to mean 0 and deviation 1 (vpg)."""
    gamma_weights: bool = True
    """Weight each step's gradient by γ^t (vpg)."""
    share_factors: bool = True
    """Scale the players' gradients by 1 − δ and δ, as printed (vpg)."""
    clip_gradient: float | None = None
    """The largest norm of a player's gradient (vpg); by default there is none."""

    metrics_every: int = 1_000
    """Steps between two lines of metrics."""
    evaluate_every: int = 10_000
    """Steps between two evaluations; 0 for none."""
    evaluate_masses: tuple[float, ...] = (0.5, 1.0, 2.0)
    """Mass factors at which to evaluate, where the task has masses."""
    evaluate_rhos: tuple[float, ...] = (0.0, 0.2, 0.4)
    """Values of ρ at which to evaluate, where the task has it."""
    evaluate_episodes: int = 2
    """Episodes at each."""
    checkpoint_every: int = 10_000
    """Steps between two checkpoints."""
    tensorboard: bool = False
    """Also write the metrics for TensorBoard (needs mixedne[tensorboard])."""

    def __post_init__(self) -> None:
        check_agent(self.agent)
        check_choice("preset", self.preset, PRESETS)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("critic_optimizer", self.critic_optimizer, ["adam"])
        check_choice("inner", self.inner, ["frozen", "coupled"])
        if self.solver is not None:
            check_choice("solver", self.solver, SOLVERS)
        make_formulation(self.formulation, self.delta)
        for name, bounds in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None:
                check_number(name, value, **bounds)
        if not self.hidden or min(self.hidden) < 1:
            raise InvalidInputError(f"hidden must be sizes from 1 on, not {self.hidden}")
        for name in ("evaluate_masses", "evaluate_rhos"):
            if not getattr(self, name):
                raise InvalidInputError(f"{name} must be at least one number, not ()")


_POSITIVE: dict[str, Any] = {"above": 0}
_COUNT: dict[str, Any] = {"at_least": 1}
_SHARE: dict[str, Any] = {"at_least": 0, "at_most": 1}
_NOT_NEGATIVE: dict[str, Any] = {"at_least": 0}

_BOUNDS: dict[str, dict[str, Any]] = {
    "seed": {"at_least": 0, "at_most": MAX_SEED},
    "beta": {"above": 0, "at_most": 1},
    "critics": {"at_least": 1, "at_most": 2},
    "target_entropy": {},
    "gamma": _SHARE,
    "tau": _SHARE,
    "rms_decay": _SHARE,
    "thermal_decay": _SHARE,
    "eta": _POSITIVE,
    "critic_learning_rate": _POSITIVE,
    "initial_temperature": _POSITIVE,
    "entropy_coefficient": _POSITIVE,
    "clip_gradient": _POSITIVE,
    "evaluate_masses": _POSITIVE,
    "evaluate_rhos": _SHARE,
    "steps": _COUNT,
    "batch_size": _COUNT,
    "replay_size": _COUNT,
    "inner_max": _COUNT,
    "inner_steps": _COUNT,
    "horizon": _COUNT,
    "trajectories": _COUNT,
    "collect_steps": _COUNT,
    "updates": _COUNT,
    "policy_delay": _COUNT,
    "metrics_every": _COUNT,
    "evaluate_episodes": _COUNT,
    "checkpoint_every": _COUNT,
    "critic_weight_decay": _NOT_NEGATIVE,
    "rms_epsilon": _NOT_NEGATIVE,
    "sigma0": _NOT_NEGATIVE,
    "inner_growth": _NOT_NEGATIVE,
    "sigma": _NOT_NEGATIVE,
    "random_steps": _NOT_NEGATIVE,
    "update_after": _NOT_NEGATIVE,
    "target_noise": _NOT_NEGATIVE,
    "target_noise_clip": _NOT_NEGATIVE,
    "evaluate_every": _NOT_NEGATIVE,
}


def configure(
    task: str,
    *,
    agent: str = "ddpg",
    solver: str | None = None,
    formulation: str = "nr-mdp",
    delta: float | None = None,
    preset: str = "paper",
    **wishes: Any,
) -> Config:
    """The configuration for these choices, with single fields set by ``wishes``.

    Without a solver it is MixedNE-LD, and without δ it is 0.1; SAC takes neither.
    """
    default = default_config(task, agent, solver, formulation, delta, preset)
    fields = [field.name for field in dataclasses.fields(Config)]
    for name in wishes:
        check_choice("a field of the configuration", name, fields)
    wishes = {name: _like(name, value, getattr(default, name)) for name, value in wishes.items()}
    config = dataclasses.replace(default, **wishes)
    check_wishes(config, default)
    return config


def default_config(
    task: str,
    agent: str = "ddpg",
    solver: str | None = None,
    formulation: str = "nr-mdp",
    delta: float | None = None,
    preset: str = "paper",
) -> Config:
    """The preset's configuration for these choices."""
    task = _like("task", task, "")
    delta = None if delta is None else _like("delta", delta, 0.1)
    check_agent(agent)
    check_choice("preset", preset, PRESETS)
    if agent == "sac":
        if solver is not None:
            raise InvalidInputError(f"sac takes no solver, so not {solver!r}")
        if delta:
            raise InvalidInputError(f"sac has no adversary: delta must be 0, not {delta}")
        delta = 0.0
    else:
        solver = check_choice("solver", solver or "mixedne-ld", SOLVERS)
        delta = 0.1 if delta is None else delta
    make_formulation(formulation, delta)
    found = resolve_task(task)
    if agent == "vpg" and found.name not in JAX_TASKS:
        raise InvalidInputError(
            f"vpg plays in tasks that are written in JAX, such as {JAX_TASKS[0]}, not in {found.id}"
        )
    values = _preset_values(agent, preset)
    if solver is not None:
        values |= exploration(agent, found.name, delta, solver)
    if delta == 0 and agent in ("ddpg", "td3"):
        values |= {"inner_max": 1, "beta": 1.0}
    if agent == "td3":
        values["target_noise"] = 0.2 if preset == "authors" else values["sigma"]
    return Config(
        task=found.id,
        agent=agent,
        solver=solver,
        formulation=formulation,
        delta=float(delta),
        preset=preset,
        **values,
    )


def exploration(agent: str, task: str, delta: float, solver: str) -> dict[str, Any]:
    """What the paper's exploration tables say (σ0, σ, …), or the fallback outside them."""
    fallback = FALLBACK[agent]
    values = presets.table_values(agent, task, delta, solver) or fallback
    return {name: value for name, value in values.items() if name in fallback}


def is_in_tables(config: Config) -> bool:
    """Whether the paper's tables have this task, δ and solver."""
    if config.solver is None:
        return True
    name = resolve_task(config.task).name
    return presets.table_values(config.agent, name, config.delta, config.solver) is not None


def check_wishes(config: Config, default: Config) -> None:
    """Refuse settings that contradict each other or would do nothing."""
    if config.solver is None and config.agent != "sac":
        raise InvalidInputError(
            f"{config.agent} needs a solver: {', '.join(SOLVERS[:-1])} or {SOLVERS[-1]}"
        )
    for needed, names in without_effect(config.agent, config.solver).items():
        for name in names:
            if getattr(config, name) != getattr(default, name):
                raise InvalidInputError(f"{name} has an effect only with {needed}")
    axes = resolve_task(config.task).axes
    for name, axis in (("evaluate_masses", "mass"), ("evaluate_rhos", "rho")):
        if axis not in axes and getattr(config, name) != getattr(default, name):
            raise InvalidInputError(f"{name} has an effect only in a task that has {axis}")


def check_agent(agent: str) -> None:
    """Refuse agents that do not exist."""
    check_choice("agent", agent, AGENTS)


def _preset_values(agent: str, preset: str) -> dict[str, Any]:
    """The preset's values for an agent, but for exploration."""
    if agent == "sac":
        return {**_SAC, "steps": 1_000_000 if preset == "authors" else 500_000}
    values = {**presets.COMMON[agent], **_OWN.get(agent, {})}
    if preset == "authors":
        values |= _AUTHORS[agent]
    return values


_TD3 = {
    "collect_steps": 50,
    "updates": 50,
    "random_steps": 10_000,
    "update_after": 1_000,
    "critics": 2,
    "policy_delay": 2,
}
# Spinning Up's form, which the paper's TD3 follows.

_VPG: dict[str, Any] = {
    "steps": 5_000,
    "inner": "coupled",
    "hidden": (16, 16),
    "activation": "relu",
    "metrics_every": 50,
    "evaluate_every": 500,
    "evaluate_episodes": 10,
    "checkpoint_every": 500,
}

_OWN = {"td3": _TD3, "vpg": _VPG}
"""What an agent has beside its common table."""

_AUTHORS: dict[str, dict[str, Any]] = {
    "ddpg": {
        "normalise_observations": True,
        "critic_layer_norm": True,
        "critic_weight_decay": 1e-2,
    },
    "td3": {
        "hidden": (256, 256),
        "activation": "relu",
        "batch_size": 256,
        "steps": 1_000_000,
        "random_steps": 25_000,
    },
    "vpg": {"normalise_returns": True, "clip_gradient": 1.0},
}

_SAC: dict[str, Any] = {
    **_TD3,
    "critics": 2,
    "policy_delay": 1,
    "hidden": (256, 256),
    "activation": "relu",
    "batch_size": 256,
    "eta": 3e-4,
    "critic_learning_rate": 3e-4,
    "tau": 0.995,
}


def _like(name: str, value: Any, default: Any) -> Any:
    """A Python value in the field's type: lists become tuples, whole numbers floats."""
    if default is None and value is not None:  # a number that has no default
        return _like(name, value, 0.0)
    if isinstance(default, tuple) and isinstance(value, list | tuple):
        return tuple(_like(name, part, default[0]) for part in value)
    if isinstance(default, bool) or isinstance(value, bool):
        if not (isinstance(default, bool) and isinstance(value, bool)):
            raise InvalidInputError(f"{name} must be like {default!r}, not {value!r}")
        return value
    if isinstance(default, int) and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(default, float) and isinstance(value, int | float):
        check_number(name, value)
        return float(value)
    if isinstance(value, type(default)):
        return value
    raise InvalidInputError(f"{name} must be like {default!r}, not {value!r}")
