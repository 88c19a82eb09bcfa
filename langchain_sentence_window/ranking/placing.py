"""The parts of a question that only say where to look: "In the Zebra contract, …", "zebra.com: …", "… in Spain".

Nothing here knows documents: a caller gives the positions of the words that name one.
"""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import groupby

from .words import Token

_PLACING = frozenset({"as", "at", "between", "by", "for", "from", "in", "of", "on", "to", "under", "with"})
_ARTICLES = frozenset({"a", "an", "the"})
_JOINING = frozenset({"and", "or", "s"})
_OF_OTHERS = frozenset({"de", "del", "der", "des", "du", "la", "las", "les", "los", "und", "von", "y"})
CONNECTORS = _PLACING | _ARTICLES | _JOINING | _OF_OTHERS
"""Small words that names hold, and that lead to them. Without those of a language, less is left out."""

MAX_CLAUSE_REST = 2
"""The most words but names and small words in a clause that only says where to look: "In the Zebra contract, …"."""

_CLAUSE_END = re.compile(r"[;:?!\n]|[.,]\s")
_OPENERS = frozenset(
    {
        "according", "at", "by", "concerning", "consider", "for", "from", "in", "per", "regarding", "see", "under",
        "bei", "für", "gemäß", "laut", "nach", "dans", "selon", "en", "según", "secondo",
    }
)  # fmt: skip
_OF_ASKER = frozenset({"i", "we", "my", "our", "if", "as"})
_VERBS_OF_ASKER = frozenset({"am", "are", "is", "m", "re", "ve", "was", "were"})
_WHERE = frozenset({"at", "from", "in", "under", "within"})
LEADING = _ARTICLES | _WHERE
"""Small words that lead to the name of a place or a document."""
_ASKING = frozenset({"what", "who", "whom", "whose", "which", "when", "where", "why", "how"})
_JOINING_QUESTIONS = frozenset({"and", "or", "but"})
_MIN_WORDS_OF_PART = 4

MIN_LEFT = 4
"""The least number of words that a question keeps."""

_MAX_CONNECTORS = 3
_MAX_BESIDE = 8
_BREAK = re.compile(r"[;:?!\n]")


def says_where(tokens: Sequence[Token], names: Set[int]) -> set[int]:
    """Return the positions of names that a preposition leads to, and of the words before them, as of "in the Sudan".

    Args:
        tokens: The words of a question.
        names: The positions of the words of names.
    """
    gone = set[int]()
    for at in sorted(names):
        if any(map(str.isdigit, tokens[at].word)):
            continue  # a year is a part of what is asked, too
        first = at
        while first and tokens[first - 1].word in _ARTICLES:
            first -= 1
        while first and tokens[first - 1].word in _WHERE:
            first -= 1
        if tokens[first].word in _WHERE or at - 1 in gone:
            gone.update(range(first, at + 1))
    return gone


def clauses_that_place(query: str, tokens: Sequence[Token], names: Set[int]) -> tuple[set[int], set[int]]:
    """Find the clauses that only say where to look, as "In the Zebra contract" does, or where the asker is.

    Args:
        query: The question.
        tokens: Its words.
        names: The positions of the words of names.

    Returns:
        The positions of the words of the former, and of the latter, as in "If I work in Canada". These may say more
        than where, so they are still searched.
    """
    of_document, of_asker = set[int](), set[int]()
    small = CONNECTORS | _OPENERS | _OF_ASKER | _VERBS_OF_ASKER
    for first, end in _clauses(query, tokens):
        inside = {at for at in range(first, end) if at in names}
        words = [tokens[at] for at in range(first, end) if at not in inside]
        rest = [each for each in words if not each.is_name and each.word not in small]
        asks = any(each.word in _ASKING for each in words)  # "By when does Zebra pay, and …?"
        if not inside or asks or len(rest) > MAX_CLAUSE_REST:
            continue
        is_last = end == len(tokens)
        mark = query[tokens[end - 1].end :] if is_last else query[tokens[end - 1].end : tokens[end].start]
        if tokens[first].word in _OPENERS or (":" in mark and not is_last):
            of_document.update(range(first, end))
        elif tokens[first].word in _OF_ASKER and "?" not in mark and says_where(tokens, inside):
            of_asker.update(range(first, end))
    return of_document, of_asker


