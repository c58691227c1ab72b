"""Agents: each answers a solver with gradients of its players.

``deterministic``   two-player DDPG and TD3
``sac``             soft actor-critic, the non-robust baseline
``actor_critic``    what these share
``vpg``             two-player vanilla policy gradient, which plays its episodes by itself
"""

from mixedne.agents.actor_critic import Agent, Feed, Transition
from mixedne.agents.deterministic import deterministic
from mixedne.agents.sac import sac
from mixedne.agents.vpg import PolicyGradientAgent, vpg

__all__ = [
    "Agent",
    "Feed",
    "PolicyGradientAgent",
    "Transition",
    "deterministic",
    "sac",
    "vpg",
]
