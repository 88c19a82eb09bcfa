"""A verified quotation: the verdict, and where it stands."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._types import Span
from langchain_sentence_window.answering.source_stretches import sentences_of
from langchain_sentence_window.documents.window_slices import narrowed_window, source_span

Verdict: TypeAlias = Literal["verbatim", "normalized", "stitched", "misattributed", "not_found"]
"""How a quotation agrees with the sources, see `VerifiedQuote`."""


@dataclass(frozen=True, slots=True)
class QuotedPlace:
    """Where a quotation, or a piece of one, stands.

    Attributes:
        number: The number of the source, from 1.
        document: The source, a window.
        doc_id: The document that the window is of; ``None`` if its metadata doesn't say.
        start: First code point in the document; in the source's own text if its metadata doesn't say where that starts.
        end: One past the last code point.
        text: What stands there, character for character.
        pages: The pages that it touches, from 0; empty if they aren't known.
        location: Where it is, as `describe_location` writes it.
    """

    number: int
    document: Document
    doc_id: str | None
    start: int
    end: int
    text: str
    pages: tuple[int, ...]
    location: str

    @property
    def first_sentence(self) -> int | None:
        """Index of the first sentence that it touches, in the document; ``None`` if it isn't known."""
        numbers = self._sentences()
        return numbers[0] if numbers else None

    @property
    def last_sentence(self) -> int | None:
        """Index of the last sentence that it touches; ``None`` if it isn't known."""
        numbers = self._sentences()
        return numbers[1] if numbers else None

    def window(self) -> Document:
        """Return a window of this place alone: `locate` gives the boxes around it, and `highlight` marks it."""
        return narrowed_window(self.document, self.start, self.end, self.text)

    def _sentences(self) -> Span | None:
        own = source_span(self.document)
        return None if own is None else sentences_of(self.document).numbers(self.start - own[0], self.end - own[0])


@dataclass(frozen=True, slots=True)
class VerifiedQuote:
    """A quotation or a cited claim of an answer, and whether it stands in the sources.

    The verdict is one of:

    - ``verbatim``: its characters stand in a cited source, or in any source if it cites none.
    - ``normalized``: so it is but for white space, line breaks and their hyphens, letter case, the kind of quotation
      marks, dashes and ellipses, invisible characters, compatible letters such as ligatures, Markdown's ``**``, and the
      mark that ends it.
    - ``stitched``: it is put together of stretches that don't stand together.
    - ``misattributed``: it is verbatim or normalized, but in a source that it doesn't cite.
    - ``not_found``: none of these. A claim in other words than the source's is ``not_found`` too, whether true or not.

    A quotation that leaves something out and says so, by an ellipsis or by words in brackets, is verbatim or normalized
    if its pieces stand in order in one source, and is stitched if they don't or if what is left out turns the meaning.

    Attributes:
        kind: ``quotation`` for what stands between quotation marks or in a block quote; ``claim`` for a sentence of the
            answer that cites a source and has no quotation.
        text: The quotation without its marks, or the sentence; without citations.
        start: Its first code point in the answer.
        end: One past the last code point.
        cited: The numbers of the sources that it cites, each once. Numbers of no source aren't among them.
        verdict: How it agrees with the sources.
        places: Where it stands, in order of its pieces; for ``misattributed`` where it really stands. Empty for
            ``not_found``.
    """

    kind: Literal["quotation", "claim"]
    text: str
    start: int
    end: int
    cited: tuple[int, ...]
    verdict: Verdict
    places: tuple[QuotedPlace, ...]
