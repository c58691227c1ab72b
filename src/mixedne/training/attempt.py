"""The policy under attack, and the episodes in which it is evaluated."""

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from mixedne.evaluation.attacks import Attacker
from mixedne.evaluation.handles import PolicyHandle
from mixedne.evaluation.statistics import over_episodes
from mixedne.evaluation.sweep import evaluate
from mixedne.tasks import Task


@dataclass(frozen=True)
class Attempt:
    """The policy under attack, and the episodes in which it is evaluated."""

    handle: PolicyHandle
    task: Task
    episodes: int
    seed: int

    def measure(self, *, choosing: bool = False, **options: Any) -> pl.DataFrame:
        """Run episodes of the policy: those that are reported, or those for selection."""
        seed = self.seed + 1 if choosing else self.seed
        return evaluate(self.handle, self.task.id, episodes=self.episodes, seed=seed, **options)

    def mean(self, attacker: Attacker | None = None, **options: Any) -> float:
        """The mean return for selection; infinite if the physics diverges."""
        table = self.measure(choosing=True, attack=attacker, **options)
        mean = returns_of(table)["mean"]
        return mean if math.isfinite(mean) and not table["diverged"].any() else math.inf


def returns_of(table: pl.DataFrame) -> dict[str, float]:
    """Mean, standard deviation and worst return of all episodes in a table."""
    row = over_episodes(table, ["run"]).row(0, named=True)
    return {name: row[f"{name}_return"] for name in ("mean", "std", "worst")}
