"""Speed of one inner update of two-player DDPG with MixedNE-LD, in eager PyTorch.

    .venv-peers/bin/python benchmarks/peers/torch_inner_update.py [--updates 2000] [--core 0]
        [--no-noise] [--check]

The inner loop of the paper's "DDPG with MixedNE-LD (pre-conditioner = RMSProp)" under NR-MDP,
in the size of HalfCheetah, written to be fast on one core, where each small operation costs more
than its arithmetic. So there are few of them:

- one table holds the replay, one draw of rows a minibatch; (s, ā) are neighbouring columns;
- agent and adversary have one shape, so they are two slices of the same tensors;
- all networks are views of one flat vector, so that Adam, Langevin, averages and targets each
  take a few operations in place (``torch._foreach`` on a CPU is a loop over the leaves).

``--check`` compares it in double precision with the formulas written one by one. Prints one
line of JSON; ``share_of_core`` below 1 tells that other programs wanted the core too.
"""

import argparse
import os

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--updates", type=int, default=2000, help="timed updates")
parser.add_argument("--core", type=int, default=0)
parser.add_argument("--no-noise", action="store_true", help="RMSProp: draw no Langevin noise")
parser.add_argument("--check", action="store_true", help="compare with the plain formulas instead")
arguments = parser.parse_args()

# One core, before anything starts its threads.
os.sched_setaffinity(0, {arguments.core})
os.environ["OMP_NUM_THREADS"] = "1"

import json
import math
import time
from importlib.metadata import version
from itertools import pairwise

import torch
from torch import Tensor

OBSERVATIONS, ACTIONS, HIDDEN, BATCH, CAPACITY = 17, 6, 64, 128, 100_000
DELTA, GAMMA, TAU, BETA = 0.1, 0.99, 0.999, 0.9
CRITIC_RATE, ETA, ALPHA, EPSILON = 1e-3, 1e-4, 0.999, 1e-8
SIGMA = 1e-2  # σ_t at t = 0, the paper's σ_0 for HalfCheetah
WARM_UP = 200

AGENT, ADVERSARY = 0, 1
COLUMNS = [OBSERVATIONS + ACTIONS, 1, OBSERVATIONS, 1]  # (s, ā), r, s', d


def layer_shapes(players: tuple[int, ...], inputs: int, outputs: int) -> list[tuple[int, ...]]:
    """Weights and biases of an (inputs, 64, 64, outputs) network, or of several as one."""
    sizes = [inputs, HIDDEN, HIDDEN, outputs]
    shapes: list[tuple[int, ...]] = []
    for fan_in, fan_out in pairwise(sizes):
        shapes += [(*players, fan_in, fan_out), (*players, 1, fan_out)]
    return shapes


CRITIC = layer_shapes((), OBSERVATIONS + ACTIONS, 1)
PLAYERS = layer_shapes((2,), OBSERVATIONS, ACTIONS)
CRITIC_SIZE, PLAYERS_SIZE = (sum(map(math.prod, shapes)) for shapes in (CRITIC, PLAYERS))


