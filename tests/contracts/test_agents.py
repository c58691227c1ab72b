"""One battery for every agent with every solver, as the training program runs them."""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mixedne.agents import DDPG, SAC, VPG, Agent, Batches, Transition
from mixedne.agents.base import CriticCarry
from mixedne.config import Config, configure, game_of
from mixedne.names import SOLVERS
from mixedne.policies import HEADS
from mixedne.solvers import SolverState
from mixedne.tasks import resolve_task
from mixedne.training.assembly import toy_world
from mixedne.training.collection import RunningMoments, transition_layout
from mixedne.training.replay import Layout, Replay
from mixedne.training.snapshot import is_finite, restore_tree, tree_tensors
from mixedne.training.updates import OffPolicyUpdater, RunInputs, inner_steps
from mixedne.types import Players
from probes.games import action_game
from probes.transitions import pack

TASK = "InvertedPendulum-v5"
UPDATES = 6
SMALL: dict[str, Any] = {"hidden": (8,), "batch_size": 4, "updates": UPDATES}
WARMING = {"inner_growth": 0.3, "inner_max": 4, "sigma0": 1e-2}
"""K_t = ⌊1.3^t⌋, at most 4: 1, 1, 2, 2, 3, 4, 4, …: several calls a cycle, of several sizes."""


def small(
    agent: str,
    solver: str | None,
    formulation: str,
    delta: float | None,
    task: str = TASK,
    **more: Any,
) -> Config:
    langevin = WARMING if solver == "mixedne-ld" else {}
    more |= {"parameters": ("mass=0.5:2",)} if formulation in ("parameters", "m2td3") else {}
    return configure(
        task,
        agent=agent,
        solver=solver,
        formulation=formulation,
        delta=delta,
        **{**SMALL, **langevin, **more},
    )


REGISTRY: dict[str, Config] = {
    f"{agent}-{solver}-{formulation}-{delta}": small(agent, solver, formulation, delta)
    for agent in ("ddpg", "td3")
    for solver in SOLVERS
    for formulation, delta in (
        *(("nr-mdp", 0.1), ("pr-mdp", 0.1), ("nr-mdp", 0.0)),
        *(("rarl", None), ("parameters", None), ("m2td3", None)),
    )
} | {"sac": small("sac", None, "nr-mdp", 0.0)}

if find_spec("pettingzoo"):
    DUEL = "pettingzoo:probes.duels:duel"
    REGISTRY |= {f"td3-{s}-pettingzoo": small("td3", s, "pettingzoo", None, DUEL) for s in SOLVERS}

QUICK = {
    "ddpg-mixedne-ld-nr-mdp-0.1",
    "ddpg-mixedne-ld-nr-mdp-0.0",
    "ddpg-gad-nr-mdp-0.1",
    "ddpg-extra-adam-pr-mdp-0.1",
    "td3-mixedne-ld-pr-mdp-0.1",
    "td3-gad-nr-mdp-0.0",
    "td3-extra-adam-nr-mdp-0.1",
    "td3-extra-adam-rarl-None",
    "ddpg-gad-parameters-None",
    "td3-gad-m2td3-None",
    "sac",
}
"""Every agent, solver, formulation and δ at least once; the other pairings are slow tests."""


def quick_and_slow(names: Iterable[str]) -> list[Any]:
    return [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in sorted(names)
    ]


class Program:
    """An updater, and some transitions."""

    def __init__(self, config: Config, agent: DDPG | None = None) -> None:
        task = resolve_task(config.task)
        layout = transition_layout(game_of(config, task))
        self.config = config
        self.updater = OffPolicyUpdater(config, agent)
        self.replay = Replay.create(None, layout.width, 64, 0)
        self.replay.append(random_rows(layout))
        self.normaliser = RunningMoments.empty(layout.sizes["observation"]).scaling()

    def cycle(self, state: SolverState, done: int) -> SolverState:
        inputs = RunInputs(self.config, state, self.replay, self.normaliser)
        [(after, calls)] = self.updater.advance([inputs], done, self.config.updates)
        moves = self.config.updates // self.config.policy_delay
        assert sum(call["moves"] for call in calls) == moves
        return after

    def run(self, cycles: int) -> SolverState:
        state = self.updater.init(self.config.seed)
        for i in range(cycles):
            state = self.cycle(state, i * UPDATES)
        return state


def random_rows(layout: Layout) -> Any:
    """The same transitions whether or not the players' own actions are stored beside."""
    rng = np.random.default_rng(0)
    fields = {
        "observation": rng.standard_normal((64, layout.sizes["observation"])),
        "action": rng.uniform(-1, 1, (64, layout.sizes["action"])),
        "reward": rng.standard_normal((64, 1)),
        "terminated": rng.random((64, 1)) < 0.2,
        "next_observation": rng.standard_normal((64, layout.sizes["observation"])),
    }
    for name in ("agent_action", "adversary_action"):
        if name in layout.sizes:
            fields[name] = rng.uniform(-1, 1, (64, layout.sizes[name]))
    return pack(layout, fields)


