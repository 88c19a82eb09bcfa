"""Texts that can be sent and printed."""

import re

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character, which UTF-8 can't encode."""


def encodable(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 can't encode."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str, max_chars: int) -> str:
    """Return a text on one line, cut after ``max_chars``."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"
