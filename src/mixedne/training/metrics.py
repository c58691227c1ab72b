"""What a run tells of itself: one line of ``metrics.jsonl`` every so many steps.

``docs/algorithms.md`` says what each number means.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mixedne.errors import InvalidInputError
from mixedne.solvers import SolverState


@dataclass
class Window:
    """Sums since the last line; a checkpoint keeps them."""

    sums: dict[str, float] = field(default_factory=dict)

    def add(self, **values: Any) -> None:
        """Add to the sums."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value)

    def mean(self, name: str, count: str) -> float | None:
        """A mean; None where nothing was counted."""
        number = self.sums.get(count, 0.0)
        return self.sums[name] / number if number else None


def training_line(window: Window, state: SolverState, **more: Any) -> dict[str, Any]:
    """A line of training metrics."""
    adversary = state.players.adversary is not None
    norm = window.mean("adversary_gradient_norm", "moves") if adversary else None
    log_alpha = getattr(state.carry, "log_alpha", None)
    return {
        "kind": "training",
        **more,
        "episodes_ended": int(window.sums.get("episodes", 0)),
        "return_mean": window.mean("returns", "episodes"),
        "length_mean": window.mean("lengths", "episodes"),
        "critic_loss": window.mean("critic_loss", "minibatches"),
        "value_mean": window.mean("value", "minibatches"),
        "target_mean": window.mean("target", "minibatches"),
        "payoff": window.mean("payoff", "calls"),
        "agent_gradient_norm": window.mean("agent_gradient_norm", "moves"),
        "adversary_gradient_norm": norm,
        "player_distance": player_distance(state) if adversary else None,
        "entropy_weight": None if log_alpha is None else float(np.exp(log_alpha)),
    }


def player_distance(state: SolverState) -> float:
    """‖θ − ω‖ over all weights: the players' networks have the same shapes."""
    pairs = zip(
        jax.tree.leaves(state.players.agent), jax.tree.leaves(state.players.adversary), strict=True
    )
    return float(np.sqrt(sum(np.square(np.asarray(a) - np.asarray(b)).sum() for a, b in pairs)))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a run folder's metrics."""
    try:
        return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    except ValueError:
        raise InvalidInputError(f"{path / 'metrics.jsonl'} is damaged") from None


def last_evaluation(path: Path) -> list[dict[str, Any]]:
    """The lines of a run's last evaluation, one for each mass."""
    lines = [line for line in read_metrics(path) if line["kind"] == "evaluation"]
    return [line for line in lines if line["step"] == lines[-1]["step"]]
