"""The schedules σ_t, K_t and the decay of learning rates, against exact arithmetic."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from mixedne.schedules import linear_decay, thermal_noise, warmup_steps


def test_inner_steps_are_exact_at_every_change() -> None:
    # K_t steps up from k to k + 1 at the first t with (1 + 10⁻⁵)^t ≥ k + 1.
    schedule = warmup_steps()
    with localcontext() as context:
        context.prec = 60
        growth = Decimal("1.00001")
        for k in range(2, 16):
            change = int((Decimal(k).ln() / growth.ln()).to_integral_value("ROUND_CEILING"))
            assert growth ** (change - 1) < k <= growth**change
            np.testing.assert_array_equal(schedule([change - 1, change]), [k - 1, k])


def test_inner_steps_stay_at_their_maximum() -> None:
    np.testing.assert_array_equal(warmup_steps()([1, 10**6, 10**12]), [1, 15, 15])
    assert warmup_steps(maximum=3)(10**6) == 3
    assert warmup_steps(growth=0)(10**6) == 1
    assert warmup_steps(growth=1.0, maximum=100)(6) == 64


def test_single_precision_would_be_wrong() -> None:
    # Why the schedule runs in float64 on the host.
    t = np.arange(1, 250_001)
    single = np.floor(np.power(np.float32(1 + 1e-5), t.astype(np.float32)))
    assert (warmup_steps()(t) != np.minimum(15, single)).sum() > 1000


def test_learning_rates_fall_in_a_line_to_their_last_share() -> None:
    np.testing.assert_allclose(linear_decay(0.2, 8)([0, 1, 4, 8]), [1, 0.9, 0.6, 0.2], 1e-15)
    assert linear_decay(0.0, 3)(3) == 0


def test_thermal_noise_decays() -> None:
    sigma = thermal_noise(0.01)
    np.testing.assert_allclose(
        sigma([0, 1, 20_000]), [0.01, 0.01 * (1 - 5e-5), 0.01 * 0.367870], 1e-5
    )
    np.testing.assert_allclose(sigma(250_000), 0.01 * np.exp(250_000 * np.log1p(-5e-5)), rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: thermal_noise(-1.0), "initial must be at least 0"),
        (lambda: thermal_noise(1.0, decay=2.0), "decay must be at most 1"),
        (lambda: warmup_steps(maximum=0), "maximum must be at least 1"),
        (lambda: warmup_steps(growth=-0.5), "growth must be at least 0"),
    ],
)
def test_senseless_values_are_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]
