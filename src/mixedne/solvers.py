"""Solvers for max_θ min_ω J(θ, ω) over any pair of parameter trees.

This is the core of the paper, implemented once. A solver is a pair of pure functions, ``init``
and ``step``; it gets gradients from an :class:`Oracle` and updates the players with an Optax
optimiser over the joint tree ``Players(agent, adversary)``:

``gad``              gradient ascent-descent, simultaneous or alternating
``extra_gradient``   look ahead, then step: extra-gradient and Extra-Adam
``mixedne_ld``       MixedNE-LD (paper, Algorithm 1): sample, average, damp

The two-parameter games of the case study and the networks of the robots use the same code.
All randomness comes from (key, t, k), so a run can be stopped and resumed at any step.
``docs/solvers.md`` explains where each solver fails.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax

from mixedne.errors import InvalidInputError, check_choice, check_number
from mixedne.names import INNER_CHAINS
from mixedne.optimizers import ExtrapolationState
from mixedne.types import Payoff, Players, PyTree

Carry: TypeAlias = PyTree
Project: TypeAlias = Callable[[Players], Players]
Observe: TypeAlias = Callable[[Players], PyTree]
ExtraArgs: TypeAlias = Callable[[Carry], dict[str, Any]]
"""carry → further arguments of an optimiser's ``update``."""


def _same_carry(key: jax.Array, carry: Carry, players: Players, opponent: Players | None) -> Carry:
    del key, players, opponent
    return carry


class Oracle(NamedTuple):
    """The interface of a game to a solver. The carry is the game's own state.

    A gradient step is ``begin``, then ``gradients``, then ``end``. The parts are separate so
    that a critic can be kept in the carry and is updated once per step, also by methods that
    take two gradients.

    ``opponent`` says whom the players play against. ``None`` means each other, so that one batch
    or one set of episodes is enough for both. Otherwise the agent plays against
    ``opponent.adversary`` and the adversary against ``opponent.agent``, which are two matches.
    """

    gradients: Callable[[Carry, Players, Players | None], Players]
    """(carry, players, opponent) → (∇_θ J, ∇_ω J): each player's gradient against its opponent."""
    begin: Callable[[jax.Array, Carry, Players, Players | None], Carry] = _same_carry
    """(key, carry, players, opponent) → carry: sample a minibatch and update the critic, or play
    episodes with these players."""
    resample: Callable[[jax.Array, Carry, Players, Players | None], Carry] = _same_carry
    """(key, carry, players, opponent) → carry: a fresh minibatch, or fresh episodes, for a
    second gradient of the same step."""
    end: Callable[[Carry, Players], Carry] = lambda carry, players: carry
    """(carry, players) → carry: update the target networks after the players' update."""


class Controls(NamedTuple):
    """Values that may change from one outer step to the next without recompilation.

    For :func:`solve`, each given field holds one value per outer step.
    """

    inner_steps: jax.typing.ArrayLike = 1
    """K_t, the number of inner steps, at least one; used by MixedNE-LD only."""
    noise_scale: jax.typing.ArrayLike | None = None
    """σ_t, passed to the optimiser; ``None`` keeps the optimiser's own value."""
    learning_rate: jax.typing.ArrayLike | None = None
    """η_t, passed to the optimiser; ``None`` keeps the optimiser's own value. The
    optimisers of this package use it."""


class SolverState(NamedTuple):
    """State of a solver between outer steps."""

    players: Players
    """(θ_t, ω_t), the outer iterate; it is also the output unless an average is kept."""
    optimizer: optax.OptState
    """State of the optimiser, e.g. its moments, which persists over t and k."""
    carry: Carry
    """State of the oracle."""
    step: jax.Array
    """Number of outer steps taken, t − 1."""
    average: Players | None = None
    """The average of the outer iterates so far, if one is kept; see :func:`averaged`."""


class Info(NamedTuple):
    """Metrics of an outer step."""

    gradient_norm: Players
    """Norm of each player's last gradient; zero in a step that does not update the players."""
    observed: PyTree
    """Mean of ``observe`` over the inner iterates; ``None`` if nothing is observed."""


class Solver(NamedTuple):
    """A pair of pure functions, ``init`` and ``step``, and the oracle of the game."""

    init: Callable[..., SolverState]
    """(players, carry=None) → state."""
    step: Callable[..., tuple[SolverState, Info]]
    """(key, state, controls=Controls()) → (state, info). Pass the same key to all steps."""
    oracle: Oracle