def asks_twice(query: str, tokens: Sequence[Token]) -> bool:
    """Check whether a question has two parts, the second of which may be about something else.

    "Who pays, and what does the law say?" has. "Is it insured? If yes, how?" hasn't.

    Args:
        query: The question.
        tokens: Its words.
    """
    for at in range(1, len(tokens) - _MIN_WORDS_OF_PART + 1):
        before, token = tokens[at - 1], tokens[at]
        if token.word not in _ASKING:
            continue
        if before.word in _JOINING_QUESTIONS or "?" in query[before.end : token.start]:
            return True
    return False


def runs_of_name(query: str, tokens: Sequence[Token], known: Set[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last word of each run of name words, with connectors between them."""
    at = 0
    while at < len(tokens):
        if not _is_part(tokens[at], known):
            at += 1
            continue
        last = at
        while (following := _next_part(query, tokens, known, last)) is not None:
            last = following
        yield at, last
        at = last + 1


def widened(query: str, tokens: Sequence[Token], first: int, end: int) -> tuple[int, int]:
    """Add a few words next to a run that are written as names too, or as one word with it, as "com" in "globe.com"."""
    lowest, highest = max(0, first - _MAX_BESIDE), min(len(tokens), end + _MAX_BESIDE)
    while first > lowest and not _BREAK.search(gap := query[tokens[first - 1].end : tokens[first].start]):
        if not (tokens[first - 1].is_name or is_glued(gap)):
            break
        first -= 1
    while end < highest and not _BREAK.search(gap := query[tokens[end - 1].end : tokens[end].start]):
        if not (tokens[end].is_name or is_glued(gap)):
            break
        end += 1
    return first, end


def is_glued(gap: str) -> bool:
    """Return whether what stands between two words has no white space, as in a file name."""
    return not any(map(str.isspace, gap))


def _is_part(token: Token, known: Set[str]) -> bool:
    return token.is_name and token.word in known


def _next_part(query: str, tokens: Sequence[Token], known: Set[str], last: int) -> int | None:
    """Return the next word of a run, over up to a few connectors; ``None`` if the run ends."""
    for at in range(last + 1, min(last + 2 + _MAX_CONNECTORS, len(tokens))):
        gap = query[tokens[at - 1].end : tokens[at].start]
        if _BREAK.search(gap):
            return None
        if _is_part(tokens[at], known):
            return at
        if not is_glued(gap) and tokens[at].word not in CONNECTORS:
            return None
    return None


def without_words(query: str, tokens: Sequence[Token], gone: Set[int]) -> tuple[str, tuple[str, ...]]:
    """Return a question without the words at some positions, and the parts that were left out."""
    kept: list[str] = []
    removed: list[str] = []
    for is_gone, positions in groupby(range(len(tokens)), gone.__contains__):
        run = [tokens[at] for at in positions]
        (removed if is_gone else kept).append(query[run[0].start : run[-1].end])
    ending = query[tokens[-1].end :].strip()
    if len(tokens) - 1 in gone:
        ending = ending[-1:]  # the mark of the question, without brackets of the name
    return " ".join(kept) + ending, tuple(removed)


def _clauses(query: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the position of the first word of each clause, and one past its last."""
    first = 0
    for at in range(1, len(tokens)):
        before, token = tokens[at - 1], tokens[at]
        end = _CLAUSE_END.search(query, before.end, token.start)
        if end and not (end[0].startswith(",") and before.is_name and token.is_name):  # "Zebra, Inc", "Zebra, Acme"
            yield first, at
            first = at
    if tokens:
        yield first, len(tokens)
