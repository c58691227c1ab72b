"""``mixedne presets``: the paper's hyperparameter tables."""

import textwrap
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mixedne.cli.console import print_json, print_table
from mixedne.config import presets
from mixedne.names import SOLVERS

ABSENT = "–"


@dataclass(frozen=True)
class Presets:
    """Print the paper's hyperparameter tables, as the program uses them."""

    json: bool = False
    """Print one JSON document: a list with one object per row of the tables."""

    def run(self) -> None:
        """Print the tables."""
        if self.json:
            print_json(presets.rows())
            return
        shown = {
            agent: {name: _text(value) for name, value in (common | presets.GRIDS[agent]).items()}
            for agent, common in presets.COMMON.items()
        }
        names = dict.fromkeys(name for values in shown.values() for name in values)
        rows = [[name, *(values.get(name, ABSENT) for values in shown.values())] for name in names]
        print_table("Common values; {sets} were searched", ["", *shown], rows)
        for agent in presets.EXPLORATION:
            _print_exploration(agent)


def _print_exploration(agent: str) -> None:
    """One row per δ and task, one column per solver."""
    cells = {
        (delta, task): {s: presets.table_values(agent, task, delta, s) or {} for s in SOLVERS}
        for delta, table in presets.EXPLORATION[agent].items()
        for task in table
    }
    names = {s: dict.fromkeys(name for row in cells.values() for name in row[s]) for s in SOLVERS}
    rows = [
        [_text(delta), task]
        + [", ".join(_text(row[s].get(name)) for name in names[s]) for s in SOLVERS]
        for (delta, task), row in cells.items()
    ]
    columns = [f"{solver}\n{', '.join(names[solver])}" for solver in SOLVERS]
    print_table(f"{agent}: chosen by grid search", ["delta", "task", *columns], rows)


def _text(value: Any) -> str:
    """A value without rounding, small ones as powers of ten, and a list as a set of values."""
    if isinstance(value, list):
        return textwrap.fill(f"{{{', '.join(map(_text, value))}}}", 16)
    if isinstance(value, float) and 0 < value < 1e-3:
        return f"{Decimal(repr(value)):e}"  # 1e-4, where :g gives 0.0001
    if value is None:
        return ABSENT
    return f"{value:.12g}" if isinstance(value, float) else str(value)
