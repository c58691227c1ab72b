"""From a configuration to the parts that it names: formulation, agent, solver, policies."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optax

from mixedne import optimizers, solvers
from mixedne.agents import Agent, PolicyGradientAgent, deterministic, sac, vpg
from mixedne.agents.networks import network_tensors
from mixedne.config import Config
from mixedne.games import Formulation, make_formulation
from mixedne.policies import Policy, PolicySpec
from mixedne.solvers import Oracle, Solver
from mixedne.tasks import Task
from mixedne.training import toy_world
from mixedne.training.normaliser import Normaliser
from mixedne.types import Players


def make_agent(config: Config, task: Task) -> Agent:
    """The agent of the configuration."""
    sizes = task.observation_size, task.action_size
    shared: dict[str, Any] = {
        "hidden": config.hidden,
        "activation": config.activation,
        "actor_layer_norm": config.actor_layer_norm,
        "critic_layer_norm": config.critic_layer_norm,
        "gamma": config.gamma,
        "tau": config.tau,
        "critic_learning_rate": config.critic_learning_rate,
        "critic_weight_decay": config.critic_weight_decay,
    }
    if config.agent == "sac":
        return sac(
            *sizes,
            **shared,
            temperature_learning_rate=config.eta,
            initial_temperature=config.initial_temperature,
            target_entropy=config.target_entropy,
        )
    return deterministic(
        *sizes,
        formulation_of(config),
        **shared,
        critics=config.critics,
        target_noise=config.target_noise,
        target_noise_clip=config.target_noise_clip,
    )


def make_vpg(config: Config) -> PolicyGradientAgent:
    """The agent of a configuration for VPG; toy is the only task in JAX."""
    return vpg(
        toy_world.world(),
        formulation_of(config),
        hidden=config.hidden,
        activation=config.activation,
        layer_norm=config.actor_layer_norm,
        gamma=config.gamma,
        horizon=config.horizon,
        trajectories=config.trajectories,
        normalise_returns=config.normalise_returns,
        clip_gradient=config.clip_gradient,
    )


def formulation_of(config: Config) -> Formulation:
    """The formulation of the configuration."""
    return make_formulation(config.formulation, config.delta)


def solver_maker(config: Config) -> Callable[[Oracle], Solver]:
    """How the configuration makes a solver for an oracle."""
    rms: dict[str, Any] = {"decay": config.rms_decay, "epsilon": config.rms_epsilon}

    def make(oracle: Oracle) -> Solver:
        if config.solver == "mixedne-ld":
            # Without heat, Langevin dynamics is RMSProp, and no noise need be drawn.
            hot = optimizers.langevin(config.eta, config.sigma0, **rms)
            optimizer = hot if config.sigma0 > 0 else optimizers.rmsprop(config.eta, **rms)
            return solvers.mixedne_ld(oracle, optimizer, damping=config.beta, inner=config.inner)
        if config.solver == "extra-adam":
            return solvers.extra_gradient(oracle, optimizers.extra_adam(config.eta))
        if config.solver == "gad":
            return solvers.gad(oracle, optimizers.rmsprop(config.eta, **rms))
        return solvers.gad(oracle, optax.adam(config.eta))

    return lambda oracle: solvers.delayed(make(oracle), oracle, config.policy_delay)


def make_policies(
    config: Config, task: Task, head: str, players: Players, normaliser: Normaliser
) -> Players:
    """The players as policies that act by themselves; None for an adversary that is not there."""
    spec = PolicySpec(
        observation_size=task.observation_size,
        action_low=tuple(task.action_low.tolist()),
        action_high=tuple(task.action_high.tolist()),
        hidden=config.hidden,
        activation=config.activation,
        head=head,
        layer_norm=config.actor_layer_norm,
        normaliser=config.normalise_observations,
        task=task.id,
    )

    def policy(network: Any) -> Policy | None:
        if network is None:
            return None
        tensors = {name: np.array(array) for name, array in network_tensors(network).items()}
        if config.normalise_observations:
            tensors["normaliser.mean"] = np.asarray(normaliser.mean)
            tensors["normaliser.scale"] = np.asarray(normaliser.scale)
        return Policy(spec, tensors)

    return Players(policy(players.agent), policy(players.adversary))
