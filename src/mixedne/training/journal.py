"""What a run writes down as it goes: lines of metrics, and evaluations of its policy."""

import warnings
from typing import Any

from mixedne.config import Config
from mixedne.evaluation.sweep import evaluate
from mixedne.policies import Policy
from mixedne.tasks import Task
from mixedne.training.folder import RunFolder
from mixedne.training.tensorboard import TensorBoard


class Journal:
    """A run's ``metrics.jsonl`` and, if asked for, its TensorBoard file."""

    def __init__(self, config: Config, task: Task, folder: RunFolder) -> None:
        """Nothing is written before ``open``."""
        self._config, self._task, self._folder = config, task, folder
        self._tensorboard: TensorBoard | None = None
        self.size = 0
        """Bytes of metrics that belong to the run."""
        self.evaluated: float | None = None
        """The last evaluation's mean return in the nominal world."""

    def open(self, step: int) -> None:
        """Forget what was written after the run's size, and begin to write from ``step`` on."""
        self._folder.cut_metrics(self.size)
        if self._config.tensorboard:
            self._tensorboard = TensorBoard(self._folder.path / "tensorboard", step)

    def close(self) -> None:
        """Close the files."""
        if self._tensorboard is not None:
            self._tensorboard.close()

    def write(self, *lines: dict[str, Any]) -> None:
        """Add lines of metrics."""
        self.size = self._folder.write_metrics(*lines)
        if self._tensorboard is not None:
            self._tensorboard.write(*lines)

    def evaluate(self, policy: Policy, step: int) -> None:
        """The agent alone, without noise, at a few shifts, each with the same few episodes."""
        axis, values, nominal = self._shifts()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of worlds that flew apart: the return says it
            table = evaluate(
                policy,
                self._task.id,
                mass=values if axis == "mass" else (1.0,),
                rho=values if axis == "rho" else None,
                episodes=self._config.evaluate_episodes,
                seed=self._config.seed,
                threads=1,
            )
        lines = []
        for value in values:
            rows = table.filter(table[axis] == value)
            returns = rows["return"].to_numpy()
            lines.append(
                {
                    "kind": "evaluation",
                    "step": step,
                    axis: value,
                    "episodes": len(returns),
                    "return_mean": float(returns.mean()),
                    "return_std": float(returns.std()),
                    "length_mean": float(rows["length"].to_numpy().mean()),
                }
            )
            if value == nominal:
                self.evaluated = float(returns.mean())
        self.write(*lines)

    def _shifts(self) -> tuple[str, tuple[float, ...], float]:
        """What to vary, its values, and the nominal one."""
        if self._task.nominal_rho is not None:
            return "rho", self._config.evaluate_rhos, self._task.nominal_rho
        has_mass = "mass" in self._task.axes
        return "mass", self._config.evaluate_masses if has_mass else (1.0,), 1.0
