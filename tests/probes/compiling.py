"""How tests compile what runs for long."""

OPTIMISED = {"xla_backend_optimization_level": 3}
"""Compiler options of ``jax.jit`` for a program that runs for longer than it compiles."""
