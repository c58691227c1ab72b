"""Speed of TD3 in another library: SBX (JAX) or Stable-Baselines3 (PyTorch).

    .venv-peers/bin/python benchmarks/peers/td3.py --library sbx|sb3 [--steps 5000] [--core 0]

HalfCheetah-v5, networks (64, 64), batches of 128, one update after every step of the task; all
else as the library has it. The random phase of 1000 steps and the first 500 updates, in which
everything is compiled, come before the clock starts. One core. Prints one line of JSON;
``share_of_core`` below 1 tells that other programs wanted the core too.
"""

import argparse
import os

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--library", choices=["sbx", "sb3"], required=True)
parser.add_argument("--steps", type=int, default=5000, help="timed steps")
parser.add_argument("--core", type=int, default=0)
arguments = parser.parse_args()

# One core, before anything starts its threads.
os.sched_setaffinity(0, {arguments.core})
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import json
import time
from importlib.metadata import version

import numpy as np
import torch
from stable_baselines3.common.noise import NormalActionNoise

RANDOM_STEPS, WARM_UP = 1000, 500
ACTIONS = 6
PACKAGES = {"sbx": ["sbx-rl", "jax"], "sb3": ["stable-baselines3", "torch"]}
TASK_PACKAGES = ["gymnasium", "mujoco"]


def main() -> None:
    """Train past the warm-up, then on against the clock."""
    torch.set_num_threads(1)
    if arguments.library == "sbx":
        from sbx import TD3
    else:
        from stable_baselines3 import TD3
    model = TD3(
        "MlpPolicy",
        "HalfCheetah-v5",
        learning_rate=1e-3,
        learning_starts=RANDOM_STEPS,
        batch_size=128,
        train_freq=1,
        gradient_steps=1,
        action_noise=NormalActionNoise(np.zeros(ACTIONS), np.full(ACTIONS, 0.1)),
        policy_kwargs={"net_arch": [64, 64]},
        seed=0,
        device="cpu",
    )
    model.learn(RANDOM_STEPS + WARM_UP)
    updates = model._n_updates
    start, start_cpu = time.perf_counter(), time.process_time()
    model.learn(arguments.steps, reset_num_timesteps=False)  # goes on where it stopped
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    if model._n_updates - updates != arguments.steps:
        raise RuntimeError("there was not one update for each timed step")
    report = {
        "peer": f"{arguments.library}-td3",
        "steps_per_second": round(arguments.steps / seconds, 1),
        "share_of_core": round(cpu_seconds / seconds, 2),
        "versions": {name: version(name) for name in PACKAGES[arguments.library] + TASK_PACKAGES},
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
