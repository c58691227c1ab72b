"""Both players of a linear-quadratic game learn its equilibrium: the table of docs/games.md.

    python examples/linear_quadratic.py [--seeds 5]        # needs mixedne[pettingzoo]

Trains DDPG with every solver, and compares what the players do on [−1, 1], as a gain by least
squares, with the Riccati equation's. A run takes about twelve seconds of one core.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import mixedne
from mixedne.games.linear_quadratic import GAME
from mixedne.names import SOLVERS

GAMMA = 0.8
SETTINGS: dict[str, Any] = {
    **{"gamma": GAMMA, "steps": 8000, "hidden": (16,), "critic_hidden": (64,), "batch_size": 128},
    **{"eta": 1e-3, "critic_learning_rate": 2e-3, "tau": 0.98, "collect_steps": 50, "updates": 50},
    **{"sigma": 0.3, "random_steps": 1000, "update_after": 500, "evaluate_every": 0},
}
EXACT = [float(gain[0, 0]) for gain in GAME.equilibrium(GAMMA)[:2]]
"""K and L."""


def learned_gains(out: Path, solver: str, seed: int) -> list[float]:
    """K and L of a run, which is trained first."""
    task = "pettingzoo:mixedne.games.linear_quadratic:parallel_env"
    run = mixedne.train(task, solver=solver, seed=seed, out=out, **SETTINGS)
    controller, disturber = run.policy, mixedne.load_policy(run.path / "adversary.json")
    x = np.linspace(-1, 1, 41)
    u, w = (policy(x[:, None])[:, 0] for policy in (controller, disturber))
    return [float(-u @ x / (x @ x)), float(w @ x / (x @ x))]


def main() -> None:
    """Print the table: gains over the seeds, and how far off they are at most."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    print(f"| solver | K (exactly {EXACT[0]:.4f}) | L (exactly {EXACT[1]:.4f}) | error at most |")
    print("| --- | --- | --- | --- |")
    for solver, name in SOLVERS.items():
        with tempfile.TemporaryDirectory() as folder:
            runs = range(seeds)
            found = np.array([learned_gains(Path(folder, str(i)), solver, i) for i in runs])
        cells = [
            f"{mean:.3f} ± {std:.3f}" for mean, std in zip(found.mean(0), found.std(0), strict=True)
        ]
        worst = np.abs(found / EXACT - 1).max()
        print(f"| {name} | {' | '.join(cells)} | {100 * worst:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
