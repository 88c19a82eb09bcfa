"""What became of a query: a table, a page for a notebook, a dict."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from langchain_sentence_window._tables import aligned, milliseconds, named, ranked
from langchain_sentence_window.retrieval.tracing.html import page

_SHOWN = 60
"""Characters of a text in a table."""


@dataclass(frozen=True, slots=True)
class HitTrace:
    """A sentence that was found.

    Attributes:
        rank: From 1.
        doc_id: Its document.
        index: Its place among the document's sentences, from 0.
        start: First code point in the source.
        end: One past its last code point.
        text: The sentence.
        score: What it was ranked by.
        dense_rank: Its rank by meaning alone, from 1; ``None`` if it isn't among the first of them.
        dense_score: The store's score by meaning alone.
        lexical_rank: Its rank by words alone; ``None`` if it isn't among the first, or the store knows none.
        lexical_score: Its BM25 score, of the sentence alone.
        opened: First and last index of the window it makes alone, both included.
        cut_before: What ended that window before it had all that it asked for: ``section``,
            ``document`` or ``filter``; ``None`` for nothing.
        cut_after: What ended it after the hit.
        window: The number of the window that it is in; ``None`` for none.
        outcome: What became of it, in words.
    """

    rank: int
    doc_id: str
    index: int
    start: int
    end: int
    text: str
    score: float
    dense_rank: int | None
    dense_score: float | None
    lexical_rank: int | None
    lexical_score: float | None
    opened: tuple[int, int]
    cut_before: str | None
    cut_after: str | None
    window: int | None
    outcome: str


@dataclass(frozen=True, slots=True)
class SentenceTrace:
    """A sentence in or near a window.

    Attributes:
        index: Its place among the document's sentences, from 0.
        text: The sentence, with the white space after it.
        score: What it was ranked by; ``None`` if it wasn't found.
        in_window: Whether it is in the window.
        is_hit: Whether it is one of the window's hits.
        returned: Whether it is in what was returned of the window.
    """

    index: int
    text: str
    score: float | None
    in_window: bool
    is_hit: bool
    returned: bool


@dataclass(frozen=True, slots=True)
class WindowTrace:
    """A window that was made.

    Attributes:
        number: Its rank as it was found, from 1.
        doc_id: Its document.
        sentences: Index of its first and last sentence, both included.
        start: First code point in the source.
        end: One past its last code point.
        heading: The headings above it.
        text: The window.
        score: That of its best hit.
        hits: The ranks of its hits, the first of which opened it; the others were merged with it.
        reranked: Its rank after reranking; ``None`` without a reranker, or if that left it out.
        relevance_score: The reranker's score.
        cut: What ended it, such as ``section after`` or ``window 1 before``.
        returned: Its place in what was returned, from 1; ``None`` if it wasn't.
        trimmed: Index of the first and last sentence that fitted into ``max_tokens``, if not all did.
        outcome: What became of it, in words.
        surroundings: Its sentences, and some before and after them.
    """

    number: int
    doc_id: str
    sentences: tuple[int, int]
    start: int
    end: int
    heading: str
    text: str
    score: float
    hits: tuple[int, ...]
    reranked: int | None
    relevance_score: float | None
    cut: tuple[str, ...]
    returned: int | None
    trimmed: tuple[int, int] | None
    outcome: str
    surroundings: tuple[SentenceTrace, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """What became of a query, stage by stage.

    ``print(trace)`` shows tables, a notebook a page, on which the sentences are shaded by score, the
    windows outlined and the hits underlined.

    Attributes:
        query: What was asked.
        settings: How.
        hits: What was found, best first.
        windows: What was made of it, best first.
        seconds: How long each stage took, by its name.
    """

    query: str
    settings: Mapping[str, Any]
    hits: Sequence[HitTrace]
    windows: Sequence[WindowTrace]
    seconds: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The trace as dicts, lists and scalars, which JSON can hold."""
        return asdict(self)

    def to_json(self, indent: int | None = 2) -> str:
        """The trace as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        """The trace as tables."""
        windows = [
            ["windows", "number", "sentences", "score", "hits", "reranked", "relevance", "cut by", "outcome"],
            *(_window_row(window) for window in self.windows),
        ]
        hits = [
            ["hits", "rank", "sentence", "score", "dense", "lexical", "opened", "cut by", "outcome"],
            *(_hit_row(hit) for hit in self.hits),
        ]
        return "\n".join(
            [
                self.query,
                named(self.settings),
                "",
                *aligned(windows),
                "",
                *aligned(hits),
                "",
                milliseconds(self.seconds),
            ]
        )

    def _repr_html_(self) -> str:
        """The trace as a page for a notebook."""
        return page(self.to_dict())


def _window_row(window: WindowTrace) -> list[str]:
    first, last = window.sentences
    return [
        _short(window.text),
        str(window.number),
        f"{window.doc_id[:20]}:{first}-{last}",
        f"{window.score:.3f}",
        ",".join(map(str, window.hits)),
        _or_dash(window.reranked),
        "-" if window.relevance_score is None else f"{window.relevance_score:.3f}",
        ", ".join(window.cut) or "-",
        window.outcome,
    ]


def _hit_row(hit: HitTrace) -> list[str]:
    ends = ((hit.cut_before, "before"), (hit.cut_after, "after"))
    return [
        _short(hit.text),
        str(hit.rank),
        f"{hit.doc_id[:20]}:{hit.index}",
        f"{hit.score:.3f}",
        ranked(hit.dense_rank, hit.dense_score, 3),
        ranked(hit.lexical_rank, hit.lexical_score, 1),
        f"{hit.opened[0]}-{hit.opened[1]}",
        ", ".join(f"{what} {where}" for what, where in ends if what) or "-",
        hit.outcome,
    ]


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
