"""What determines a run, and what follows from it. Nothing here needs JAX.

``config``       the fields of a run, resolved from a preset and the user's overrides
``presets``      the paper's hyperparameter tables
``identity``     identifier, name, command and JSON form of a run
``unused``       which fields do nothing for an agent and a solver
``compatible``   which runs can share a compiled program
"""

from mixedne.config.config import (
    AGENTS,
    FALLBACK,
    MAX_SEED,
    PRESETS,
    SOLVERS,
    Config,
    check_wishes,
    configure,
    default_config,
    exploration,
    is_in_tables,
)

__all__ = [
    "AGENTS",
    "FALLBACK",
    "MAX_SEED",
    "PRESETS",
    "SOLVERS",
    "Config",
    "check_wishes",
    "configure",
    "default_config",
    "exploration",
    "is_in_tables",
]
