"""From a configuration to the parts that it names: formulation, agent, solver, policies."""

from typing import Any

import numpy as np
import optax

from mixedne import optimizers, solvers
from mixedne.agents import DDPG, SAC, VPG
from mixedne.agents.networks import network_tensors
from mixedne.config import Config
from mixedne.games import Formulation, make_formulation
from mixedne.policies import Policy, PolicySpec
from mixedne.solvers import ExtraArgs, Oracle, Solver
from mixedne.tasks import Task
from mixedne.training import toy_world
from mixedne.training.normaliser import Normaliser
from mixedne.types import Players


def make_agent(config: Config, task: Task) -> DDPG | SAC:
    """The off-policy agent of the configuration."""
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
        return SAC(
            *sizes,
            **shared,
            alpha_learning_rate=config.eta,
            initial_alpha=config.initial_temperature,
            target_entropy=config.target_entropy,
            fixed_alpha=config.entropy_coefficient,
        )
    return DDPG(
        *sizes,
        formulation=formulation_of(config),
        **shared,
        critics=config.critics,
        target_noise=config.target_noise,
        target_noise_clip=config.target_noise_clip,
    )


def make_vpg(config: Config) -> VPG:
    """The agent of a configuration for VPG; toy is the only task in JAX."""
    return VPG(
        toy_world.world(),
        formulation_of(config),
        hidden=config.hidden,
        activation=config.activation,
        layer_norm=config.actor_layer_norm,
        gamma=config.gamma,
        horizon=config.horizon,
        trajectories=config.trajectories,
        normalise_returns=config.normalise_returns,
        gamma_weights=config.gamma_weights,
        share_factors=config.share_factors,
        clip_gradient=config.clip_gradient,
    )


def formulation_of(config: Config) -> Formulation:
    """The formulation of the configuration."""
    return make_formulation(config.formulation, config.delta)


def make_solver(config: Config, oracle: Oracle, extra_args: ExtraArgs | None = None) -> Solver:
    """The configuration's solver; ``extra_args`` may bring the noise of Langevin steps."""
    rms: dict[str, Any] = {"decay": config.rms_decay, "epsilon": config.rms_epsilon}
    if config.solver == "mixedne-ld":
        # At σ0 = 0, Langevin dynamics is RMSProp, and no noise need be drawn.
        optimizer = (
            optimizers.langevin(config.eta, config.sigma0, **rms)
            if config.sigma0 > 0
            else optimizers.rmsprop(config.eta, **rms)
        )
        solver = solvers.mixedne_ld(
            oracle, optimizer, damping=config.beta, inner=config.inner, extra_args=extra_args
        )
    elif config.solver == "extra-adam":
        solver = solvers.extra_gradient(oracle, optimizers.extra_adam(config.eta))
    elif config.solver == "gad":
        solver = solvers.gad(oracle, optimizers.rmsprop(config.eta, **rms))
    else:
        solver = solvers.gad(oracle, optax.adam(config.eta))
    return solvers.delayed(solver, config.policy_delay)


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
