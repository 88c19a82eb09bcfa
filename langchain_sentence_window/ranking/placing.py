"""The parts of a question that only say where to look: "In the Zebra contract, …", "zebra.com: …", "… in Spain".

Nothing here knows documents: a caller gives the positions of the words that name one.
"""

import re
from collections.abc import Sequence

from .words import Token

_CLAUSE_END = re.compile(r"[;:?!\n]|[.,]\s")
_OPENERS = frozenset(
    {
        "according", "at", "by", "concerning", "consider", "for", "from", "in", "per", "regarding", "see", "under",
        "bei", "für", "gemäß", "laut", "nach", "dans", "selon", "en", "según", "secondo",
    }
)  # fmt: skip
_WHERE = frozenset({"at", "from", "in", "under", "within"})
_OF_ASKER = frozenset({"i", "we", "my", "our", "if", "as"})
_SMALL = (
    _OPENERS
    | _WHERE
    | _OF_ASKER
    | {"a", "an", "the", "and", "or", "of", "on", "to", "with", "between", "s", "am", "are", "is", "m", "re", "was"}
)
_ASKING = ("what", "who", "whom", "whose", "which", "when", "where", "why", "how")
_SECOND_PART = re.compile(rf"(?:\?|\b(?:and|or|but)\b)\s*\b(?:{'|'.join(_ASKING)})\b(?:\W+\w+){{3}}", re.IGNORECASE)
_LOOSE_MARKS = re.compile(r"[\s,;:]+(?=[?!.]?\s*$)|^[\s,;:]+")

_MAX_CLAUSE_REST = 2
"""The most words but names and small words in a clause that only says where to look: "In the Zebra contract, …"."""

_MIN_LEFT = 4
"""The least number of words that a question keeps."""


def asks_twice(query: str) -> bool:
    """Return whether a question has two parts, the second of which may be about something else.

    "Who pays, and what does the law say?" has. "Is it insured? If yes, how?" hasn't.
    """
    return _SECOND_PART.search(query) is not None


def places_of_search(query: str, tokens: Sequence[Token], names: Sequence[tuple[int, int]]) -> tuple[bool, str]:
    """Find out whether names only say where to look, and leave out the words that do.

    Args:
        query: The question.
        tokens: Its words.
        names: The positions of the first word of each name, and of the word after its last.

    Returns:
        Whether each name is in a clause that only says where to look, or where the asker is; and the question without
        the words that say so, unless too little would be left.
    """
    of_names = {at for first, end in names for at in range(first, end)}
    where, placed = set[int](), set[int]()
    for first, end in names:
        before = first
        while before and tokens[before - 1].word in ("a", "an", "the"):
            before -= 1
        if before and tokens[before - 1].word in _WHERE:
            where.update(range(before - 1, end))
    clauses = set[int]()
    for first, end, mark in _clauses(query, tokens, of_names):
        inside = of_names.intersection(range(first, end))
        words = [token for at, token in enumerate(tokens[first:end], first) if at not in inside]
        rest = [token for token in words if not token.is_name and token.word not in _SMALL]
        asks = any(token.word in _ASKING for token in words)  # "By when does Zebra pay, and …?"
        if not inside or asks or len(rest) > _MAX_CLAUSE_REST:
            continue
        if tokens[first].word in _OPENERS or (mark == ":" and end < len(tokens)):
            clauses.update(range(first, end))
            placed |= inside
        elif tokens[first].word in _OF_ASKER and mark != "?" and inside <= where:
            placed |= inside  # it may say more than where, so it is still searched
    is_limited = placed >= of_names
    gone = where | clauses if is_limited else where
    kept = [at for at in range(len(tokens)) if at not in gone]
    return is_limited, _without(query, tokens, gone) if len(kept) >= _MIN_LEFT else query


def _clauses(query: str, tokens: Sequence[Token], names: set[int]) -> list[tuple[int, int, str]]:
    """Return the position of the first word of each clause, that after its last, and the mark that ends it."""
    found, first = [], 0
    for at in range(1, len(tokens) + 1):
        is_last = at == len(tokens)
        gap = query[tokens[at - 1].end : None if is_last else tokens[at].start]
        mark = _CLAUSE_END.search(gap)
        if not is_last:
            is_in_name = {at - 1, at} <= names or (tokens[at - 1].is_name and tokens[at].is_name)
            if mark is None or (mark[0][0] in ".," and is_in_name):  # "Zebra, Inc"
                continue
        found.append((first, at, mark[0][0] if mark else ""))
        first = at
    return found


def _without(query: str, tokens: Sequence[Token], gone: set[int]) -> str:
    """Return a question without some words and the marks after them, unless they end it."""
    kept = ""
    for at, token in enumerate(tokens):
        end = tokens[at + 1].start if at + 1 < len(tokens) else len(query)
        kept += query[token.start : end] if at not in gone else query[token.end :] if at + 1 == len(tokens) else ""
    return _LOOSE_MARKS.sub("", kept)
