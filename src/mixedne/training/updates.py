"""Updates: outer steps of the solver in compiled programs, with one interface for the trainer.

``OffPolicyUpdater``   DDPG, TD3 and SAC: minibatches from a replay, one run at a time
``OnPolicyUpdater``    VPG: episodes inside the compiled program, up to eight runs vmapped

Both have ``init(seed)``, which returns the initial state, and ``advance(runs, done, count)``, which
takes the outer steps done + 1 … done + count of each run, and returns for each its new state and
the metrics of every call of the program. All randomness in an outer step t comes from the run's
seed and t.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from mixedne.agents import DDPG, SAC, Agent, Batches, Transition
from mixedne.agents.base import batch_at
from mixedne.config import Config, game_of, total_updates
from mixedne.config.identity import LANES
from mixedne.optimizers.langevin import normals_from_bits
from mixedne.schedules import linear_decay, thermal_noise, warmup_steps
from mixedne.solvers import Carry, Controls, ExtraArgs, Oracle, Solver, SolverState
from mixedne.tasks import resolve_task
from mixedne.training.assembly import make_agent, make_solver, make_vpg
from mixedne.training.collection import Normaliser, transition_layout
from mixedne.training.replay import Replay
from mixedne.training.streams import Stream, generator, key
from mixedne.types import Players

RENEWAL = 2**32 - 1
"""Used in place of the solver's step in the random key of an agent's ``renew``."""

UpdateMetrics: TypeAlias = dict[str, float]
"""Sums over one call of the compiled program, and the counts to divide them by.

