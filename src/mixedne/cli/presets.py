"""``mixedne presets``: the paper's hyperparameter tables."""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from mixedne.cli.console import print_json, print_table
from mixedne.config import presets
from mixedne.names import SOLVERS

ABSENT = "–"


@dataclass(frozen=True)
class Presets:
    """Print every hyperparameter table of the paper, as the program uses it."""

    about: ClassVar[str] = """\
The names are those of the configuration; docs/naming.md has the paper's symbols.
A dash stands where the paper's table has no value; without inner_steps, their number
grows with inner_growth up to inner_max.

Examples:
  mixedne presets
  mixedne presets --json"""

    json: bool = False
    """Print one JSON document: a list with one object per row of the tables."""

    def run(self) -> None:
        """Print the tables."""
        if self.json:
            print_json(presets.rows())
            return
        _print_common()
        for agent in presets.EXPLORATION:
            _print_exploration(agent)


def _print_common() -> None:
    """One column per agent; sets are what the search went through."""
    shown = {
        agent: {name: _text(value) for name, value in common.items()}
        | {name: _set(values) for name, values in presets.GRIDS[agent].items()}
        for agent, common in presets.COMMON.items()
    }
    names = dict.fromkeys(name for values in shown.values() for name in values)
    rows = [[name, *(values.get(name, ABSENT) for values in shown.values())] for name in names]
    print_table("Common values; {sets} were searched", ["", *shown], rows)


def _print_exploration(agent: str) -> None:
    """One row per δ and task, one column per solver."""
    chosen: dict[tuple[float, str], dict[str, dict[str, Any]]] = {}
    for delta, table in presets.EXPLORATION[agent].items():
        for task in table:
            chosen[delta, task] = {
                solver: presets.table_values(agent, task, delta, solver) or {} for solver in SOLVERS
            }
    names = {
        solver: list(dict.fromkeys(name for cells in chosen.values() for name in cells[solver]))
        for solver in SOLVERS
    }
    rows = [
        [
            _text(delta),
            task,
            *(
                ", ".join(_text(cells[solver].get(name)) for name in names[solver])
                for solver in SOLVERS
            ),
        ]
        for (delta, task), cells in chosen.items()
    ]
    columns = [f"{solver}\n{', '.join(names[solver])}" for solver in SOLVERS]
    print_table(f"{agent}: chosen by grid search", ["delta", "task", *columns], rows)


def _set(values: Iterable[float]) -> str:
    return textwrap.fill(f"{{{', '.join(map(_text, values))}}}", 16)


def _text(value: Any) -> str:
    """A value in full, small ones as powers of ten."""
    if value is None:
        return ABSENT
    if isinstance(value, float) and 0 < value < 1e-3:
        return f"{Decimal(repr(value)):e}"  # 1e-4, where :g gives 0.0001
    return f"{value:.12g}" if isinstance(value, float) else str(value)
