"""Solvers for max_θ min_ω J(θ, ω) over any pair of parameter trees.

This is the paper's idea, written once. A solver is a pair of pure functions, ``init`` and
``step``; it asks an :class:`Oracle` for gradients and moves the players with an Optax
optimiser over the joint tree ``Players(agent, adversary)``:

``gad``              gradient ascent-descent, simultaneous or alternating
``extra_gradient``   look ahead, then step: extra-gradient and Extra-Adam
``mixedne_ld``       MixedNE-LD (paper, Algorithm 1): sample, average, damp

The two-number games of the case study and the networks of the robots use the same code.
All randomness comes from (key, t, k): a run can be cut and resumed at any step.
``docs/solvers.md`` says where each solver fails.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.optimizers import ExtrapolationState
from mixedne.types import Payoff, Players, PyTree

Carry: TypeAlias = PyTree
Project: TypeAlias = Callable[[Players], Players]
Observe: TypeAlias = Callable[[Players], PyTree]


def _same_carry(key: jax.Array, carry: Carry, own: Players, opponent: Players) -> Carry:
    del key, own, opponent
    return carry


class Oracle(NamedTuple):
    """How a game answers a solver. The carry is whatever the game must remember.

    A turn is ``prepare``, then ``gradients``, then ``commit``. The parts are separate so
    that a critic can live in the carry and is stepped once a turn, also by methods that
    take two gradients.
    """

    gradients: Callable[[Carry, Players, Players], Players]
    """(carry, own, opponent) → (∇_θ J(own.agent, opponent.adversary),
    ∇_ω J(opponent.agent, own.adversary)): each player against the other as given."""
    prepare: Callable[[jax.Array, Carry, Players, Players], Carry] = _same_carry
    """(key, carry, own, opponent) → carry: open a turn where the players stand. Draw a batch and
    step the critic, or play episodes."""
    redraw: Callable[[jax.Array, Carry, Players, Players], Carry] = _same_carry
    """(key, carry, own, opponent) → carry: a fresh batch, or fresh episodes, for a second gradient
    of the same turn."""
    commit: Callable[[Carry, Players], Carry] = lambda carry, players: carry
    """(carry, players) → carry: close a turn. Move the target networks."""
    noise: Callable[[Carry], Players] | None = None
    """carry → standard normals in the shape of the players, for a Langevin optimiser, if the
    game brings them (drawn in bulk, say); otherwise they are drawn from the solver's key."""


class Controls(NamedTuple):
    """What may change from one outer step to the next without recompilation.

    For :func:`solve`, each field that is given holds one value for each outer step.
    """

    inner_steps: jax.typing.ArrayLike = 1
    """K_t, at least one: steps of the inner chains; only MixedNE-LD has such chains."""
    temperature: jax.typing.ArrayLike | None = None
    """σ_t: handed to the optimiser; ``None`` leaves the optimiser's own value."""
    learning_rate: jax.typing.ArrayLike | None = None
    """η_t: handed to the optimiser; ``None`` leaves the optimiser's own value. Heeded by
    the optimisers of this package."""


class SolverState(NamedTuple):
    """What the next outer step needs."""

    players: Players
    """(θ_t, ω_t): the outer iterate, which is also the output."""
    optimizer: optax.OptState
    """Moments of the optimiser; they persist over t and k."""
    carry: Carry
    """The oracle's memory."""
    step: jax.Array
    """How many outer steps were taken: t − 1."""


class Info(NamedTuple):
    """What a person wants to see of an outer step."""

    gradient_norm: Players
    """Norm of each player's last gradient; zero while the players rest."""
    observed: PyTree
    """Mean over the inner iterates of ``observe``; ``None`` if nothing is observed."""


class Solver(NamedTuple):
    """A pair of pure functions."""

    init: Callable[..., SolverState]
    """(players, carry=None) → state."""
    step: Callable[..., tuple[SolverState, Info]]
    """(key, state, controls=Controls()) → (state, info). The same key serves all steps."""


def payoff_oracle(payoff: Payoff) -> Oracle:
    """The oracle of a game whose payoff J(θ, ω) is a differentiable function."""

    def gradients(carry: Carry, own: Players, opponent: Players) -> Players:
        del carry
        return Players(
            jax.grad(payoff, argnums=0)(own.agent, opponent.adversary),
            jax.grad(payoff, argnums=1)(opponent.agent, own.adversary),
        )

    return Oracle(gradients)