Counts: ``calls`` (one), ``moves`` (outer steps that moved the players), ``minibatches`` (critic
steps) or ``rollouts`` (sets of episodes). Sums over moves: ``agent_gradient_norm``,
``adversary_gradient_norm``. Over calls: ``payoff``. Over minibatches: ``critic_loss``, ``value``,
``target``. Over rollouts: ``returns``, the episodes' mean undiscounted return.
"""

Updated: TypeAlias = list[tuple[SolverState, list[UpdateMetrics]]]


class RunInputs(NamedTuple):
    """Inputs of an updater for one run."""

    config: Config
    state: SolverState  # used up by the update
    replay: Replay | None = None  # for off-policy agents, like the normaliser
    normaliser: Normaliser | None = None
    reward_scale: Any = None  # what rewards are divided by; None for nothing


def inner_steps(config: Config, t: Any) -> Any:
    """K_t; one for solvers without inner chains."""
    if config.agent == "vpg":
        return np.full_like(t, config.inner_steps, np.int32)
    if config.solver != "mixedne-ld":
        return np.ones_like(t, np.int32)
    return warmup_steps(config.inner_growth, config.inner_max)(t)


def noise_scale(config: Config, t: Any) -> Any:
    """σ_t; zero for solvers without thermal noise."""
    if config.solver != "mixedne-ld":
        return np.zeros_like(t, np.float64)
    return thermal_noise(config.sigma0, config.thermal_decay)(t)


def rate_left(config: Config, t: Any) -> Any:
    """The remaining fraction of the learning rates at t; None if they do not decay."""
    if config.learning_rate_decay == 1:
        return None
    return linear_decay(config.learning_rate_decay, total_updates(vars(config)))(t)


def outer_steps(
    agent: Agent,
    solver: Solver,
    key: jax.Array,
    state: SolverState,
    count: Any,
    controls_at: Callable[[jax.Array], Controls],
    batches: Batches | None = None,
) -> tuple[SolverState, dict[str, jax.Array]]:
    """The body of every compiled program: ``count`` outer steps, and their metrics.

    Between programs, the state's carry is the agent's critic state.
    """

    def step(i: jax.Array, at: tuple[SolverState, Players]) -> tuple[SolverState, Players]:
        state, info = solver.step(key, at[0], controls_at(i))
        return state, jax.tree.map(jnp.add, at[1], info.gradient_norm)

    state = state._replace(carry=agent.init_carry(state.carry))
    none = Players(jnp.zeros([]), jnp.zeros([]))
    state, norms = jax.lax.fori_loop(0, count, step, (state, none))
    critic, metrics = agent.finish(state.carry, state.players, batches)
    for player, norm in norms._asdict().items():
        metrics[f"{player}_gradient_norm"] = norm
    return state._replace(carry=critic), metrics


class Call(NamedTuple):
    """The outer steps first … first + len(inner_steps) − 1, in one call of the program."""

    first: int  # t of the first, from one on
    inner_steps: Any  # K_t of each
    moves: int  # how many of them move the players
    needed: Any  # how many minibatches each takes

    @property
    def minibatches(self) -> int:
        """Total number of minibatches."""
        return int(self.needed.sum())


class OffPolicyUpdater:
    """Packs outer steps into calls of the compiled program and feeds them minibatches.

    One call uses up to ``capacity`` minibatches, into which outer steps are packed. Its shapes are
    fixed, so it is compiled only once although K_t changes.
    """

    max_runs = 1  # that one call of ``advance`` takes

    def __init__(self, config: Config, agent: DDPG | SAC | None = None) -> None:
        """By default for the configuration's agent; compiles at the first call."""
        task = resolve_task(config.task)
        layout = transition_layout(game_of(config, task))
        self._config = config
        self.agent: DDPG | SAC = agent or make_agent(config, task)
        self._make_solver = functools.partial(make_solver, config, project=self.agent.project)
        is_langevin = config.solver == "mixedne-ld"
        self._is_noisy = is_langevin and config.sigma0 > 0
        self._program = make_program(self.agent, self._make_solver, layout.columns)
        # Maximum number of minibatches per call; Extra-Adam uses two per outer step.
        self.capacity = max(config.updates, config.inner_max if is_langevin else 2)
        self._rows = np.zeros((self.capacity, config.batch_size, layout.width), np.float32)
        self._bits: NDArray[np.uint32] | None = None

    def init(self, seed: int) -> SolverState:
        """The state before the first update; its carry is the agent's critic state."""
        players, critic = jax.jit(self.agent.init)(key(seed, Stream.NETWORKS))
        without_batches = self.agent.oracle(None)
        state = self._make_solver(without_batches).init(players, critic)
        return jax.tree.map(jnp.copy, state)  # buffers of its own for every leaf

    def advance(self, runs: Sequence[RunInputs], done: int, count: int) -> Updated:
        """Take outer steps of one run."""
        (run,) = runs
        if run.replay is None:
            raise ValueError("an off-policy update needs a replay")
        state, seed, metrics = run.state, run.config.seed, []
        for call in self.calls(done + 1, count):
            random = generator(seed, Stream.MINIBATCH, call.first)
            shape = (call.minibatches, self._config.batch_size)
            run.replay.sample(random, shape, out=self._rows[: call.minibatches])
            call_key = key(seed, Stream.UPDATE, call.first)
            bits = self._noise_bits(call, seed, state.players) if self._is_noisy else None
            steps, (controls, rates) = np.int32(len(call.inner_steps)), self._controls(call)
            given = (state, self._rows, bits, run.normaliser, steps, controls, call_key)
            state, found = self._program(*given, rates, run.reward_scale)
            counts = {"calls": 1, "minibatches": sum(call.inner_steps), "moves": call.moves}
            # Waiting for the result also frees rows and bits for the next call.
            found = {**counts, **jax.device_get(found)}
            metrics.append({name: float(value) for name, value in found.items()})
        return [(state, metrics)]

    def calls(self, first: int, count: int) -> Iterator[Call]:
        """Pack ``count`` outer steps into as few calls as hold their minibatches."""
        t = np.arange(first, first + count)
        chain_steps = inner_steps(self._config, t)
        moves = t % self._config.policy_delay == 0
        # Extra-Adam's second half-step uses its own minibatch, if the players are updated.
        needed = chain_steps + (moves if self._config.solver == "extra-adam" else 0)
        start = 0
        while start < count:
            fits = np.searchsorted(np.cumsum(needed[start:]), self.capacity, side="right")
            part = slice(start, start + int(fits))
            yield Call(int(t[start]), chain_steps[part], int(moves[part].sum()), needed[part])
            start = part.stop

    def _noise_bits(self, call: Call, seed: int, players: Players) -> NDArray[np.uint32]:
        """Random bits for the Langevin noise of each inner step, a row for each minibatch.

        They are drawn by NumPy: JAX's counter-based generator would take longer than converting
        them to normals.
        """
        if self._bits is None:
            size = sum(leaf.size for leaf in jax.tree.leaves(players))
            self._bits = np.zeros((self.capacity, size + size % 2), np.uint32)
        used = self._bits[: call.minibatches].view(np.uint64)
        random = generator(seed, Stream.LANGEVIN, call.first).bit_generator
        used[:] = random.random_raw(used.size).reshape(used.shape)
        return self._bits

    def _controls(self, call: Call) -> tuple[Controls, NDArray[np.float32] | None]:
        """K_t, σ_t and, if it changes, η_t; and ``Batches.rate``, for each minibatch.

        All are padded to ``capacity`` entries.
        """

        def padded(values: NDArray[Any], kind: Any = np.float32) -> NDArray[Any]:
            return np.pad(values.astype(kind), (0, self.capacity - len(values)))

        t = np.arange(call.first, call.first + len(call.inner_steps))
        left = rate_left(self._config, t)
        sigma = padded(noise_scale(self._config, t))
        controls = Controls(padded(call.inner_steps, np.int32), sigma)
        if left is None:
            return controls, None
        eta, rates = padded(self._config.eta * left), padded(np.repeat(left, call.needed))
        return controls._replace(learning_rate=eta), rates


