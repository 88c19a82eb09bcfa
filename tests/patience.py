"""Waiting in tests: for what happens, not for some time."""

import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds after which something hangs: far more than it takes on a machine that is busy with other programs."""


def until(happened: Callable[[], object]) -> None:
    """Wait until a function returns something true."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it doesn't happen"
        time.sleep(0.01)
