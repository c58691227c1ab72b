"""A module that prints when it is imported; its environment does when it is made and reset."""

from typing import Any

import gymnasium as gym
from gymnasium.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv

print("hello from the community")


class Loud(InvertedPendulumEnv):
    """The inverted pendulum, with a word of its own."""

    def __init__(self, **options: Any) -> None:
        print("made with love")
        super().__init__(**options)

    def reset(self, **options: Any) -> Any:
        print("here we go")
        return super().reset(**options)


gym.register("Loud-v0", entry_point=Loud, max_episode_steps=5)
