"""What determines a run, and what follows from it. Needs no JAX; tasks are looked up late.

``config``       the fields of a run, with all that is known about each
``configure``    a configuration from choices, a preset and overrides
``presets``      the paper's hyperparameter tables
``identity``     identifier, settings, name, command and JSON form of a run
``compatible``   which runs can share a compiled program
"""

from mixedne.config.config import MAX_SEED, SETTINGS, Config, unused_fields
from mixedne.config.configure import FALLBACK, configure, is_in_tables, learning_gap

__all__ = [
    "FALLBACK",
    "MAX_SEED",
    "SETTINGS",
    "Config",
    "configure",
    "is_in_tables",
    "learning_gap",
    "unused_fields",
]
