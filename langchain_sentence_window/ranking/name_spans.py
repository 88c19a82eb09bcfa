"""The words of a question as it writes them, the names of documents, and the question without a name."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from langchain_sentence_window.ranking.words import runs_of

HEAD_CHARS = 1_500
"""The characters at the beginning of a document in which its names are looked for."""

MAX_WORDS = 64
"""The most words of a question that are looked up; a longer question is a text, and names nothing by itself."""

MAX_NAMED = 3
"""The most documents that a question names, or that share a name, as versions do."""

MIN_SHARE = 0.8
"""The least share of the sentences with a name word that are in its documents."""

MIN_SENTENCES = 2
"""The least number of sentences of a document that hold a name word."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a question in lower case, each once.

    Attributes:
        written: Those that it writes as names; see `langchain_sentence_window.ranking.name_spans.Token`.
        others: The others.
    """

    written: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """All words, those written as names first."""
        return self.written + self.others


@dataclass(frozen=True, slots=True)
class WordUse:
    """Where the sentences are that hold a word.

    Attributes:
        sentences: The number of sentences that hold it, or of a sample of them.
        documents: How many of these are in a document, by ``doc_id``, for the documents with the most of them.
    """

    sentences: int
    documents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The names of a document.

    Attributes:
        head: Its first characters; see `HEAD_CHARS`.
        names: Its title, its file name and folder, and other values of metadata.
    """

    head: str
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts that tell which documents a question names.

    Attributes:
        words: Where the sentences are that hold a word, by the word in lower case. A word that is too common for a
            name is left out. One that no sentence holds has no ``sentences``, and the documents of which a name holds
            it, with 0.
        documents: The names of documents by ``doc_id``: of those in ``words``, and of those with a name that shares
            words with the question.
        is_complete: Whether the sentences are those of the collection, and not only what a search found. Of a few
            sentences, those with a word may be in one document by chance. Then no word names a document alone, and two
            must be written as names.
    """

    words: Mapping[str, WordUse]
    documents: Mapping[str, DocumentNames]
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a question names.

    Attributes:
        doc_id: The document.
        words: The words that name it, in the order of the question, in lower case.
        name: The name that the question holds as a whole, or all of it but its first or last word; ``None`` if it was
            named by words alone.
    """

    doc_id: str
    words: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """The documents that a question names.

    Attributes:
        documents: The documents, the one with the most words first.
        question: The question without their names; the question itself if nothing could be left out.
        left_out: The parts of the question that were left out, verbatim.
    """

    documents: tuple[NamedDocument, ...]
    question: str
    left_out: tuple[str, ...]


MIN_RUN = 5
"""The least number of words of a name that is left out wherever it stands; a shorter one may be the topic."""

MIN_LEFT = 4
"""The least number of words that a question keeps."""

MAX_CLAUSE_REST = 2
"""The most words but a name and small words in a clause that only says where to look: "In the Zebra contract, …"."""

_PLACING = frozenset({"as", "at", "between", "by", "for", "from", "in", "of", "on", "to", "under", "with"})
_ARTICLES = frozenset({"a", "an", "the"})
_JOINING = frozenset({"and", "or", "s"})
_OF_OTHERS = frozenset({"de", "del", "der", "des", "du", "la", "las", "les", "los", "und", "von", "y"})
CONNECTORS = _PLACING | _ARTICLES | _JOINING | _OF_OTHERS
"""Small words that names hold, and that lead to them. Without those of a language, less is left out."""

