"""Strictness that catches whole classes of bugs, in tests only, and one cache of compiled code."""

import os
from collections.abc import Generator
from pathlib import Path

# Programs that XLA has compiled are kept beside the checkout, for this process and for those that
# tests start: the second run of the suite compiles nothing. Each worker has a folder of its own,
# because JAX writes the files in place. Set before JAX is imported.
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
os.environ |= {
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parents[1] / ".jax_cache" / _WORKER),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}

import hypothesis  # noqa: E402
import jax  # noqa: E402
import pytest  # noqa: E402

from probes.runs import Laboratory  # noqa: E402

# (B,) against (B, 1) raises instead of broadcasting to (B, B); a key used twice raises.
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_debug_key_reuse", True)


# No test asserts times: machines are noisy.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where nothing may be skipped (``MIXEDNE_NO_SKIP``, as in CI), a skipped test has failed."""
    report = yield
    if report.skipped and os.environ.get("MIXEDNE_NO_SKIP") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def laboratory() -> Laboratory:
    """Starts processes that are killed, starved and resumed."""
    return Laboratory()


@pytest.fixture
def key() -> jax.Array:
    return jax.random.key(0)
