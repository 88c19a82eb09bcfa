"""The parts of a question that only say where to look: "In the Zebra contract, …", "zebra.com: …", "… in Spain".

Nothing here knows documents: a caller gives the positions of the words that name one.
"""

import re
from collections.abc import Iterator, Sequence

from .words import Token

_CLAUSE_END = re.compile(r"[;:?!\n]|[.,]\s|$")
_WHERE = frozenset({"at", "from", "in", "under", "within"})
_OPENERS = _WHERE | frozenset(
    {
        "according", "by", "concerning", "consider", "for", "per", "regarding", "see",
        "bei", "für", "gemäß", "laut", "nach", "dans", "selon", "en", "según", "secondo",
    }
)  # fmt: skip
_ASKING = frozenset({"what", "who", "whom", "whose", "which", "when", "where", "why", "how"})
_SECOND_PART = re.compile(rf"(?:\?|\b(?:and|or|but))\s+(?:{'|'.join(_ASKING)})\b(?:\W+\w+){{3}}", re.IGNORECASE)
_LOOSE_MARKS = re.compile(r"^[\s,;:]+|[\s,;:]+(?=[?!.]?\s*$)")

_MAX_OTHER_WORDS = 6
"""The most words but names in a clause that only says where: "according to the lease between Zebra and Acme"."""

_MIN_LEFT = 4
"""The fewest words that a question keeps."""


def asks_twice(text: str) -> bool:
    """Return whether a question has two parts, the second of which may be about something else.

    "Who pays, and what does the law say?" has. "Is it insured? If yes, how?" hasn't.
    """
    return _SECOND_PART.search(text) is not None


def find_places(text: str, tokens: Sequence[Token], names: Sequence[range]) -> tuple[bool, str]:
    """Find out whether names only say where to look, and leave out the words that do.

    Args:
        text: The question.
        tokens: Its words.
        names: The positions of the words of each name.

    Returns:
        Whether each name is in a clause that only says where to look; and the question without the words that say so,
        unless too little would be left. Without a clause these are those of a place, as in "in Spain".
    """
    of_names = {at for name in names for at in name}
    where, placed, left_out = set[int](), set[int](), set[int]()
    for name in names:
        first = name.start
        if first and tokens[first - 1].word in ("a", "an", "the"):
            first -= 1
        if first and tokens[first - 1].word in _WHERE:
            where.update(range(first - 1, name.stop))
    for clause, mark in _clauses(text, tokens, of_names):
        inside = of_names.intersection(clause)
        others = [tokens[at].word for at in clause if at not in inside and not tokens[at].is_name]
        # "By when does Zebra pay, and …?" begins as a clause does that says where.
        if not inside or len(others) > _MAX_OTHER_WORDS or not _ASKING.isdisjoint(others):
            continue
        if tokens[clause.start].word in _OPENERS or mark == ":":
            placed |= inside
            left_out.update(clause)
        elif inside <= where and mark != "?":
            placed |= inside  # "If I work in Spain, …" says more than where
    is_limited = of_names <= placed
    left_out = where | left_out if is_limited else where
    if len(tokens) - len(left_out) < _MIN_LEFT:
        return is_limited, text
    ends = [*(token.start for token in tokens[1:]), len(text)]
    kept = [
        text[token.start : end] for at, (token, end) in enumerate(zip(tokens, ends, strict=True)) if at not in left_out
    ]
    if len(tokens) - 1 in left_out:
        kept.append(text[tokens[-1].end :])
    return is_limited, _LOOSE_MARKS.sub("", "".join(kept))


def _clauses(text: str, tokens: Sequence[Token], names: set[int]) -> Iterator[tuple[range, str]]:
    """Yield the positions of the words of each clause, and the mark after it."""
    first = 0
    for at, token in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        end = _CLAUSE_END.search(text, token.end, following.start if following else len(text))
        if end is None or (following and (not end[0] or {at, at + 1} <= names)):
            continue
        if following and end[0][0] in ".," and token.is_name and following.is_name:  # "Zebra, Inc"
            continue
        yield range(first, at + 1), end[0][:1]
        first = at + 1
