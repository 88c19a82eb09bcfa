"""How values are shown in messages: short, and without secrets."""

import re

MAX_CHARS = 80
"""The most characters of a string that a message shows."""

_SECRET = re.compile(r"(?<![\w-])(?:(?:sk|pk|hf|ghp|xai)[-_](?=\S*\d)[\w-]{16,}|AIza[\w-]{20,}|Bearer \S{12,})")


def shown(value: object) -> str:
    """Return a value for a message: numbers and short strings as Python writes them, other values as their type.

    A string that looks like an API key isn't shown.
    """
    if isinstance(value, str):
        if _SECRET.search(value[: 10 * MAX_CHARS]):
            return "a string that looks like a key"
        return repr(value) if len(value) <= MAX_CHARS else f"{value[:MAX_CHARS]!r}… ({len(value):,} characters)"
    if value is None or isinstance(value, int | float):
        return repr(value)
    return f"a value of type {type(value).__name__}"


def encodable(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 can't encode."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str, max_chars: int) -> str:
    """Return a text on one line, cut after ``max_chars``."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"
