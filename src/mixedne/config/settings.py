"""What a field of the configuration knows about itself, as the metadata of a dataclass field.

Checks, ``--help`` and its groups, derived defaults, the identity of a run and the key of its
compiled program all follow from this.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.names import either


@dataclass(frozen=True)
class Setting:
    """A field of the configuration, apart from its name, type and default."""

    help: str
    bounds: Mapping[str, float]
    """Arguments of ``check_number``, for numbers and lists of numbers."""
    choices: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """The agents that use it; empty for all."""
    solvers: tuple[str, ...] = ()
    """The solvers that use it; empty if it has nothing to do with the solver."""
    changes: Literal["policy", "metrics", "nothing"] = "policy"
    """What another value changes: the policy, only what is logged on the way, or no result."""
    derive: Callable[[Mapping[str, Any]], Any] | None = None
    """The default as a function of all other values, or None where no rule applies."""
    hash_derived: bool = True
    """Whether the derived value enters a run's identifier; not for fields younger than the runs."""
    traced: bool = False
    """Whether runs that differ in it can share a compiled program."""

    def lacks(self, agent: str | None, solver: str | None) -> str | None:
        """What the field would need to have an effect; None if it has one."""
        if self.agents and agent not in self.agents:
            return f"agent {either(self.agents)}"
        if self.solvers and solver not in self.solvers:
            return f"solver {either(self.solvers)}"
        return None

    @property
    def group(self) -> str:
        """The title under which ``--help`` shows it."""
        if self.changes != "policy":
            return "logging and evaluation"
        if self.solvers:
            return f"solver {either(self.solvers)}"
        return f"agent {either(self.agents)}" if self.agents else "all agents"

    def check(self, name: str, value: Any) -> None:
        """Refuse a value out of bounds. None, where the type allows it, is always within."""
        if value == ():
            raise InvalidInputError(f"{name} must be at least one number, not ()")
        if self.choices and value is not None:
            check_choice(name, value, self.choices)
        elif isinstance(value, int | float | tuple) and not isinstance(value, bool):
            check_number(name, value, **self.bounds)


def setting(default: Any, help: str, bounds: Mapping[str, float] | None = None, **rest: Any) -> Any:
    """A dataclass field with a :class:`Setting` as its metadata."""
    return dataclasses.field(
        default=default, metadata={"setting": Setting(help, bounds or {}, **rest)}
    )
