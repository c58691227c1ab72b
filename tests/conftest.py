"""Strictness that catches whole classes of bugs, in tests only."""

import hypothesis
import jax
import pytest

from probes.runs import Laboratory

# (B,) against (B, 1) raises instead of broadcasting to (B, B); a key used twice raises.
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_debug_key_reuse", True)


# No test asserts times: machines are noisy.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """Processes that share what JAX has compiled, over all tests of studies."""
    return Laboratory(tmp_path_factory.mktemp("compiled"))


@pytest.fixture
def key() -> jax.Array:
    return jax.random.key(0)
