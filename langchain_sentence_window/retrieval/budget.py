"""Tokens: the estimate that a budget is counted with, unless the caller counts."""

import math


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for every four characters, rounded up.

    This is a rule of thumb for English prose. If precision matters, pass your model's own counter as
    ``count_tokens``.
    """
    return math.ceil(len(text) / 4)