def payoff_oracle(payoff: Payoff) -> Oracle:
    """The oracle of a game whose payoff J(θ, ω) is a differentiable function."""

    def gradients(carry: Carry, players: Players, opponent: Players | None) -> Players:
        del carry
        other = players if opponent is None else opponent
        return Players(
            jax.grad(payoff, argnums=0)(players.agent, other.adversary),
            jax.grad(payoff, argnums=1)(other.agent, players.adversary),
        )

    return Oracle(gradients)


def box(low: float, high: float) -> Project:
    """A projection of every parameter of both players onto [low, high]."""
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

    Simultaneous: both players step from (θ_t, ω_t). Alternating, as in the paper's case study:
    the adversary steps after the agent, against θ_(t+1), within the same step of the oracle.
    """
    move = _mover(optimizer)

    def init_moments(players: Players) -> optax.OptState:
        if not alternating:
            return optimizer.init(players)
        alone = Players(players.agent, None), Players(None, players.adversary)
        return Players(*map(optimizer.init, alone))

    def together(
        key: jax.Array, state: SolverState, carry: Carry, controls: Controls
    ) -> tuple[Players, optax.OptState, Players]:
        gradients = oracle.gradients(carry, state.players, None)
        players, moments = move(key, state.players, state.optimizer, gradients, controls)
        return project(players), moments, gradients

    def in_turn(
        key: jax.Array, state: SolverState, carry: Carry, controls: Controls
    ) -> tuple[Players, optax.OptState, Players]:
        agent_key, adversary_key = jax.random.split(key)
        (theta, omega), moments = state.players, state.optimizer
        g = oracle.gradients(carry, state.players, None).agent
        (theta, _), agent_moments = move(
            agent_key, Players(theta, None), moments.agent, Players(g, None), controls
        )
        players = project(Players(theta, omega))
        h = oracle.gradients(carry, players, None).adversary
        (_, omega), adversary_moments = move(
            adversary_key, Players(None, omega), moments.adversary, Players(None, h), controls
        )
        players = project(Players(players.agent, omega))
        return players, Players(agent_moments, adversary_moments), Players(g, h)

    def step(
        key: jax.Array, state: SolverState, controls: Controls = Controls()
    ) -> tuple[SolverState, Info]:
        begin_key, noise_key = jax.random.split(jax.random.fold_in(key, state.step))
        carry = oracle.begin(begin_key, state.carry, state.players, None)
        advance = in_turn if alternating else together
        players, moments, gradients = advance(noise_key, state, carry, controls)
        carry = oracle.end(carry, players)
        info = Info(_norms(gradients), observe(players))
        return SolverState(players, moments, carry, state.step + 1), info

    return Solver(_starter(init_moments), step, oracle)


def extra_gradient(
    oracle: Oracle,
    optimizer: optax.GradientTransformationExtraArgs,
    *,
    project: Project = unbounded,
    observe: Observe = observe_nothing,
) -> Solver:
    """Extra-gradient on the joint tree: look ahead, and step with the gradient computed there.

    ``optimizer`` must have two phases: ``extra_sgd`` gives the extra-gradient method,
    ``extra_adam`` Extra-Adam. The oracle's ``begin`` and ``end`` are called once per step; the
    second gradient may use its own batch (``resample``). Target networks never see the look-ahead.
    """
    move = _mover(optimizer)

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
        carry = oracle.begin(keys[0], state.carry, state.players, None)
        gradients = oracle.gradients(carry, state.players, None)
        ahead, moments = move(keys[1], state.players, state.optimizer, gradients, controls)
        ahead = project(ahead)
        carry = oracle.resample(keys[2], carry, ahead, None)
        gradients = oracle.gradients(carry, ahead, None)
        players, moments = move(keys[3], ahead, moments, gradients, controls)
        players = project(players)
        carry = oracle.end(carry, players)
        info = Info(_norms(gradients), observe(players))
        return SolverState(players, moments, carry, state.step + 1), info

    return Solver(_starter(init_moments), step, oracle)


def mixedne_ld(
    oracle: Oracle,
    optimizer: optax.GradientTransformation,
    *,
    damping: jax.typing.ArrayLike = 0.9,
    inner: str = "frozen",
    project: Project = unbounded,
    observe: Observe = observe_nothing,
    extra_args: ExtraArgs | None = None,
) -> Solver:
    """MixedNE-LD (paper, Algorithm 1).

    Each outer step runs K_t inner steps of ``optimizer`` (``langevin`` or ``sgld``) for
    both players, averages along the chains, and moves the outer iterate towards the
    averages. The oracle's ``begin`` and ``end`` are called in every inner step.

    Args:
      oracle: the game, see :class:`Oracle`.
      optimizer: a Langevin optimiser over the joint tree.
      damping: β in (0, 1], the damping of the averages and of the outer step.
      inner: what each chain plays against. ``"frozen"``: the other player's outer iterate,
        as in Algorithm 1. ``"coupled"``: the other player's inner iterate.
      project: projection that is applied to every iterate.
      observe: a function of the players; ``Info`` reports its mean along the chain.
      extra_args: function carry → further arguments of ``optimizer.update``, such as ``noise``
        that was drawn in bulk; without it, noise is drawn from the solver's key.
    """
    check_number("damping", damping, above=0, at_most=1)
    check_choice("inner", inner, INNER_CHAINS)
    move = _mover(optimizer)

    def step(
        key: jax.Array, state: SolverState, controls: Controls = Controls()
    ) -> tuple[SolverState, Info]:
        step_key = jax.random.fold_in(key, state.step)
        outer = state.players

        def inner_step(k: jax.typing.ArrayLike, chain: _Chain, opponent: Players | None) -> _Chain:
            begin_key, noise_key = jax.random.split(jax.random.fold_in(step_key, k))
            carry = oracle.begin(begin_key, chain.carry, chain.players, opponent)
            gradients = oracle.gradients(carry, chain.players, opponent)
            # θ^(k+1) = θ^(k) + η C⁻¹ g + √(2η) σ C^(−1/2) ξ, and ω likewise by descent
            extra = {} if extra_args is None else extra_args(carry)
            players, moments = move(
                noise_key, chain.players, chain.optimizer, gradients, controls, **extra
            )
            players = project(players)
            # θ̄ ← (1 − β) θ̄ + β θ^(k+1)
            average = _mix(damping, chain.average, players)
            carry = oracle.end(carry, players)
            observed = jax.tree.map(
                lambda mean, new: mean + (new - mean) / (k + 1), chain.observed, observe(players)
            )
            return _Chain(players, average, moments, carry, _norms(gradients), observed)

        nothing_yet = optax.tree.zeros_like(jax.eval_shape(observe, outer))
        no_norms = Players(*jnp.zeros((2,), optax.tree.norm(outer).dtype))
        chain = _Chain(outer, outer, state.optimizer, state.carry, no_norms, nothing_yet)
        # The first step is special: both chains are at the outer iterate, so the players play
        # against each other even if chains are frozen; and K_t = 1 needs no loop.
        chain = inner_step(0, chain, None)
        chain = jax.lax.fori_loop(
            1,
            controls.inner_steps,
            lambda k, chain: inner_step(k, chain, None if inner == "coupled" else outer),
            chain,
        )
        # θ_(t+1) = (1 − β) θ_t + β θ̄ ; in a convex set the projection only fixes rounding
        players = project(_mix(damping, outer, chain.average))
        new_state = SolverState(players, chain.optimizer, chain.carry, state.step + 1)
        return new_state, Info(chain.gradient_norm, chain.observed)

    return Solver(_starter(optimizer.init), step, oracle)


def delayed(solver: Solver, every: int) -> Solver:
    """A solver that updates the players only in every ``every``-th step (TD3's policy delay).

    The players are updated in step t if t is a multiple of ``every``. In other steps the oracle's
    ``begin`` is called K_t times, in which a critic learns, and ``end`` is not: players, moments
    and target networks are unchanged. t counts all steps.
    """
    check_number("every", every, at_least=1)
    if every == 1:
        return solver

    def rest(key: jax.Array, state: SolverState, controls: Controls) -> tuple[SolverState, Info]:
        step_key = jax.random.fold_in(key, state.step)

        def begin(k: jax.Array, carry: Carry) -> Carry:
            return solver.oracle.begin(jax.random.fold_in(step_key, k), carry, state.players, None)

        carry = jax.lax.fori_loop(0, controls.inner_steps, begin, state.carry)
        _, unseen = jax.eval_shape(solver.step, key, state, controls)
        return state._replace(carry=carry, step=state.step + 1), optax.tree.zeros_like(unseen)

    def step(
        key: jax.Array, state: SolverState, controls: Controls = Controls()
    ) -> tuple[SolverState, Info]:
        moves = (state.step + 1) % every == 0
        return jax.lax.cond(moves, solver.step, rest, key, state, controls)

    return solver._replace(step=step)


def averaged(solver: Solver, decay: float) -> Solver:
    """A solver that also keeps an exponential moving average of its outer iterates.

    For iterates z_1 … z_t it is Σ d^(t−s) z_s / Σ d^(t−s) with d = ``decay``. The iterate of a step
    in which players rest (:func:`delayed`) counts, so this must be the outermost of both. The
    average does not affect the players' updates.
    """
    check_number("decay", decay, above=0, below=1)
    rate = math.log(decay)

    def init(players: Players, carry: Carry = None) -> SolverState:
        state = solver.init(players, carry)
        return state._replace(average=state.players)

    def step(
        key: jax.Array, state: SolverState, controls: Controls = Controls()
    ) -> tuple[SolverState, Info]:
        after, info = solver.step(key, state._replace(average=None), controls)
        # ẑ ← ẑ + (z_t − ẑ) (1 − d) / (1 − d^t); the first weight is one
        weight = math.expm1(rate) / jnp.expm1(rate * after.step)
        average = _mix(weight, state.average, after.players)
        return after._replace(average=average), info

    return Solver(init, step, solver.oracle)


def solve(
    solver: Solver,
    key: jax.Array,
    state: SolverState,
    controls: Controls,
    record: Callable[[SolverState, Info], PyTree] = lambda state, info: info,
) -> tuple[SolverState, PyTree]:
    """Run one outer step for each entry of ``controls`` in a single program.

    Returns the last state and the stacked ``record(state, info)`` of all steps. The function is
    pure: wrap it in ``jax.jit`` and ``jax.vmap``. Calling it again with the returned state and
    the same key continues exactly as one longer call would.
    """

    def one_step(state: SolverState, now: Controls) -> tuple[SolverState, PyTree]:
        state, info = solver.step(key, state, now)
        return state, record(state, info)

    return jax.lax.scan(one_step, state, controls)


class _Chain(NamedTuple):
    """State of the inner loop of MixedNE-LD."""

    players: Players  # (θ^(k), ω^(k))
    average: Players  # (θ̄, ω̄)
    optimizer: optax.OptState
    carry: Carry
    gradient_norm: Players
    observed: PyTree


def _starter(
    init_moments: Callable[[Players], optax.OptState],
) -> Callable[..., SolverState]:
    """The ``init`` of every solver: check the players and initialise the optimiser."""

    def init(players: Players, carry: Carry = None) -> SolverState:
        players = jax.tree.map(jnp.asarray, players)
        for leaf in jax.tree.leaves(players):
            if not jnp.issubdtype(leaf.dtype, jnp.floating):
                raise InvalidInputError(
                    f"players must hold floating-point numbers, not {leaf.dtype.name}"
                )
        return SolverState(players, init_moments(players), carry, jnp.zeros([], jnp.int32))

    return init


def _mover(optimizer: optax.GradientTransformation) -> Callable[..., tuple[Players, Any]]:
    """One optimiser step from gradients of J: ascent for the agent, descent for the adversary."""
    optimizer = optax.with_extra_args_support(optimizer)

    def move(
        key: jax.Array,
        players: Players,
        moments: optax.OptState,
        gradients: Players,
        controls: Controls,
        **extra: Any,
    ) -> tuple[Players, optax.OptState]:
        downhill = Players(jax.tree.map(jnp.negative, gradients.agent), gradients.adversary)
        given = {"noise_scale": controls.noise_scale, "learning_rate": controls.learning_rate}
        extra |= {name: value for name, value in given.items() if value is not None}
        updates, moments = optimizer.update(downhill, moments, players, key=key, **extra)
        return optax.apply_updates(players, updates), moments

    return move


def _mix(damping: jax.typing.ArrayLike, old: PyTree, new: PyTree) -> PyTree:
    """(1 − β) old + β new."""
    return jax.tree.map(lambda a, b: ((1 - damping) * a + damping * b).astype(a.dtype), old, new)


def _norms(gradients: Players) -> Players:
    return Players(*(optax.tree.norm(tree) for tree in gradients))
