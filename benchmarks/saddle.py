"""Speed of the case study against the same algorithm in plain NumPy, vectorised over seeds.

    python benchmarks/saddle.py [--seeds 1 100 1000] [--repeats 5]

One game (θ²ω² − θω), MixedNE-LD with frozen chains, the paper's settings, 200 outer steps.
The two programs run in turn, so that both see the same machine; the ratio of each pair is
what counts. Compilation is timed apart.
"""

import os

# One core for both, before NumPy and JAX start their threads.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

from mixedne import Players, solvers
from mixedne.saddle.experiment import make_solver
from mixedne.saddle.objectives import FAR, OBJECTIVES, Settings

OBJECTIVE, SETTINGS = OBJECTIVES["x2y2-xy"], Settings(steps=200)


def with_numpy(seeds: int) -> None:
    """The same algorithm, every operation on an array over seeds."""
    rng, s = np.random.default_rng(0), SETTINGS
    theta, omega = (np.full(seeds, x) for x in FAR)
    scale = np.sqrt(2 * s.learning_rate) * s.noise_scale
    for _ in range(s.steps):
        inner_theta, inner_omega, mean_theta, mean_omega = theta, omega, theta, omega
        for _ in range(s.inner_steps):
            noise = scale * rng.standard_normal((2, seeds))
            up, _ = OBJECTIVE.gradient(inner_theta, omega)
            _, down = OBJECTIVE.gradient(theta, inner_omega)
            inner_theta = np.clip(inner_theta + s.learning_rate * up + noise[0], -2, 2)
            inner_omega = np.clip(inner_omega - s.learning_rate * down + noise[1], -2, 2)
            mean_theta = (1 - s.damping) * mean_theta + s.damping * inner_theta
            mean_omega = (1 - s.damping) * mean_omega + s.damping * inner_omega
        theta = (1 - s.damping) * theta + s.damping * mean_theta
        omega = (1 - s.damping) * omega + s.damping * mean_omega


def main() -> None:
    """Print the time of each, and the ratios, for several numbers of seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    solver = make_solver("mixedne-ld", SETTINGS, (1.0, -1.0))
    state = solver.init(Players(*map(jnp.asarray, FAR)))
    controls = solvers.Controls(jnp.full(SETTINGS.steps, SETTINGS.inner_steps))

    @jax.jit
    def with_mixedne(seeds: jax.Array) -> Players:
        def end(seed: jax.Array) -> Players:
            return solvers.solve(solver, jax.random.key(seed), state, controls)[0].players

        return jax.vmap(end)(seeds)

    def timed(call: object, *given: object) -> float:
        begin = time.perf_counter()
        jax.block_until_ready(call(*given))  # type: ignore[operator]
        return time.perf_counter() - begin

    for count in arguments.seeds:
        seeds = jnp.arange(count)
        first = timed(with_mixedne, seeds)
        pairs = [
            (timed(with_mixedne, seeds), timed(with_numpy, count)) for _ in range(arguments.repeats)
        ]
        ours, theirs = np.transpose(pairs)
        ratio = theirs / ours
        print(
            f"{count:5d} seeds: mixedne {np.median(ours):.3f} s, NumPy {np.median(theirs):.3f} s; "
            f"ratio {np.median(ratio):.1f} ({ratio.min():.1f} to {ratio.max():.1f}); "
            f"compilation {first - np.median(ours):.1f} s"
        )


if __name__ == "__main__":
    main()
