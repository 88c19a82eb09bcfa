"""Errors of tools as advice for a model: what to do next, without a traceback or a path."""

from langchain_core.tools import ToolException
from pydantic import ValidationError

from langchain_sentence_window.errors import SentenceWindowError

MAX_ADVICE_CHARS = 500
"""The most characters of an error that a model is shown, so that it doesn't read again all that it sent."""

_MAX_NAME_CHARS = 50
_MAX_PROBLEM_CHARS = 200
_MAX_SHOWN_CHARS = 100


def advice(error: SentenceWindowError) -> ToolException:
    """Return the error to raise in place of one of this package."""
    return ToolException(_truncate(f"{type(error).__name__}: {error}", MAX_ADVICE_CHARS))


def explained(error: object) -> str:
    """Return one line for each argument that can't be used; what was given isn't shown again."""
    problems = error.errors(include_input=False) if isinstance(error, ValidationError) else []
    listed = [(".".join(map(str, problem["loc"])), problem["msg"]) for problem in problems] or [("", str(error))]
    lines = [f"{_truncate(where, _MAX_NAME_CHARS)}: {_truncate(what, _MAX_PROBLEM_CHARS)}" for where, what in listed]
    return _truncate(
        "\n".join(["These arguments can't be used. Call the tool again with others.", *lines]), MAX_ADVICE_CHARS
    )


def quoted(given: str) -> str:
    """Return what a model gave, shortened, as it is shown again."""
    return _truncate(repr(given), _MAX_SHOWN_CHARS)


def no_document(given: str) -> ToolException:
    """Return the error for an id that names nothing, or nothing that may be read: the words are the same."""
    return ToolException(
        f"There is no document {quoted(given)}. Search first, and use the id or the doc_id of a passage that was found."
    )


def _truncate(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