def box(low: float, high: float) -> Project:
    """Projection of every parameter of both players onto [low, high]."""
    if not low < high:
        raise InvalidInputError(f"a box needs low < high, not [{low}, {high}]")
    return lambda players: jax.tree.map(lambda x: jnp.clip(x, low, high), players)


def unbounded(players: Players) -> Players:
    """No projection."""
    return players


def observe_nothing(players: Players) -> PyTree:
    """Observe nothing along the chain."""
    del players


def gad(
    oracle: Oracle,
    optimizer: optax.GradientTransformation,
    *,
    alternating: bool = False,
    project: Project = unbounded,
    observe: Observe = observe_nothing,
) -> Solver:
    """Gradient ascent-descent.

    Simultaneous: both players move from (θ_t, ω_t). Alternating, as in the paper's case
    study: the adversary answers θ_(t+1), within the same turn of the oracle.
    """
    move = _mover(optimizer, oracle)

    def init_moments(players: Players) -> optax.OptState:
        if not alternating:
            return optimizer.init(players)
        alone = Players(players.agent, None), Players(None, players.adversary)
        return Players(*map(optimizer.init, alone))

    def together(
        key: jax.Array, state: SolverState, carry: Carry, controls: Controls
    ) -> tuple[Players, optax.OptState, Players]:
        gradients = oracle.gradients(carry, state.players, state.players)
        players, moments = move(key, state.players, state.optimizer, gradients, controls, carry)
        return project(players), moments, gradients

    def in_turn(
        key: jax.Array, state: SolverState, carry: Carry, controls: Controls
    ) -> tuple[Players, optax.OptState, Players]:
        agent_key, adversary_key = jax.random.split(key)
        (theta, omega), moments = state.players, state.optimizer
        g = oracle.gradients(carry, state.players, state.players).agent
        (theta, _), agent_moments = move(
            agent_key, Players(theta, None), moments.agent, Players(g, None), controls, carry
        )
        players = project(Players(theta, omega))
        h = oracle.gradients(carry, players, players).adversary
        (_, omega), adversary_moments = move(
            adversary_key,
            Players(None, omega),
            moments.adversary,
            Players(None, h),
            controls,
            carry,
        )
        players = project(Players(players.agent, omega))
        return players, Players(agent_moments, adversary_moments), Players(g, h)

    def step(
        key: jax.Array, state: SolverState, controls: Controls = Controls()
    ) -> tuple[SolverState, Info]:
        prepare_key, noise_key = jax.random.split(jax.random.fold_in(key, state.step))
        carry = oracle.prepare(prepare_key, state.carry, state.players, state.players)
        advance = in_turn if alternating else together
        players, moments, gradients = advance(noise_key, state, carry, controls)
        carry = oracle.commit(carry, players)
        info = Info(_norms(gradients), observe(players))
        return SolverState(players, moments, carry, state.step + 1), info

    return Solver(_starter(init_moments), step)


def extra_gradient(
    oracle: Oracle,
    optimizer: optax.GradientTransformationExtraArgs,
    *,
    project: Project = unbounded,
    observe: Observe = observe_nothing,
) -> Solver:
    """Extra-gradient on the joint tree: look ahead, and step with the gradient found there.

    ``optimizer`` is a two-phase one: ``extra_sgd`` gives the extra-gradient method,
    ``extra_adam`` Extra-Adam. The oracle opens and closes one turn a step; the second
    gradient may use a batch of its own (``redraw``). Targets never see the look-ahead.
    """
    move = _mover(optimizer, oracle)

    def init_moments(players: Players) -> optax.OptState:
        moments = optimizer.init(players)
        if not isinstance(moments, ExtrapolationState):
            raise InvalidInputError(
                "extra_gradient needs a two-phase optimiser: extra_sgd, extra_adam or "
                "extrapolate(…) of mixedne.optimizers"
            )
        return moments

    def step(
        key: jax.Array, state: SolverState, controls: Controls = Controls()
    ) -> tuple[SolverState, Info]:
        keys = jax.random.split(jax.random.fold_in(key, state.step), 4)
        carry = oracle.prepare(keys[0], state.carry, state.players, state.players)
        gradients = oracle.gradients(carry, state.players, state.players)
        ahead, moments = move(keys[1], state.players, state.optimizer, gradients, controls, carry)
        ahead = project(ahead)
        carry = oracle.redraw(keys[2], carry, ahead, ahead)
        gradients = oracle.gradients(carry, ahead, ahead)
        players, moments = move(keys[3], ahead, moments, gradients, controls, carry)
        players = project(players)
        carry = oracle.commit(carry, players)
        info = Info(_norms(gradients), observe(players))
        return SolverState(players, moments, carry, state.step + 1), info

    return Solver(_starter(init_moments), step)


