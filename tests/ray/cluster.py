"""A Ray of the tests' own, quiet and without statistics of usage."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CPUS = 2


@contextmanager
def running_ray() -> Iterator[Any]:
    """Start Ray for two processors, whatever the machine has, and stop it at the end."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=CPUS, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield ray
    finally:
        ray.shutdown()
