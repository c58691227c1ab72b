"""Build the parts of a configuration: agent, solver, policies."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import optax

from mixedne import optimizers, solvers
from mixedne.agents import DDPG, M2TD3, SAC, VPG
from mixedne.agents.networks import network_tensors
from mixedne.config import Config, game_of
from mixedne.games import Box
from mixedne.policies import Policy, PolicySpec
from mixedne.solvers import ExtraArgs, Oracle, Project, Solver, unbounded
from mixedne.tasks import Task, resolve_task, toy
from mixedne.training.collection import Normaliser
from mixedne.types import Players, World


def make_agent(config: Config, task: Task) -> DDPG | SAC:
    """The off-policy agent of the configuration."""
    game = game_of(config, task)
    sizes = game.observation_size, task.action_size
    if config.formulation == "m2td3":
        scale = config.parameter_learning_rate / config.eta
        return M2TD3(*sizes, game=game, scale=scale, **_settings(M2TD3, config))
    if config.agent != "sac":
        return DDPG(*sizes, game=game, **_settings(DDPG, config))
    settings = _settings(SAC, config) | {
        "alpha_learning_rate": config.eta,
        "initial_alpha": config.initial_temperature,
        "fixed_alpha": config.entropy_coefficient,
    }
    return SAC(*sizes, **settings)


def make_vpg(config: Config) -> VPG:
    """The VPG agent of the configuration; toy is the only task in JAX."""
    game = game_of(config, resolve_task(config.task))
    return VPG(toy_world(), game, layer_norm=config.actor_layer_norm, **_settings(VPG, config))


def toy_world(rho: float = toy.NOMINAL_RHO) -> World:
    """The toy MDP M_ρ in JAX, for episodes inside a compiled program; computed as in ``tasks.toy``.

    A step uses two uniform random numbers; the reward is that of the state before the step.
    """

    def step(state: jax.Array, action: jax.Array, draws: jax.Array) -> tuple[jax.Array, jax.Array]:
        after = toy.transition(state, action, *toy.split_draws(draws), rho, xp=jnp)
        return after, toy.reward(state, xp=jnp)[0]

    return World(start=jnp.zeros(1), action_size=1, draws=2, step=step)


def make_solver(
    config: Config,
    oracle: Oracle,
    extra_args: ExtraArgs | None = None,
    project: Project = unbounded,
) -> Solver:
    """The configuration's solver; ``extra_args`` may provide the noise of Langevin steps."""
    rms: dict[str, Any] = {"decay": config.rms_decay, "epsilon": config.rms_epsilon}
    rms["bias_correction"] = config.rms_bias_correction
    rmsprop = optimizers.rmsprop(config.eta, **rms)
    if config.solver == "mixedne-ld":
        # With σ0 = 0, Langevin dynamics is RMSProp, and no noise has to be drawn.
        langevin = optimizers.langevin(config.eta, config.sigma0, **rms)
        optimizer = langevin if config.sigma0 > 0 else rmsprop
        solver = solvers.mixedne_ld(
            oracle,
            optimizer,
            damping=config.beta,
            inner=config.inner,
            project=project,
            extra_args=extra_args,
        )
    elif config.solver == "extra-adam":
        solver = solvers.extra_gradient(oracle, optimizers.extra_adam(config.eta), project=project)
    elif config.solver == "gad":
        solver = solvers.gad(oracle, rmsprop, project=project)
    else:
        # The update of Optax's Adam does not accept a learning rate.
        adam = optax.chain(optax.scale_by_adam(), optimizers.descend(config.eta))
        is_steady = config.learning_rate_decay == 1
        solver = solvers.gad(oracle, optax.adam(config.eta) if is_steady else adam)
    solver = solvers.delayed(solver, config.policy_delay)
    return solvers.averaged(solver, config.average_decay) if config.output == "average" else solver


def make_policies(
    config: Config, task: Task, head: str, players: Players, normaliser: Normaliser | None = None
) -> Players:
    """The players as standalone policies; None if there is no adversary."""
    game = game_of(config, task)
    boxes = game.boxes
    if config.idle_adversary and boxes.agent is not None:
        boxes = boxes._replace(agent=boxes.agent.shrunk(game.agent_share))

    def policy(network: Any, scaling: Any, seen: int, box: Box | None) -> Policy | None:
        if network is None or box is None:
            return None
        spec = PolicySpec(
            observation_size=seen,
            action_low=tuple(box.low.tolist()),
            action_high=tuple(box.high.tolist()),
            hidden=config.hidden,
            activation=config.activation,
            head=head,
            layer_norm=config.actor_layer_norm,
            normaliser=config.normalise_observations,
            task=task.id,
        )
        return Policy(spec, network_tensors(network) | scaling)

    scalings: Any = [{}, {}]
    if normaliser is not None and config.normalise_observations:
        for name, part in normaliser._asdict().items():
            for scaling, view in zip(scalings, game.views(part), strict=True):
                scaling[f"normaliser.{name}"] = view
    return Players(*map(policy, players, scalings, game.sees, boxes))


def _settings(agent: type[DDPG | SAC | VPG], config: Config) -> dict[str, Any]:
    """An agent's settings: the fields of the configuration with the same names."""
    shared = {field.name for field in dataclasses.fields(agent)} & vars(config).keys()
    return {name: getattr(config, name) for name in shared}
