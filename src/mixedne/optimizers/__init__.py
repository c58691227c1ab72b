"""Optimisers of the paper as Optax transformations, usable with or without this package.

=====================  ==========================================================
``scale_by_langevin``  scales gradients to preconditioned Langevin steps, for ``optax.chain``
``langevin``           RMSProp-preconditioned stochastic gradient Langevin dynamics
``sgld``               the same without a preconditioner
``rmsprop``            RMSProp in the paper's form: Langevin without noise
``extrapolate``        turns any optimiser into a two-phase extra-gradient method
``extra_sgd``          the plain extra-gradient method
``extra_adam``         Extra-Adam
``thermal_noise``      the schedule σ_t
``warmup_steps``       the schedule K_t
=====================  ==========================================================
"""

from mixedne.optimizers.descent import descend
from mixedne.optimizers.extrapolation import (
    ExtrapolationState,
    extra_adam,
    extra_sgd,
    extrapolate,
)
from mixedne.optimizers.langevin import (
    ScaleByLangevinState,
    langevin,
    rmsprop,
    scale_by_langevin,
    sgld,
)
from mixedne.schedules import thermal_noise, warmup_steps

__all__ = [
    "ExtrapolationState",
    "ScaleByLangevinState",
    "descend",
    "extra_adam",
    "extra_sgd",
    "extrapolate",
    "langevin",
    "rmsprop",
    "scale_by_langevin",
    "sgld",
    "thermal_noise",
    "warmup_steps",
]
