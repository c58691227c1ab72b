"""Agents: each answers a solver with gradients of its players.

``deterministic``   two-player DDPG and TD3
``sac``             soft actor-critic, the non-robust baseline
``actor_critic``    what they share
"""

from mixedne.agents.actor_critic import Agent, Feed, Transition
from mixedne.agents.deterministic import deterministic
from mixedne.agents.sac import sac

__all__ = ["Agent", "Feed", "Transition", "deterministic", "sac"]
