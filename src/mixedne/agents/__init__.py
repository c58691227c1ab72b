"""Agents: each provides a solver with the gradients of its players.

``base``       the protocol of all agents, and the base class of actor-critic agents
``ddpg_td3``   two-player DDPG and TD3
``m2td3``      TD3 against parameter vectors of the world
``sac``        soft actor-critic, the non-robust baseline
``vpg``        two-player vanilla policy gradient, with episodes inside the compiled program
``losses``     the equations
``networks``   multilayer perceptrons
"""

from mixedne.agents.base import Agent, Batches, Transition
from mixedne.agents.ddpg_td3 import DDPG
from mixedne.agents.m2td3 import M2TD3
from mixedne.agents.sac import SAC
from mixedne.agents.vpg import VPG

__all__ = ["DDPG", "M2TD3", "SAC", "VPG", "Agent", "Batches", "Transition"]
