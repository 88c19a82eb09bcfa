"""How many examples a property is tried on."""

from hypothesis import settings

MANY = 100
"""Examples of a property that says no number, under `make test-all`."""


def examples(most: int) -> settings:
    """Return settings for a property that `make test-all` tries on ``most`` examples, and others on more or fewer."""
    return settings(max_examples=max(5, most * settings().max_examples // MANY))
