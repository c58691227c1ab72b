"""The case study's settings; needs neither JAX nor a solver."""

from dataclasses import dataclass

from mixedne.errors import check_number

SOLVERS = ("gad", "eg", "mixedne-ld")
"""The case study's solvers: alternating GAD, extra-gradient, MixedNE-LD."""

INNERS = ("frozen", "coupled")
"""What an inner chain of MixedNE-LD plays against."""


@dataclass(frozen=True)
class Settings:
    """The case study's numbers; the defaults are the paper's."""

    steps: int = 1000
    """Outer steps T."""
    learning_rate: float = 0.1
    """η."""
    temperature: float = 0.01
    """ε, the thermal noise of MixedNE-LD."""
    inner_steps: int = 50
    """K, the inner steps of MixedNE-LD."""
    damping: float = 0.5
    """β of MixedNE-LD."""

    def __post_init__(self) -> None:
        check_number("steps", self.steps, at_least=1)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("temperature", self.temperature, at_least=0)
        check_number("inner_steps", self.inner_steps, at_least=1)
        check_number("damping", self.damping, above=0, at_most=1)