def mixedne_ld(
    oracle: Oracle,
    optimizer: optax.GradientTransformation,
    *,
    damping: jax.typing.ArrayLike = 0.9,
    inner: str = "frozen",
    project: Project = unbounded,
    observe: Observe = observe_nothing,
) -> Solver:
    """MixedNE-LD (paper, Algorithm 1).

    Each outer step runs K_t inner steps of ``optimizer`` (``langevin`` or ``sgld``) for
    both players, averages along the chains, and moves the outer iterate towards the
    averages. The oracle opens and closes a turn for every inner step.

    Args:
      oracle: the game.
      optimizer: a Langevin optimiser over the joint tree.
      damping: β in (0, 1], of the averages and of the outer step.
      inner: what each chain plays against. ``"frozen"``: the other player's outer value,
        as Algorithm 1 prints it. ``"coupled"``: the other player's inner iterate.
      project: applied to every iterate.
      observe: a function of the players; ``Info`` reports its mean along the chain.
    """
    check_number("damping", damping, above=0, at_most=1)
    check_choice("inner", inner, ["frozen", "coupled"])
    move = _mover(optimizer, oracle)

    def step(
        key: jax.Array, state: SolverState, controls: Controls = Controls()
    ) -> tuple[SolverState, Info]:
        step_key = jax.random.fold_in(key, state.step)
        outer = state.players

        def inner_step(k: jax.typing.ArrayLike, chain: _Chain, opponent: Players) -> _Chain:
            prepare_key, noise_key = jax.random.split(jax.random.fold_in(step_key, k))
            carry = oracle.prepare(prepare_key, chain.carry, chain.players, opponent)
            gradients = oracle.gradients(carry, chain.players, opponent)
            # θ^(k+1) = θ^(k) + η C⁻¹ g + √(2η) σ C^(−1/2) ξ, and ω likewise downhill
            players, moments = move(
                noise_key, chain.players, chain.optimizer, gradients, controls, carry
            )
            players = project(players)
            # θ̄ ← (1 − β) θ̄ + β θ^(k+1)
            average = _mix(damping, chain.average, players)
            carry = oracle.commit(carry, players)
            observed = jax.tree.map(
                lambda mean, new: mean + (new - mean) / (k + 1), chain.observed, observe(players)
            )
            return _Chain(players, average, moments, carry, _norms(gradients), observed)

        nothing_yet = optax.tree.zeros_like(jax.eval_shape(observe, outer))
        no_norms = Players(*jnp.zeros((2,), optax.tree.norm(outer).dtype))
        chain = _Chain(outer, outer, state.optimizer, state.carry, no_norms, nothing_yet)
        # The first step stands apart: there both chains are at the outer point, which lets the
        # oracle see that own and opponent are the same, and saves a loop where K_t = 1.
        chain = inner_step(0, chain, outer)
        chain = jax.lax.fori_loop(
            1,
            controls.inner_steps,
            lambda k, chain: inner_step(k, chain, chain.players if inner == "coupled" else outer),
            chain,
        )
        # θ_(t+1) = (1 − β) θ_t + β θ̄ ; in a convex set the projection only mends rounding
        players = project(_mix(damping, outer, chain.average))
        new_state = SolverState(players, chain.optimizer, chain.carry, state.step + 1)
        return new_state, Info(chain.gradient_norm, chain.observed)

    return Solver(_starter(optimizer.init), step)


