"""Extra-gradient methods as two-phase Optax transformations.

An extra-gradient step looks ahead, computes the gradient there, and applies it at the
starting point (Korpelevich 1976):

    z_(t+1/2) = z_t − step(g(z_t))          first call of ``update``
    z_(t+1)   = z_t − step(g(z_(t+1/2)))    second call

Both calls have the same interface: gradient at the current parameters in, update out. The
state stores the phase and the base point z_t. With Adam as the inner optimiser this is
Extra-Adam (Gidel et al. 2019, "A Variational Inequality Perspective on Generative
Adversarial Networks", Algorithm 4): the moments are updated and bias-corrected at every
half-step, 2t−1 and 2t.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mixedne.errors import check_number
from mixedne.optimizers.descent import descend
from mixedne.types import PyTree


class ExtrapolationState(NamedTuple):
    """State of :func:`extrapolate` between half-steps."""

    at_base: jax.Array
    """Whether the parameters are at the base point, so that the next half-step looks ahead."""
    base: PyTree
    """z_t: the point where the step began, to which the second half-step is applied."""
    inner: optax.OptState
    """State of the inner optimiser, which is updated in every half-step."""


def extrapolate(inner: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
    """Turn any Optax optimiser into a two-phase extra-gradient method.

    Every second ``update`` completes a step. ``update`` requires the parameters and passes
    further arguments on to the inner optimiser. A projection may follow each half-step.
    """
    inner = optax.with_extra_args_support(inner)

    def init(params: PyTree) -> ExtrapolationState:
        base = jax.tree.map(jnp.asarray, params)
        return ExtrapolationState(jnp.asarray(True), base, inner.init(params))

    def update(
        updates: PyTree,
        state: ExtrapolationState,
        params: PyTree | None = None,
        **extra: Any,
    ) -> tuple[PyTree, ExtrapolationState]:
        if params is None:
            raise ValueError("an extra-gradient update needs the parameters: pass params")
        steps, inner_state = inner.update(updates, state.inner, params, **extra)
        base = jax.tree.map(lambda p, b: jnp.where(state.at_base, p, b), params, state.base)
        # At the base point, b − p is zero and the step is unchanged.
        steps = jax.tree.map(lambda s, b, p: s + (b - p), steps, base, params)
        return steps, ExtrapolationState(~state.at_base, base, inner_state)

    return optax.GradientTransformationExtraArgs(init, update)


def extra_sgd(
    learning_rate: optax.ScalarOrSchedule,
) -> optax.GradientTransformationExtraArgs:
    """The plain extra-gradient method. A learning-rate schedule counts half-steps."""
    return extrapolate(descend(learning_rate))


def extra_adam(
    learning_rate: optax.ScalarOrSchedule,
    *,
    b1: float = 0.9,
    b2: float = 0.999,
    epsilon: float = 1e-8,
) -> optax.GradientTransformationExtraArgs:
    """Extra-Adam (Gidel et al. 2019, Algorithm 4).

    Args:
      learning_rate: η, a number or an Optax schedule over half-steps.
      b1: β1, decay rate of the first moment. On bilinear games, zero gets closest.
      b2: β2, decay rate of the second moment.
      epsilon: constant added to the square root of the second moment.
    """
    check_number("b1", b1, at_least=0, below=1)
    check_number("b2", b2, at_least=0, below=1)
    return extrapolate(
        optax.chain(optax.scale_by_adam(b1=b1, b2=b2, eps=epsilon), descend(learning_rate))
    )
