"""Speed of two-player VPG with MixedNE-LD on the toy MDP, in eager PyTorch.

    .venv-peers/bin/python benchmarks/peers/torch_vpg.py [--steps 20] [--core 0] [--check]

The same loop as ours, for one seed: an episode of 500 steps in M_0.2, the policy gradient of both
players, one preconditioned Langevin step, the damped outer step. Written to have few operations,
because each costs more than its arithmetic: agent and adversary are two slices of the same tensors,
all weights are views of one flat vector, and all random numbers of an episode are drawn at once.

``--check`` compares the gradient with a plain sum of single log-densities instead. Prints one line
of JSON.
"""

import argparse
import os

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=20, help="timed outer steps")
parser.add_argument("--core", type=int, default=0)
parser.add_argument("--check", action="store_true", help="compare with the plain sum instead")
arguments = parser.parse_args()

# One core, before anything starts its threads.
os.sched_setaffinity(0, {arguments.core})
os.environ["OMP_NUM_THREADS"] = "1"

import json
import math
import time
from importlib.metadata import version

import torch
from torch import Tensor
from torch.nn.functional import softplus

HORIZON, GAMMA, DELTA, RHO = 500, 0.99, 0.1, 0.2
ETA, ALPHA, EPSILON, BETA, SIGMA = 1e-3, 0.99, 1e-8, 0.9, 1e-5
SHAPES = [(2, 1, 16), (2, 1, 16), (2, 16, 16), (2, 1, 16), (2, 16, 2), (2, 1, 2)]
SIZES = [math.prod(shape) for shape in SHAPES]
SHARES = torch.tensor([1 - DELTA, DELTA])
UPHILL = torch.cat([torch.tensor([1.0, -1.0]).repeat_interleave(size // 2) for size in SIZES])
DISCOUNT = GAMMA ** torch.arange(HORIZON)


def views(flat: Tensor) -> list[Tensor]:
    """The weights and biases of both players, in the memory of a flat vector."""
    return [x.view(shape) for x, shape in zip(flat.split(SIZES), SHAPES, strict=True)]


def outputs(weights: list[Tensor], states: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of both players, for states (2, n, 1)."""
    x = torch.baddbmm(weights[1], states, weights[0]).relu_()
    x = torch.baddbmm(weights[3], x, weights[2]).relu_()
    mean, spread = torch.baddbmm(weights[5], x, weights[4]).unbind(-1)
    return mean, softplus(spread)


def rewards(states: Tensor) -> Tensor:
    """R(s)."""
    return torch.sin(1.7**0.5 * states) + torch.cos(0.3**0.5 * states) + 3


@torch.no_grad()  # type: ignore[untyped-decorator]
def episode(flat: Tensor) -> tuple[Tensor, Tensor]:
    """States (500,) and both players' actions (2, 500)."""
    weights = views(flat)
    normals = torch.randn(HORIZON, 2, 1)
    replaced = (torch.rand(HORIZON) < RHO).tolist()
    random_actions = (2 * torch.rand(HORIZON) - 1).tolist()
    states, actions = torch.empty(HORIZON), torch.empty(HORIZON, 2, 1)
    s = 0.0
    for t in range(HORIZON):
        states[t] = s
        mean, variance = outputs(weights, torch.full((2, 1, 1), s))
        a = actions[t] = mean + variance.sqrt_() * normals[t]
        first, second = a.clamp(-1, 1).flatten().tolist()
        move = random_actions[t] if replaced[t] else (1 - DELTA) * first + DELTA * second
        s = min(10.0, max(-10.0, s + move))
    return states, actions[:, :, 0].T


def gradient(flat: Tensor, states: Tensor, actions: Tensor) -> Tensor:
    """G and g' in the places of their players' weights."""
    weight = (DISCOUNT * rewards(states)).flip(0).cumsum(0).flip(0)
    leaf = flat.detach().requires_grad_()
    mean, variance = outputs(views(leaf), states.expand(2, HORIZON).unsqueeze(-1))
    logs = -0.5 * ((actions - mean) ** 2 / variance + variance.log())
    (found,) = torch.autograd.grad(((logs * weight).sum(1) * SHARES).sum(), leaf)
    return found


def outer_step(flat: Tensor, moment: Tensor) -> None:
    """One outer step with N_k = 1, in place."""
    g = gradient(flat, *episode(flat))
    moment.mul_(ALPHA).addcmul_(g, g, value=1 - ALPHA)
    inverse = (moment + EPSILON).rsqrt_()
    step = (ETA * UPHILL) * inverse * g
    step.addcmul_(inverse.sqrt_(), torch.randn_like(flat), value=math.sqrt(2 * ETA) * SIGMA)
    flat.add_(step, alpha=BETA * BETA)  # the average, then the outer step, each damped by β


def check() -> float:
    """How far the gradient is from a sum over single steps and players."""
    flat = torch.randn(sum(SIZES)) / 4
    states, actions = episode(flat)
    leaf = flat.clone().requires_grad_()
    objective = torch.zeros(())
    for t in range(HORIZON):
        to_go = sum(GAMMA ** (u - t) * rewards(states[u]) for u in range(t, HORIZON))
        mean, variance = outputs(views(leaf), states[t].expand(2, 1, 1))
        for i, share in enumerate((1 - DELTA, DELTA)):
            normal = torch.distributions.Normal(mean[i, 0], variance[i, 0].sqrt())
            objective = objective + share * GAMMA**t * to_go * normal.log_prob(actions[i, t])
    (expected,) = torch.autograd.grad(objective, leaf)
    found = gradient(flat, states, actions)
    return ((found - expected).norm() / expected.norm()).item()


def main() -> None:
    """Check, or train against the clock."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    report: dict[str, object] = {"peer": "torch-eager"}
    if arguments.check:
        report["relative_error"] = error = check()
        if not error < 1e-4:
            raise SystemExit(f"differs from the plain sum by {error:.1e}")
    else:
        flat, moment = torch.randn(sum(SIZES)) / 4, torch.zeros(sum(SIZES))
        for _ in range(3):
            outer_step(flat, moment)
        start, start_cpu = time.perf_counter(), time.process_time()
        for _ in range(arguments.steps):
            outer_step(flat, moment)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
        report["milliseconds_per_step"] = round(1e3 * seconds / arguments.steps, 4)
        report["share_of_core"] = round(cpu_seconds / seconds, 2)
    report["versions"] = {"torch": version("torch")}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
