"""Statistics of samples, with confidence intervals, for :mod:`mixedne.evaluation.statistics`.

A sample is an array with one value per training seed, or per shift for :func:`cvar`. A NaN in
a sample makes the result NaN: nothing is dropped.

The interquartile mean, the stratified bootstrap and the probability of improvement are those
of Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
(NeurIPS 2021), and agree with the authors' package rliable.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from mixedne.errors import InvalidInputError, check_number

Array = NDArray[np.float64]


class Estimate(NamedTuple):
    """An estimate with its confidence interval, which is missing for a single seed."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Student:
    """Student's t interval of a mean: x̄ ± t s/√n, with n − 1 degrees of freedom.

    It is exact for normally distributed values, and appropriately wide for two or three seeds.
    """

    confidence: float = 0.95
    """The probability, before the experiment, that the interval will contain the true mean."""

    def __post_init__(self) -> None:
        check_number("confidence", self.confidence, above=0, below=1)

    def mean(self, values: Array) -> Estimate:
        """The mean of independent values, one per training seed."""
        centre, count = float(np.mean(values)), len(values)
        if count < 2:
            return Estimate(centre)
        half = self.half_width(count) * float(np.std(values, ddof=1))
        return Estimate(centre, centre - half, centre + half)

    def half_width(self, count: int) -> float:
        """t/√n: half the width of the interval of ``count`` values, in standard deviations."""
        return float(stdtrit(count - 1, (1 + self.confidence) / 2) / math.sqrt(count))


@dataclass(frozen=True)
class Bootstrap:
    """Percentile bootstrap interval, stratified by task: seeds are resampled within each task.

    With few seeds it is too narrow: prefer :class:`Student` for the mean of fewer than ten.
    """

    confidence: float = 0.95
    """The fraction of replicates inside the interval; both tails have the same share."""
    replicates: int = 10_000
    """Number of bootstrap replicates."""
    seed: int = 0
    """Seed of the resampling: the same seed and values give the same interval."""

    def __post_init__(self) -> None:
        check_number("confidence", self.confidence, above=0, below=1)
        check_number("replicates", self.replicates, at_least=1)
        check_number("seed", self.seed, at_least=0)

    def mean(self, values: Array) -> Estimate:
        """The mean of independent values, one per training seed."""
        centre = float(np.mean(values))
        return self._estimate(centre, [values], lambda: self._draws([values]).mean(axis=-1))

    def interquartile_mean(self, strata: Sequence[Array]) -> Estimate:
        """The interquartile mean of all values together; one stratum per task."""
        centre = interquartile_mean(np.concatenate(strata))
        return self._estimate(centre, strata, lambda: _middle_means(self._draws(strata)))

    def improvement(self, pairs: Sequence[tuple[Array, Array]]) -> Estimate:
        """The probability of improvement of x over y, averaged over the pairs (x, y) of tasks.

        The seeds of x and y are resampled independently.
        """
        centre = float(np.mean([improvement_probability(x, y) for x, y in pairs]))
        strata = [values for pair in pairs for values in pair]
        return self._estimate(centre, strata, lambda: self._improvement_draws(pairs))

    def _estimate(
        self, centre: float, strata: Sequence[Array], replicate: Callable[[], Array]
    ) -> Estimate:
        if min(map(len, strata)) < 2:
            return Estimate(centre)
        if math.isnan(centre):
            return Estimate(centre, math.nan, math.nan)
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(replicate(), [tail, 1 - tail])
        return Estimate(centre, float(low), float(high))

    def _draws(self, strata: Sequence[Array]) -> Array:
        """One replicate per row: each stratum, resampled at its own size."""
        random = np.random.default_rng(self.seed)
        shapes = [(self.replicates, len(values)) for values in strata]
        drawn = [random.choice(v, shape) for v, shape in zip(strata, shapes, strict=True)]
        return np.concatenate(drawn, axis=1)

    def _improvement_draws(self, pairs: Sequence[tuple[Array, Array]]) -> Array:
        """The pairs are compared once; a replicate only weights them by how often each is drawn."""
        random = np.random.default_rng(self.seed)
        total = np.zeros(self.replicates)
        for x, y in pairs:
            n, m = len(x), len(y)
            times_x = random.multinomial(n, np.full(n, 1 / n), self.replicates)
            times_y = random.multinomial(m, np.full(m, 1 / m), self.replicates)
            total += ((times_x @ _wins(x, y)) * times_y).sum(axis=1) / (n * m)
        return total / len(pairs)


def cvar(values: ArrayLike, level: float) -> float:
    """The mean of the worst fraction ``level`` of the values (conditional value at risk).

    With x₁ ≤ … ≤ xₙ it is Σ wᵢ xᵢ / (level·n), where wᵢ = min(1, max(0, level·n − (i − 1))):
    the value at the boundary counts in part. So it is continuous in ``level``, equal to the
    minimum for a level of at most 1/n, and to the mean for level 1.
    """
    check_number("level", level, above=0, at_most=1)
    ordered = np.sort(_numbers(values))  # NaN comes last
    share = level * len(ordered)
    weights = np.clip(share - np.arange(len(ordered)), 0, 1) / share
    return float(weights @ ordered)  # 0 · NaN is NaN


def cvar_expression(values: pl.Expr, level: float) -> pl.Expr:
    """:func:`cvar` for ``group_by(…).agg``, of values without nulls; the level is below 1."""
    ordered, share = values.sort(), level * pl.len()
    whole = share.floor().cast(pl.Int64)
    return (ordered.head(whole).sum() + (share - whole) * ordered.get(whole)) / share


def interquartile_mean(values: ArrayLike) -> float:
    """The mean without the lowest and the highest quarter.

    The ⌊n/4⌋ lowest and the ⌊n/4⌋ highest of n values are left out.
    """
    return float(_middle_means(_numbers(values)[None, :])[0])


def _middle_means(rows: Array) -> Array:
    """The interquartile mean of each row."""
    ordered = np.sort(rows, axis=1)  # NaN comes last
    count = ordered.shape[1]
    means = ordered[:, count // 4 : count - count // 4].mean(axis=1)
    return np.where(np.isnan(ordered[:, -1]), math.nan, means)


def improvement_probability(x: ArrayLike, y: ArrayLike) -> float:
    """The probability that a value of x exceeds one of y; ties count half.

    This is the Mann–Whitney U statistic divided by the number of pairs.
    """
    return float(_wins(_numbers(x), _numbers(y)).mean())


def _wins(x: Array, y: Array) -> Array:
    """1 where the row's value exceeds the column's, ½ where they are equal, NaN if one is NaN."""
    left, right = x[:, None], y[None, :]
    unknown = np.isnan(left) | np.isnan(right)
    return np.where(unknown, math.nan, (left > right) + 0.5 * (left == right))


def _numbers(values: ArrayLike) -> Array:
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1 or not len(sample):
        raise InvalidInputError(
            f"a sample must be a list of at least one number, not of shape {sample.shape}"
        )
    return sample
