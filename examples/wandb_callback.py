"""Log a run to Weights & Biases as it trains, and stop it when it is good enough.

A callback sees the new lines of metrics after every cycle; any other logger works the same way.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any

import mixedne
from mixedne.training.run import Status


def logging_to(log: Callable[[dict[str, Any], int], Any], enough: float) -> Callable[..., bool]:
    """A callback that logs every number, and stops the run at a return of ``enough``."""

    def callback(status: Status) -> bool:
        for line in status.metrics:
            place = "".join(f"{axis}={line[axis]:g}/" for axis in ("mass", "rho") if axis in line)
            numbers = {name: x for name, x in line.items() if isinstance(x, int | float)}
            log({f"{line['kind']}/{place}{name}": x for name, x in numbers.items()}, line["step"])
        return status.evaluated is None or status.evaluated < enough

    return callback


if __name__ == "__main__":
    try:
        wandb = importlib.import_module("wandb")
    except ImportError:
        sys.exit("this example needs Weights & Biases, which is not installed: pip install wandb")
    with wandb.init(project="mixedne") as board:
        mixedne.train(
            "InvertedPendulum-v5",
            steps=50_000,
            evaluate_every=2_000,
            progress=True,
            callback=logging_to(lambda values, step: board.log(values, step=step), enough=950),
        )
