"""What several tests of commands need."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def heeded_ctrl_c() -> Iterator[None]:
    """A shell lets what it starts in the background ignore SIGINT, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
