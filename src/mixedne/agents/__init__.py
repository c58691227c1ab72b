"""Agents: each gives a solver the gradients of its players.

``base``       the protocol that all agents follow, and what actor-critic agents share
``ddpg_td3``   two-player DDPG and TD3
``m2td3``      TD3 against parameter vectors of the world
``sac``        soft actor-critic, the non-robust baseline
``vpg``        two-player vanilla policy gradient, which plays its episodes inside the program
``losses``     the equations
``networks``   multilayer perceptrons
"""

from mixedne.agents.base import Agent, Batches, Transition
from mixedne.agents.ddpg_td3 import DDPG
from mixedne.agents.m2td3 import M2TD3
from mixedne.agents.sac import SAC
from mixedne.agents.vpg import VPG

__all__ = ["DDPG", "M2TD3", "SAC", "VPG", "Agent", "Batches", "Transition"]