def delayed(solver: Solver, oracle: Oracle, every: int) -> Solver:
    """The solver with its players resting but for every so many steps (TD3's policy delay).

    At step t the players move if t is a multiple of ``every``. On the other steps the oracle
    opens K_t turns, in which a critic learns, and closes none: players, moments and targets
    stand still. t counts all steps.
    """
    check_number("every", every, at_least=1)
    if every == 1:
        return solver

    def rest(key: jax.Array, state: SolverState, controls: Controls) -> tuple[SolverState, Info]:
        step_key = jax.random.fold_in(key, state.step)
        here = state.players, state.players

        def open_turn(k: jax.Array, carry: Carry) -> Carry:
            return oracle.prepare(jax.random.fold_in(step_key, k), carry, *here)

        carry = jax.lax.fori_loop(0, controls.inner_steps, open_turn, state.carry)
        _, unseen = jax.eval_shape(solver.step, key, state, controls)
        return state._replace(carry=carry, step=state.step + 1), optax.tree.zeros_like(unseen)

    def step(
        key: jax.Array, state: SolverState, controls: Controls = Controls()
    ) -> tuple[SolverState, Info]:
        moves = (state.step + 1) % every == 0
        return jax.lax.cond(moves, solver.step, rest, key, state, controls)

    return Solver(solver.init, step)


def solve(
    solver: Solver,
    key: jax.Array,
    state: SolverState,
    controls: Controls,
    record: Callable[[SolverState, Info], PyTree] = lambda state, info: info,
) -> tuple[SolverState, PyTree]:
    """Run one outer step for each entry of ``controls`` in a single program.

    Returns the last state and ``record(state, info)`` of every step, stacked. Pure: wrap it
    in ``jax.jit`` and ``jax.vmap``. Calling it again with the state returned and the same
    key goes on exactly as one longer call would.
    """

    def one_step(state: SolverState, now: Controls) -> tuple[SolverState, PyTree]:
        state, info = solver.step(key, state, now)
        return state, record(state, info)

    return jax.lax.scan(one_step, state, controls)


class _Chain(NamedTuple):
    """The inner loop of MixedNE-LD."""

    players: Players  # (θ^(k), ω^(k))
    average: Players  # (θ̄, ω̄)
    optimizer: optax.OptState
    carry: Carry
    gradient_norm: Players
    observed: PyTree


def _starter(
    init_moments: Callable[[Players], optax.OptState],
) -> Callable[..., SolverState]:
    """How every solver begins: check the players, give the optimiser its first state."""

    def init(players: Players, carry: Carry = None) -> SolverState:
        players = jax.tree.map(jnp.asarray, players)
        for leaf in jax.tree.leaves(players):
            if not jnp.issubdtype(leaf.dtype, jnp.floating):
                raise InvalidInputError(
                    f"players must hold floating-point numbers, not {leaf.dtype.name}"
                )
        return SolverState(players, init_moments(players), carry, jnp.zeros([], jnp.int32))

    return init


def _mover(
    optimizer: optax.GradientTransformation, oracle: Oracle
) -> Callable[..., tuple[Players, Any]]:
    """One optimiser step from gradients of J: uphill for the agent, down for the adversary."""
    optimizer = optax.with_extra_args_support(optimizer)

    def move(
        key: jax.Array,
        players: Players,
        moments: optax.OptState,
        gradients: Players,
        controls: Controls,
        carry: Carry,
    ) -> tuple[Players, optax.OptState]:
        downhill = Players(jax.tree.map(jnp.negative, gradients.agent), gradients.adversary)
        given = {"temperature": controls.temperature, "learning_rate": controls.learning_rate}
        extra: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if oracle.noise is not None:
            extra["noise"] = oracle.noise(carry)
        updates, moments = optimizer.update(downhill, moments, players, key=key, **extra)
        return optax.apply_updates(players, updates), moments

    return move


def _mix(damping: jax.typing.ArrayLike, old: PyTree, new: PyTree) -> PyTree:
    """(1 − β) old + β new."""
    return jax.tree.map(lambda a, b: ((1 - damping) * a + damping * b).astype(a.dtype), old, new)


def _norms(gradients: Players) -> Players:
    return Players(*(optax.tree.norm(tree) for tree in gradients))