def views(flat: Tensor, shapes: list[tuple[int, ...]]) -> list[Tensor]:
    """The leaves of a flat vector, in its own memory."""
    parts = flat.split([math.prod(shape) for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def trainable(flat: Tensor, shapes: list[tuple[int, ...]]) -> tuple[list[Tensor], Tensor]:
    """The leaves as autograd sees them, and the flat vector their gradients are added to."""
    gradient = torch.zeros_like(flat)
    leaves = [leaf.detach().requires_grad_() for leaf in views(flat, shapes)]
    for leaf, share in zip(leaves, views(gradient, shapes), strict=True):
        leaf.grad = share
    return leaves, gradient


def critic_values(leaves: list[Tensor], inputs: Tensor) -> Tensor:
    """Q(s, ā), in shape (batch, 1)."""
    w1, b1, w2, b2, w3, b3 = leaves
    hidden = torch.addmm(b1, inputs, w1).tanh_()
    hidden = torch.addmm(b2, hidden, w2).tanh_()
    return torch.addmm(b3, hidden, w3)


def both_actions(leaves: list[Tensor], observations: Tensor) -> Tensor:
    """(μ(s), ν(s)), in shape (2, batch, actions)."""
    w1, b1, w2, b2, w3, b3 = leaves
    hidden = torch.baddbmm(b1, observations.expand(2, -1, -1), w1).tanh_()
    hidden = torch.baddbmm(b2, hidden, w2).tanh_()
    return torch.baddbmm(b3, hidden, w3).tanh_()


class Learner:
    """Networks, their targets, the chain and its moments; updated in place."""

    def __init__(self, dtype: torch.dtype, noise: bool) -> None:
        """Draw the networks and a full replay."""
        self.noise = noise
        shapes = CRITIC + PLAYERS
        self.online = torch.empty(CRITIC_SIZE + PLAYERS_SIZE, dtype=dtype)
        for weight, bias in zip(*[iter(views(self.online, shapes))] * 2, strict=True):
            bound = weight.shape[-2] ** -0.5
            weight.uniform_(-bound, bound)
            bias.uniform_(-bound, bound)
        self.target = self.online.clone()
        critic, self.chain = self.online.split([CRITIC_SIZE, PLAYERS_SIZE])  # φ ; θ^(k), ω^(k)
        self.outer, self.average = self.chain.clone(), self.chain.clone()  # θ_t, ω_t ; θ̄, ω̄
        self.moment = torch.zeros_like(self.chain)  # m, m'
        self.xi, self.inverse = torch.empty_like(self.chain), torch.empty_like(self.chain)

        self.critic, self.critic_gradient = trainable(critic, CRITIC)
        self.critic_frozen = views(critic, CRITIC)
        self.players, self.players_gradient = trainable(self.chain, PLAYERS)
        self.players_outer = views(self.outer, PLAYERS)
        self.critic_target = views(self.target[:CRITIC_SIZE], CRITIC)
        self.players_target = views(self.target[CRITIC_SIZE:], PLAYERS)
        flat_critic = torch.nn.Parameter(critic)  # Adam sees one leaf, in the same memory
        flat_critic.grad = self.critic_gradient
        self.adam = torch.optim.Adam([flat_critic], CRITIC_RATE, fused=True)

        self.weights = torch.tensor([1 - DELTA, DELTA], dtype=dtype).view(2, 1, 1)
        # J uphill for the agent, downhill for the adversary, both means over the batch.
        self.signs = torch.tensor([-1.0, 1.0], dtype=dtype).div_(BATCH).repeat_interleave(BATCH)
        self.signs = self.signs.view(-1, 1)
        self.replay = torch.randn(CAPACITY, sum(COLUMNS), dtype=dtype)
        self.replay[:, OBSERVATIONS : COLUMNS[0]].tanh_()
        self.replay[:, -1] = torch.rand(CAPACITY) < 0.01

    def inner_update(self) -> None:
        """One pass of the loop over k."""
        index = torch.randint(CAPACITY, (BATCH,))
        taken, reward, following, done = self.replay.index_select(0, index).split(COLUMNS, 1)
        self.update_critic(taken, reward, following, done)
        self.find_policy_gradients(taken[:, :OBSERVATIONS])
        self.move_players()
        # φ_targ ← τ φ_targ + (1 − τ) φ, and so for θ and ω with the inner iterates
        self.target.lerp_(self.online, 1 - TAU)

    def update_critic(self, taken: Tensor, reward: Tensor, following: Tensor, done: Tensor) -> None:
        """One step of Adam on the mean of (y − Q(s, ā))², y = r + γ (1 − d) Q_targ(s', ā')."""
        with torch.no_grad():
            agent, adversary = both_actions(self.players_target, following)
            action = torch.lerp(agent, adversary, DELTA)
            values = critic_values(self.critic_target, torch.cat([following, action], 1))
            targets = torch.addcmul(reward, 1 - done, values, value=GAMMA)
        self.critic_gradient.zero_()
        torch.nn.functional.mse_loss(critic_values(self.critic, taken), targets).backward()
        self.adam.step()

    def find_policy_gradients(self, observations: Tensor) -> None:
        """∇_θ J(θ, ω_t) and ∇_ω J(θ_t, ω), each against the other's frozen outer value."""
        with torch.no_grad():
            others = both_actions(self.players_outer, observations).flip(0)
            others *= 1 - self.weights
        own = both_actions(self.players, observations)
        actions = torch.addcmul(others, self.weights, own)
        inputs = torch.cat([observations.expand(2, -1, -1), actions], 2)
        values = critic_values(self.critic_frozen, inputs.view(2 * BATCH, -1))
        self.players_gradient.zero_()
        values.backward(self.signs)

    def move_players(self) -> None:
        """Langevin step of both players, and the running averages of their chains."""
        # m ← α m + (1 − α) g ⊙ g ;  C⁻¹ = 1 / √(m + ε)
        gradient = self.players_gradient
        self.moment.mul_(ALPHA).addcmul_(gradient, gradient, value=1 - ALPHA)
        inverse = torch.add(self.moment, EPSILON, out=self.inverse).rsqrt_()
        # z ← z − η C⁻¹ g + √(2η) σ_t C^(−1/2) ξ
        self.chain.addcmul_(inverse, gradient, value=-ETA)
        if self.noise:
            scale = math.sqrt(2 * ETA) * SIGMA
            self.chain.addcmul_(inverse.sqrt_(), self.xi.normal_(), value=scale)
        # z̄ ← (1 − β) z̄ + β z
        self.average.lerp_(self.chain, BETA)


def plain_updates(learner: Learner, updates: int) -> list[Tensor]:
    """The formulas one by one, each network apart, from the state of ``learner``.

    Returns (φ, θ, ω), their targets, the averages and the moments, each as one flat vector.
    """

    def apart(flat: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        both = [leaf.clone() for leaf in views(flat, PLAYERS)]
        return [leaf[AGENT] for leaf in both], [leaf[ADVERSARY] for leaf in both]

    def network(leaves: list[Tensor], x: Tensor) -> Tensor:
        w1, b1, w2, b2, w3, b3 = leaves
        return torch.tanh(torch.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3

    def policy(leaves: list[Tensor], s: Tensor) -> Tensor:
        return torch.tanh(network(leaves, s))

    def value(leaves: list[Tensor], s: Tensor, agent: Tensor, adversary: Tensor) -> Tensor:
        return network(leaves, torch.cat([s, (1 - DELTA) * agent + DELTA * adversary], 1))

    def slopes(loss: Tensor, leaves: list[Tensor]) -> list[Tensor]:
        return list(torch.autograd.grad(loss, leaves))

    def free(leaves: list[Tensor]) -> list[Tensor]:
        return [leaf.detach().requires_grad_() for leaf in leaves]

    phi = [leaf.clone() for leaf in views(learner.online[:CRITIC_SIZE], CRITIC)]
    phi_target = [leaf.clone() for leaf in views(learner.target[:CRITIC_SIZE], CRITIC)]
    first, second = ([torch.zeros_like(leaf) for leaf in phi] for _ in range(2))
    chain, outer, mean = apart(learner.chain), apart(learner.outer), apart(learner.average)
    moment, target = apart(learner.moment), apart(learner.target[CRITIC_SIZE:])
    for step in range(1, updates + 1):
        rows = learner.replay[torch.randint(CAPACITY, (BATCH,))]
        s, a, r = rows[:, :17], rows[:, 17:23], rows[:, 23:24]
        s_next, d = rows[:, 24:41], rows[:, 41:]

        actions = policy(target[AGENT], s_next), policy(target[ADVERSARY], s_next)
        y = r + GAMMA * (1 - d) * value(phi_target, s_next, *actions)
        loose = free(phi)
        loss = ((y - network(loose, torch.cat([s, a], 1))) ** 2).mean()
        for i, g in enumerate(slopes(loss, loose)):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.999 * second[i] + 0.001 * g**2
            root = (second[i] / (1 - 0.999**step)).sqrt() + 1e-8
            phi[i] = phi[i] - CRITIC_RATE * first[i] / (1 - 0.9**step) / root

        theta, omega = free(chain[AGENT]), free(chain[ADVERSARY])
        up = value(phi, s, policy(theta, s), policy(outer[ADVERSARY], s)).mean()
        down = value(phi, s, policy(outer[AGENT], s), policy(omega, s)).mean()
        draws = torch.zeros_like(learner.chain)
        xi = apart(draws.normal_() if learner.noise else draws)
        for player, gradients, sign in (
            (AGENT, slopes(up, theta), 1),
            (ADVERSARY, slopes(down, omega), -1),
        ):
            z, m = chain[player], moment[player]
            for i, g in enumerate(gradients):
                m[i] = ALPHA * m[i] + (1 - ALPHA) * g * g
                c = torch.sqrt(m[i] + EPSILON)
                noise = math.sqrt(2 * ETA) * SIGMA * c**-0.5 * xi[player][i]
                z[i] = z[i] + sign * ETA * g / c + noise
                mean[player][i] = (1 - BETA) * mean[player][i] + BETA * z[i]
                target[player][i] = TAU * target[player][i] + (1 - TAU) * z[i]
        for i, leaf in enumerate(phi):
            phi_target[i] = TAU * phi_target[i] + (1 - TAU) * leaf

    def together(*trees: list[Tensor]) -> list[Tensor]:
        return [torch.stack(pair).flatten() for pair in zip(*trees, strict=True)]

    return [
        torch.cat(leaves)
        for leaves in (
            together(phi) + together(*chain),
            together(phi_target) + together(*target),
            together(*mean),
            together(*moment),
        )
    ]


def check(updates: int = 20) -> float:
    """Largest difference from the plain formulas relative to the change, in double precision."""
    learner = Learner(torch.float64, noise=not arguments.no_noise)
    for flat in (learner.outer, learner.average, learner.target):
        flat.mul_(0.7)  # so that no two of them are equal
    results = [learner.online, learner.target, learner.average, learner.moment]
    before = [flat.clone() for flat in results]
    state = torch.get_rng_state()
    expected = plain_updates(learner, updates)
    torch.set_rng_state(state)
    for _ in range(updates):
        learner.inner_update()
    return max(
        ((found - right).norm() / (right - start).norm()).item()
        for found, right, start in zip(results, expected, before, strict=True)
    )


def main() -> None:
    """Check, or update against the clock."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    report: dict[str, object] = {"peer": "torch-eager"}
    if arguments.check:
        report["relative_error"] = error = check()
        if not error < 1e-9:
            raise SystemExit(f"differs from the plain formulas by {error:.1e} of the change")
    else:
        learner = Learner(torch.float32, noise=not arguments.no_noise)
        for _ in range(WARM_UP):
            learner.inner_update()
        start, start_cpu = time.perf_counter(), time.process_time()
        for _ in range(arguments.updates):
            learner.inner_update()
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
        report["milliseconds_per_update"] = round(1e3 * seconds / arguments.updates, 4)
        report["share_of_core"] = round(cpu_seconds / seconds, 2)
    report["versions"] = {"torch": version("torch")}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