@functools.cache
def program(config: Config) -> Program:
    """One for all tests: tracing and compiling are what costs."""
    return Program(config)


@pytest.fixture(params=quick_and_slow(REGISTRY))
def config(request: pytest.FixtureRequest) -> Config:
    return REGISTRY[request.param]


def described(tree: Any) -> Any:
    return jax.tree.map(lambda x: (x.shape, x.dtype), tree)


def same(one: Any, other: Any) -> None:
    """Equal to the last bit, random keys too."""
    first, second = tree_tensors(one, ""), tree_tensors(other, "")
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)


def distance(one: Any, other: Any) -> float:
    return float(optax.tree.norm(jax.tree.map(jnp.subtract, one, other)))


def test_the_battery(config: Config) -> None:
    """What must hold of each; in one test, so that each is compiled only once."""
    here = program(config)
    first = here.updater.init(config.seed)
    shapes, start = described(first), jax.tree.map(np.array, first.players)
    assert (first.players.adversary is None) == (config.delta == 0)

    # Tree in is tree out, with the same types.
    one = here.cycle(first, 0)
    assert described(one) == shapes
    stored = tree_tensors(one, "")
    two = here.cycle(one, UPDATES)
    assert described(two) == shapes
    assert int(two.step) == 2 * UPDATES

    # All is finite, and everything learned.
    assert is_finite(tree_tensors(two, ""))
    assert distance(two.players.agent, start.agent) > 0
    if config.delta != 0:
        assert distance(two.players.adversary, start.adversary) > 0

    # Deterministic by seed; and cut anywhere: what a checkpoint holds goes on to the same end.
    same(two, here.run(2))
    same(two, here.cycle(restore_tree(here.updater.init(config.seed), stored, ""), UPDATES))

    # Compiled once, whatever K_t did and wherever the state came from.
    assert here.updater._program._cache_size() == 1  # type: ignore[attr-defined]
    if config.solver == "mixedne-ld" and config.delta != 0:
        t = np.arange(1, 2 * UPDATES + 1)
        assert len(set(inner_steps(config, t).tolist())) == 4


def test_another_seed_is_another_run() -> None:
    config = REGISTRY["ddpg-mixedne-ld-nr-mdp-0.1"]
    other = Program(dataclasses.replace(config, seed=1))
    assert distance(program(config).run(1).players, other.run(1).players) > 0.1


@pytest.mark.parametrize("name", quick_and_slow(name for name in REGISTRY if name.endswith("-0.0")))
def test_alone_the_formulations_are_one(name: str) -> None:
    """δ = 0: no adversary, and bit for bit the same for NR-MDP and PR-MDP."""
    config = REGISTRY[name]
    other = Program(dataclasses.replace(config, formulation="pr-mdp"))
    same(program(config).run(1), other.run(1))


def test_with_an_adversary_the_formulations_differ() -> None:
    one, other = (
        program(REGISTRY[f"ddpg-mixedne-ld-{formulation}-0.1"]).run(1)
        for formulation in ("nr-mdp", "pr-mdp")
    )
    assert distance(one.carry.critics, other.carry.critics) > 0


@pytest.mark.parametrize("solver", ["mixedne-ld", "gad"])
def test_ddpg_is_td3_with_its_tricks_off(solver: str) -> None:
    ddpg = REGISTRY[f"ddpg-{solver}-nr-mdp-0.1"]
    chosen = ("task", "agent", "solver", "formulation", "delta", "preset")
    fields = {name: value for name, value in vars(ddpg).items() if name not in chosen}
    assert (fields["critics"], fields["target_noise"], fields["policy_delay"]) == (1, 0, 1)
    td3 = configure(TASK, agent="td3", solver=solver, delta=0.1, **fields)
    same(program(ddpg).run(1), Program(td3).run(1))


@pytest.mark.parametrize("agent", ["ddpg", pytest.param("td3", marks=pytest.mark.slow)])
def test_cold_undamped_chains_of_one_step_are_gad(agent: str) -> None:
    """K = 1, β = 1, σ0 = 0: MixedNE-LD is gradient ascent-descent with RMSProp."""
    gad = REGISTRY[f"{agent}-gad-nr-mdp-0.1"]
    settings: dict[str, Any] = {"inner_max": 1, "beta": 1.0, "sigma0": 0.0, "sigma": gad.sigma}
    if agent == "td3":
        settings["target_noise"] = gad.target_noise
    cold = Program(small(agent, "mixedne-ld", "nr-mdp", 0.1, **settings)).run(2)
    plain = program(gad).run(2)
    for one, other in ((cold.players, plain.players), (cold.carry, plain.carry)):
        jax.tree.map(
            functools.partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-6), one, other
        )