_MAX_CONNECTORS = 3
_MAX_BESIDE = 8
_SENTENCE_END = re.compile(r"[.?!]\s|[\n:]")
_CLAUSE_END = re.compile(r"[;:?!\n]|[.,]\s")
_BREAK = re.compile(r"[;:?!\n]")
_OPENERS = frozenset(
    {
        "according", "at", "by", "concerning", "consider", "for", "from", "in", "per", "regarding", "see", "under",
        "bei", "für", "gemäß", "laut", "nach", "dans", "selon", "en", "según", "secondo",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a question.

    Attributes:
        word: The word in lower case.
        start: Where it starts in the question.
        end: Where it ends, exclusive.
        is_name: Whether it is written as a name: with a capital that isn't the first of a sentence, with one inside,
            all in capitals, with a digit, or in a script without capitals.
    """

    word: str
    start: int
    end: int
    is_name: bool


def tokens_of(query: str) -> list[Token]:
    """Return the words of a question: its runs of letters and digits, those of scripts without spaces as wholes.

    If all letters are capitals, they tell nothing, and only words with a digit are written as names.
    """
    tokens: list[Token] = []
    is_shouted = query.isupper()
    end = 0
    for text, start, stop, _ in runs_of(query):
        begins = not tokens or _SENTENCE_END.search(query, end, start) is not None
        end = stop
        tokens.append(Token(text.lower(), start, end, _is_name(text, begins=begins, is_shouted=is_shouted)))
    return tokens


def written_words(text: str) -> list[str]:
    """Return the words of a text as they are written, in order."""
    return [run.text for run in runs_of(text)]


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return [run.text.lower() for run in runs_of(text)]


def capitalized(words: Iterable[str]) -> set[str]:
    """Return the words that are written with a capital, or a digit first, somewhere, in lower case."""
    return {word.lower() for word in words if not _is_small(word)}


def uncapitalized(words: Iterable[str]) -> set[str]:
    """Return the words that are written with a small letter first and without a capital somewhere, in lower case."""
    return {word.lower() for word in words if _is_small(word)}


def as_names(tokens: Sequence[Token], known: Set[str]) -> list[Token]:
    """Return the tokens with ``is_name`` for those that documents write with a capital, for a question without any."""
    return [replace(token, is_name=token.word in known) for token in tokens]


def left_out(
    query: str, tokens: Sequence[Token], names: Sequence[tuple[Set[str], Set[str]]], whole: Set[int]
) -> tuple[str, tuple[str, ...]]:
    """Leave names out of a question.

    Args:
        query: The question.
        tokens: Its words, with ``is_name`` for those that are written as names.
        names: For each document, the words of its head and its names, and those that name it.
        whole: Positions of words that are of a name which the question holds as a whole.

    Returns:
        The question without the names, and what was left out, each verbatim. The question itself and nothing, if no
        name can be left out or too little would be left.
    """
    gone = set(whole)
    around: set[int] = set(whole)
    for known, naming in names:
        for first, last in _runs(query, tokens, known):
            if any(token.word in naming for token in tokens[first : last + 1]):
                whole_run = range(*_widened(query, tokens, first, last + 1))
                around.update(whole_run)
                if sum(_is_part(token, known) for token in tokens[first : last + 1]) >= MIN_RUN:
                    gone.update(range(_led_to(query, tokens, whole_run.start), whole_run.stop))
    for first, end in _clauses(query, tokens):
        inside = around.intersection(range(first, end))
        if inside and _only_says_where(query, tokens, first, end, inside):
            gone.update(range(first, end))
    if not gone or len(tokens) - len(gone) < MIN_LEFT:
        return query, ()
    return _without(query, tokens, gone)


def _is_name(text: str, *, begins: bool, is_shouted: bool) -> bool:
    if any(map(str.isdigit, text)):
        return True
    if is_shouted or _is_small(text):
        return False
    return not begins or (len(text) > 1 and not text[1:].islower())


def _is_small(word: str) -> bool:
    return word[0].islower() and not any(map(str.isupper, word))  # "eBay" is written as a name


def _runs(query: str, tokens: Sequence[Token], known: Set[str]) -> Iterator[tuple[int, int]]:
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


def _widened(query: str, tokens: Sequence[Token], first: int, end: int) -> tuple[int, int]:
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


def _led_to(query: str, tokens: Sequence[Token], first: int) -> int:
    """Return the position of the first of the small words that lead to a word: of "in the lease", that of "in"."""
    while first and tokens[first - 1].word in _PLACING | _ARTICLES:
        if _BREAK.search(query[tokens[first - 1].end : tokens[first].start]):
            break
        first -= 1
    return first


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


def _clauses(query: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the position of the first word of each clause, and one past its last."""
    first = 0
    for at in range(1, len(tokens) + 1):
        if at == len(tokens) or _CLAUSE_END.search(query, tokens[at - 1].end, tokens[at].start):
            yield first, at
            first = at


def _only_says_where(query: str, tokens: Sequence[Token], first: int, end: int, inside: Set[int]) -> bool:
    small = CONNECTORS | _OPENERS
    rest = [at for at in range(first, end) if at not in inside and tokens[at].word not in small]
    is_label = end < len(tokens) and ":" in query[tokens[end - 1].end : tokens[end].start]
    return len(rest) <= MAX_CLAUSE_REST and (is_label or tokens[first].word in _OPENERS)


def _without(query: str, tokens: Sequence[Token], gone: Set[int]) -> tuple[str, tuple[str, ...]]:
    kept: list[str] = []
    removed: list[str] = []
    at = 0
    while at < len(tokens):
        last = at
        while last + 1 < len(tokens) and (last + 1 in gone) == (at in gone):
            last += 1
        (removed if at in gone else kept).append(query[tokens[at].start : tokens[last].end])
        at = last + 1
    ending = query[tokens[-1].end :].strip()
    if len(tokens) - 1 in gone:
        ending = ending[-1:]  # the mark of the question, without brackets of the name
    return " ".join(kept) + ending, tuple(removed)
