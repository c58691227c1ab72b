"""Strictness that catches whole classes of bugs, in tests only, and one cache of compiled code."""

import os
from collections.abc import Generator
from pathlib import Path

# Compiling takes most of the suite's time, for programs that run for milliseconds. So fast tests do
# without XLA's optimiser (``probes.compiling`` has it for the few long ones), without its newer
# emitters and without splitting a program for threads; the same flags in all processes are also
# the same keys in the cache. ``make test-slow`` gives flags of its own: there everything is
# compiled as it is for users. Set before JAX is imported.
_FLAGS = (
    *("--xla_backend_optimization_level=0", "--xla_cpu_use_fusion_emitters=false"),
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_cpu_multi_thread_eigen=false",  # as training has it
)
os.environ.setdefault("XLA_FLAGS", " ".join(_FLAGS))
# Compiled programs are kept beside the checkout, for all processes: the second run of the suite
# compiles nothing.
os.environ |= {
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parents[1] / ".jax_cache"),
    "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",  # or keys depend on the folder's place
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