def make_program(
    agent: DDPG | SAC,
    make_solver: Callable[[Oracle, ExtraArgs | None], Solver],
    columns: Mapping[str, slice],
) -> Callable[..., tuple[SolverState, dict[str, jax.Array]]]:
    """Compile (state, rows, bits, normaliser, steps, controls, key, …) → (state, metrics).

    ``rows`` (capacity, batch, width) are packed transitions with fields in ``columns``. ``bits``
    (capacity, parameters) become the noise of Langevin steps; None means no noise. ``controls``
    are for ``steps`` outer steps, followed by padding. ``rates`` is ``Batches.rate``, and rewards
    are divided by ``reward_scale``; both are optional. The state's buffers are donated.
    """

    @functools.partial(jax.jit, donate_argnums=0)
    def program(
        state: SolverState,
        rows: jax.Array,
        bits: jax.Array | None,
        normaliser: Normaliser,
        steps: Any,
        controls: Controls,
        key: jax.Array,
        rates: jax.Array | None = None,
        reward_scale: jax.Array | None = None,
    ) -> tuple[SolverState, dict[str, jax.Array]]:
        normals_key, solver_key = jax.random.split(key)
        mean, scale = (jnp.reshape(part, (1, 1, -1)) for part in normaliser)
        transitions = Transition(
            observation=(rows[..., columns["observation"]] - mean) / scale,
            action=rows[..., columns["action"]],
            reward=rows[..., columns["reward"].start],
            terminated=rows[..., columns["terminated"].start],
            next_observation=(rows[..., columns["next_observation"]] - mean) / scale,
        )
        if reward_scale is not None:
            transitions = transitions._replace(reward=transitions.reward / reward_scale)
        capacity, batch, action_size = transitions.action.shape
        shape = (capacity, agent.normals_per_batch, batch, action_size)
        normals = jax.random.normal(normals_key, shape) if agent.normals_per_batch else None
        batches = Batches(transitions, normals, rates)
        flat, unravel = ravel_pytree(state.players)

        def extra_args(carry: Carry) -> dict[str, Any]:
            own = batch_at(bits, carry.batch - 1)[: flat.size]
            return {"noise": unravel(normals_from_bits(own).astype(flat.dtype))}

        solver = make_solver(agent.oracle(batches), None if bits is None else extra_args)
        controls_at = functools.partial(batch_at, controls)
        state, metrics = outer_steps(agent, solver, solver_key, state, steps, controls_at, batches)
        return agent.renew(jax.random.fold_in(solver_key, RENEWAL), state), metrics

    return program


class OnPolicyUpdater:
    """Up to ``metrics_every`` outer steps of up to eight runs of VPG in one call.

    Episodes, gradients and solver are all in the program. Runs may share it if they differ only
    in seed, η and σ0. The number of vmapped runs is fixed, and fewer runs are padded with copies
    of the last: XLA's rounding depends on that number, so a run's results would otherwise depend
    on the number of runs.
    """

    max_runs = LANES

    def __init__(self, config: Config) -> None:
        """For runs with a configuration like this one; compiles at the first call."""
        self._config = config
        self.agent = make_vpg(config)
        self._solver = make_solver(config, self.agent.oracle())
        self._program = jax.jit(self._outer_steps)

    def init(self, seed: int) -> SolverState:
        """The state before the first update."""
        return self._solver.init(*self.agent.init(key(seed, Stream.NETWORKS)))

    def advance(self, runs: Sequence[RunInputs], done: int, count: int) -> Updated:
        """Take outer steps of each run, at most ``metrics_every``."""
        most = min(self._config.metrics_every, self._config.steps)
        steps = np.arange(done + 1, done + most + 1)
        given = [
            (
                run.state,
                key(run.config.seed, Stream.UPDATE),
                _eta(run.config, steps),
                noise_scale(run.config, steps).astype(np.float32),
            )
            for run in runs
        ]
        padding = [given[-1]] * (LANES - len(given))
        ended = self._program([*given, *padding], np.int32(count))
        return [
            (state, [{"calls": 1, "moves": count, **jax.tree.map(float, jax.device_get(found))}])
            for state, found in ended[: len(runs)]
        ]

    def _outer_steps(
        self, runs: Sequence[tuple[Any, ...]], count: jax.Array
    ) -> list[tuple[SolverState, dict[str, jax.Array]]]:
        def one_run(state: SolverState, key: jax.Array, eta: jax.Array, sigma: jax.Array) -> Any:
            def controls_at(i: jax.Array) -> Controls:
                eta_i = eta if eta.ndim == 0 else batch_at(eta, i)
                return Controls(self._config.inner_steps, batch_at(sigma, i), eta_i)

            return outer_steps(self.agent, self._solver, key, state, count, controls_at)

        together = jax.tree.map(lambda *parts: jnp.stack(parts), *runs)
        ended = jax.vmap(one_run)(*together)
        return [jax.tree.map(lambda x, i=i: x[i], ended) for i in range(LANES)]


def _eta(config: Config, t: Any) -> Any:
    """η, or η_t for every t if it decays."""
    left = rate_left(config, t)
    return np.float32(config.eta) if left is None else (config.eta * left).astype(np.float32)


Updater: TypeAlias = OffPolicyUpdater | OnPolicyUpdater


def make_updater(config: Config) -> Updater:
    """The updater of a configuration's agent."""
    return OnPolicyUpdater(config) if config.agent == "vpg" else OffPolicyUpdater(config)
