"""One battery for every optimiser of the package."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mixedne import optimizers

OPTIMIZERS: dict[str, Callable[[Any], optax.GradientTransformationExtraArgs]] = {
    "descend": optimizers.descend,
    "extra_adam": optimizers.extra_adam,
    "extra_sgd": optimizers.extra_sgd,
    "langevin": lambda rate: optimizers.langevin(rate, 0.1),
    "rmsprop": optimizers.rmsprop,
    "scale_by_langevin": lambda rate: optax.chain(
        optimizers.scale_by_langevin(rate, 0.1), optax.scale(-1.0)
    ),
    "sgld": lambda rate: optimizers.sgld(rate, 0.1),
}
NOT_OPTIMIZERS = {
    "ExtrapolationState",
    "ScaleByLangevinState",
    "extrapolate",
    "thermal_noise",
    "warmup_steps",
}


def params(dtype: Any = jnp.float32) -> Any:
    return {"w": jnp.ones((3, 2), dtype), "b": (jnp.zeros((2,), dtype), jnp.ones([], dtype))}


def loss(tree: Any) -> Any:
    return sum(jnp.sum((x - 3) ** 2) for x in jax.tree.leaves(tree))


def train(optimizer: Any, tree: Any, steps: int, key: jax.Array) -> Any:
    def step(carry: Any, t: Any) -> Any:
        tree, state = carry
        updates, state = optimizer.update(
            jax.grad(loss)(tree), state, tree, key=jax.random.fold_in(key, t)
        )
        return (optax.apply_updates(tree, updates), state), None

    return jax.lax.scan(step, (tree, optimizer.init(tree)), jnp.arange(steps))[0]


VARIANTS: dict[str, Callable[[Any], optax.GradientTransformationExtraArgs]] = {
    "langevin-corrected": lambda rate: optimizers.langevin(rate, 0.1, bias_correction=True),
    "rmsprop-corrected": lambda rate: optimizers.rmsprop(rate, bias_correction=True),
}


def test_the_battery_covers_every_optimizer() -> None:
    assert set(OPTIMIZERS) | NOT_OPTIMIZERS == set(optimizers.__all__)


@pytest.fixture(params=sorted(OPTIMIZERS | VARIANTS))
def make(request: pytest.FixtureRequest) -> Any:
    return (OPTIMIZERS | VARIANTS)[request.param]


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_tree_in_is_tree_out(make: Any, dtype: Any, key: jax.Array) -> None:
    optimizer, tree = make(0.1), params(dtype)
    updates, state = optimizer.update(tree, optimizer.init(tree), tree, key=key)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), updates) == jax.tree.map(
        lambda x: (x.shape, x.dtype), tree
    )
    structures: list[Any] = [jax.tree.structure(s) for s in (state, optimizer.init(tree))]
    assert structures[0] == structures[1]


def test_a_missing_player_costs_nothing(make: Any, key: jax.Array) -> None:
    optimizer = make(0.1)
    tree = {"agent": jnp.ones(2), "adversary": None}
    updates, _ = optimizer.update(tree, optimizer.init(tree), tree, key=key)
    assert updates["adversary"] is None


def test_compiles_once(make: Any, key: jax.Array) -> None:
    optimizer, tree, traces = make(0.1), params(), []

    @jax.jit
    def step(tree: Any, state: Any, t: Any, rate: Any) -> Any:
        traces.append(1)
        return optimizer.update(
            tree, state, tree, key=jax.random.fold_in(key, t), learning_rate=rate, noise_scale=rate
        )

    state = optimizer.init(tree)
    for t in range(4):
        _, state = step(tree, state, t, 0.1 / (t + 1))
    assert len(traces) == 1


def test_deterministic_by_key(make: Any) -> None:
    run = jax.jit(lambda key: train(make(0.05), params(), 20, key)[0])
    first, again = run(jax.random.key(1)), run(jax.random.key(1))
    jax.tree.map(np.testing.assert_array_equal, first, again)


def test_lowers_a_loss(make: Any, key: jax.Array) -> None:
    tree, _ = train(make(0.05), params(), 200, key)
    assert float(loss(tree)) < 0.2 * float(loss(params()))


def test_vmap_over_learning_rates_equals_one_at_a_time(make: Any) -> None:
    rates = jnp.array([0.01, 0.05])
    together = jax.vmap(lambda rate: train(make(rate), params(), 5, jax.random.key(0))[0])(rates)
    for i, rate in enumerate(rates):
        alone = train(make(rate), params(), 5, jax.random.key(0))[0]
        jax.tree.map(
            lambda a, b, i=i: np.testing.assert_allclose(a[i], b, rtol=1e-5), together, alone
        )


def test_a_given_learning_rate_replaces_the_default(make: Any) -> None:
    tree = params()
    given, _ = make(0.5).update(
        tree, make(0.5).init(tree), tree, key=jax.random.key(0), learning_rate=0.1
    )
    default, _ = make(0.1).update(tree, make(0.1).init(tree), tree, key=jax.random.key(0))
    jax.tree.map(np.testing.assert_array_equal, given, default)


def test_a_schedule_counts_the_optimisers_own_steps(make: Any) -> None:
    scheduled, tree = make(lambda count: jnp.where(count == 0, 0.1, 0.2)), params()
    state = scheduled.init(tree)
    plain_state = make(0.1).init(tree)
    for rate in (0.1, 0.2):
        updates, state = scheduled.update(tree, state, tree, key=jax.random.key(0))
        expected, plain_state = make(rate).update(tree, plain_state, tree, key=jax.random.key(0))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), updates, expected)


@pytest.mark.parametrize("rate", [0.0, -0.1, float("nan")])
def test_a_senseless_learning_rate_is_refused(make: Any, rate: float) -> None:
    with pytest.raises(ValueError, match="learning_rate must be"):
        make(rate)
