"""Configuration of runs. Needs no JAX; tasks are looked up on demand.

``config``       the fields of a run, with everything known about each
``configure``    a configuration from choices, a preset and overrides
``presets``      the paper's hyperparameter tables
``identity``     identifier, settings, name, command and JSON form of a run; which share a program
"""

from mixedne.config.config import MAX_SEED, SETTINGS, Config, unused_fields
from mixedne.config.configure import configure, game_of, is_in_tables, learning_gap, total_updates
from mixedne.config.presets import FALLBACK

__all__ = ["FALLBACK", "MAX_SEED", "SETTINGS", "Config", "configure", "game_of"]
__all__ += ["is_in_tables", "learning_gap", "total_updates", "unused_fields"]