def test_targets_follow_slowly() -> None:
    """τ is the share kept: 1 holds the targets where they began, 0 puts them at the networks."""
    config = REGISTRY["ddpg-gad-nr-mdp-0.1"]
    held = Program(dataclasses.replace(config, tau=1.0))
    first = held.updater.init(config.seed)
    start = jax.tree.map(np.array, (first.carry.target_critics, first.carry.target_players))
    critic = held.cycle(first, 0).carry
    same((critic.target_critics, critic.target_players), start)
    state = Program(dataclasses.replace(config, tau=0.0)).run(1)
    same(state.carry.target_critics, state.carry.critics)
    same(state.carry.target_players, state.players)


class Curious(DDPG):
    """DDPG whose critic's reported value is a number drawn from the oracle's key."""

    def begin(
        self, batches: Any, key: jax.Array, carry: CriticCarry, players: Any, opponent: Any
    ) -> CriticCarry:
        after = super().begin(batches, key, carry, players, opponent)
        drawn = carry.sums["value"] + jax.random.uniform(key)
        return after._replace(sums={**after.sums, "value": drawn})


def test_the_oracles_keys_follow_the_seed_and_the_step() -> None:
    config = REGISTRY["ddpg-gad-nr-mdp-0.1"]
    task = resolve_task(config.task)
    agent = Curious(
        task.observation_size,
        task.action_size,
        game=game_of(config, task),
        hidden=(8,),
    )
    drawn = set()
    for seed in (0, 1):
        here = Program(dataclasses.replace(config, seed=seed), agent)
        state = here.updater.init(seed)
        for done in (0, UPDATES):
            inputs = RunInputs(here.config, state, here.replay, here.normaliser)
            [(state, [call])] = here.updater.advance([inputs], done, UPDATES)
            drawn.add(call["value"])
    assert len(drawn) == 4


AGENTS: dict[str, Callable[[], Agent]] = {
    "ddpg": lambda: DDPG(3, 2, game=action_game("nr-mdp", 0.1), hidden=(4,)),
    "td3": lambda: DDPG(
        3,
        2,
        game=action_game("pr-mdp", 0.1),
        hidden=(4,),
        critics=2,
        target_noise=0.1,
    ),
    "sac": lambda: SAC(3, 2, hidden=(4,)),
    "sac-fixed": lambda: SAC(3, 2, hidden=(4,), fixed_alpha=0.2),
    "vpg": lambda: VPG(toy_world(), action_game("nr-mdp", 0.1), horizon=3),
    "vpg-one-player": lambda: VPG(toy_world(), action_game("nr-mdp", 0), horizon=3),
}


def some_batches(agent: Agent) -> Batches | None:
    if isinstance(agent, VPG):
        return None
    rng = np.random.default_rng(0)
    shapes = Transition((5, 3), (5, 2), (5,), (5,), (5, 3))  # type: ignore[arg-type]
    parts = (jnp.asarray(rng.standard_normal((2, *shape)), jnp.float32) for shape in shapes)
    count = agent.normals_per_batch
    normals = jnp.asarray(rng.standard_normal((2, count, 5, 2)), jnp.float32)
    return Batches(Transition(*parts), normals if count else None)


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_the_protocol(name: str) -> None:
    """Any agent: gradients in the players' shapes, a steady carry, metrics that are numbers."""
    agent = AGENTS[name]()
    batches = some_batches(agent)
    players, critic = agent.init(jax.random.key(0))
    again, _ = agent.init(jax.random.key(0))
    same(players, again)
    assert agent.policy_head in HEADS

    @jax.jit
    def step(carry: Any, players: Players) -> tuple[Any, Players, dict[str, jax.Array]]:
        oracle = agent.oracle(batches)
        carry = oracle.begin(jax.random.key(1), carry, players, None)
        gradients = oracle.gradients(carry, players, None)
        carry = oracle.end(carry, players)
        return carry, gradients, agent.finish(carry, players, batches)[1]

    carry = agent.init_carry(critic)
    after, gradients, metrics = step(carry, players)
    assert described(after) == described(carry)
    assert described(gradients) == described(players)
    assert all(np.isfinite(value) and value.shape == () for value in metrics.values())
    ended, _ = agent.finish(after, players, batches)
    assert described(ended) == described(critic)

    # Which object holds the players means nothing; whom they meet is an argument.
    copied = step(carry, jax.tree.map(jnp.array, players))
    same(copied, (after, gradients, metrics))


def test_vpg_plays_two_sets_of_episodes_against_a_given_opponent() -> None:
    """Even if the opponent given is the players themselves."""
    agent = AGENTS["vpg"]()
    players, _ = agent.init(jax.random.key(0))
    oracle, carry = agent.oracle(None), agent.init_carry(None)
    one, two = (
        oracle.begin(jax.random.key(1), carry, players, opponent).trajectories
        for opponent in (None, players)
    )
    same(one.agent.observation, one.adversary.observation)
    assert not np.array_equal(two.agent.observation, two.adversary.observation)
