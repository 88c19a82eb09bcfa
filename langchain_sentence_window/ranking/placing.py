"""The parts of a question that only say where to look: "In the Zebra contract, …", "zebra.com: …", "… in Spain".

Nothing here knows documents: a caller says where their names are in the question.
"""

import re
from collections.abc import Sequence
from typing import TypeAlias

from .words import is_lower_case, word_runs, words_of

Span: TypeAlias = tuple[int, int]
"""Where a part of a text starts and ends, exclusive."""

_CLAUSE_END = re.compile(r"[;:?!\n]|[.,](?=\s)|$")
_OPENER = re.compile(
    r"\s?(?:according|at|by|concerning|consider|for|from|in|per|regarding|see|under|within"
    r"|bei|für|gemäß|laut|nach|dans|selon|en|según|secondo)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(r"(?:^|\s)(?:at|from|in|under|within)\s(?:(?:an?|the)\s)?$", re.IGNORECASE)
_ASKING = frozenset({"what", "who", "whom", "whose", "which", "when", "where", "why", "how"})
_SECOND_PART = re.compile(rf"(?:\?|\b(?:and|or|but))\s(?:{'|'.join(_ASKING)})\b(?:\W+\w+){{3}}", re.IGNORECASE)

_MAX_OTHER_WORDS = 6
"""The most words but names in a clause that only says where: "according to the lease between Zebra and Acme"."""

_MAX_LIST_WORDS = 2
"""The most words but names in a clause that goes on with names: "… between Zebra, Acme and Globex, …"."""

_MIN_LEFT = 4
"""The fewest words that a question keeps."""


def asks_twice(text: str) -> bool:
    """Return whether a question has two parts, the second of which may be about something else.

    "Who pays, and what does the law say?" has. "Is it insured? If yes, how?" hasn't.
    """
    return _SECOND_PART.search(text) is not None


def find_places(text: str, names: Sequence[Span]) -> tuple[set[Span], str]:
    """Find the names that only say where to look, and leave out what only says where.

    Args:
        text: The question.
        names: Where names are in it, in order.

    Returns:
        The names in clauses that only say where to look. And the question without places, as "in Spain", and if all
        names are in such clauses, without them, unless too little would be left.
    """
    blanked = text
    for start, end in names:
        blanked = blanked[:start] + " " * (end - start) + blanked[end:]
    places = {name: (match.start(), name[1]) for name in names if (match := _WHERE.search(text, 0, name[0]))}
    clauses: list[Span] = []
    placed = set[Span]()
    first, is_listing = 0, False
    for mark in _CLAUSE_END.finditer(text):
        if any(start <= mark.start() < end for start, end in names):  # "zebra.com", "Leland, North Carolina"
            continue
        inside = {name for name in names if first <= name[0] < mark.start()}
        others = [run.text for run in word_runs(blanked[first : mark.start()])]
        # "By when does Zebra pay, and …?" begins as a clause does that says where.
        asks = not _ASKING.isdisjoint(map(str.lower, others))
        small = sum(map(is_lower_case, others))
        says_where = inside and small <= _MAX_OTHER_WORDS and (_OPENER.match(text, first) or mark[0] == ":")
        goes_on = is_listing and mark[0] != "?" and small <= _MAX_LIST_WORDS and small < len(others) + len(inside)
        is_listing = False
        if not asks and (says_where or goes_on):
            placed |= inside
            clauses.append((first, mark.start() if mark[0] in "?!" else mark.end()))
            is_listing = mark[0] == ","
        elif inside and not asks and small <= _MAX_OTHER_WORDS and inside <= places.keys() and mark[0] != "?":
            placed |= inside  # "If I work in Spain, …" says more than where
        first = mark.end()
    is_limited = placed.issuperset(names)
    left_out = [*places.values(), *clauses] if is_limited else list(places.values())
    kept, end_of_last = "", 0
    for start, end in sorted(left_out):
        kept += text[end_of_last:start]
        end_of_last = max(end_of_last, end)
    kept += text[end_of_last:]
    if not left_out or len(words_of(kept)) < _MIN_LEFT:
        return placed, text
    body = kept.rstrip("?!. \n")
    return placed, body.strip(",;: \n") + kept[len(body) :].strip()
